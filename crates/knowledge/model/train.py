"""Trains a token table so that the pooled tokens of a text come near the teacher's vector of the whole text."""
import numpy as np

from distil import rank_weights


class Bags:
    """Texts as bags of tokens: flat arrays of token and count, cut by `starts`."""

    def __init__(self, lists):
        tokens, counts, sizes = [], [], []
        for ids in lists:
            unique, count = np.unique(np.asarray(ids, np.int64), return_counts=True)
            tokens.append(unique)
            counts.append(count)
            sizes.append(len(unique))
        self.tokens = np.concatenate(tokens)
        self.counts = np.concatenate(counts).astype(np.float32)
        self.sizes = np.array(sizes)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])

    def batch(self, chosen):
        """(tokens, counts, starts) of the chosen texts, which must have at least one token each."""
        spans = np.concatenate([np.arange(self.starts[i], self.starts[i + 1]) for i in chosen])
        starts = np.concatenate([[0], np.cumsum(self.sizes[chosen])[:-1]])
        return self.tokens[spans], self.counts[spans], starts

    def pooled(self, rows, first=0, step=2048):
        """The sums of rows for all texts from number `first` on."""
        out = []
        for first in range(first, len(self.sizes), step):
            tokens, counts, starts = self.batch(np.arange(first, min(first + step, len(self.sizes))))
            out.append(np.add.reduceat(rows[tokens] * counts[:, None], starts))
        return np.concatenate(out)


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9)


def start_table(token_vectors, bags, targets, held, ridge=1.0):
    """The distilled tokens under the linear map that brings the first `held` pooled texts nearest to their targets.

    The map has few parameters, so it serves also the tokens that the passages never show.
    """
    rows = (token_vectors - token_vectors.mean(0)) * rank_weights(len(token_vectors))[:, None]
    pooled = unit(bags.pooled(rows))[:held]
    gram = pooled.T @ pooled + ridge * np.eye(pooled.shape[1], dtype=np.float32)
    mapped = rows @ np.linalg.solve(gram, pooled.T @ targets[:held]).astype(np.float32)
    return mapped / np.linalg.norm(mapped, axis=1).mean()


def gradient(pooled, target):
    """(loss, gradient by the pooled sums) of one minus the cosine to the target, summed over the texts."""
    norm = np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
    student = pooled / norm
    cosine = (student * target).sum(1, keepdims=True)
    return float((1 - cosine).sum()), (cosine * student - target) / norm


class Adam:
    def __init__(self, shape):
        self.mean, self.square = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.steps = 0

    def step(self, rows, tokens, slopes, rate):
        """Updates only the rows of the batch: a rare token keeps its moments until it is seen again."""
        self.steps += 1
        mean = self.mean[tokens] = 0.9 * self.mean[tokens] + 0.1 * slopes
        square = self.square[tokens] = 0.99 * self.square[tokens] + 0.01 * slopes * slopes
        correct = np.sqrt(1 - 0.99 ** self.steps) / (1 - 0.9 ** self.steps)
        rows[tokens] -= rate * correct * mean / (np.sqrt(square) + 1e-8)


def train(start, bags, targets, held, *, epochs=8, batch=512, rate=1.5e-3, seed=7, say=print):
    """The rows, found by Adam from `start`, with the best mean cosine on the texts from number `held` on."""
    rng = np.random.default_rng(seed)
    rows, adam = start.copy(), Adam(start.shape)
    best, best_score = rows.copy(), mean_cosine(rows, bags, targets, held)
    say(f"start: held out {best_score:.4f}", flush=True)
    total, step = epochs * (held // batch), 0
    for epoch in range(epochs):
        order, losses = rng.permutation(held), []
        for first in range(0, held - batch + 1, batch):
            chosen = order[first:first + batch]
            tokens, counts, starts = bags.batch(chosen)
            loss, slope = gradient(np.add.reduceat(rows[tokens] * counts[:, None], starts), targets[chosen])
            losses.append(loss / batch)
            unique, slopes = by_token(tokens, counts, np.repeat(slope, bags.sizes[chosen], 0))
            adam.step(rows, unique, slopes, rate * (1 - step / total))
            step += 1
        score = mean_cosine(rows, bags, targets, held)
        say(f"epoch {epoch}: loss {np.mean(losses):.4f}, held out {score:.4f}", flush=True)
        if score > best_score:
            best, best_score = rows.copy(), score
    return best


def by_token(tokens, counts, slopes):
    """(unique tokens, for each the sum of its slopes over the texts that hold it)."""
    order = np.argsort(tokens, kind="stable")
    unique, firsts = np.unique(tokens[order], return_index=True)
    return unique, np.add.reduceat(slopes[order] * counts[order, None], firsts)


def mean_cosine(rows, bags, targets, first):
    return float((unit(bags.pooled(rows, first)) * targets[first:]).sum(1).mean())
