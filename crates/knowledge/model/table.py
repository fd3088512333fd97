"""The file format of the token table, and the vectors that it gives. README.md describes the layout.

`Table` does in Python what the product does in Rust, word by word: measurements and reference.json rest on that.
"""
import re
import struct
import unicodedata

import numpy as np

from wordpiece import WordPiece

MAGIC = b"FXTOKEN1"
DROPPED = re.compile(r"\[(unused\d+|PAD|UNK|CLS|SEP|MASK)\]")
# Chinese, Japanese and Korean. The model was made for English: what it says about their characters is worth nothing.
IDEOGRAPHS = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
                        "\uf900-\ufaff\U00020000-\U000323af]")


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


def words(text):
    """The words of a text. Simpler than the teacher's rules: whatever is no letter or digit is a word of its own."""
    for run in text.split():
        if run.isascii():
            yield from re.findall("[a-z0-9]+|.", run.lower())
            continue
        plain = (char for char in unicodedata.normalize("NFD", run) if unicodedata.category(char)[0] != "M")
        # Ideographs part words, and are none.
        for part in IDEOGRAPHS.split("".join(char.lower() for char in plain)):
            yield from re.findall(r"[^\W_]+|.", part)


class Table:
    """A packed table, read back."""

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

    def ids(self, text):
        """The numbers of a text's tokens. A word that cannot be cut into tokens adds none."""
        return [i for word in words(text) for i in self.wordpiece.ids_of(word)]

    def vectors(self, texts):
        """The sum of the tokens' rows, of length one; zero for a text without known tokens."""
        out = np.zeros((len(texts), self.rows.shape[1]), np.float32)
        for row, text in zip(out, texts):
            row += self.rows[self.ids(text)].sum(0)
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12)
