"""The teacher's vectors of the passages. It takes an hour or two of two cores, so it may be stopped and resumed."""
import json

import numpy as np

from files import WORK, write_array
from minilm import MiniLM

PIECE = 1000  # texts
LIMIT = 190  # tokens of a text
PASSAGES = WORK / "passages.jsonl"


def pieces():
    """(where the vectors lie, texts) of one piece after another."""
    with open(PASSAGES) as file:
        texts = [json.loads(line)["text"] for line in file]
    for number, first in enumerate(range(0, len(texts), PIECE)):
        yield WORK / "taught" / f"{number:04}.npy", texts[first:first + PIECE]


def teach(share=0, shares=1):
    """Computes what is not on disk yet. Several processes may each take their share of the pieces."""
    teacher = MiniLM()
    for number, (target, texts) in enumerate(pieces()):
        if number % shares == share and not target.exists():
            write_array(target, teacher.encode(texts, LIMIT))
            print(number, flush=True)


def taught():
    """(texts, vectors) of all passages."""
    texts, vectors = [], []
    for target, piece in pieces():
        texts += piece
        vectors.append(np.load(target))
    return texts, np.concatenate(vectors)
