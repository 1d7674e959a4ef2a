"""Converts character spans of entities, `[[0, 4, "PER"]]` or `[{"start_offset": 0, ...}]`, to word tags and back."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.formats.spans import ELSEWHERE, OUTSIDE, Span, items_in, read_spans
from finetune.data.values import as_text, is_missing
from finetune.metrics.entities import chunks
from finetune.task_types.tagging.segments import segmented

OVERLAPPING = "that overlap a longer one, or have another label too: left out (shape=overlapping-spans keeps them)"
TWICE = "given more than once: read once"
WIDENED = "that begin or end within a word: widened to the word"
SHARED = "in a word of another entity: left out, since a word has one tag"
CUT = "that begin in a word of another entity: shortened, since a word has one tag"
LEFT_OUT = (OUTSIDE, ELSEWHERE, OVERLAPPING, SHARED, CUT)


@dataclass(frozen=True, kw_only=True)
class UsableSpans:
    """The usable spans of a text, and how many were trimmed, widened or dropped."""

    spans: tuple[tuple[int, int, str], ...]
    changes: Counter[str]


def valid_spans(cell: Any, form: Sequence[str], text: str) -> UsableSpans:
    """The spans in a cell, each once; without those outside the text. They may overlap."""
    spans, changes = read_spans(cell, form, text)
    ordered = tuple(dict.fromkeys(sorted(spans, key=lambda span: (span[0], -span[1], span[2]))))
    return UsableSpans(spans=ordered, changes=+(changes + Counter({TWICE: len(spans) - len(ordered)})))


def spans_of(cell: Any, form: Sequence[str], text: str) -> UsableSpans:
    """The spans in a cell, without those that overlap a longer one; of several at one place the first."""
    spans, changes = read_spans(cell, form, text)
    free: list[Span] = []
    for span in sorted(dict.fromkeys(spans), key=lambda span: (span[0] - span[1], span[0])):
        if any(span[0] < end and start < span[1] for start, end, _ in free):
            changes[OVERLAPPING] += 1
        else:
            free.append(span)
    return UsableSpans(spans=tuple(sorted(free)), changes=changes)


def tags_for(
    words: Sequence[str], starts: Sequence[int], spans: Sequence[tuple[int, int, str]]
) -> tuple[tuple[str, ...], Counter[str]]:
    """IOB2 tags of words, and how many spans were widened to a word, or lost one to the span before them."""
    tags, changes = ["O"] * len(words), Counter[str]()
    ends = [start + len(word) for start, word in zip(starts, words, strict=True)]
    for start, end, label in spans:
        touched = [i for i in range(len(words)) if starts[i] < end and start < ends[i]]
        free = [i for i in touched if tags[i] == "O"]
        if len(free) < len(touched):
            changes[CUT if free else SHARED] += 1
        if not free:
            continue
        changes[WIDENED] += starts[free[0]] < start or ends[free[-1]] > end
        for i in free:
            tags[i] = f"{'B' if i == free[0] else 'I'}-{label}"
    return tuple(tags), +changes


def as_spans(tags: Sequence[str], words: Sequence[str], starts: Sequence[int]) -> list[tuple[int, int, str]]:
    """The entities in tags, as (first character, character after the last, type)."""
    return [(starts[a], starts[b - 1] + len(words[b - 1]), kind) for kind, a, b in chunks(tags)]


def changed_spans(texts: Sequence[Any], cells: Sequence[Any], form: Sequence[str]) -> dict[str, Sequence[int]]:
    """Changes made to the spans in cells, each with the indexes of its rows."""
    changes: defaultdict[str, list[int]] = defaultdict(list)
    for index, (text, cell) in enumerate(zip(texts, cells, strict=True)):
        if is_missing(text) or not items_in(cell):
            continue
        found = spans_of(cell, form, as_text(text))
        words, starts = segmented(as_text(text))
        for what in (*found.changes, *tags_for(words, starts, found.spans)[1]):
            changes[what].append(index)
    return dict(changes)
