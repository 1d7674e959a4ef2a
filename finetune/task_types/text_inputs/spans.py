"""Spans of a text in a user's columns: `{"word": "Ann", "start_idx": 0, "end_idx": 2}`, `[0, 3, "PER"]`, or a name.

Whether a last character belongs to its span is settled by the words that are given, else by offsets that allow one
reading alone, else asked.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from finetune.data.formats.spans import is_place
from finetune.data.messages import short, so_many
from finetune.data.nested_fields import cell_at
from finetune.data.values import as_list, as_text, is_missing, parsed_literal
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.columns import Layout
from finetune.task_types.row_issues import NoRow, unusable
from finetune.task_types.text_inputs.markers import (
    BRACKETS,
    EntitySpan,
    closing,
    marker_fault,
    markers_in,
    plain,
    spans_fault,
    with_markers,
    without_markers,
)

Ends = Literal["", "inclusive", "exclusive"]
START = ("start_idx", "start", "begin", "from", "start_offset", "startOffset", "start_char")
END = ("end_idx", "end", "stop", "to", "end_offset", "endOffset", "end_char")
WORD = ("word", "text", "name", "mention", "surface", "entity")
TYPE = ("type", "entity_type", "label", "ner", "tag")
CELLS_SEEN = 20_000

NO_SPAN = unusable(
    "no-span", "one of the two spans is not given or not marked", "Give both, as columns or as markers in the text"
)
SPAN_OUTSIDE = unusable("span-outside", "a span is not within the text", "Correct its offsets, which count characters")
SPAN_WORD = unusable(
    "span-word", "the word of a span is not what its offsets say", "Correct the offsets or the word, or set span_ends="
)
SPAN_SEVERAL = unusable(
    "span-several", "the name of a span is not once in the text", "Give its offsets: [start, end] in characters"
)
SPANS_OVERLAP = unusable("spans-overlap", "the two spans are the same, or cross", "Correct their offsets")
ISSUES = (NO_SPAN, SPAN_OUTSIDE, SPAN_WORD, SPAN_SEVERAL, SPANS_OVERLAP)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSpan:
    """A span as a cell has it: offsets, a word, or both."""

    start: int | None = None
    end: int | None = None
    word: str | None = None
    type: str = ""

    @property
    def placed(self) -> bool:
        """Whether it has offsets."""
        return self.start is not None and self.end is not None


def given_span(cell: Any) -> GivenSpan | None:
    """The span in a cell; None where it is not one."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("{", "["):
        found = parsed_literal(cell) if cell.lstrip().startswith("{") else as_list(cell)
        cell = cell if found is None else found
    if isinstance(cell, list | tuple) and len(cell) == 1 and isinstance(cell[0], dict | list | tuple):
        (cell,) = cell
    if isinstance(cell, dict):
        return _of_object(cell)
    if isinstance(cell, list | tuple):
        placed = len(cell) in (2, 3) and is_place(cell[0]) and is_place(cell[1])
        kind = as_text(cell[2]) if placed and len(cell) == 3 else ""
        return GivenSpan(start=cell[0], end=cell[1], type=kind) if placed else None
    return None if is_missing(cell) else GivenSpan(word=as_text(cell))


def _of_object(cell: Mapping[str, Any]) -> GivenSpan | None:
    start, end = _number(cell, START), _number(cell, END)
    word = next((as_text(cell[key]) for key in WORD if not is_missing(cell.get(key))), None)
    if (start is None or end is None) and word is None:
        return None
    kind = next((as_text(cell[key]).strip() for key in TYPE if not is_missing(cell.get(key))), "")
    return GivenSpan(start=start, end=end, word=word, type=kind)


def _number(cell: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    found = next((cell[key] for key in keys if key in cell), None)
    found = int(found) if isinstance(found, str) and found.isdecimal() else found
    return found if is_place(found) else None


def placed_span(given: GivenSpan, text: str, ends: Ends) -> EntitySpan:
    """Where a span is in a text. Raises NoRow where it is not there, or the word there is another."""
    if BRACKETS.search(given.type):
        raise NoRow(f"has a span of the type {short(given.type)}, with a blank or a bracket", NO_SPAN)
    if given.start is None or given.end is None:
        assert given.word is not None  # a span has either
        times = text.count(given.word)
        if times != 1:
            where = "which is not in the text" if not times else f"which is {times} times in the text"
            raise NoRow(f"has the name {short(given.word)}, {where}", SPAN_SEVERAL)
        start = text.index(given.word)
        return EntitySpan(start=start, end=start + len(given.word), type=given.type)
    start, end = given.start, given.end + (ends == "inclusive")
    if not start < end <= len(text):
        what = f"has a span from {start} to {given.end}"
        raise NoRow(f"{what}, and the text has {so_many(len(text), 'character')}", SPAN_OUTSIDE)
    if given.word is not None and text[start:end] != given.word:
        at = f"{short(text[start:end])} at {start} to {given.end}"
        raise NoRow(f"has {at}, and the word is {short(given.word)}", SPAN_WORD)
    if not text[start:end].strip():
        raise NoRow(f"has only blanks in the span from {start} to {given.end}", SPAN_OUTSIDE)
    return EntitySpan(start=start, end=end, type=given.type)


def marked_text(layout: Layout, values: Mapping[str, Any], text: str) -> str:
    """A record's text with both spans marked: as its columns say, or as it is where it has none of them.

    Raises NoRow for a span that is missing or not in the text, and for spans that cross.
    """
    there = [name for name in layout.marked if cell_at(values, name) is not None]
    if there:
        text = with_markers(text, _spans(layout, values, text), layout.markers)
    if fault := marker_fault(text, layout.markers):
        lacks = f", and no column {' or '.join(repr(name) for name in layout.marked)}" if layout.marked else ""
        raise NoRow(fault + ("" if there else lacks), NO_SPAN)
    return text


def _spans(layout: Layout, values: Mapping[str, Any], text: str) -> list[EntitySpan]:
    spans = []
    for name in layout.marked:
        given = given_span(cell_at(values, name))
        if given is None:
            raise NoRow(f"has {short(cell_at(values, name))} in the column '{name}'; expected a span", NO_SPAN)
        spans.append(placed_span(given, text, layout.span_ends))
    if fault := spans_fault(spans):
        raise NoRow(fault, SPANS_OVERLAP)
    return spans


def moved_spans(layout: Layout, values: Mapping[str, Any], clean: Callable[[str], str]) -> dict[str, Any]:
    """The cells of spans with their offsets in the cleaned text; none where they cannot be located."""
    text = values.get(layout.text[0])
    if not isinstance(text, str) or clean(text) == text:
        return {}
    try:
        marked = clean(with_markers(text, _spans(layout, values, text), layout.markers))
    except NoRow:
        return {}
    found = {}
    for name, marker in zip(layout.marked, layout.markers, strict=True):
        before, after = marked.split(_as_there(marked, marker))[0], marked.split(_as_there(marked, closing(marker)))[0]
        start, end = (len(without_markers(part, layout.markers)) for part in (before, after))
        found[name] = _rewritten(values[name], start, end - (layout.span_ends == "inclusive"), clean)
    return found


def _as_there(text: str, marker: str) -> str:
    """A marker as a text has it, perhaps with a type."""
    return next(one for one in markers_in(text, (marker,)) if plain(one) == marker)


def _rewritten(cell: Any, start: int, end: int, clean: Callable[[str], str]) -> Any:
    """A cell with other offsets, in its own form."""
    held = parsed_literal(cell) if isinstance(cell, str) and cell.lstrip()[:1] in ("{", "[") else cell
    if isinstance(held, dict):
        keys = {next((key for key in names if key in held), ""): value for names, value in ((START, start), (END, end))}
        held = {key: keys.get(key, clean(value) if isinstance(value, str) else value) for key, value in held.items()}
    elif isinstance(held, list) and len(held) > 1:
        held = [start, end, *held[2:]]
    else:
        return clean(cell) if isinstance(cell, str) else cell
    return json.dumps(held, ensure_ascii=False) if isinstance(cell, str) else held


def ends_of(columns: Mapping[str, Sequence[Any]], marked: Sequence[str], text: str, file: str) -> Ends:
    """Whether the last character belongs to a span, of columns with offsets; empty where none has any.

    Raises Ambiguous where both readings are possible.
    """
    votes: Counter[str] = Counter()
    example: tuple[str, GivenSpan] | None = None
    for row, given in _placed(columns, marked, text):
        start, end = given.start or 0, given.end or 0
        readings: dict[Ends, int] = {"exclusive": end, "inclusive": end + 1}
        if given.word is not None:
            votes.update(name for name, last in readings.items() if row[start:last] == given.word)
        elif start == end or end == len(row):  # a span of one character, or one that ends with the text
            votes["inclusive" if start == end else "exclusive"] += 1
        else:
            example = example or (row, given)
    if votes["inclusive"] != votes["exclusive"]:
        return "inclusive" if votes["inclusive"] > votes["exclusive"] else "exclusive"
    if example is None:
        return "exclusive" if votes else ""
    row, given = example
    start, end = given.start or 0, given.end or 0
    raise Ambiguous(
        f"{file}: a span from {start} to {end} in the column '{marked[0]}' or '{marked[1]}' can end in two places",
        [
            ("span_ends=exclusive", f"it is {short(row[start:end])}"),
            ("span_ends=inclusive", f"it is {short(row[start : end + 1])}"),
        ],
    )


def _placed(columns: Mapping[str, Sequence[Any]], marked: Sequence[str], text: str) -> Iterator[tuple[str, GivenSpan]]:
    """The texts with the spans of theirs that have offsets."""
    for name in marked:
        for row, cell in islice(zip(columns[text], columns[name], strict=True), CELLS_SEEN):
            given = given_span(cell)
            if given is not None and given.placed and not is_missing(row):
                yield as_text(row), given
