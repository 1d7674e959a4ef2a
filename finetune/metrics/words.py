"""Scores of predicted words: perplexity of a word, its inverse, and the share that was predicted.

Labels and predictions are mappings: `words` are the right or the most probable words, `nats` the negative logarithms of
the probabilities of the right ones (of a label 0), and `next` says of pairs of texts whether the second follows.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from finetune.metrics.metric import Counted, Metric
from finetune.metrics.sums import ratio

MOST_NATS = 34.0  # of a mean: records hold numbers up to 1e15


def _perplexity_sums(_: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """exp(nats / words) over all words of some rows; 1 over none."""
    counts = [(sum(found["nats"]), len(found["nats"])) for found in answers]

    def value(sums: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(np.minimum(ratio(sums[..., 0], sums[..., 1]), MOST_NATS)))

    return Counted(counts=np.asarray(counts, float), value=value)


def perplexity_of(answers: Sequence[Any]) -> float:
    """The perplexity of a word in some predictions."""
    return _perplexity_sums([], answers).score


def _probability_sums(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """The geometric mean of the words' probabilities, 0 to 1."""
    found = _perplexity_sums(gold, answers)
    return Counted(counts=found.counts, value=lambda sums: 1 / found.value(sums))


def _share_sums(gold: Sequence[Any], answers: Sequence[Any], *, name: str) -> Counted:
    """The share of all words, or of the pairs that may follow each other, that were predicted right."""
    counts = [
        (sum(a == b for a, b in zip(right[name], found[name], strict=True)), len(right[name]))
        for right, found in zip(gold, answers, strict=True)
    ]
    return Counted(counts=np.asarray(counts, float), value=lambda sums: ratio(sums[..., 0], sums[..., 1]))


perplexity = Metric("perplexity", sums=_perplexity_sums, scale=1, greater_is_better=False, magnitudes=True)
probability = Metric("probability", sums=_probability_sums, magnitudes=True)
masked_accuracy = Metric("masked accuracy", sums=partial(_share_sums, name="words"))
next_accuracy = Metric("next sentence", sums=partial(_share_sums, name="next"))
