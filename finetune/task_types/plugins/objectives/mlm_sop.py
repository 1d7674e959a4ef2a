"""Masked words and sentence order: two texts that follow each other, swapped half of the time.

Lan et al. 2020 (ALBERT), section 3.1. Where a text begins or ends within a line must not tell its place: both have
whole lines alone; of a piece that has fewer than two, both begin and end within a line.
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
TRIMMED = 8  # at most this part of a text is left out at an end within a line, and one token more
LEAST_TOKENS = 3  # tokens of a text that is trimmed


def with_sentence_order(features: Sequence[Feature], generator: np.random.Generator, **_: int) -> list[Feature]:
    """Each feature as two texts, divided at one of its line ends, and swapped by chance.

    The label NEXT says so. A feature without a line end is divided in the middle, without a label.
    """
    chances, draws, *shares = generator.random((6, len(features)))
    pairs = list[Feature]()
    for feature, chance, draw, ends in zip(features, chances, draws, np.transpose(shares), strict=True):
        (text, cuts), borders = text_and_lines(feature), feature.note.lines
        begin, end, whole = text.start, text.stop, len(borders) > 2
        if whole:
            begin, cuts, end = int(borders[0]), borders[1:-1], int(borders[-1])
        cut = int(cuts[int(draw * len(cuts))]) if len(cuts) else (begin + end + 1) // 2
        first, second, label = slice(begin, cut), slice(cut, end), IGNORED
        if whole or (len(cuts) and min(cut - begin, end - cut) >= LEAST_TOKENS):
            label = IS_SWAPPED if chance >= 0.5 else IN_ORDER
        if label != IGNORED and not whole:
            first, second = _within(first, ends[:2]), _within(second, ends[2:])
        leading, following = (second, first) if label == IS_SWAPPED else (first, second)
        pairs.append(pair_of((feature, leading), (feature, following), label))
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

    version = 1
    metrics = (*Objective.metrics, replace(next_accuracy, name="sentence order"))
    least_batch = least_documents = 1
    with_pairs = staticmethod(with_sentence_order)
    pair_features = staticmethod(order_features)


OBJECTIVE = SentenceOrder


def _within(text: slice, shares: np.ndarray) -> slice:
    """The text without at least one token at each end, and at most one in TRIMMED."""
    left, right = (1 + int(share * (text.stop - text.start) / TRIMMED) for share in shares)
    return slice(text.start + left, text.stop - right)


def _lines_within(lengths: np.ndarray, room: int) -> int:
    """How many lines, the first ones, have so many tokens together; one at least."""
    return max(1, int(np.searchsorted(np.cumsum(lengths), room, side="right")))
