"""Pairs of texts in a training batch: for half of them the second text is that of another document.

Devlin et al. 2019, section 3.1 and appendix A.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from finetune.models.feature import IGNORED, Feature
from finetune.task_types.pretraining.objectives import NEXT
from finetune.task_types.pretraining.pieces import SPECIAL, STARTS

IS_NEXT, IS_RANDOM = 0, 1  # labels of pairs, as in the original code
TRIMMED = 4  # at most this part of a second text is left out


@dataclass(frozen=True, kw_only=True, eq=False)
class _Text:
    """A piece without special tokens: ids and units `(tokens,)`; of each line but the first where it begins, and how
    many tokens the sequence has from there on.
    """

    ids: np.ndarray
    units: np.ndarray
    lines: np.ndarray
    rests: np.ndarray

    @classmethod
    def of(cls, feature: Feature) -> "_Text":
        units = feature.note.units
        text = np.flatnonzero(units != SPECIAL)
        lines = feature.note.lines
        lines = lines[(lines > text[0]) & (lines <= text[-1])] if len(text) else lines[:0]
        ids = np.asarray(feature.input_ids)[text]
        return cls(ids=ids, units=units[text], lines=np.searchsorted(text, lines), rests=len(units) - lines)


def with_next_sentence(features: Sequence[Feature], generator: np.random.Generator, *, size: int) -> list[Feature]:
    """Each feature as two texts of at most `size` tokens, divided at one of its line ends; for half of the batch the
    second text is that of another document, as long. The label NEXT says so (`IS_NEXT`). A text of one line is divided
    in the middle, without a label, and so is each without another document.
    """
    order, chances, draws, shares = (generator.permutation(len(features)), *generator.random((3, len(features))))
    texts, pairs = [_Text.of(feature) for feature in features], []
    for index, (feature, text) in enumerate(zip(features, texts, strict=True)):
        cut, label, other, begin = (len(text.ids) + 1) // 2, IGNORED, None, 0
        if len(text.lines):
            line = int(draws[index] * len(text.lines))
            cut = int(text.lines[line])
            others = [texts[number] for number in np.roll(order, -index) if features[number].row != feature.row]
            other, begin = _longest_rest(others, int(text.rests[line]))
        second, second_units, third = text.ids[cut:], text.units[cut:], None
        if other is not None:
            label = IS_NEXT if chances[index] < 0.5 else IS_RANDOM
            third = len(other.ids) - begin
        left, right = pair_lengths(cut, len(second), third, size=size, share=float(shares[index]))
        if label == IS_RANDOM and other is not None:
            second, second_units = other.ids[begin:], other.units[begin:]
        template = feature.note.vocabulary.pair
        first = slice(cut - min(left, cut), cut)
        ids, segments = template.fill(text.ids[first], second[:right])
        units, begins = np.full(len(ids), SPECIAL, np.int8), len(template.before)
        for part in (text.units[first], second_units[:right]):
            units[begins : begins + len(part)] = part
            if len(part):
                units[begins] = STARTS
            begins += len(part) + len(template.between)
        note = replace(feature.note, units=units)
        pairs.append(replace(feature, input_ids=ids, token_type_ids=segments, note=note, label={NEXT: label}))
    return pairs


def _longest_rest(texts: Sequence[_Text], length: int) -> tuple[_Text | None, int]:
    """The first of some texts of which so many tokens follow a line's beginning, else the one of which most do, and
    that beginning.

    As of the text itself, it is not the first line of a piece, which may be the first of a document.
    """
    best, most, place = None, 0, 0
    for text in texts:
        rests = len(text.ids) - text.lines
        if len(fits := np.flatnonzero(rests >= length)):
            return text, int(text.lines[fits[-1]])
        if len(rests) and rests[0] > most:
            best, most, place = text, int(rests[0]), int(text.lines[0])
    return best, place


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
