"""Infers how the labels of a file name their choices, the same in all rows; asks where they may mean two."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from finetune.data.messages import shown, so_many
from finetune.data.table import Table
from finetune.data.values import as_number, as_text, is_missing
from finetune.data.words.lists import word_list
from finetune.errors import UserError, nearest
from finetune.task_types.candidates import Ambiguous, described
from finetune.task_types.choice_labels import LETTERS, Way, choice_named, choices_of
from finetune.task_types.column_names import first_number, is_about, label_tier, place_of
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import Evidence

ROWS_LOOKED_AT = 5_000
ROWS_TRIED = 500  # of a column that may hold the answers
KINDS = ("category", "number", "text", "id")  # of columns that may hold the answers
MOST_OF_LABELS = 0.9  # share of the labels that a way of naming choices fits
SELDOM_OF_LABELS = 0.02  # share of the labels below which those of one kind may be mistakes
TIMES_MORE = 10  # times as many labels that count from one number as from the other
WAYS: dict[str, tuple[Way, int]] = {  # the values of `choices_by`, in the order in which they are taken
    "text": ("text", 0),
    "letter": ("letter", 0),
    "column": ("column", 0),
    "0": ("number", 0),
    "1": ("number", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A label and the choices of its row."""

    cell: Any
    choices: tuple[str, ...]
    row: int

    def place(self, layout: Layout, way: str) -> int | None:
        """The index of the choice that the label means in a way of `WAYS`."""
        how, first = WAYS[way]
        return choice_named(self.cell, self.choices, columns=columns_of_choices(layout), counted_from=first)[how]


def columns_of_choices(layout: Layout) -> tuple[str, ...]:
    """The columns of the choices; none where one column holds a list of them."""
    columns = layout.text[layout.contexts :]
    return columns if len(columns) > 1 else ()


def with_way(layout: Layout, table: Table, given: str = "") -> Layout:
    """The layout with how labels name the choices: as `given`, else in the one way that fits nearly all.

    Raises Ambiguous where labels mean other choices in another way, and UserError for a way that does not exist.
    """
    if given and given not in WAYS:
        raise UserError(f"choices_by is '{given}'", f"{nearest(given, list(WAYS))}It is one of {', '.join(WAYS)}")
    labelled = _labelled(layout, table.columns)
    fitting = [given] if given else _fitting(layout, labelled)
    for row in labelled if len(fitting) > 1 else ():
        meant = {way: place for way in fitting if (place := row.place(layout, way)) is not None}
        if len(set(meant.values())) > 1:
            what = f"{table.path}: row {table.rows[row.row]}: the label {shown(as_text(row.cell))} may mean two choices"
            raise Ambiguous(what, [(f"choices_by={way}", _meaning(layout, row, place)) for way, place in meant.items()])
    if not fitting:
        return replace(layout, counted_from=_first(layout, labelled) or 0)
    how, first = WAYS[fitting[0]]
    return replace(layout, choices_by=how, counted_from=first)


def answer_column(layout: Layout, evidence: Evidence) -> tuple[str, ...]:
    """The column of the right choices: its cells name choices, and its name says so; empty where none is found.

    Of several one that names them by other than numbers, which may be points. Raises Ambiguous where several are left,
    and for one whose name speaks of something else, such as a topic.
    """
    kinds = [name for name, fact in evidence.facts.items() if name not in layout.text and fact.kind in KINDS]
    sure = [name for name in kinds if _says_answer(name)]
    ways = {name: _ways(replace(layout, label=(name,)), evidence) for name in kinds}
    fitting = [name for name in kinds if ways[name]]
    best = [name for name in fitting if name in sure] or fitting
    if not best:
        return tuple(sorted(sure, key=lambda name: label_tier(name) or 0)[:1])
    clear = [name for name in best if not {"0", "1"} & {*ways[name]}]
    best = clear if len(clear) == 1 else best
    if len(best) > 1 or best[0] not in sure:
        settings = [(f"label={name}", described(evidence.facts[name], evidence.columns[name])) for name in best]
        raise Ambiguous(f"{evidence.file}: it is not clear which column says which choice is right", settings)
    return (best[0],)


def _says_answer(name: str) -> bool:
    """Whether a column's name says that it holds labels or answers, and not what they are about."""
    plain = [word for word in word_list("label") if word not in word_list("label_alone")]
    return not is_about(name) and any(
        place_of(name, words) for words in (plain, word_list("answer"), word_list("label_weak"))
    )


def _ways(layout: Layout, evidence: Evidence) -> list[str]:
    """The ways in which the cells of the label name choices; none where all cells are the same."""
    labelled = _labelled(layout, evidence.columns, most=ROWS_TRIED)
    varied = len({as_text(row.cell) for row in labelled}) > 1
    return _fitting(layout, labelled) if varied else []


def require_same_count(layout: Layout, table: Table) -> None:
    """Raises UserError where the numbers in a file count the choices from 0 and those of the layout from 1, or so."""
    needed = {*layout.label, *layout.text[layout.contexts :]}
    if layout.choices_by != "number" or not layout.label or not needed <= set(table.columns):
        return  # a missing column is told elsewhere
    labelled = _labelled(layout, table.columns)
    zeros, lasts = _ends(layout, labelled)
    found = _clear(zeros, lasts, of=len(labelled))
    if found is not None and found != layout.counted_from:
        ends = f"{so_many(lasts, 'label')} with the number of choices, {so_many(zeros, 'label')} with 0"
        change = "Subtract 1 from" if found else "Add 1 to"
        raise UserError(
            f"{table.path}: its labels count the choices from {found} ({ends}); expected from {layout.counted_from}",
            f"{change} the labels of this file; if all files count so, train with choices_by={found}",
        )


def names_of_choices(layout: Layout) -> tuple[str, ...]:
    """The names of the choices in labels, empty for those named by number."""
    if layout.choices_as or layout.choices_by == "letter":
        return layout.choices_as or tuple(LETTERS)
    return columns_of_choices(layout) if layout.choices_by == "column" else ()


def signs_in(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """The most frequent label of each choice, where these are more than a letter or a number; else none."""
    if layout.choices_by not in ("letter", "number"):
        return ()
    way = "letter" if layout.choices_by == "letter" else str(layout.counted_from)
    found: dict[int, Counter[str]] = {}
    for row in _labelled(layout, columns):
        if (place := row.place(layout, way)) is not None:
            found.setdefault(place, Counter())[as_text(row.cell).strip()] += 1
    names = {place: counts.most_common(1)[0][0] for place, counts in found.items()}
    if all((len(name) == 1 and name.isascii()) or as_number(name) is not None for name in names.values()):
        return ()
    return tuple(names.get(place, "") for place in range(max(names) + 1))


def _labelled(layout: Layout, columns: Mapping[str, Sequence[Any]], *, most: int = ROWS_LOOKED_AT) -> list[Labelled]:
    """The first rows that have a label."""
    choices = [columns[name] for name in layout.text[layout.contexts :]]
    rows = enumerate(zip(columns[layout.label[0]], *choices, strict=True))
    some = ((row, cell, given) for row, (cell, *given) in rows if not is_missing(cell))
    return [Labelled(cell=cell, choices=choices_of(given), row=row) for row, cell, given in islice(some, most)]


def _fitting(layout: Layout, labelled: Sequence[Labelled]) -> list[str]:
    """The ways that fit nearly all labels; both counts of numbers where the first number is open.

    Where none fits, and some labels are such numbers, only these two, which are asked about.
    """
    needed = MOST_OF_LABELS * len(labelled)
    fitting = [way for way in ("text", "letter", "column") if _count(layout, labelled, (way,)) > needed]
    numbers, first = _count(layout, labelled, ("0", "1")), _first(layout, labelled)
    if numbers > needed and first is not None:
        return [*fitting, str(first)]
    is_open = first is None and (numbers > needed or (numbers and not fitting))
    return [*fitting, "0", "1"] if is_open else fitting


def _count(layout: Layout, labelled: Sequence[Labelled], ways: Sequence[str]) -> int:
    """How many labels mean a choice in one of these ways."""
    return sum(any(row.place(layout, way) is not None for way in ways) for row in labelled)


def _first(layout: Layout, labelled: Sequence[Labelled]) -> int | None:
    """The number of the first choice, 0 or 1: as the labels count, else as the columns do; None where it is open."""
    zeros, lasts = _ends(layout, labelled)
    if max(zeros, lasts) <= SELDOM_OF_LABELS * len(labelled):
        return first_number(columns_of_choices(layout))
    return _clear(zeros, lasts, of=len(labelled))


def _ends(layout: Layout, labelled: Sequence[Labelled]) -> tuple[int, int]:
    """How many labels are 0, and how many are the number of their row's choices."""
    zeros = sum(row.place(layout, "0") == 0 for row in labelled)
    return zeros, sum(row.place(layout, "1") == len(row.choices) - 1 for row in labelled)


def _clear(zeros: int, lasts: int, *, of: int) -> int | None:
    """The number of the first choice if labels of one kind are far more; a single wrong label moves no others."""
    less, more = sorted((zeros, lasts))
    return int(lasts > zeros) if more > SELDOM_OF_LABELS * of and less * TIMES_MORE <= more else None


def _meaning(layout: Layout, row: Labelled, place: int) -> str:
    """A choice by its text, and its column or place."""
    columns = columns_of_choices(layout)
    return f"{shown(row.choices[place])}, " + (columns[place] if columns else f"choice {place + 1} of the list")
