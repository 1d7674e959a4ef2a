"""What is masked in a training batch: tokens, words or spans; and where next words are read.

Devlin et al. 2019, section 3.1 and appendix A.1: 15 % of the tokens are predicted; of these 80 % become [MASK], 10 % a
random token and 10 % stay. Spans are those of Joshi et al. 2020, section 3.1 (SpanBERT). A batch is drawn as a whole
from one generator, with arrays over all of its tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.label_names import BOUNDARY, WORDS
from finetune.task_types.pretraining.piece import SPECIAL, STARTS, Piece

MaskUnit = Literal["tokens", "words", "spans"]
PLACES = 20  # of a span's tokens that are predicted from its ends, as in the original code
LENGTHS = np.arange(1, 11)  # words of a span
CHANCES = 0.2 * 0.8 ** (LENGTHS - 1)  # geometric; their mean is 3.8 words
CHANCES /= CHANCES.sum()


@dataclass(frozen=True, kw_only=True)
class Masking:
    """The `share` of tokens that is predicted, alone, as whole words or as spans of words, and the shares of these that
    become [MASK], a random token, and stay; of spans all tokens do the same.
    """

    share: float
    replace: Sequence[float]
    unit: MaskUnit

    def masked(self, features: Sequence[Feature], generator: np.random.Generator) -> list[Feature]:
        """The features with masked tokens, which they read; the labels are the ids that were there."""
        batch = _Flat.of(features)
        choose = {"tokens": self._tokens, "words": self._words, "spans": self._spans}[self.unit]
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

    def _spans(self, batch: "_Flat", generator: np.random.Generator) -> np.ndarray:
        """The positions of spans of whole words, in each feature of about the `share` of its tokens."""
        word = np.cumsum(batch.units == STARTS) * (batch.units != SPECIAL)  # 0 of special tokens
        ends = np.searchsorted(batch.feature, np.arange(len(batch.pieces)), side="right")
        found = [
            begin + _span_tokens(word[begin:end], self.share, generator)
            for begin, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True)
        ]
        return np.concatenate(found)

    def _replaced(self, batch: "_Flat", positions: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """The ids of the batch with the predicted tokens replaced."""
        vocabulary, ids, draw = batch.pieces[0].vocabulary, batch.ids.copy(), generator.random(len(positions))
        if self.unit == "spans":
            draw = draw[_first_of_run(positions)]
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


def with_boundaries(features: Sequence[Feature]) -> list[Feature]:
    """The features with labels to predict from the ends of each span, of the first PLACES tokens of a span."""
    return [
        replace(feature, label={**feature.label, BOUNDARY: _near_start(feature.reads, feature.label[WORDS])})
        for feature in features
    ]


def _near_start(positions: Any, labels: np.ndarray) -> np.ndarray:
    """The labels, ignored where a position is further from the start of its run."""
    place = np.arange(len(positions)) - _first_of_run(positions)
    return np.where(place < PLACES, labels.astype(np.int64), IGNORED)


def _first_of_run(positions: np.ndarray) -> np.ndarray:
    """For each of some positions in rising order, the index of the first in its run of neighbours."""
    starts = np.diff(positions, prepend=-2) != 1
    return np.asarray(np.flatnonzero(starts)[np.cumsum(starts) - 1])


def _span_tokens(word: np.ndarray, share: float, generator: np.random.Generator) -> np.ndarray:
    """The tokens of spans of words, in order; `word` `(tokens,)` numbers the word of each token, 0 for special ones.

    A span begins with any word that has no mask yet, as likely as any other, and ends before one that has. The last is
    cut off where the share is reached; the word that would exceed it by chance, so that the average is the share.
    """
    tokens = np.flatnonzero(word)
    numbers, first, sizes = np.unique(word[tokens], return_index=True, return_counts=True)
    follows = np.diff(tokens[first], prepend=-1) == np.concatenate([[-1], sizes[:-1]])  # no special token between
    left, part = share * len(tokens), 1 - generator.random()
    masked = np.zeros(len(numbers), bool)
    starts = generator.permutation(len(numbers))
    lengths = generator.choice(LENGTHS, size=len(numbers), p=CHANCES)
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        for number in range(start, min(start + length, len(numbers))):
            if masked[number] or (number > start and not follows[number]):
                break
            if sizes[number] * part > left and masked.any():
                return np.asarray(tokens[np.repeat(masked, sizes)])
            masked[number] = True
            left -= sizes[number]
    return np.asarray(tokens[np.repeat(masked, sizes)])


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
