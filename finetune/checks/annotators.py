"""Annotators of the same rows: where they differ, and their agreement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from finetune.checks.check import Check, in_each
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile, labelled
from finetune.data.issues import Issue
from finetune.data.messages import shown, so_many
from finetune.data.values import as_number, as_text, is_missing
from finetune.metrics.agreement import Level, krippendorff_alpha
from finetune.task_types.column_names import is_other_annotator, label_tier, names_annotator, stem_of
from finetune.task_types.row_builder import rows_of
from finetune.task_types.row_issues import NoRow

RELIABLE = 0.667  # alpha below which labels hardly support conclusions (Krippendorff 2004, p. 241)
OF_LABELS = 0.9  # share of a column's cells that hold labels, from which it is an annotator's
MOST_DEGREES = 10  # different whole numbers that are degrees, so that their order counts alone
LABELS_SHOWN, CHARS_SHOWN = 4, 30
ANNOTATORS_DIFFER = Issue(
    code="annotators-differ",
    severity="note",
    worst="warning",
    meaning="rows that several annotators labelled differently",
    remedy="Settle these rows; the message says which label is learned",
)


@dataclass(frozen=True, kw_only=True)
class Annotated:
    """Rows with labels of several annotators: of each their indexes and labels; whose they are, and what is learned."""

    rows: Sequence[tuple[Sequence[int], Sequence[Any]]]
    whose: str
    learned: str


def differing(part: SplitFile) -> Iterator[FileFinding]:
    """Rows with different labels, and Krippendorff's alpha over all rows with labels of two or more annotators."""
    found = _by_column(part) or _by_row(part) if labelled(part) and len(part.layout.label) == 1 else None
    if found is None:
        return
    several = [(rows, golds) for rows, golds in found.rows if len(golds) > 1]
    differ = [(rows, golds) for rows, golds in several if len(set(golds)) > 1]
    if not differ:
        return
    units = [unit for _, golds in several for unit in part.kind.compared(golds)]
    if order := part.layout.order:
        units = [[order.index(value) for value in unit if value in order] for unit in units]
    level: Level = "ordinal" if order else _level([value for unit in units for value in unit])
    alpha = krippendorff_alpha([list(map(as_number, unit)) for unit in units] if level != "nominal" else units, level)
    first, golds = differ[0]
    given = ", ".join(shown(str(gold), CHARS_SHOWN) for gold in golds[:LABELS_SHOWN])
    what = (
        f"annotators ({found.whose}) differ in {len(differ):,} of {so_many(len(several), 'text')} "
        f"({100 * len(differ) / len(several):.1f} %); Krippendorff's alpha {_shown(alpha)} ({level}); the first: "
        f"row {part.table.rows[first[0]]} {given}"
    )
    low = alpha is not None and alpha < RELIABLE
    clearer = f"; alpha is below {RELIABLE}: make the guidelines clearer before more is labelled" if low else ""
    indexes = sorted(index for rows, _ in differ for index in rows)
    yield part.found(ANNOTATORS_DIFFER, indexes, what=what, remedy=found.learned + clearer, worst=low)


def annotator_columns(part: SplitFile) -> list[str]:
    """The columns, but for the label's own, that hold labels of the same rows by annotators."""
    (label,) = part.layout.label
    others = [name for name in part.table.columns if name not in (*part.layout.text, label, part.layout.id)]
    named = [name for name in others if _named_as_annotators(name, label)]
    return [name for name in named if _holds_labels(part, name)]


def _by_column(part: SplitFile) -> Annotated | None:
    """Labels in several columns of a row. The label's own is one of them, unless it was made of two or more others."""
    (label,) = part.layout.label
    others = annotator_columns(part)
    made = len(others) > 1 and not any(_alike(name, label) for name in others)
    columns = others if made else [label, *others]
    if not others:
        return None
    golds = [part.golds if name == label else _golds(part, name) for name in columns]
    rows = [([row], [gold for gold in given if gold is not None]) for row, given in enumerate(zip(*golds, strict=True))]
    tool = any(map(is_other_annotator, others))
    learned = (
        "The first annotation of the tool is learned; settle these rows there, and export them again"
        if tool
        else f"The column '{label}' is learned; settle these rows in it, or name another: label=COLUMN"
    )
    return Annotated(rows=rows, whose=", ".join(columns), learned=learned)


def _by_row(part: SplitFile) -> Annotated | None:
    """Labels in several rows with the same text, whose annotators a column names."""
    names = [name for name in part.table.columns if name not in (*part.layout.text, *part.layout.label)]
    column = next((name for name in names if names_annotator(name)), None)
    if column is None:
        return None
    groups: dict[int, list[int]] = {}
    for index, (key, gold) in enumerate(zip(part.keys.tolist(), part.golds, strict=True)):
        if key and gold is not None:
            groups.setdefault(key, []).append(index)
    who = part.table.columns[column]
    rows = [
        (group, [part.golds[index] for index in group])
        for group in groups.values()
        if len({as_text(who[index]) for index in group}) > 1
    ]
    learned = (
        "Each row is learned with its own label; where they differ, keep one row with the label of most annotators"
    )
    return Annotated(rows=rows, whose=f"column '{column}'", learned=learned) if rows else None


def _named_as_annotators(name: str, label: str) -> bool:
    """`rater1` and `annotator_a`; with a numbered label its series, and numbered labels where the label has another
    name.
    """
    if is_other_annotator(name):
        return True
    series = stem_of(name)
    return bool(series) and (_alike(name, label) or names_annotator(series) or label_tier(series) == 0)


def _alike(name: str, label: str) -> bool:
    """Whether names differ in their numbers or letters alone: `label_1`, `label_2`; `label`, `label2`."""
    return is_other_annotator(name) or stem_of(name) in (stem_of(label) or label.lower(), label.lower())


def _holds_labels(part: SplitFile, name: str) -> bool:
    """Whether most filled cells of a column are labels, or numbers where labels are."""
    filled = sum(not is_missing(cell) for cell in part.table.columns[name])
    golds = [gold for gold in _golds(part, name) if gold is not None]
    known = set(map(_kind_of, part.golds))
    return bool(golds) and sum(_kind_of(gold) in known for gold in golds) >= OF_LABELS * filled


def _kind_of(gold: Any) -> Any:
    return type(gold) if isinstance(gold, float | tuple) else gold


def _golds(part: SplitFile, column: str) -> list[Any]:
    """The labels in another column, read as the label's."""
    rows = rows_of(replace(part.layout, label=(column,)), part.table)
    return [None if isinstance(row, NoRow) else row.gold for _, row in rows]


def _level(values: Sequence[Any]) -> Level:
    """Interval for numbers, ordinal for a few whole ones, else nominal; two numbers are classes."""
    kinds = set(values)
    numbers = {as_number(kind) if isinstance(kind, str | float | int) else None for kind in kinds}
    if None in numbers or len(numbers) <= 2:
        return "nominal"
    whole = all(float(number).is_integer() for number in numbers)  # type: ignore[arg-type]
    return "ordinal" if whole and len(numbers) <= MOST_DEGREES else "interval"


def _shown(alpha: float | None) -> str:
    return "unknown" if alpha is None else f"{alpha:.2f}"


CHECKS = (Check(find=in_each(differing), issues=(ANNOTATORS_DIFFER,)),)
