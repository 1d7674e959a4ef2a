"""Sentence order: two texts that follow each other, swapped half of the time (Lan et al. 2020, ALBERT, section 3.1).

Where a text begins or ends within a line must not tell its place. So both have whole lines alone; of a piece that has
fewer than two, both begin and end within a line.
"""

from collections.abc import Sequence

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.pairs import IdsAndUnits, between, inner_lines, middle, pair_feature

IN_ORDER, IS_SWAPPED = 0, 1  # labels of pairs, as in the original code
TRIMMED = 8  # at most this part of a text is left out at each end, and one token more


def with_sentence_order(features: Sequence[Feature], generator: np.random.Generator, *, size: int) -> list[Feature]:
    """Each feature as two texts of at most `size` tokens, divided at one of its line ends, and swapped by chance.

    The label NEXT says so (`IN_ORDER`). A feature of one line is divided in the middle, without a label.
    """
    chances, draws, *shares = generator.random((6, len(features)))
    return [
        _pair(feature, size=size, swapped=bool(chance >= 0.5), draw=float(draw), shares=ends)
        for feature, chance, draw, ends in zip(features, chances, draws, np.transpose(shares), strict=True)
    ]


def order_feature(feature: Feature, first: IdsAndUnits, second: IdsAndUnits, *, size: int, swapped: bool) -> Feature:
    """A feature of two texts of at most `size` tokens that follow each other, swapped or not.

    What is too much is left out at the start of the first and the end of the second, before they are swapped.
    """
    left = max(1, min(len(first[0]), max(size - len(second[0]), size // 2)))
    one: IdsAndUnits = (first[0][-left:], first[1][-left:])
    two: IdsAndUnits = (second[0][: size - left], second[1][: size - left])
    texts = (two, one) if swapped else (one, two)
    return pair_feature(feature, *texts, None, size=size, label=IS_SWAPPED if swapped else IN_ORDER, share=0.0)


def _pair(feature: Feature, *, size: int, swapped: bool, draw: float, shares: np.ndarray) -> Feature:
    """The pair of a feature, whose lines start and end at its `Piece.lines`; `shares` are of what is left out of ends
    where lines are not whole.
    """
    borders, end = feature.note.lines, len(feature.note.units)
    whole = len(borders) > 2
    cuts = borders[1:-1] if whole else inner_lines(feature.note)
    if len(cuts):
        cut = int(cuts[int(draw * len(cuts))])
        first, last = (int(borders[0]), int(borders[-1])) if whole else (0, end)
        texts = between(feature, first, cut), between(feature, cut, last)
        if not whole:
            texts = _trimmed(texts[0], shares[:2]), _trimmed(texts[1], shares[2:])
        if min(len(ids) for ids, _ in texts):
            return order_feature(feature, *texts, size=size, swapped=swapped)
    half = middle(feature.note)
    parts = between(feature, 0, half), between(feature, half, end)
    return pair_feature(feature, *parts, None, size=size, label=IGNORED, share=0.0)


def _trimmed(text: IdsAndUnits, shares: np.ndarray) -> IdsAndUnits:
    """A text without at least one token at each end, and at most one in TRIMMED."""
    count = len(text[0])
    begin, end = (1 + int(share * count / TRIMMED) for share in shares)
    return text[0][begin : count - end], text[1][begin : count - end]
