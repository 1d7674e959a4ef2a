"""Pairs of texts in a training batch: for half of them the second text is that of another document.

Devlin et al. 2019, section 3.1 and appendix A.1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.objectives import NEXT
from finetune.task_types.pretraining.pieces import INSIDE, SPECIAL, STARTS, Piece

IdsAndUnits = tuple[np.ndarray, np.ndarray]  # ids and units of a run of tokens, without special ones
IS_NEXT, IS_RANDOM = 0, 1  # labels of pairs, as in the original code
TRIMMED = 4  # at most this part of a second text is left out


def with_next_sentence(features: Sequence[Feature], generator: np.random.Generator, *, size: int) -> list[Feature]:
    """Each feature as two texts of at most `size` tokens, divided at one of its line ends; for half of the batch the
    second text is that of another document, as long (`pair_feature`). The label NEXT says so (`IS_NEXT`). A text of one
    line is divided in the middle, without a label, and so is each without another document.
    """
    order, chances, draws, shares = (generator.permutation(len(features)), *generator.random((3, len(features))))
    found = []
    for index, feature in enumerate(features):
        end = len(feature.note.units)
        cut, has_line = _cut(feature.note, draws[index])
        others = (number for number in np.roll(order, -index) if features[number].row != feature.row)
        other = _longest_rest([features[number] for number in others], end - cut) if has_line else None
        if other is None:
            cut = cut if has_line else middle(feature.note)
        first, own = between(feature, 0, cut), between(feature, cut, end)
        label = IGNORED if other is None else IS_NEXT if chances[index] < 0.5 else IS_RANDOM
        found.append(pair_feature(feature, first, own, other, size=size, label=label, share=float(shares[index])))
    return found


def _longest_rest(features: Iterable[Feature], length: int) -> IdsAndUnits | None:
    """What follows a line's beginning in the first of some features: so many tokens, else the most that one has.

    As of the feature itself, it is not the first line of a piece, which may be the first of a document.
    """
    best: IdsAndUnits | None = None
    for feature in features:
        for begin in inner_lines(feature.note)[::-1]:  # from the shortest rest on
            rest = between(feature, int(begin), len(feature.note.units))
            if len(rest[0]) >= length:
                return rest
            if len(rest[0]) and (best is None or len(rest[0]) > len(best[0])):
                best = rest
    return best


def _cut(piece: Piece, draw: float) -> tuple[int, bool]:
    """Where the second text of a piece begins, and whether a line does there; all of a piece of one line may be one."""
    lines = inner_lines(piece)
    return (int(lines[int(draw * len(lines))]), True) if len(lines) else (0, False)


def inner_lines(piece: Piece) -> np.ndarray:
    """Where the lines of a piece begin, but for the one that it begins with."""
    positions = np.flatnonzero(piece.units != SPECIAL)
    first, last = (positions[0], positions[-1]) if len(positions) else (0, 0)
    return piece.lines[(piece.lines > first) & (piece.lines <= last)]


def middle(piece: Piece) -> int:
    """Where the second half of a text begins, between special tokens."""
    positions = np.flatnonzero(piece.units != SPECIAL)
    return int(positions[0]) + (len(positions) + 1) // 2 if len(positions) else 0


def pair_feature(
    feature: Feature,
    first: IdsAndUnits,
    own: IdsAndUnits,
    other: IdsAndUnits | None,
    *,
    size: int,
    label: int,
    share: float,
) -> Feature:
    """A feature of two texts of at most `size` tokens; the second is `own`, or `other` where `label` is IS_RANDOM.

    The first is truncated at its start and the second at its end, so that the border stays.

    Neither length tells which second text it is: what both have is taken, less a `share` (0 to 1) of a quarter of it,
    so that not only the other one ends within a line. The original code fills a random text to the length of the one
    that follows (Devlin et al. 2019, appendix A.2); if its rest is longer, that gives the label away.
    """
    second, size = own, max(2, size)
    if other is not None:
        length = min(len(own[0]), len(other[0]))
        length = max(1, length - int(share * length / TRIMMED))
        ids, units = other if label == IS_RANDOM else own
        second = ids[:length], units[:length]
    left = max(1, min(len(first[0]), max(size - len(second[0]), size // 2)))
    first, second = (part[-left:] for part in first), (part[: size - left] for part in second)  # type: ignore[assignment]
    (one, one_units), (two, two_units), template = first, second, feature.note.vocabulary.pair
    ids, segments = template.fill(one, two)
    units = np.concatenate([
        np.full(len(template.before), SPECIAL, np.int8), one_units,
        np.full(len(template.between), SPECIAL, np.int8), two_units,
        np.full(len(template.after), SPECIAL, np.int8),
    ])  # fmt: skip
    for begin in (len(template.before), len(template.before) + len(one) + len(template.between)):
        if units[begin] == INSIDE:
            units[begin] = STARTS
    piece = replace(feature.note, units=units)
    return replace(feature, input_ids=ids, token_type_ids=segments, note=piece, label={NEXT: label})


def between(feature: Feature, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and units of the tokens between two positions, without special tokens."""
    units = feature.note.units[begin:end]
    ordinary = units != SPECIAL
    return np.asarray(feature.input_ids)[begin:end][ordinary], units[ordinary]
