"""Scores of predicted words: perplexity of a word, its inverse, and the share that was predicted.

Labels and predictions are mappings: `words` are the right or the most probable words, `nats` the negative logarithms of
the probabilities of the right ones (of a label 0), and `next` says of pairs of texts whether the second follows.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from finetune.metrics.metric import Counted, Metric
from finetune.metrics.sums import ratio_counted

MOST_NATS = 34.0  # of a mean: records hold numbers up to 1e15


def _perplexity_sums(_: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """exp(nats / words) over all words of the rows; 1 over none."""
    nats = ratio_counted([sum(answer["nats"]) for answer in answers], [len(answer["nats"]) for answer in answers])
    return replace(nats, value=lambda sums: np.exp(np.minimum(nats.value(sums), MOST_NATS)))


def perplexity_of(answers: Sequence[Any]) -> float:
    """The perplexity of a word over predictions."""
    return _perplexity_sums([], answers).score


def _probability_sums(gold: Sequence[Any], answers: Sequence[Any]) -> Counted:
    """The geometric mean of the words' probabilities, 0 to 1."""
    inverse = _perplexity_sums(gold, answers)
    return replace(inverse, value=lambda sums: 1 / inverse.value(sums))


def _share_sums(gold: Sequence[Any], answers: Sequence[Any], *, name: str) -> Counted:
    """The share of all words, or of the pairs that may follow each other, that were predicted right."""
    pairs = [(label[name], answer[name]) for label, answer in zip(gold, answers, strict=True)]
    right = [sum(a == b for a, b in zip(*pair, strict=True)) for pair in pairs]
    return ratio_counted(right, [len(words) for words, _ in pairs])


perplexity = Metric("perplexity", sums=_perplexity_sums, scale=1, greater_is_better=False, magnitudes=True)
probability = Metric("probability", sums=_probability_sums, magnitudes=True)
masked_accuracy = Metric("masked accuracy", sums=partial(_share_sums, name="words"))
next_accuracy = Metric("next sentence", sums=partial(_share_sums, name="next"))
