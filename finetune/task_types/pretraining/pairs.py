"""Pairs of texts in a training batch: for half of them the second text is that of another document.

Devlin et al. 2019, section 3.1 and appendix A.1.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.objectives import NEXT
from finetune.task_types.pretraining.pieces import INSIDE, SPECIAL, STARTS

IS_NEXT, IS_RANDOM = 0, 1  # labels of pairs, as in the original code
TRIMMED = 4  # at most this part of a second text is left out


def with_next_sentence(features: Sequence[Feature], generator: np.random.Generator, *, size: int) -> list[Feature]:
    """Each feature as two texts of at most `size` tokens, divided at one of its line ends; for half of the batch the
    second text is that of another document, as long. The label NEXT says so (`IS_NEXT`). A text of one line is divided
    in the middle, without a label, and so is each without another document.
    """
    order, chances, draws, shares = (generator.permutation(len(features)), *generator.random((3, len(features))))
    pairs = list[Feature]()
    for index, feature in enumerate(features):
        (text, lines), template = _text_and_lines(feature), feature.note.vocabulary.pair
        cut, label, second, third = (text.start + text.stop + 1) // 2, IGNORED, feature, None
        begin = cut
        if len(lines):
            cut = begin = int(lines[int(draws[index] * len(lines))])
            others = [features[number] for number in np.roll(order, -index) if features[number].row != feature.row]
            if others and (rest := _longest_rest(others, len(feature) - cut)):
                label, third = IS_NEXT if chances[index] < 0.5 else IS_RANDOM, rest[2]
                second, begin = rest[:2] if label == IS_RANDOM else (feature, cut)
        first, share = cut - text.start, float(shares[index])
        left, right = pair_lengths(first, text.stop - cut, third, size=size, share=share)
        one, two = slice(cut - min(left, first), cut), slice(begin, begin + right)
        ids, segments = template.fill(np.asarray(feature.input_ids)[one], np.asarray(second.input_ids)[two])
        units, place = np.full(len(ids), SPECIAL, np.int8), len(template.before)
        for part in (feature.note.units[one], second.note.units[two]):
            units[place : place + len(part)] = part
            if len(part) and part[0] == INSIDE:
                units[place] = STARTS
            place += len(part) + len(template.between)
        note = replace(feature.note, units=units)
        pairs.append(replace(feature, input_ids=ids, token_type_ids=segments, note=note, label={NEXT: label}))
    return pairs


def _text_and_lines(feature: Feature) -> tuple[slice, np.ndarray]:
    """The positions between special tokens, and where lines begin there, but for the first."""
    single, lines = feature.note.vocabulary.single, feature.note.lines
    text = slice(len(single.before), len(feature) - len(single.after))
    return text, lines[(lines > text.start) & (lines < text.stop)]


def _longest_rest(features: Sequence[Feature], length: int) -> tuple[Feature, int, int] | None:
    """The first of some features in which so many tokens follow a line's beginning, else that in which most do; the
    beginning, and how many follow.

    As of the text itself, it is not the first line of a piece, which may be the first of a document.
    """
    best = None
    for feature in features:
        text, lines = _text_and_lines(feature)
        rests = text.stop - lines
        if len(fits := np.flatnonzero(rests >= length)):
            return feature, int(lines[fits[-1]]), int(rests[fits[-1]])
        if len(rests) and (best is None or rests[0] > best[2]):
            best = feature, int(lines[0]), int(rests[0])
    return best


def pair_lengths(first: int, own: int, other: int | None, *, size: int, share: float) -> tuple[int, int]:
    """How many tokens are taken of the end of a first text and of the beginning of a second, at most `size` together.

    The second is `own`, what follows the first, or the `other`. Neither length tells which it is: what both have is
    taken, less a `share` (0 to 1) of a quarter of it, so that not only the other one ends within a line. The original
    code fills a random text to the length of the one that follows (Devlin et al. 2019, appendix A.2); if its rest is
    longer, that gives the label away.
    """
    second, size = own, max(2, size)
    if other is not None:
        second = min(own, other)
        second = max(1, second - int(share * second / TRIMMED))
    left = max(1, min(first, max(size - second, size // 2)))
    return left, min(second, size - left)
