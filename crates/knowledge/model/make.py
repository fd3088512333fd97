#!/usr/bin/env python3
"""Makes tokens.bin, the table of token vectors, step by step. README.md tells the whole story.

    make.py distil       the teacher's vectors of all tokens, and the plain table of them
    make.py passages     fetch the sources and cut them into texts
    make.py teach [I N]  the teacher's vectors of the texts (part I of N; may be stopped and resumed)
    make.py train        train a table on them
    make.py keep NAME    make `distilled` or `trained` the tokens.bin, with reference.json and record.json

`measure.py` tells which of the two is better, `verify.sh` repeats what can be repeated quickly.
Work files go to $TABLE_WORK (default: the folder `work` beside this script, which git ignores).
"""
import json
import sys

import passages
import reference
import verify
from distil import distilled, principal, token_vectors
from files import HERE, WORK, cached, digest, write_whole
from minilm import MiniLM
from table import DROPPED, Table, kept, pack
from teach import LIMIT, PASSAGES, taught, teach
from train import Bags, start_table, train, unit

DIMS = 256
HELD = 2000  # texts that the training does not see: they say which epoch is the best


def write_table(name, vocab, rows):
    chosen = kept(vocab)
    data = pack([vocab[i] for i in chosen], rows[chosen])
    write_whole(WORK / f"tokens-{name}.bin", data)
    print(f"tokens-{name}.bin: {len(data)} bytes, sha256 {digest(data)}")


def command_distil():
    teacher = MiniLM()
    vectors = cached("tokens.npy", lambda: token_vectors(teacher))
    write_table("distilled", teacher.vocab, distilled(vectors, DIMS))


def command_passages():
    count = passages.write(PASSAGES)
    print(f"{count} texts, sha256 {digest(PASSAGES)}")


def command_teach(share="0", shares="1"):
    teach(int(share), int(shares))


def training_set(teacher):
    """(bags, targets) of the taught texts. Targets are the teacher's vectors in their own main directions."""
    texts, vectors = taught()
    special = {i for i, piece in enumerate(teacher.vocab) if DROPPED.fullmatch(piece)}
    lists = [[i for i in teacher.wordpiece.ids(text)[:LIMIT] if i not in special] for text in texts]
    filled = [i for i, ids in enumerate(lists) if ids]
    mean, axes = principal(vectors[filled], DIMS)
    return Bags([lists[i] for i in filled]), unit((vectors[filled] - mean) @ axes)


def command_train():
    teacher = MiniLM()
    vectors = cached("tokens.npy", lambda: token_vectors(teacher))
    bags, targets = training_set(teacher)
    seen = len(targets) - HELD
    rows = train(start_table(vectors, bags, targets, seen), bags, targets, seen)
    write_table("trained", teacher.vocab, rows)


def command_keep(name):
    """Puts the chosen table beside this script, with what tests and `verify` compare it with."""
    data = (WORK / f"tokens-{name}.bin").read_bytes()
    write_whole(HERE / "tokens.bin", data)
    table = Table(data)
    write_whole(HERE / "reference.json", reference.as_json(table))
    record = {
        "table": {"sha256": digest(data), "bytes": len(data), "tokens": len(table.pieces), "dims": DIMS},
        "passages": {"sha256": digest(PASSAGES), "sources_sha256": digest(HERE / "sources.tsv")},
        **verify.figures(MiniLM(), table),
    }
    write_whole(HERE / "record.json", (json.dumps(record) + "\n").encode())


def main():
    command = globals().get("command_" + (sys.argv[1] if len(sys.argv) > 1 else ""))
    if command is None:
        raise SystemExit(__doc__)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
