"""The file format of the token table, and pooling with it. README.md describes the layout."""
import re
import struct

import numpy as np

from wordpiece import WordPiece

MAGIC = b"FXTOKEN1"
DROPPED = re.compile(r"\[(unused\d+|PAD|UNK|CLS|SEP|MASK)\]")


def kept(vocab):
    """The ids of the pieces that go into a table, in the order of their bytes."""
    return sorted((i for i, piece in enumerate(vocab) if not DROPPED.fullmatch(piece)),
                  key=lambda i: vocab[i].encode())


def pack(pieces, rows):
    """The bytes of a table: int8 rows, each with its own scale. The weight of a token is the norm of its row."""
    blobs = [piece.encode() for piece in pieces]
    assert blobs == sorted(set(blobs)) and len(blobs) == len(rows)
    offsets = np.cumsum([0, *map(len, blobs)]).astype("<u4")
    blob = b"".join(blobs)
    scales = np.maximum(np.abs(rows).max(1), 1e-12).astype(np.float32) / np.float32(127)
    values = np.clip(np.rint(rows / scales[:, None]), -127, 127).astype(np.int8)
    return b"".join([MAGIC, struct.pack("<4I", len(blobs), rows.shape[1], len(blob), 0), offsets.tobytes(), blob,
                     bytes(-len(blob) % 4), scales.astype("<f4").tobytes(), values.tobytes()])


class Table:
    """A packed table, read back. `vectors` pools as the product does."""

    def __init__(self, data):
        assert data[:8] == MAGIC
        count, dims, length, _ = struct.unpack_from("<4I", data, 8)
        offsets = np.frombuffer(data, "<u4", count + 1, 24)
        start = 24 + 4 * (count + 1)
        self.pieces = [data[start + a:start + b].decode() for a, b in zip(offsets, offsets[1:])]
        start += length + -length % 4
        scales = np.frombuffer(data, "<f4", count, start)
        values = np.frombuffer(data, np.int8, count * dims, start + 4 * count).reshape(count, dims)
        assert start + 4 * count + count * dims == len(data)
        self.rows = values * scales[:, None]
        self.wordpiece = WordPiece({piece: i for i, piece in enumerate(self.pieces)})

    def vectors(self, texts):
        return pool(self.rows, [self.wordpiece.ids(text) for text in texts])


def pool(rows, lists):
    """The sum of the tokens' rows, of length one; zero for a text without known tokens."""
    out = np.zeros((len(lists), rows.shape[1]), np.float32)
    for i, ids in enumerate(lists):
        if ids:
            out[i] = rows[ids].sum(0)
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
