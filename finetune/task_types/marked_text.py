"""Texts with marked parts, as plain data that the template escapes: entities, answers in a context, choices."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from finetune.metrics.entities import Chunk

TEXT_CHARS = 400  # most characters of a text that are shown
AROUND = 160  # characters of context shown on either side of an answer
WORDS = 60  # most words of a sentence or document that are shown
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A piece of text. `mark` is `right`, `wrong`, `missed`, `gold`, `prediction`, `changed` or empty.

    `label` follows it.
    """

    text: str
    mark: str = ""
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class TextPart:
    """One of a row's texts with its name: `text`, `context`, `choice 2`."""

    name: str
    segments: Sequence[Segment]


def unmarked(name: str, text: str) -> TextPart:
    """A text without marks."""
    return TextPart(name=name, segments=[Segment(text=cut(text))])


def clean(text: str) -> str:
    """A text without control characters and characters that change the direction of the following text."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def cut(text: str, longest: int = TEXT_CHARS) -> str:
    """The beginning of a cleaned text, and how much is left out."""
    text = clean(text)
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest:,} characters more)"


def entities(
    name: str,
    text: str,
    places: Sequence[tuple[int, int]],
    found: Iterable[Chunk],
    right: Iterable[Chunk],
    *,
    otherwise: str,
    around: int,
) -> TextPart:
    """A text whose words are at `places`, with entities marked: `right` if they are among `right`, else `otherwise`.

    For a long row only the words around one of its words are shown.
    """
    agreed = set(right)
    start = max(0, min(around - WORDS // 2, len(places) - WORDS))
    end = min(len(places), start + WORDS)
    edges = [*(first for first, _ in places), len(text)]
    segments = [Segment(text="… ")] * (start > 0)
    place = start
    for kind, first, last in found:
        if first < place or first >= end:
            continue
        segments.append(Segment(text=cut(text[edges[place] : edges[first]], 4 * TEXT_CHARS)))
        mark = "right" if (kind, first, last) in agreed else otherwise
        after = places[last - 1][1]
        segments += [
            Segment(text=cut(text[edges[first] : after]), mark=mark, label=kind),
            Segment(text=text[after : edges[last]]),
        ]
        place = last
    segments.append(Segment(text=cut(text[edges[place] : edges[end]], 4 * TEXT_CHARS) + "…" * (end < len(places))))
    return TextPart(name=name, segments=[segment for segment in segments if segment.text])


def spans(name: str, text: str, marks: Sequence[tuple[int, int, str]]) -> TextPart:
    """A text with marks (start, end, mark); parts marked both `gold` and `prediction` become `right`.

    Text far from any mark is left out.
    """
    if not marks:
        return unmarked(name, text)
    first = max(0, min(start for start, _, _ in marks) - AROUND)
    last = min(len(text), max(end for _, end, _ in marks) + AROUND)
    edges = sorted({first, last, *(edge for start, end, _ in marks for edge in (start, end))})
    segments = [Segment(text="… ")] * (first > 0)
    for start, end in pairwise(edges):
        kinds = {mark for a, b, mark in marks if a <= start and end <= b}
        mark = "right" if len(kinds) > 1 else next(iter(kinds), "")
        segments.append(Segment(text=without_middle(text[start:end]), mark=mark))
    return TextPart(name=name, segments=[*segments, *([Segment(text=" …")] * (last < len(text)))])


def without_middle(text: str) -> str:
    """The text between two marks, with the middle left out if long."""
    return cut(text) if len(text) <= 2 * AROUND else f"{cut(text[:AROUND])} … {cut(text[-AROUND:])}"
