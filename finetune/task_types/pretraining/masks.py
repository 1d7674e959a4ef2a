"""What is masked in a training batch, tokens or words, and where next words are read.

Devlin et al. 2019, section 3.1 and appendix A.1: 15 % of the tokens are predicted; of these 80 % become [MASK], 10 % a
random token and 10 % stay. A batch is drawn as a whole from one generator, with arrays over all of its tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from finetune.models.feature import Feature
from finetune.task_types.pretraining.objectives import WORDS
from finetune.task_types.pretraining.pieces import SPECIAL, STARTS, Piece

MaskUnit = Literal["tokens", "words"]
AS_MASK, AS_RANDOM = 0.8, 0.1  # shares of the predicted tokens that become [MASK] or a random token; others stay


@dataclass(frozen=True, kw_only=True)
class Masking:
    """The `share` of tokens that is predicted, alone or as whole words."""

    share: float
    unit: MaskUnit

    def masked(self, features: Sequence[Feature], generator: np.random.Generator) -> list[Feature]:
        """The features with masked tokens, which they read; the labels are the ids that were there."""
        batch = _Flat.of(features)
        positions = self._words(batch, generator) if self.unit == "words" else self._tokens(batch, generator)
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
        stays = np.where(draw < AS_MASK + AS_RANDOM, random, ids[positions])
        ids[positions] = np.where(draw < AS_MASK, vocabulary.mask_id, stays)
        return ids


def next_words(features: Sequence[Feature]) -> list[Feature]:
    """The features, which read the position before each token of the text; the labels are these tokens."""
    batch = _Flat.of(features)
    positions = np.flatnonzero(batch.units != SPECIAL)
    return batch.reading(positions - 1, positions, batch.ids)


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
