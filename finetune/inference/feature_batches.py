"""Batches of features by their tokens, the same for every engine, and what no engine may return. No torch."""

from collections.abc import Sequence

import numpy as np

from finetune.errors import UserError

BATCH_TOKENS = {"cpu": 4_096, "cuda": 65_536}  # of a batch, with padding; small ones fit a CPU's caches
LOGITS_OF_TOKEN = 2_048  # as many logits take the place of a token of a batch
LONG_TOKENS, STEP_TOKENS = 32, 4  # tokens: texts longer than LONG_TOKENS are padded to steps where logits are many
GPU_STEP, GPU_STEPS = 8, 8  # on a GPU to multiples of 8 tokens, and to one of eight lengths up to each power of two
READ_STEP = 8  # positions, to whose multiples those that are read are padded there


class Diverged(UserError):
    """Losses, gradients, weights or logits are not finite numbers."""


def token_batches(lengths: Sequence[int] | np.ndarray, *, tokens: int) -> list[np.ndarray]:
    """Batches of indices, longest first, each of at most `tokens` with padding (but at least one feature)."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, tokens // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches


def feature_sizes(lengths: np.ndarray, reads: np.ndarray, *, vocabulary: int) -> np.ndarray:
    """The tokens of each feature, or the logits of its positions that are read in tokens, where a position has as many
    as a `vocabulary` and these are more: `(features,)`.
    """
    if not vocabulary:
        return lengths
    of_logits = stepped_reads(reads) * vocabulary // LOGITS_OF_TOKEN
    return np.asarray(-(-np.maximum(lengths, of_logits) // LONG_TOKENS) * LONG_TOKENS)


def stepped(longest: int, *, most: int) -> int:
    """The length to which a batch of text is padded: for texts of all lengths the code that a CPU's library compiles
    and keeps for each shape in half precision takes several hundred MB.
    """
    return longest if longest <= LONG_TOKENS else min(-(-longest // STEP_TOKENS) * STEP_TOKENS, most)


def stepped_on_gpu(longest: int, *, most: int) -> int:
    """The same on a GPU, where a graph is kept for each shape: above 32 tokens padding adds a quarter at most."""
    step = max(GPU_STEP, (1 << (longest - 1).bit_length()) // GPU_STEPS)
    return min(-(-longest // step) * step, most)


def stepped_reads(reads: np.ndarray) -> np.ndarray:
    """How many positions are read of each text, with padding to steps, for the same reason: `(features,)`."""
    return np.asarray(-(-reads // READ_STEP) * READ_STEP)


def require_numbers_only(logits: Sequence[np.ndarray], *, way_out: str) -> None:
    """Raises Diverged for logits that are nan."""
    if any(np.isnan(each).any() for each in logits):
        raise Diverged(
            "the model's logits are not numbers (nan): training has diverged, or half precision overflowed", way_out
        )
