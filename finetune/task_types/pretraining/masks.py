"""What is masked in a training batch, tokens or words, and where next words are read.

Devlin et al. 2019, section 3.1 and appendix A.1: 15 % of the tokens are predicted; of these 80 % become [MASK], 10 % a
random token and 10 % stay. A batch is drawn as a whole from one generator, with arrays over all of its tokens.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from finetune.models.feature import Feature
from finetune.task_types.pretraining.objectives import WORDS
from finetune.task_types.pretraining.pieces import SPECIAL, STARTS

MaskUnit = Literal["tokens", "words"]
AS_MASK, AS_RANDOM = 0.8, 0.1  # shares of the predicted tokens that become [MASK] or a random token; others stay


def with_masks(
    features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
) -> list[Feature]:
    """The features with a `share` of their tokens masked, alone or as whole words, at least one of each feature.

    They read the masked positions; the labels are the ids that were there.
    """
    ids, units, number = _flat(features)
    text = np.flatnonzero(units != SPECIAL)
    word = np.cumsum(units[text] == STARTS) - 1 if unit == "words" else np.arange(len(text))
    starts = text[np.flatnonzero(np.diff(word, prepend=-1))]
    positions = text[_drawn(number[starts], np.bincount(word).astype(float), share, generator)[word]]
    vocabulary, draw = features[0].note.vocabulary, generator.random(len(positions))
    random = vocabulary.ordinary[generator.integers(len(vocabulary.ordinary), size=len(positions))]
    stays = np.where(draw < AS_MASK + AS_RANDOM, random, ids[positions])
    inputs = ids.copy()
    inputs[positions] = np.where(draw < AS_MASK, vocabulary.mask_id, stays)
    return _reading(features, inputs, positions, ids[positions], before=0)


def next_words(features: Sequence[Feature]) -> list[Feature]:
    """The features, which read the position before each token of the text; the labels are these tokens."""
    ids, units, _ = _flat(features)
    positions = np.flatnonzero(units != SPECIAL)
    return _reading(features, ids, positions, ids[positions], before=1)


def _flat(features: Sequence[Feature]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ids, the units and the feature's number of all tokens, `(tokens,)` each."""
    ids = np.concatenate([feature.input_ids for feature in features])
    units = np.concatenate([feature.note.units for feature in features])
    return ids, units, np.repeat(np.arange(len(features)), [len(feature.input_ids) for feature in features])


def _reading(
    features: Sequence[Feature], ids: np.ndarray, positions: np.ndarray, targets: np.ndarray, *, before: int
) -> list[Feature]:
    """The features with these ids, which read so many places before the positions of the targets."""
    starts = np.cumsum([0, *(len(feature.input_ids) for feature in features)])
    bounds = np.searchsorted(positions, starts[1:-1])
    parts = (np.split(ids, starts[1:-1]), np.split(positions, bounds), np.split(targets, bounds))
    return [
        replace(feature, input_ids=own, reads=read - before - start, label={**(feature.label or {}), WORDS: target})
        for feature, start, own, read, target in zip(features, starts[:-1], *parts, strict=True)
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
