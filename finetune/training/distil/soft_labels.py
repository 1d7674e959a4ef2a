"""Reads soft labels from your data: columns `p(LABEL)`, as `finetune predict` writes them, or a confidence."""

from collections.abc import Sequence

import numpy as np

from finetune.data.rows import Row
from finetune.data.table import Table
from finetune.data.values import as_number
from finetune.errors import UserError
from finetune.task_types.own_data import OwnData, own_data, usable_rows, with_distinct_ids
from finetune.task_types.task import Task
from finetune.training.distil.answers import RowAnswers

CLOSE = 0.02  # by which probabilities may miss a sum of 1: files have them rounded
LEAST_CHANCE = 1e-6  # a probability of 0 has no logit


def soft_labels(task: Task, rows: Sequence[Row], *, confidence: str) -> RowAnswers:
    """The logits of each training row's soft label, `(items, n)`.

    Raises UserError for data without such columns, and for probabilities that are none or do not sum to one.
    """
    own, labels, learns = own_data(task), task.teaching.labels, task.teaching.learns
    if own is None or not labels or not task.teaching.in_columns:
        raise UserError(
            f"distil.soft: {task.name} is not a file with a label a row and its probabilities",
            "Name the column that has the label of each row: label=COLUMN",
        )
    table = own.table(own.files[task.train_split])
    columns = {label: f"p({label})" for label in labels}
    if not confidence and (missing := [name for name in columns.values() if name not in table.columns]):
        raise UserError(
            f"{table.path}: distil.soft=true, and there is no column {missing[0]}",
            "Add the columns p(LABEL), one a label; or name one with the probability of each row's label: "
            "distil.confidence=COLUMN",
        )
    if confidence and (confidence not in table.columns or learns == "flags"):
        what = "several labels a row have" if learns == "flags" else f"{table.path} has"
        raise UserError(f"distil.confidence={confidence}: {what} no such column", f"It has {', '.join(table.columns)}")
    places = _places(own, table)
    found = []
    for row in rows:
        index = places[row.id]
        cells = {name: _number(table, name, index) for name in ([confidence] if confidence else columns.values())}
        chances = _spread(cells[confidence], labels, row) if confidence else np.array([*cells.values()])
        if learns == "class" and not confidence and abs(chances.sum() - 1) > CLOSE:
            raise UserError(
                f"{table.path}: row {table.rows[index]}: the soft label has {chances.sum():.3g} as the sum of "
                f"{', '.join(columns.values())}",
                "Probabilities of one row sum to 1: fix that row",
            )
        found.append(_logits(chances, learns))
    return found


def _places(own: OwnData, table: Table) -> dict[str, int]:
    """The index in the table of each row, by its id."""
    rows, indexes, _ = usable_rows(own.layout, table)
    rows = with_distinct_ids(rows) if own.layout.id else rows
    return {row.id: index for row, index in zip(rows, indexes, strict=True)}


def _number(table: Table, name: str, index: int) -> float:
    """A probability. Raises UserError for another value."""
    cell = table.columns[name][index]
    number = as_number(cell)
    if number is None or not 0 <= number <= 1:
        raise UserError(
            f"{table.path}: row {table.rows[index]}: {name} is '{cell}', not a probability", "Give a number from 0 to 1"
        )
    return number


def _spread(confidence: float, labels: Sequence[str], row: Row) -> np.ndarray:
    """The confidence for the row's own label, and the rest in equal parts for the others."""
    rest = (1 - confidence) / max(1, len(labels) - 1)
    return np.array([confidence if label == row.gold else rest for label in labels])


def _logits(chances: np.ndarray, learns: str) -> np.ndarray:
    kept = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE)
    return np.asarray(np.log(kept / (1 - kept))[:, None] if learns == "flags" else np.log(kept)[None])
