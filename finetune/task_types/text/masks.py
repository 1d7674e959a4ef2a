"""What is random in a training batch: masked tokens or words, and pairs of texts; and where next words are read.

Devlin et al. 2019, section 3.1 and appendix A.1: 15 % of the tokens are predicted; of these 80 % become [MASK], 10 % a
random token and 10 % stay. A batch is drawn as a whole from one generator, with arrays over all of its tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.text.label_names import NEXT, WORDS
from finetune.task_types.text.piece import INSIDE, SPECIAL, STARTS, Piece

Unit = Literal["tokens", "words"]
IS_NEXT, IS_RANDOM = 0, 1  # labels of pairs, as in the original code


@dataclass(frozen=True, kw_only=True)
class Masking:
    """The `share` of tokens that is predicted, alone or as whole words, and the shares of these that become [MASK], a
    random token, and stay.
    """

    share: float
    replace: Sequence[float]
    unit: Unit

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


def paired(features: Sequence[Feature], generator: np.random.Generator, *, size: int) -> list[Feature]:
    """Each feature as two texts of at most `size` tokens: one of its line ends divides it, and for half of the batch,
    those of one line among them, the second text is that of another document. The label NEXT says so (`IS_NEXT`).
    Without another document, a text of one line is divided in the middle, without a label.
    """
    order, chances, draws = (generator.permutation(len(features)), *generator.random((2, len(features))))
    cuts = [_cut(feature.note, draw) for feature, draw in zip(features, draws, strict=True)]
    with_lines = sum(has_line for _, has_line in cuts)
    follows = 0.5 * len(features) / max(1, with_lines)  # the chance of those that can be divided: half of all follow
    found = []
    for index, feature in enumerate(features):
        cut, has_line = cuts[index]
        end = len(feature.note.units)
        others = (int(other) for other in np.roll(order, -index) if features[other].row != feature.row)
        other = None if has_line and chances[index] < follows else next(others, None)
        if other is not None:
            first = _between(feature, 0, cut if has_line else end)
            second = _between(features[other], cuts[other][0], len(features[other].note.units))
            label = IS_RANDOM
        else:
            cut, label = (cut, IS_NEXT) if has_line else (_middle(feature.note), IGNORED)
            first, second = _between(feature, 0, cut), _between(feature, cut, end)
        found.append(pair_feature(feature, first, second, size=size, label=label))
    return found


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
    positions = np.flatnonzero(piece.units != SPECIAL)
    first, last = (int(positions[0]), int(positions[-1])) if len(positions) else (0, 0)
    lines = piece.lines[(piece.lines > first) & (piece.lines <= last)]
    return (int(lines[int(draw * len(lines))]), True) if len(lines) else (first, False)


def _middle(piece: Piece) -> int:
    """Where the second half of a text begins, between special tokens."""
    positions = np.flatnonzero(piece.units != SPECIAL)
    return int(positions[0]) + (len(positions) + 1) // 2 if len(positions) else 0


def pair_feature(
    feature: Feature,
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    *,
    size: int,
    label: int,
) -> Feature:
    """A feature of two texts, each (ids, units), of at most `size` tokens: the longer one is truncated, the first at
    its start and the second at its end, so that what is nearest to the other is kept.
    """
    size = max(2, size)
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
