"""The plain table: what the teacher says about each token alone. It is the one to beat, and where training begins."""
import numpy as np

SIF = 1e-4


def token_vectors(teacher):
    """The teacher's vector of "[CLS] token [SEP]" for every token of its vocabulary."""
    return teacher.encode_ids([[i] for i in range(len(teacher.vocab))])


def rank_weights(count):
    """Smooth inverse frequency. The vocabulary is ordered by frequency, so Zipf's law gives the probabilities."""
    probability = 1 / (np.arange(count) + 2)
    probability /= probability.sum()
    return (SIF / (SIF + probability)).astype(np.float32)


def principal(vectors, dims):
    """(mean, axes) of the `dims` directions that hold most of the variance. Each axis's largest part is positive."""
    mean = vectors.mean(0)
    centred = (vectors - mean).astype(np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :dims]
    axes *= np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])
    return mean, axes.astype(np.float32)


def distilled(vectors, dims):
    """The rows of the plain table: centred, in the main directions, weighted by rank."""
    mean, axes = principal(vectors, dims)
    return (vectors - mean) @ axes * rank_weights(len(vectors))[:, None]
