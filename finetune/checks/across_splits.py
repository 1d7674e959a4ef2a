"""Checks of rows that are alike: labels and columns that only one split has, leaks, duplicates, contradictions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from finetune.checks.cells import first_quoted, repeats
from finetune.checks.split_data import SplitFile
from finetune.data.issues import Finding, Issue
from finetune.data.messages import shown
from finetune.data.values import as_text
from finetune.errors import UserError
from finetune.task_types.findings import MOST_OF_ROWS
from finetune.task_types.first_rows import DEV_WORDS, TRAIN_WORDS, dev_by_column, is_saved_split
from finetune.task_types.shared_rows import LEAK, LEAKED, Keys, in_both

MANY_OF_ROWS = 0.05  # share of a file's rows
MISSING_COLUMN = Issue(
    "missing-column",
    "error",
    "a file lacks a column of the training file",
    "Its columns are {columns}; rename one",
)
UNSEEN_LABEL = Issue(
    "unseen-label",
    "warning",
    "labels that are not in the training file",
    "Correct them, or add such rows to the training file; a model cannot predict a label it never saw, and such "
    "rows of test are not scored",
    worst="error",
)
SPLIT_CELL = Issue(
    "split-cell",
    "error",
    "`split=COLUMN` names no column, or one that does not say train or dev in each row",
    "Write train or dev there, and give test rows in a file of their own: test=FILE",
)
DUPLICATE = Issue(
    "duplicate",
    "note",
    "rows with the text and the label of an earlier row",
    "Drop them, as `fix` does; otherwise they count twice",
    worst="warning",
)
CONTRADICTION = Issue(
    "contradiction",
    "note",
    "rows with the text of another row but a different label",
    "Choose one label, or drop these rows",
    worst="warning",
)
GROUP_LEAK = Issue("group-leak", "warning", "the same groups in two splits", "Keep each group in one file")


def missing_columns(part: SplitFile) -> Iterator[Finding]:
    """Columns of the training file that another file lacks; a file that is only scored needs no labels."""
    labels = part.layout.label if part.split in ("train", "dev") else ()
    if missing := [shown(name) for name in (*part.layout.text_columns, *labels) if not part.has([name])]:
        what = f"the file has no column {' or '.join(missing)}, which the training file has"
        yield Finding(MISSING_COLUMN, what, remedy=MISSING_COLUMN.remedy.format(columns=", ".join(part.table.columns)))


def unseen_labels(part: SplitFile) -> Iterator[Finding]:
    """Labels without a row in the training file."""
    for train in part.before[:1] if part.kind.closed_labels else ():
        if unseen := [name for name in part.label_counts if name not in train.label_counts]:
            rows = part.rows_with(unseen)
            what = f"labels without a row in {train.file}: {first_quoted(unseen)}"
            yield Finding(UNSEEN_LABEL, what, rows, worst=len(rows) > MOST_OF_ROWS * part.size)


def text_leaks(part: SplitFile) -> Iterator[Finding]:
    """Texts that are also in a split before this one, or that a column puts into train and into dev."""
    for where, rows, size, remedy in _shared(part, part.unit_keys, [other.unit_keys for other in part.before]):
        remedy = remedy or LEAK.remedy.format(split=part.split)
        yield Finding(LEAK, f"texts {where}", rows, remedy, worst=len(rows) > LEAKED * size)


def group_leaks(part: SplitFile) -> Iterator[Finding]:
    """Groups that are also in a split before this one, or that a column puts into train and into dev."""
    name = part.layout.group
    if not part.has([name]):
        return
    keys, *before = (
        np.array([hash(text) if text else 0 for text in map(as_text, file.table.columns.get(name, ()))], np.int64)
        for file in (part, *part.before)
    )
    for where, rows, _, remedy in _shared(part, keys, before):
        yield Finding(GROUP_LEAK, f"rows with groups ('{name}') {where}", rows, remedy)


def _shared(part: SplitFile, keys: Keys, before: Sequence[Keys]) -> Iterator[tuple[str, list[int], int, str]]:
    """(the other place of the rows' keys, the rows' indexes, the number of compared rows, a remedy or an empty text).

    The other places are the files of the splits before, and train if a column says which rows are dev.
    """
    for file, others in zip(part.before, before, strict=True):
        rows = in_both(keys, others)
        if len(rows):
            row = file.table.rows[int(np.argmax(others == keys[rows[0]]))]
            where = f"that are also in {file.file}; that of the first row is in its row {row}"
            yield where, rows.tolist(), part.size, ""
    if part.has([part.by_column]):
        words = [as_text(cell).strip().lower() for cell in part.table.columns[part.by_column]]
        dev, train = (np.array([word in names for word in words], bool) for names in (DEV_WORDS, TRAIN_WORDS))
        rows = in_both(np.where(dev, keys, 0), keys[train])
        if len(rows):
            where = f"of dev that are also in train, by the column '{part.by_column}'"
            remedy = "Give them one value there; they inflate the scores of dev"
            yield where, rows.tolist(), int(dev.sum()), remedy


def wrong_splits(part: SplitFile) -> Iterator[Finding]:
    """A column of splits with which the data cannot be read."""
    if not part.by_column or is_saved_split(part.table, part.by_column):
        return
    unusable = {index for index, _ in part.unusable}
    try:
        dev_by_column(part.table, part.by_column, [row for row in range(len(part.texts)) if row not in unusable])
    except UserError as fault:
        yield Finding(SPLIT_CELL, fault.what.removeprefix(f"{part.file}: "), remedy=fault.way_out)


def repeated(part: SplitFile) -> Iterator[Finding]:
    """Rows with the text and label of an earlier one, and texts with several labels."""
    rows = list(zip(part.keys.tolist(), part.golds, strict=True))
    if again := repeats(hash(row) if row[0] else 0 for row in rows):
        yield Finding(DUPLICATE, indexes=again, worst=len(again) > MANY_OF_ROWS * part.size)
    labels: dict[int, Any] = {}
    differing = {key for key, gold in rows if key and gold is not None and labels.setdefault(key, gold) != gold}
    if differing:
        what = f"{CONTRADICTION.meaning}; different texts: {len(differing):,}"
        indexes = [index for index, (key, gold) in enumerate(rows) if gold is not None and key in differing]
        yield Finding(CONTRADICTION, what, indexes, worst=len(indexes) > MANY_OF_ROWS * part.size)
