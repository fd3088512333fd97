"""Search quality of a table on collections it was not trained on: dense alone, and mixed with BM25.

A collection is a folder with corpus.jsonl ({_id, title, text[, heading, doc]}), queries.jsonl ({_id, text}) and
qrels.tsv (query, document, grade). Where `doc` is given, judgements are of whole pages and chunks are ranked.
"""
import collections
import json
import math
import pathlib
import re

import numpy as np

K1, B = 1.5, 0.7
FIELDS = (("title", 3), ("heading", 2), ("text", 1))
EVIDENCE = 0.3  # what the second and third chunk of a page add
WEIGHTS = (0.3, 0.35, 0.4, 0.5)


def read_lines(path):
    return [json.loads(line) for line in open(path)]


class Collection:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.name = folder.name
        self.chunks = read_lines(folder / "corpus.jsonl")
        self.queries = read_lines(folder / "queries.jsonl")
        self.grades = collections.defaultdict(dict)
        for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
            query, document, grade = line.split("\t")
            self.grades[query][document] = int(grade)
        self.queries = [q for q in self.queries if max(self.grades[q["_id"]].values(), default=0) > 0]
        pages = {}
        self.page = np.array([pages.setdefault(c.get("doc", c["_id"]), len(pages)) for c in self.chunks])
        self.pages = list(pages)
        self.keyword = BM25(self.chunks).scores([q["text"] for q in self.queries])

    def texts(self):
        return ["\n".join(c[f] for f in ("title", "heading", "text") if c.get(f)) for c in self.chunks]

    def page_scores(self, scores):
        """The best chunk of each page, plus a share of the mean of its second and third."""
        order = np.argsort(-scores, kind="stable")
        place = np.zeros(len(self.pages), int)
        out = np.full(len(self.pages), -np.inf)
        for chunk in order:
            page = self.page[chunk]
            if place[page] == 0:
                out[page] = scores[chunk]
            elif place[page] < 3:
                out[page] += EVIDENCE * scores[chunk] / 2
            place[page] += 1
        return out

    def measure(self, scores):
        """(nDCG@10, recall@5), means over the queries."""
        gains, recalls = [], []
        for query, row in zip(self.queries, scores):
            grades = self.grades[query["_id"]]
            row = row if len(self.pages) == len(self.chunks) else self.page_scores(row)
            top = [self.pages[i] for i in np.argsort(-row, kind="stable")[:10]]
            gain = sum(max(grades.get(d, 0), 0) / math.log2(i + 2) for i, d in enumerate(top))
            ideal = sorted((g for g in grades.values() if g > 0), reverse=True)
            gains.append(gain / sum(g / math.log2(i + 2) for i, g in enumerate(ideal[:10])))
            recalls.append(len([d for d in top[:5] if grades.get(d, 0) > 0]) / len(ideal))
        return float(np.mean(gains)), float(np.mean(recalls))

    def mixed(self, cosines, weight):
        """The convex mix: BM25 by its best, cosine between its least and its best over all chunks."""
        keyword = self.keyword / np.maximum(self.keyword.max(1, keepdims=True), 1e-9)
        low, high = cosines.min(1, keepdims=True), cosines.max(1, keepdims=True)
        return (1 - weight) * keyword + weight * (cosines - low) / np.maximum(high - low, 1e-9)

    def report(self, cosines):
        """{name: (nDCG@10, recall@5)} for dense alone and each mix."""
        out = {"dense": self.measure(cosines)}
        for weight in WEIGHTS:
            out[str(weight)] = self.measure(self.mixed(cosines, weight))
        return out


class BM25:
    def __init__(self, chunks):
        import snowballstemmer
        self.stemmer, self.stems = snowballstemmer.stemmer("english"), {}
        self.postings = collections.defaultdict(list)
        bags = [self.bag(chunk) for chunk in chunks]
        lengths = np.array([sum(bag.values()) for bag in bags])
        self.count, norm = len(chunks), K1 * (1 - B + B * lengths / lengths.mean())
        for i, bag in enumerate(bags):
            for term, frequency in bag.items():
                self.postings[term].append((i, frequency * (K1 + 1) / (frequency + norm[i])))
        self.postings = {term: tuple(map(np.array, zip(*found))) for term, found in self.postings.items()}

    def terms(self, text):
        for word in re.findall(r"\w+", text.lower()):
            if word not in self.stems:
                self.stems[word] = self.stemmer.stemWord(word)
            yield self.stems[word]

    def bag(self, chunk):
        bag = collections.Counter()
        for field, weight in FIELDS:
            for term in self.terms(chunk.get(field) or ""):
                bag[term] += weight
        return bag

    def scores(self, queries):
        out = np.zeros((len(queries), self.count), np.float32)
        for row, query in zip(out, queries):
            for term in set(self.terms(query)):
                if term in self.postings:
                    chunks, impacts = self.postings[term]
                    row[chunks] += math.log(1 + (self.count - len(chunks) + 0.5) / (len(chunks) + 0.5)) * impacts
        return out
