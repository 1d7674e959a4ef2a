"""Which columns hold the two spans of a text, or with which markers texts are marked: found, given, or asked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from finetune.data.values import as_text, is_missing
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.data_type import Evidence
from finetune.task_types.text_inputs.markers import IN_TEXT, SUBJECT_OBJECT, Opening, marker_fault
from finetune.task_types.text_inputs.spans import Ends, GivenSpan, given_span

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
ENDS: Mapping[str, Ends] = {"": "", "inclusive": "inclusive", "exclusive": "exclusive"}
TEXTS = ("text", "category")  # kinds of columns that can be texts
NEARLY_ALL = 0.95  # share of the rows
ROWS_LOOKED_AT = 1_000
OPENING = re.compile(r"([<\[])(\w+)(?::[^<>\[\]]+)?([>\]])")  # an opening marker, but for its type
NAMES = {name: pair for pair in PAIRS for name in pair}


def with_spans(evidence: Evidence, given: Sequence[str], ends: str) -> Evidence:
    """The evidence with the columns of two spans, which are then neither a text nor a label, or with markers.

    `given` and `ends` are the settings. Raises UserError for settings that name no spans, and (as Ambiguous) where
    names could be spans of a text.
    """
    if ends not in ENDS:
        raise UserError(f"span_ends is '{ends}'", "It is inclusive or exclusive: whether the last character belongs")
    if tuple(given) == (NONE,):
        return evidence
    if given and len(given) != 2:
        raise UserError(f"spans={','.join(given)}", "Name two columns, or two markers in the text: spans='<e1>,<e2>'")
    marked = tuple(given) or _columns(evidence)
    markers = SUBJECT_OBJECT
    if marked and all(name not in evidence.table.columns for name in marked):
        marked, markers = (), marked
    elif not marked and not (markers := _markers(evidence)):
        return evidence
    own = {name for name in evidence.facts for one in marked if name == one or name.startswith(f"{one}.")}
    facts = {name: fact for name, fact in evidence.facts.items() if name not in own}
    return replace(evidence, facts=facts, marked=marked, markers=markers, span_ends=ENDS[ends], spans_given=bool(given))


def named_spans(text: str, table_columns: Mapping[str, Any], file: str) -> tuple[str, ...]:
    """The columns or markers in `spans=a,b`. Raises UserError for a column that does not exist."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if names == (NONE,) or (names and all(name not in table_columns and IN_TEXT.fullmatch(name) for name in names)):
        return names
    if missing := [name for name in names if name not in table_columns]:
        raise UserError(
            f"{file}: has no column '{missing[0]}' (spans={text})",
            f"Its columns are {', '.join(list(table_columns)[:20])}; markers in the text are spans='<e1>,<e2>'",
        )
    return names


def _columns(evidence: Evidence) -> tuple[str, ...]:
    """Two columns of spans with offsets and usual names; none where there are no such. Raises Ambiguous for names."""
    plain = {name.lower(): name for name in evidence.table.columns}
    for pair in PAIRS:
        if not set(pair) <= set(plain):
            continue
        names = tuple(plain[name] for name in pair)
        spans = [[given_span(cell) for cell in evidence.columns[name][:ROWS_LOOKED_AT]] for name in names]
        if all(_mostly([one is not None and one.placed for one in some]) for some in spans):
            return names
        _ask_about_names(evidence, names, spans)
    return ()


def _ask_about_names(evidence: Evidence, names: Sequence[str], spans: Sequence[Sequence[GivenSpan | None]]) -> None:
    """Raises Ambiguous where each row's names are both in one of its texts."""
    for text, fact in evidence.facts.items():
        if fact.kind not in TEXTS or text in names or any(text.startswith(f"{name}.") for name in names):
            continue
        cells = [as_text(cell) for cell in evidence.columns[text][:ROWS_LOOKED_AT]]
        if all(_mostly([_is_in(one, cell) for one, cell in zip(some, cells, strict=True)]) for some in spans):
            one, two = names
            raise Ambiguous(
                f"{evidence.file}: the columns '{one}' and '{two}' name two places of the column '{text}'",
                [
                    (f"spans={one},{two}", "both are marked in the text"),
                    (f"spans={NONE}", "the text is read without them"),
                ],
            )


def _is_in(span: GivenSpan | None, text: str) -> bool:
    return span is not None and span.word is not None and span.word in text and len(span.word) < len(text)


def _markers(evidence: Evidence) -> Opening:
    """Two markers of usual names that nearly all cells of a text have, in the order of their names; none else."""
    for name, fact in evidence.facts.items():
        if fact.kind not in TEXTS or name not in evidence.columns:
            continue
        cells = [as_text(cell) for cell in islice(evidence.columns[name], ROWS_LOOKED_AT) if not is_missing(cell)]
        for opening in _openings(cells[0]) if cells else ():
            if _mostly([not marker_fault(cell, opening) for cell in cells]):
                return opening
    return ()


def _openings(text: str) -> list[Opening]:
    """The pairs of opening markers in a text that have usual names: `<e1>` and `<e2>`, `[SUBJ]` and `[OBJ:PER]`."""
    found = dict.fromkeys("".join(parts) for parts in OPENING.findall(text))
    named = {marker: marker[1:-1].lower() for marker in found if marker[1:-1].lower() in NAMES}
    return [
        (one, two)
        for one, first in named.items()
        for two, second in named.items()
        if NAMES[first] == NAMES[second] == (first, second)
    ]


def _mostly(holds: Sequence[bool]) -> bool:
    return bool(holds) and sum(holds) >= NEARLY_ALL * len(holds)
