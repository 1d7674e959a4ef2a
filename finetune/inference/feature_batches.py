"""Batches of features by their tokens, for every engine; and a check of logits. No torch."""

from collections.abc import Sequence

import numpy as np

from finetune.errors import UserError

BATCH_TOKENS = {"cpu": 4_096, "cuda": 65_536}  # of a batch, with padding; small batches fit a CPU's caches
LOGITS_OF_TOKEN = 2_048  # so many logits count as a token of a batch
LONG_TOKENS, STEP_TOKENS = 32, 4  # for a head with a `vocabulary`, longer texts are padded to steps
HALF_STEP = 8  # tokens; in half precision on a CPU longer texts are padded to multiples of it, others to 4
GPU_STEP, GPU_STEPS = 8, 8  # on a GPU to multiples of 8 tokens, and to one of eight lengths up to each power of two
READ_STEP = 8  # in both cases the positions that are read are padded to multiples


class Diverged(UserError):
    """A loss, gradient, weight or logit that is not a finite number."""


def token_batches(lengths: Sequence[int] | np.ndarray, *, tokens: int) -> list[np.ndarray]:
    """Batches of indices, the longest features first; each has at most `tokens` with padding, or is one feature."""
    order = np.argsort(-np.asarray(lengths), kind="stable")
    batches, start = [], 0
    while start < len(order):
        size = max(1, tokens // max(1, int(lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches


def feature_sizes(lengths: np.ndarray, reads: np.ndarray, *, vocabulary: int) -> np.ndarray:
    """The size of each feature in tokens `(features,)`; with a `vocabulary` the larger of tokens and logits."""
    if not vocabulary:
        return lengths
    of_logits = stepped_reads(reads) * vocabulary // LOGITS_OF_TOKEN
    return np.asarray(-(-np.maximum(lengths, of_logits) // LONG_TOKENS) * LONG_TOKENS)


def stepped_in_half(longest: int, *, most: int) -> int:
    """The padded length of a batch in half precision on a CPU, where oneDNN compiles code for each shape, and keeps it:
    of all lengths to 128 several GB.
    """
    step = STEP_TOKENS if longest <= LONG_TOKENS else HALF_STEP
    return min(-(-longest // step) * step, most)


def stepped(longest: int, *, most: int) -> int:
    """The same for a head with a `vocabulary`, in any precision."""
    return longest if longest <= LONG_TOKENS else min(-(-longest // STEP_TOKENS) * STEP_TOKENS, most)


def stepped_on_gpu(longest: int, *, most: int) -> int:
    """As `stepped` on a GPU, which keeps a graph for each shape; above 32 tokens padding adds a quarter at most."""
    step = max(GPU_STEP, (1 << (longest - 1).bit_length()) // GPU_STEPS)
    return min(-(-longest // step) * step, most)


def stepped_reads(reads: np.ndarray) -> np.ndarray:
    """The numbers of positions that are read, padded to steps for the same reason, `(features,)`."""
    return np.asarray(-(-reads // READ_STEP) * READ_STEP)


def require_numbers_only(logits: Sequence[np.ndarray], *, way_out: str) -> None:
    """Raises Diverged for logits that are nan."""
    if any(np.isnan(array).any() for array in logits):
        raise Diverged(
            "the model's logits are not numbers (nan): training has diverged, or half precision overflowed", way_out
        )
