"""The teacher's sentence vectors of the passages, in resumable pieces on disk."""
import io
import json
import pathlib

import numpy as np

from files import write_whole
from minilm import MiniLM

PIECE = 1000  # texts
LIMIT = 190  # tokens of a text


def pieces(path):
    texts = [json.loads(line)["text"] for line in open(path)]
    return [texts[i:i + PIECE] for i in range(0, len(texts), PIECE)]


def teach(work, shard=0, shards=1):
    """Computes what is not on disk yet. Several processes may each take their share of the pieces."""
    work = pathlib.Path(work)
    (work / "taught").mkdir(exist_ok=True)
    teacher = MiniLM(work)
    for number, texts in enumerate(pieces(work / "passages.jsonl")):
        target = work / "taught" / f"{number:04}.npy"
        if number % shards == shard and not target.exists():
            buffer = io.BytesIO()
            np.save(buffer, teacher.encode(texts, LIMIT))
            write_whole(target, buffer.getvalue())
            print(number, flush=True)


def taught(work):
    """(texts, vectors) of the pieces that are there."""
    work = pathlib.Path(work)
    texts, vectors = [], []
    for number, piece in enumerate(pieces(work / "passages.jsonl")):
        source = work / "taught" / f"{number:04}.npy"
        if source.exists():
            texts += piece
            vectors.append(np.load(source))
    return texts, np.concatenate(vectors)
