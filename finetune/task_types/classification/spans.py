"""Two spans of a text in a user's data, in a column each or marked in the text: found, named, or asked about.

A cell is `{"word": "Ann", "start_idx": 0, "end_idx": 2}`, `[0, 3, "PER"]`, or a name that is once in the text.

Whether a last character belongs to its span is settled by the words in the cells, else by offsets that allow one
reading alone, else asked.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from finetune.data.formats.spans import ENDS, STARTS, is_place
from finetune.data.messages import short, so_many
from finetune.data.table import cell_at
from finetune.data.values import as_list, as_text, is_missing, parsed_literal
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.classification.marked import (
    BRACKETS,
    IN_TEXT,
    SUBJECT_OBJECT,
    EntitySpan,
    Opening,
    marker_fault,
    spans_fault,
    with_markers,
)
from finetune.task_types.columns import Layout, NoRow, unusable
from finetune.task_types.own_type import Evidence

Ends = Literal["", "inclusive", "exclusive"]
END_NAMES: Mapping[str, Ends] = {"": "", "inclusive": "inclusive", "exclusive": "exclusive"}
NONE = "none"  # the setting `spans` for texts without
PAIRS = (
    ("subject_entity", "object_entity"),
    ("subject", "object"),
    ("subj", "obj"),
    ("head", "tail"),
    ("e1", "e2"),
    ("entity1", "entity2"),
    ("entity_1", "entity_2"),
    ("ent1", "ent2"),
    ("arg1", "arg2"),
)
# Names as in the table of spans, and KLUE's, whose ends are the last character.
START, END = ("start_idx", *STARTS), ("end_idx", "stop", *ENDS)
WORD = ("word", "text", "name", "mention", "surface", "entity")
TYPE = ("type", "entity_type", "label", "ner", "tag")
TEXTS = ("text", "category")  # kinds of columns that can be texts
NEARLY_ALL = 0.95  # share of the rows
ROWS_LOOKED_AT, CELLS_SEEN = 1_000, 20_000
OPENING = re.compile(r"([<\[])(\w+)(?::[^<>\[\]]+)?([>\]])")  # an opening marker, without its type

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
SPAN_ISSUES = (NO_SPAN, SPAN_OUTSIDE, SPAN_WORD, SPAN_SEVERAL, SPANS_OVERLAP)


class GivenSpan(NamedTuple):
    """A span as a cell has it: both offsets (else -1), a word (else empty), or all of them."""

    start: int
    end: int
    word: str
    type: str


def given_span(cell: Any) -> GivenSpan | None:
    """The span in a cell; None where it is not one."""
    if isinstance(cell, str) and cell.lstrip().startswith(("{", "[")):
        parsed = parsed_literal(cell) if cell.lstrip().startswith("{") else as_list(cell)
        cell = cell if parsed is None else parsed
    if isinstance(cell, list | tuple) and len(cell) == 1 and isinstance(cell[0], dict | list | tuple):
        (cell,) = cell
    if isinstance(cell, list | tuple):
        cell = dict(zip(("start", "end", "type"), cell, strict=False)) if len(cell) in (2, 3) else {}
    fields = cell if isinstance(cell, dict) else {"word": cell}
    start, end, word, kind = (
        next((fields[name] for name in names if not is_missing(fields.get(name))), "")
        for names in (START, END, WORD, TYPE)
    )
    places: list[Any] = [int(at) if isinstance(at, str) and at.isdecimal() else at for at in (start, end)]
    if not all(map(is_place, places)):
        places = [-1, -1]
    spelled = word != "" or places[0] >= 0
    return GivenSpan(places[0], places[1], as_text(word), as_text(kind).strip()) if spelled else None


def marked_text(layout: Layout, values: Mapping[str, Any], text: str) -> str:
    """A record's text with both spans marked: as its columns say, or as it is where it has none of them.

    Raises NoRow for a span that is missing or not in the text, and for spans that cross.
    """
    cells = {name: cell_at(values, name) for name in layout.marked}
    in_columns = any(cell is not None for cell in cells.values())
    if in_columns:
        spans = [_placed_span(name, cell, text, layout.span_ends) for name, cell in cells.items()]
        if fault := spans_fault(spans):
            raise NoRow(fault, SPANS_OVERLAP)
        text = with_markers(text, spans, layout.markers)
    if fault := marker_fault(text, layout.markers):
        lacks = f", and no column {' or '.join(map(repr, cells))}" if cells and not in_columns else ""
        raise NoRow(fault + lacks, NO_SPAN)
    return text


def _placed_span(name: str, cell: Any, text: str, ends: Ends) -> EntitySpan:
    """Where a span is in a text. Raises NoRow where it is not there, or the word there is another."""
    span = given_span(cell)
    if span is None:
        raise NoRow(f"has {short(cell)} in the column '{name}'; expected a span", NO_SPAN)
    if BRACKETS.search(span.type):
        raise NoRow(f"has a span of the type {short(span.type)}, with a blank or a bracket", NO_SPAN)
    if span.start < 0:
        if (times := text.count(span.word)) != 1:
            where = "which is not in the text" if not times else f"which is {times} times in the text"
            raise NoRow(f"has the name {short(span.word)}, {where}", SPAN_SEVERAL)
        start = text.index(span.word)
        return EntitySpan(start=start, end=start + len(span.word), type=span.type)
    start, end = span.start, span.end + (ends == "inclusive")
    if not start < end <= len(text):
        what = f"has a span from {start} to {span.end}"
        raise NoRow(f"{what}, and the text has {so_many(len(text), 'character')}", SPAN_OUTSIDE)
    if span.word and text[start:end] != span.word:
        at = f"{short(text[start:end])} at {start} to {span.end}"
        raise NoRow(f"has {at}, and the word is {short(span.word)}", SPAN_WORD)
    if not text[start:end].strip():
        raise NoRow(f"has only blanks in the span from {start} to {span.end}", SPAN_OUTSIDE)
    return EntitySpan(start=start, end=end, type=span.type)


def ends_of(evidence: Evidence, text: str) -> Ends:
    """Whether the last character belongs to a span, of columns with offsets; empty where none has any.

    Raises Ambiguous where both readings are possible.
    """
    votes, example = Counter[Ends](), None
    for name in evidence.marked:
        for cell, marked in evidence.rows((text, name), CELLS_SEEN):
            span = given_span(marked)
            if span is None or span.start < 0:
                continue
            row, start = as_text(cell), span.start
            readings: dict[Ends, int] = {"exclusive": span.end, "inclusive": span.end + 1}
            fit: list[Ends] = [
                ends
                for ends, last in readings.items()
                if (row[start:last] == span.word if span.word else start < last <= len(row))
            ]
            if len(fit) == 1:
                votes.update(fit)
            elif not span.word:
                example = example or (row, start, span.end)
    if votes["inclusive"] != votes["exclusive"]:
        return "inclusive" if votes["inclusive"] > votes["exclusive"] else "exclusive"
    if example is None:
        return "exclusive" if votes else ""
    row, start, end = example
    first, second = evidence.marked
    raise Ambiguous(
        f"{evidence.file}: a span from {start} to {end} in the column '{first}' or '{second}' can end in two places",
        [
            ("span_ends=exclusive", f"it is {short(row[start:end])}"),
            ("span_ends=inclusive", f"it is {short(row[start : end + 1])}"),
        ],
    )


def named_spans(text: str, table_columns: Mapping[str, Any], file: str) -> tuple[str, ...]:
    """The columns or markers in `spans=a,b`. Raises UserError for a column that does not exist."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    missing = [name for name in names if name not in table_columns]
    if names == (NONE,) or (missing == [*names] and all(map(IN_TEXT.fullmatch, names))):
        return names
    if missing:
        raise UserError(
            f"{file}: has no column '{missing[0]}' (spans={text})",
            f"Its columns are {', '.join(list(table_columns)[:20])}; markers in the text are spans='<e1>,<e2>'",
        )
    return names


def with_spans(evidence: Evidence, named: Sequence[str], ends: str) -> Evidence:
    """The evidence with the columns of two spans, which are then neither a text nor a label, or with markers.

    `named` and `ends` are the settings. Raises UserError for settings that name no spans, and (as Ambiguous) where
    names could be spans of a text.
    """
    if ends not in END_NAMES:
        raise UserError(f"span_ends is '{ends}'", "It is inclusive or exclusive: whether the last character belongs")
    if tuple(named) == (NONE,):
        return evidence
    if named and len(named) != 2:
        raise UserError(f"spans={','.join(named)}", "Name two columns, or two markers in the text: spans='<e1>,<e2>'")
    marked = tuple(named) or _span_columns(evidence)
    markers = SUBJECT_OBJECT
    if marked and all(name not in evidence.table.columns for name in marked):
        marked, markers = (), marked
    elif not marked and not (markers := _markers(evidence)):
        return evidence
    taken = {name for name in evidence.facts for column in marked if name == column or name.startswith(f"{column}.")}
    facts = {name: fact for name, fact in evidence.facts.items() if name not in taken}
    return replace(
        evidence, facts=facts, marked=marked, markers=markers, span_ends=END_NAMES[ends], spans_given=bool(named)
    )


def _span_columns(evidence: Evidence) -> tuple[str, ...]:
    """Two columns of spans with offsets and usual names; none where there are no such.

    Raises Ambiguous where they have names that are both in each row's text.
    """
    plain = {name.lower(): name for name in evidence.table.columns}
    for pair in PAIRS:
        if not set(pair) <= set(plain):
            continue
        names = first, second = plain[pair[0]], plain[pair[1]]
        spans = [[given_span(cell) for cell in evidence.columns[name][:ROWS_LOOKED_AT]] for name in names]
        if all(_mostly([span is not None and span.start >= 0 for span in some]) for some in spans):
            return names
        for text in _texts_in(evidence):
            if text.startswith((f"{first}.", f"{second}.")) or text in names:
                continue
            cells = [as_text(cell) for cell in evidence.columns[text][:ROWS_LOOKED_AT]]
            rows = (list(zip(column, cells, strict=True)) for column in spans)
            inside = [[span is not None and "" != span.word != cell and span.word in cell for span, cell in column]
                      for column in rows]  # fmt: skip
            if all(map(_mostly, inside)):
                raise Ambiguous(
                    f"{evidence.file}: the columns '{first}' and '{second}' name two places of the column '{text}'",
                    [
                        (f"spans={first},{second}", "both are marked in the text"),
                        (f"spans={NONE}", "the text is read without them"),
                    ],
                )
    return ()


def _texts_in(evidence: Evidence) -> list[str]:
    return [name for name, fact in evidence.facts.items() if fact.kind in TEXTS and name in evidence.columns]


def _markers(evidence: Evidence) -> Opening:
    """Two markers of usual names that nearly all cells of a text have, in the order of their names; none else."""
    for name in _texts_in(evidence):
        cells = list(map(as_text, evidence.filled(name, ROWS_LOOKED_AT)))
        first = ("".join(parts) for parts in OPENING.findall(cells[0])) if cells else ()
        by_name = {marker[1:-1].lower(): marker for marker in reversed(list(first))}
        for first_name, second_name in PAIRS:
            if {first_name, second_name} <= {*by_name}:
                opening = by_name[first_name], by_name[second_name]
                if _mostly([not marker_fault(cell, opening) for cell in cells]):
                    return opening
    return ()


def _mostly(holds: Sequence[bool]) -> bool:
    return bool(holds) and sum(holds) >= NEARLY_ALL * len(holds)
