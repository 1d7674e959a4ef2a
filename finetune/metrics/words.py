"""Scores of predicted words: perplexity of a word, its inverse, and the share that was predicted.

Labels and predictions are mappings: `words` are the right or the most probable words, `nats` the negative logarithms of
the probabilities of the right ones (of a label 0), and `next` says of pairs of texts whether the second follows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from finetune.metrics.metric import Metric
from finetune.metrics.sums import Counted, ratio

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


def _accuracy_sums(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """The share of all words whose most probable word is right."""
    return _share_counted("words", gold, answers)


def _next_sums(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """The share of pairs of which it is right whether the second text follows the first."""
    return _share_counted("next", gold, answers)


def _share_counted(name: str, gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    counts = [
        (sum(a == b for a, b in zip(right[name], found[name], strict=True)), len(right[name]))
        for right, found in zip(gold, answers, strict=True)
    ]
    return Counted(counts=np.asarray(counts, float), value=_share)


def _share(sums: np.ndarray) -> np.ndarray:
    return ratio(sums[..., 0], sums[..., 1])


def _metric(name: str, sums: Any, **shown: Any) -> Metric:
    return Metric(name, lambda gold, answers: sums(gold, answers).score, sums, **shown)


perplexity = _metric("perplexity", _perplexity_sums, scale=1, greater_is_better=False, magnitudes=True)
probability = _metric("probability", _probability_sums, magnitudes=True)
masked_accuracy = _metric("masked accuracy", _accuracy_sums)
next_accuracy = _metric("next sentence", _next_sums)
