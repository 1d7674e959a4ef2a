"""The random parts of a training batch: masks of tokens or words, and pairs of texts; and the positions of next words.

Devlin et al. 2019, section 3.1 and appendix A.1: 15 % of the tokens are predicted; of these 80 % become [MASK], 10 % a
random token and 10 % stay. For half of the pairs the second text comes from another document. A batch is drawn as a
whole from one generator, with arrays over all of its tokens.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.pieces import INSIDE, NEXT, SPECIAL, STARTS, WORDS

MaskUnit = Literal["tokens", "words"]
AS_MASK, AS_RANDOM = 0.8, 0.1  # shares of the predicted tokens that become [MASK] or a random token; others stay
IS_NEXT, IS_RANDOM = 0, 1  # labels of pairs, as in the original code
TRIMMED = 4  # at most this part of a second text is left out


def with_masks(
    features: Sequence[Feature], generator: np.random.Generator, *, share: float, unit: MaskUnit
) -> list[Feature]:
    """The features with a `share` of their tokens masked, alone or as whole words, at least one of each feature.

    They read the masked positions; the labels are the ids that were there.
    """
    text, number = text_positions(features)
    units = np.concatenate([feature.note.units for feature in features])[text]
    word = np.cumsum(units == STARTS) - 1 if unit == "words" else np.arange(len(text))
    first = np.flatnonzero(np.diff(word, prepend=-1))
    positions = text[_drawn(number[first], np.bincount(word).astype(float), share, generator)[word]]
    return masked_at(features, positions, generator.random(len(positions)), generator)


def masked_at(
    features: Sequence[Feature], positions: np.ndarray, chances: np.ndarray, generator: np.random.Generator
) -> list[Feature]:
    """The features with some positions of the whole batch, sorted, masked and read; the labels are the ids there.

    By its chance, 0 to 1, each becomes [MASK], a random token, or stays.
    """
    vocabulary, ids = features[0].note.vocabulary, np.concatenate([feature.input_ids for feature in features])
    random = vocabulary.ordinary[generator.integers(len(vocabulary.ordinary), size=len(positions))]
    inputs, stays = ids.copy(), np.where(chances < AS_MASK + AS_RANDOM, random, ids[positions])
    inputs[positions] = np.where(chances < AS_MASK, vocabulary.mask_id, stays)
    return _reading(features, inputs, positions, ids[positions], before=0)


def next_words(features: Sequence[Feature]) -> list[Feature]:
    """The features, which read the position before each token of the text; the labels are these tokens."""
    ids, (positions, _) = np.concatenate([feature.input_ids for feature in features]), text_positions(features)
    return _reading(features, ids, positions, ids[positions], before=1)


def text_positions(features: Sequence[Feature]) -> tuple[np.ndarray, np.ndarray]:
    """The positions in the whole batch of tokens that are not special, and the number of their features."""
    units = [feature.note.units for feature in features]
    text = np.flatnonzero(np.concatenate(units) != SPECIAL)
    return text, np.repeat(np.arange(len(units)), list(map(len, units)))[text]


def _reading(
    features: Sequence[Feature], ids: np.ndarray, positions: np.ndarray, targets: np.ndarray, *, before: int
) -> list[Feature]:
    """The features with these ids, which read so many places before the positions of the targets."""
    ends = np.cumsum([0, *map(len, features)])
    bounds = np.searchsorted(positions, ends)
    reading = list[Feature]()
    for feature, start, end, first, last in zip(features, ends, ends[1:], bounds, bounds[1:], strict=False):
        label = {**(feature.label or {}), WORDS: targets[first:last]}
        reads = positions[first:last] - before - start
        reading.append(replace(feature, input_ids=ids[start:end], reads=reads, label=label))
    return reading


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


def with_next_sentence(features: Sequence[Feature], generator: np.random.Generator, *, size: int) -> list[Feature]:
    """Each feature as two texts of at most `size` tokens, divided at one of its line ends; for half of the batch the
    second text comes from another document, and is as long. The label NEXT says so (`IS_NEXT`). A text of one line is
    divided in the middle, without a label, and so is each without another document.
    """
    order, chances, draws, shares = (generator.permutation(len(features)), *generator.random((3, len(features))))
    pairs = list[Feature]()
    for index, feature in enumerate(features):
        text, lines = text_and_lines(feature)
        cut, label, other = (text.start + text.stop + 1) // 2, IGNORED, None
        source, begin = feature, cut
        if len(lines):
            cut = begin = int(lines[int(draws[index] * len(lines))])
            others = [features[number] for number in np.roll(order, -index) if features[number].row != feature.row]
            if rest := _longest_rest(others, len(feature) - cut):
                label, other = IS_NEXT if chances[index] < 0.5 else IS_RANDOM, rest[2]
                source, begin = rest[:2] if label == IS_RANDOM else (feature, cut)
        lengths = cut - text.start, text.stop - cut, other
        left, right = pair_lengths(*lengths, size=size, share=float(shares[index]))
        pairs.append(pair_of((feature, slice(cut - left, cut)), (source, slice(begin, begin + right)), label))
    return pairs


def text_and_lines(feature: Feature) -> tuple[slice, np.ndarray]:
    """The positions between special tokens, and where lines begin there, without the first."""
    single, lines = feature.note.vocabulary.single, feature.note.lines
    text = slice(len(single.before), len(feature) - len(single.after))
    return text, lines[(lines > text.start) & (lines < text.stop)]


def pair_of(first: tuple[Feature, slice], second: tuple[Feature, slice], label: int) -> Feature:
    """The first feature with the tokens at the positions of both as two texts, and the label NEXT."""
    (feature, _), template = first, first[0].note.vocabulary.pair
    ids = [np.asarray(source.input_ids)[part] for source, part in (first, second)]
    units = [source.note.units[part].copy() for source, part in (first, second)]
    for text in units:
        text[:1][text[:1] == INSIDE] = STARTS
    before, between, after = (
        np.zeros(len(special), np.int8) for special in (template.before, template.between, template.after)
    )
    note = replace(feature.note, units=np.concatenate([before, units[0], between, units[1], after]))
    inputs, segments = template.fill(*ids)
    return replace(feature, input_ids=inputs, token_type_ids=segments, note=note, label={NEXT: label})


def _longest_rest(features: Sequence[Feature], length: int) -> tuple[Feature, int, int] | None:
    """The first of some features in which so many tokens follow a line's beginning, else that in which most do; the
    beginning, and how many follow.

    As of the text itself, it is not the first line of a piece, which may be the first of a document.
    """
    best = None
    for feature in features:
        text, lines = text_and_lines(feature)
        rests = text.stop - lines
        if len(fits := np.flatnonzero(rests >= length)):
            return feature, int(lines[fits[-1]]), int(rests[fits[-1]])
        if len(rests) and (best is None or rests[0] > best[2]):
            best = feature, int(lines[0]), int(rests[0])
    return best


def pair_lengths(first: int, following: int, other: int | None, *, size: int, share: float) -> tuple[int, int]:
    """How many tokens are taken of the end of a first text and of the beginning of a second, at most `size` together.

    The second is `own`, what follows the first, or the `other`. Neither length tells which it is: what both have is
    taken, less a `share` (0 to 1) of a quarter of it, so that not only the other one ends within a line. The original
    code fills a random text to the length of the one that follows (Devlin et al. 2019, appendix A.2); if its rest is
    longer, that gives the label away.
    """
    second, size = following, max(2, size)
    if other is not None:
        second = min(following, other)
        second = max(1, second - int(share * second / TRIMMED))
    left = max(1, min(first, max(size - second, size // 2)))
    return left, min(second, size - left)
