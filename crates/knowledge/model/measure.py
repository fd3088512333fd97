#!/usr/bin/env python3
"""How good search is with each table, beside keywords alone and the whole teacher: `measure.py FOLDER...`

It decides which table is kept, and shows what a transformer would add. No table may have been trained on the collections.

A folder holds corpus.jsonl ({_id, title, text[, heading, doc]}), queries.jsonl ({_id, text}) and qrels.tsv (query, document,
grade, below a line of names). Where `doc` is given, chunks are ranked and pages judged. The tables are the `tokens-*.bin` of
$TABLE_WORK; the teacher's vectors of a collection are computed once (minutes for a thousand chunks) and kept there.

BM25 and the mix follow the product's formulas, but not its stop words, names and expansion of questions: the figures compare
with each other, and only roughly with those of the product's own measurement.
"""
import collections
import json
import math
import pathlib
import re
import sys

import numpy as np
import snowballstemmer

from files import WORK, cached
from minilm import MiniLM
from table import Table
from teach import LIMIT

K1, B = 1.5, 0.7
FIELDS = (("title", 3), ("heading", 2), ("text", 1))
EVIDENCE = 0.3  # what the second and third chunk of a page add
SHARES = (0.35, 0.5)  # of the vectors in the mixed score; the product's lies in this range


def read_lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


class Collection:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.name = folder.name
        self.chunks = read_lines(folder / "corpus.jsonl")
        self.grades = collections.defaultdict(dict)
        for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
            query, document, grade = line.split("\t")
            self.grades[query][document] = max(int(grade), 0)
        queries = read_lines(folder / "queries.jsonl")
        self.queries = [query for query in queries if any(self.grades[query["_id"]].values())]
        names = [chunk.get("doc", chunk["_id"]) for chunk in self.chunks]
        self.pages, self.page, sizes = np.unique(names, return_inverse=True, return_counts=True)
        # Where a page's best chunk stands, its second and its third, once chunks are sorted by page and score.
        firsts = np.cumsum(sizes) - sizes
        self.places = [(sizes > place, (firsts + place)[sizes > place]) for place in range(3)]
        self.keyword = BM25(self.chunks).scores(self.questions())

    def questions(self):
        return [query["text"] for query in self.queries]

    def texts(self):
        return ["\n".join(chunk[name] for name, _ in FIELDS if chunk.get(name)) for chunk in self.chunks]

    def page_scores(self, scores):
        """The best chunk of each page, plus a share of the mean of its second and third."""
        ordered = scores[np.lexsort((-scores, self.page))]
        out = np.zeros(len(self.pages))
        for share, (pages, chunks) in zip((1, EVIDENCE / 2, EVIDENCE / 2), self.places):
            out[pages] += share * ordered[chunks]
        return out

    def measure(self, scores):
        """nDCG@10 and recall@5 of each query."""
        out = []
        for query, row in zip(self.queries, scores):
            grades = self.grades[query["_id"]]
            best = np.argsort(-self.page_scores(row), kind="stable")[:10]
            top = [grades.get(self.pages[page], 0) for page in best]
            ideal = sorted((grade for grade in grades.values() if grade), reverse=True)
            out.append((gain(top) / gain(ideal[:10]), np.count_nonzero(top[:5]) / len(ideal)))
        return np.array(out)

    def mixed(self, cosines, share):
        """BM25 by its best, and the cosine between its least and its best over all chunks."""
        keyword = self.keyword / np.maximum(self.keyword.max(1, keepdims=True), 1e-9)
        low, high = cosines.min(1, keepdims=True), cosines.max(1, keepdims=True)
        return (1 - share) * keyword + share * (cosines - low) / np.maximum(high - low, 1e-9)


def gain(grades):
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades))


class BM25:
    def __init__(self, chunks):
        self.stemmer, self.stems = snowballstemmer.stemmer("english"), {}
        bags = [self.bag(chunk) for chunk in chunks]
        lengths = np.array([sum(bag.values()) for bag in bags])
        self.count, norm = len(chunks), K1 * (1 - B + B * lengths / lengths.mean())
        postings = collections.defaultdict(list)
        for i, bag in enumerate(bags):
            for term, frequency in bag.items():
                postings[term].append((i, frequency * (K1 + 1) / (frequency + norm[i])))
        self.postings = {term: tuple(map(np.array, zip(*found))) for term, found in postings.items()}

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
            for term in set(self.terms(query)) & self.postings.keys():
                chunks, impacts = self.postings[term]
                row[chunks] += math.log(1 + (self.count - len(chunks) + 0.5) / (len(chunks) + 0.5)) * impacts
        return out


def measured(collection, tables, teacher):
    """{name: figures of each query} for keywords alone, and vectors alone and mixed with them."""
    cosines = {}
    for name, table in tables.items():
        cosines[name] = table.vectors(collection.questions()) @ table.vectors(collection.texts()).T
    whole = cached(f"teacher-{collection.name}.npy", lambda: teacher.encode(collection.texts(), LIMIT))
    cosines["full MiniLM"] = teacher.encode(collection.questions(), LIMIT) @ whole.T
    found = {"BM25": collection.measure(collection.keyword)}
    found |= {f"{name}, dense": collection.measure(scores) for name, scores in cosines.items()}
    for share in SHARES:
        for name, scores in cosines.items():
            found[f"{name}, hybrid {share}"] = collection.measure(collection.mixed(scores, share))
    return found


def surely(better, worse, draws=4000):
    """By how much the mean is better, with the range in which it lies for 95 of 100 draws of other queries."""
    gains = better - worse
    chosen = np.random.default_rng(0).integers(0, len(gains), (draws, len(gains)))
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(gains.mean(), *np.percentile(gains[chosen].mean(1), [2.5, 97.5]))


def main():
    teacher = MiniLM()
    tables = {path.stem.removeprefix("tokens-"): Table(path.read_bytes()) for path in sorted(WORK.glob("tokens-*.bin"))}
    for collection in map(Collection, sys.argv[1:]):
        print(f"{collection.name}: {len(collection.chunks)} chunks, {len(collection.queries)} queries; nDCG@10 / recall@5")
        found = measured(collection, tables, teacher)
        for name, figures in found.items():
            print("{:28} {:.3f} / {:.3f}".format(name, *figures.mean(0)), flush=True)
        for kind in ("dense", *(f"hybrid {share}" for share in SHARES)):
            if {f"trained, {kind}", f"distilled, {kind}"} <= found.keys():
                pair = found[f"trained, {kind}"][:, 0], found[f"distilled, {kind}"][:, 0]
                print(f"trained over distilled, {kind}: nDCG@10 {surely(*pair)}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main()
