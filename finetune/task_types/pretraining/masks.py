"""What is random in a training batch: masked tokens or words, and pairs of texts; and where next words are read.

Devlin et al. 2019, section 3.1 and appendix A.1: 15 % of the tokens are predicted; of these 80 % become [MASK], 10 % a
random token and 10 % stay. A batch is drawn as a whole from one generator, with arrays over all of its tokens.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.label_names import NEXT, WORDS
from finetune.task_types.pretraining.piece import INSIDE, SPECIAL, STARTS, Piece

MaskUnit = Literal["tokens", "words"]
IdsAndUnits = tuple[np.ndarray, np.ndarray]  # ids and units of a run of tokens, without special ones
IS_NEXT, IS_RANDOM = 0, 1  # labels of pairs, as in the original code
TRIMMED = 4  # at most this part of a second text is left out


@dataclass(frozen=True, kw_only=True)
class Masking:
    """The `share` of tokens that is predicted, alone or as whole words, and the shares of these that become [MASK], a
    random token, and stay.
    """

    share: float
    replace: Sequence[float]
    unit: MaskUnit

    def masked(self, features: Sequence[Feature], generator: np.random.Generator) -> list[Feature]:
        """The features with masked tokens, which they read; the labels are the ids that were there."""
        batch = _Flat.of(features)
        choose = self._words if self.unit == "words" else self._tokens
        positions = choose(batch, generator)
        return batch.reading(positions, positions, self._replaced(batch, positions, generator))

    def _tokens(self, batch: "_Flat", generator: np.random.Generator) -> np.ndarray:
        """The positions of the predicted tokens: in each feature a random `share`, at least one."""
        positions = np.flatnonzero(batch.units != SPECIAL)
        return np.asarray(positions[_drawn(batch.feature[positions], np.ones(len(positions)), self.share, generator)])

    def _words(self, batch: "_Flat", generator: np.random.Generator) -> np.ndarray:
        """The positions of the tokens of predicted words: in each feature words of about the `share` of the tokens."""
        positions = np.flatnonzero(batch.units != SPECIAL)
        word = np.cumsum(batch.units[positions] == STARTS) - 1
        sizes = np.bincount(word).astype(float)
        starts = positions[np.flatnonzero(np.diff(word, prepend=-1))]
        return np.asarray(positions[_drawn(batch.feature[starts], sizes, self.share, generator)[word]])

    def _replaced(self, batch: "_Flat", positions: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The ids of the batch with the predicted tokens replaced."""
        vocabulary, ids, draw = batch.pieces[0].vocabulary, batch.ids.copy(), generator.random(len(positions))
        random = vocabulary.ordinary[generator.integers(len(vocabulary.ordinary), size=len(positions))]
        as_mask, as_random, _ = self.replace
        stays = np.where(draw < as_mask + as_random, random, ids[positions])
        ids[positions] = np.where(draw < as_mask, vocabulary.mask_id, stays)
        return ids


def next_words(features: Sequence[Feature]) -> list[Feature]:
    """The features, which read the position before each token of the text; the labels are these tokens."""
    batch = _Flat.of(features)
    positions = np.flatnonzero(batch.units != SPECIAL)
    return batch.reading(positions - 1, positions, batch.ids)


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
            cut = cut if has_line else _middle(feature.note)
        first, own = _between(feature, 0, cut), _between(feature, cut, end)
        label = IGNORED if other is None else IS_NEXT if chances[index] < 0.5 else IS_RANDOM
        found.append(pair_feature(feature, first, own, other, size=size, label=label, share=float(shares[index])))
    return found


def _longest_rest(features: Iterable[Feature], length: int) -> IdsAndUnits | None:
    """What follows a line's beginning in the first of some features: so many tokens, else the most that one has.

    As of the feature itself, it is not the first line of a piece, which may be the first of a document.
    """
    best: IdsAndUnits | None = None
    for feature in features:
        for begin in _inner_lines(feature.note)[::-1]:  # from the shortest rest on
            rest = _between(feature, int(begin), len(feature.note.units))
            if len(rest[0]) >= length:
                return rest
            if len(rest[0]) and (best is None or len(rest[0]) > len(best[0])):
                best = rest
    return best


@dataclass(frozen=True, kw_only=True, eq=False)
class _Flat:
    """The tokens of a batch, one feature after another: ids, units and the feature's number, `(tokens,)`."""

    features: Sequence[Feature]
    pieces: Sequence[Piece]
    ids: np.ndarray
    units: np.ndarray
    feature: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, features: Sequence[Feature]) -> "_Flat":
        pieces = [feature.note for feature in features]
        lengths = [len(piece.units) for piece in pieces]
        return cls(
            features=features,
            pieces=pieces,
            ids=np.concatenate([feature.input_ids for feature in features]),
            units=np.concatenate([piece.units for piece in pieces]),
            feature=np.repeat(np.arange(len(features)), lengths),
            ends=np.cumsum(lengths),
        )

    def reading(self, reads: np.ndarray, labels: np.ndarray, ids: np.ndarray) -> list[Feature]:
        """The features with these ids, which read some positions; their words are the ids that were at others."""
        bounds = [0, *np.searchsorted(labels, self.ends).tolist()]
        starts = [0, *self.ends.tolist()]
        targets = self.ids[labels]
        return [
            replace(
                feature,
                input_ids=ids[starts[number] : starts[number + 1]],
                reads=reads[bounds[number] : bounds[number + 1]] - starts[number],
                label={**(feature.label or {}), WORDS: targets[bounds[number] : bounds[number + 1]]},
            )
            for number, feature in enumerate(self.features)
        ]


def _drawn(group: np.ndarray, sizes: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """Whether each unit of some sizes is drawn, `(units,)`, from its group (sorted numbers).

    In random order, while they have less than the share of the group's size; the one that would exceed it by chance, so
    that whatever the sizes are the average is the share. Of each group at least one is drawn.
    """
    order = np.lexsort((generator.random(len(group)), group))
    totals = np.bincount(group, weights=sizes)
    before = np.cumsum(sizes[order]) - sizes[order] - (np.cumsum(totals) - totals)[group]
    part = 1 - generator.random(len(totals))  # of the last unit, which has to be within the share
    drawn = np.zeros(len(group), bool)
    drawn[order] = (before + sizes[order] * part[group] <= share * totals[group]) | (before == 0)
    return drawn


def _cut(piece: Piece, draw: float) -> tuple[int, bool]:
    """Where the second text of a piece begins, and whether a line does there; all of a piece of one line may be one."""
    lines = _inner_lines(piece)
    return (int(lines[int(draw * len(lines))]), True) if len(lines) else (0, False)


def _inner_lines(piece: Piece) -> np.ndarray:
    """Where the lines of a piece begin, but for the one that it begins with."""
    positions = np.flatnonzero(piece.units != SPECIAL)
    first, last = (positions[0], positions[-1]) if len(positions) else (0, 0)
    return piece.lines[(piece.lines > first) & (piece.lines <= last)]


def _middle(piece: Piece) -> int:
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


def _between(feature: Feature, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and units of the tokens between two positions, without special tokens."""
    units = feature.note.units[begin:end]
    ordinary = units != SPECIAL
    return np.asarray(feature.input_ids)[begin:end][ordinary], units[ordinary]
