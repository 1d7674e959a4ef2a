"""Texts with marked parts, as plain data that a template escapes: entities, answers in a context, choices."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

TEXT_CHARS = 400  # most characters of a text that are shown
AROUND = 160  # characters shown at either end of what is between two marks
MOST_MARKS = 40  # of a text
MOST_TEXTS = 11  # of a row, besides marked ones
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


class TextMark(NamedTuple):
    """Characters of one of a row's texts: `kind` is `right`, `wrong`, `missed`, `gold` or `prediction`."""

    text: str
    start: int
    end: int
    kind: str
    label: str = ""


def clean(text: str) -> str:
    """A text without control characters and characters that change the direction of the following text."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def cut(text: str, longest: int = TEXT_CHARS) -> str:
    """The beginning of a cleaned text, and how much is left out."""
    text = clean(text)
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest:,} characters more)"


def marked_texts(texts: Mapping[str, str], marks: Sequence[TextMark]) -> list[list[Any]]:
    """Each text as a page has it: its name, then pieces, of which marked ones are lists of text, kind and label.

    Of many texts those with marks and the first ones.
    """
    marked = {name: [mark for mark in marks if mark.text == name] for name in texts}
    return [
        [name, *_pieces(text, marked[name])]
        for number, (name, text) in enumerate(texts.items())
        if number < MOST_TEXTS or marked[name]
    ]


def _pieces(text: str, marks: Sequence[TextMark]) -> Iterator[Any]:
    """Of many marks those around the first that is not right; what both label and prediction mark is right."""
    if not marks:
        yield cut(text)
        return
    ordered = sorted(marks, key=lambda mark: mark.start)
    first = next((number for number, mark in enumerate(ordered) if mark.kind != "right"), 0)
    shown = ordered[max(0, first - MOST_MARKS // 2) :][:MOST_MARKS]
    edges = sorted({0, len(text), *(edge for mark in shown for edge in (mark.start, mark.end))})
    for start, end in pairwise(edges):
        over = [mark for mark in shown if mark.start <= start and end <= mark.end]
        if not over:
            between = text[start:end]
            long = len(between) > 2 * AROUND
            yield f"{clean(between[:AROUND])} … {clean(between[-AROUND:])}" if long else clean(between)
            continue
        kinds = {mark.kind for mark in over}
        kind = "right" if {"gold", "prediction"} <= kinds else min(kinds - {"right"}, default="right")
        labels = (mark.label for mark in reversed(over) if mark.end == end and mark.label)
        yield [cut(text[start:end]), kind, ", ".join(labels)]
