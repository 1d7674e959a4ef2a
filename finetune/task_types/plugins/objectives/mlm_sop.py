"""Masked words and sentence order: two texts that follow each other, swapped half of the time.

Lan et al. 2020 (ALBERT), section 3.1. Where a text begins or ends within a line must not tell its place: both have
whole lines alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from finetune.data.documents import Document
from finetune.metrics.words import next_accuracy
from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.dev import pair_feature, pairs_of
from finetune.task_types.pretraining.draw import pair_of, text_and_lines
from finetune.task_types.pretraining.objectives import NextSentence, Objective
from finetune.task_types.pretraining.pieces import PieceVocabulary, Tokens

IN_ORDER, IS_SWAPPED = 0, 1  # labels of pairs, as in the original code


def with_sentence_order(features: Sequence[Feature], generator: np.random.Generator, **_: int) -> list[Feature]:
    """Each feature as two texts of whole lines, divided at one of its line ends, and swapped by chance.

    The label NEXT says so. A feature of fewer than two whole lines is divided in the middle, without a label.
    """
    pairs = list[Feature]()
    for feature, (chance, draw) in zip(features, generator.random((len(features), 2)), strict=True):
        text, borders = text_and_lines(feature)[0], feature.note.lines
        begin, cut, end, label = text.start, (text.start + text.stop + 1) // 2, text.stop, IGNORED
        if len(borders) > 2:
            begin, cut, end = int(borders[0]), int(borders[1 + int(draw * (len(borders) - 2))]), int(borders[-1])
            label = IS_SWAPPED if chance >= 0.5 else IN_ORDER
        first, second = (feature, slice(begin, cut)), (feature, slice(cut, end))
        pairs.append(pair_of(second, first, label) if label == IS_SWAPPED else pair_of(first, second, label))
    return pairs


def order_features(
    documents: Sequence[Document], tokens: Tokens, vocabulary: PieceVocabulary, *, size: int
) -> Iterator[Feature]:
    """A feature for each pair of texts of dev: lines before a line end and lines after it, swapped or not."""
    for row, document in enumerate(documents):
        first_line = tokens.documents[row]
        lengths = np.diff(tokens.lines[first_line : first_line + len(document.lines) + 1])
        for pair, (cut, in_order) in enumerate(pairs_of(document)):
            left = max(size // 2, size - int(lengths[cut:].sum()))
            begin = cut - _lines_within(lengths[:cut][::-1], left)
            first = tokens.of_lines(row, begin, cut)[-left:]
            end = cut + _lines_within(lengths[cut:], size - len(first))
            second = tokens.of_lines(row, cut, end)[: size - len(first)]
            texts, label = ((first, second), IN_ORDER) if in_order else ((second, first), IS_SWAPPED)
            yield pair_feature(row, pair, *texts, label=label, vocabulary=vocabulary)


class SentenceOrder(NextSentence):
    """Masked words, and whether two texts are in their order."""

    version = 2
    metrics = (*Objective.metrics, replace(next_accuracy, name="sentence order"))
    least_batch = least_documents = 1
    with_pairs = staticmethod(with_sentence_order)
    pair_features = staticmethod(order_features)


OBJECTIVE = SentenceOrder


def _lines_within(lengths: np.ndarray, room: int) -> int:
    """How many lines, the first ones, have so many tokens together; one at least."""
    return max(1, int(np.searchsorted(np.cumsum(lengths), room, side="right")))
