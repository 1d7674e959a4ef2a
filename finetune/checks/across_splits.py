"""Checks of several files together: columns and labels that the file for training has and others have not, leaks."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from finetune.checks.finding import MOSTLY, Finding, Severity
from finetune.checks.split_data import Part
from finetune.data.column_types import as_text
from finetune.data.messages import shown

LEAKED = 0.01  # share of a split's rows that another one has too, which scores would show


def missing_columns(parts: Sequence[Part]) -> Iterator[Finding]:
    """Columns that the file for training has and another lacks; one for tests needs no labels."""
    for part in parts:
        needed = [*part.layout.text, *(part.layout.label if part.split != "test" else ())]
        if lacking := [name for name in needed if name not in part.table.columns]:
            what = f"the file has no column {' or '.join(map(shown, lacking))}, which the file for training has"
            remedy = f"Its columns are {', '.join(part.table.columns)}; rename one"
            yield part.found("error", "missing-column", what, remedy)


def unseen_labels(parts: Sequence[Part]) -> Iterator[Finding]:
    """Labels that the file for training has no row of."""
    train, *others = parts
    for part in others if train.kind.named else ():
        if unseen := [name for name in part.label_counts if name not in train.label_counts]:
            what = f"labels that {train.file} has no row of: {', '.join(map(shown, unseen[:5]))}"
            remedy = "Mend them, or add such rows for training; a model cannot answer what it never saw"
            rows = part.rows_with(unseen)
            severity: Severity = "error" if len(rows) > MOSTLY * part.size else "warning"
            yield part.found(severity, "unseen-label", what, remedy, rows)


def leaked(parts: Sequence[Part]) -> Iterator[Finding]:
    """Texts that stand in the files of two splits."""
    for first, second in combinations(parts, 2):
        keys = second.unit_keys
        rows = np.flatnonzero((keys != 0) & np.isin(keys, first.unit_keys))
        if len(rows):
            there = first.table.rows[int(np.flatnonzero(first.unit_keys == keys[rows[0]])[0])]
            what = f"{second.thing} that {first.file} has too; that of the first row is in its row {there}"
            remedy = f"Take them out of one file; the scores of {second.split} are too high with them"
            severity: Severity = "error" if len(rows) > LEAKED * second.size else "warning"
            yield second.found(severity, "leak", what, remedy, rows)


def groups_apart(parts: Sequence[Part]) -> Iterator[Finding]:
    """Groups that stand in the files of two splits."""
    name = parts[0].layout.group
    having = [part for part in parts if name and part.has([name])]
    for first, second in combinations(having, 2):
        there = {as_text(cell) for cell in first.table.columns[name]} - {""}
        rows = [row for row, cell in enumerate(second.table.columns[name]) if as_text(cell) in there]
        if rows:
            what = f"rows whose group ('{name}') is in {first.file} too"
            yield second.found("warning", "group-leak", what, "Keep each group in one file", rows)
