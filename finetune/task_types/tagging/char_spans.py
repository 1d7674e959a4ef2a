"""Converts character spans of entities, `[[0, 4, "PER"]]` or `[{"start_offset": 0, ...}]`, to word tags and back."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from finetune.data.span_form import LISTS, form_in, items_in
from finetune.data.values import as_text, is_missing
from finetune.metrics.entities import chunks
from finetune.task_types.tagging.segments import segmented

TEXT = "text"
OUTSIDE = "outside the text, empty or without a label: left out"
TRIMMED = "with outer blanks: trimmed"
OVERLAPPING = "that overlap a longer one: left out (shape=overlapping-spans keeps them)"
TWICE = "given more than once: read once"
WIDENED = "that begin or end within a word: widened to the word"
SHARED = "in a word of another entity: left out, since a word has one tag"
CUT = "that begin in a word of another entity: shortened, since a word has one tag"
LEFT_OUT = (OUTSIDE, OVERLAPPING, SHARED, CUT)


@dataclass(frozen=True, kw_only=True)
class UsableSpans:
    """The usable spans of a text, and how many were trimmed, widened or dropped."""

    spans: tuple[tuple[int, int, str], ...]
    changes: Counter[str]


def valid_spans(cell: Any, form: Sequence[str], text: str) -> UsableSpans:
    """The spans in a cell, trimmed, each once; without those outside the text. They may overlap."""
    changes: Counter[str] = Counter()
    found = []
    for item in items_in(cell) or ():
        start, end, label = _triple(item, form)
        if not 0 <= start < end <= len(text) or not text[start:end].strip() or not label:
            changes[OUTSIDE] += 1
            continue
        part = text[start:end]
        trimmed = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
        changes[TRIMMED] += trimmed != (start, end)
        found.append((*trimmed, label))
    spans = dict.fromkeys(sorted(found, key=lambda one: (one[0], -one[1], one[2])))
    changes[TWICE] += len(found) - len(spans)
    return UsableSpans(spans=tuple(spans), changes=+changes)


def spans_of(cell: Any, form: Sequence[str], text: str) -> UsableSpans:
    """The spans in a cell, trimmed; without those outside the text, and those that overlap a longer one."""
    valid = valid_spans(cell, form, text)
    changes = Counter({what: count for what, count in valid.changes.items() if what != TWICE})
    kept: list[tuple[int, int, str]] = []
    for span in sorted(valid.spans, key=lambda one: (one[0] - one[1], one)):
        if any(span[0] < end and start < span[1] for start, end, _ in kept):
            changes[OVERLAPPING] += 1
        else:
            kept.append(span)
    return UsableSpans(spans=tuple(sorted(kept)), changes=+changes)


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


def in_form(spans: Sequence[tuple[int, int, str]], form: Sequence[str], text: str, key: str = TEXT) -> list[Any]:
    """Spans in the notation of the training file, where their own text has this key."""
    if tuple(form) == LISTS:
        return [list(span) for span in spans]
    start, end, label = form
    return [{start: a, end: b, key: text[a:b], label: [kind] if label == "labels" else kind} for a, b, kind in spans]


def text_key(texts: Sequence[Any], cells: Sequence[Any], form: Sequence[str]) -> str:
    """The key under which most spans have their own text: `term` of an aspect term; `text` where none has it."""
    found = Counter[str]()
    for text, cell in zip(texts, cells, strict=True):
        for item in (items_in(cell) or ()) if isinstance(text, str) else ():
            start, end, _ = _triple(item, form)
            fields = item.items() if isinstance(item, dict) and start >= 0 else ()
            found.update(name for name, value in fields if name not in form and value == text[start:end])
    return found.most_common(1)[0][0] if found else TEXT


def types_in(cell: Any, form: Sequence[str]) -> list[str]:
    """The labels of the spans in a cell."""
    return [label for item in items_in(cell) or () if (label := _triple(item, form)[2])]


def _triple(item: Any, form: Sequence[str]) -> tuple[int, int, str]:
    """(start, end, label) of an item; a start of -1 where it is not a span."""
    own = form_in(item, form)
    if own is None:
        return -1, -1, ""
    if own == LISTS:
        return item[0], item[1], item[2]
    label = item[own[2]]
    label = label[0] if isinstance(label, list) and label else label
    return item[own[0]], item[own[1]], as_text(label) if isinstance(label, str | int) else ""


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
