"""Spans of a text in a user's columns: `{"word": "Ann", "start_idx": 0, "end_idx": 2}`, `[0, 3, "PER"]`, or a name.

Whether a last character belongs to its span is settled by the words that are given, else by offsets that allow one
reading alone, else asked.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from finetune.data.formats.spans import ENDS, STARTS, is_place
from finetune.data.messages import short, so_many
from finetune.data.nested_fields import cell_at
from finetune.data.values import as_list, as_text, is_missing, parsed_literal
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.columns import Layout
from finetune.task_types.row_issues import NoRow, unusable
from finetune.task_types.text_inputs.markers import (
    BRACKETS,
    EntitySpan,
    marker_fault,
    spans_fault,
    with_markers,
)

Ends = Literal["", "inclusive", "exclusive"]
# Names of the table of spans, and those of KLUE, whose ends are the last character.
START, END = ("start_idx", *STARTS), ("end_idx", "stop", *ENDS)
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


class GivenSpan(NamedTuple):
    """A span as a cell has it: both offsets, a word, or all of them."""

    start: int | None
    end: int | None
    word: str | None = None
    type: str = ""

    @property
    def placed(self) -> bool:
        """Whether it has offsets."""
        return self.start is not None


def given_span(cell: Any) -> GivenSpan | None:
    """The span in a cell; None where it is not one."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("{", "["):
        parsed = parsed_literal(cell) if cell.lstrip().startswith("{") else as_list(cell)
        cell = cell if parsed is None else parsed
    if isinstance(cell, list | tuple) and len(cell) == 1 and isinstance(cell[0], dict | list | tuple):
        (cell,) = cell
    if isinstance(cell, list | tuple):
        placed = len(cell) in (2, 3) and all(map(is_place, cell[:2]))
        return GivenSpan(cell[0], cell[1], type="".join(map(as_text, cell[2:]))) if placed else None
    if not isinstance(cell, dict):
        return None if is_missing(cell) else GivenSpan(None, None, as_text(cell))
    start, end = (
        int(place) if isinstance(place, str) and place.isdecimal() else place
        for place in (next((cell[name] for name in names if name in cell), None) for names in (START, END))
    )
    word, kind = (
        next((as_text(cell[name]) for name in names if not is_missing(cell.get(name))), None) for names in (WORD, TYPE)
    )
    if not (is_place(start) and is_place(end)):
        return None if word is None else GivenSpan(None, None, word, (kind or "").strip())
    return GivenSpan(start, end, word, (kind or "").strip())


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


def ends_of(columns: Mapping[str, Sequence[Any]], marked: Sequence[str], text: str, file: str) -> Ends:
    """Whether the last character belongs to a span, of columns with offsets; empty where none has any.

    Raises Ambiguous where both readings are possible.
    """
    votes, example = Counter[Ends](), None
    for name in marked:
        for cell, given in islice(zip(columns[text], map(given_span, columns[name]), strict=True), CELLS_SEEN):
            if given is None or given.start is None or given.end is None or is_missing(cell):
                continue
            row = as_text(cell)
            readings: dict[Ends, int] = {"exclusive": given.end, "inclusive": given.end + 1}
            fit: list[Ends] = [
                ends
                for ends, last in readings.items()
                if (given.start < last <= len(row) if given.word is None else row[given.start : last] == given.word)
            ]
            if len(fit) == 1:
                votes.update(fit)
            elif given.word is None:
                example = example or (row, given.start, given.end)
    if votes["inclusive"] != votes["exclusive"]:
        return "inclusive" if votes["inclusive"] > votes["exclusive"] else "exclusive"
    if example is None:
        return "exclusive" if votes else ""
    row, start, end = example
    raise Ambiguous(
        f"{file}: a span from {start} to {end} in the column '{marked[0]}' or '{marked[1]}' can end in two places",
        [
            ("span_ends=exclusive", f"it is {short(row[start:end])}"),
            ("span_ends=inclusive", f"it is {short(row[start : end + 1])}"),
        ],
    )
