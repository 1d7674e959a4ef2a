"""Checks of rows that are alike: labels and columns that only one split has, leaks, duplicates, contradictions."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from finetune.checks.finding import MANY_OF_ROWS, MOST_OF_ROWS, FileFinding
from finetune.checks.split_data import Check, SplitFile, across, in_each
from finetune.data.characters import text_keys
from finetune.data.issues import Issue
from finetune.data.messages import shown
from finetune.data.values import as_text
from finetune.errors import UserError
from finetune.task_types.other_columns import DEV_WORDS, TRAIN_WORDS, dev_by_column, is_saved_split
from finetune.task_types.shared_rows import LEAK, LEAKED

MISSING_COLUMN = Issue(
    code="missing-column",
    severity="error",
    meaning="a file lacks a column of the training file",
    remedy="Its columns are {columns}; rename one",
)
UNSEEN_LABEL = Issue(
    code="unseen-label",
    severity="warning",
    worst="error",
    meaning="labels that are not in the training file",
    remedy="Correct them, or add such rows to the training file; a model cannot predict a label it never saw, and such "
    "rows of test are not scored",
)
SPLIT_CELL = Issue(
    code="split-cell",
    severity="error",
    meaning="`split=COLUMN` names no column, or one that does not say train or dev in each row",
    remedy="Write train or dev there, and give test rows in a file of their own: test=FILE",
)
DUPLICATE = Issue(
    code="duplicate",
    severity="note",
    worst="warning",
    meaning="rows with the text and the label of an earlier row",
    remedy="Drop them, as `fix` does; otherwise they count twice",
)
CONTRADICTION = Issue(
    code="contradiction",
    severity="note",
    worst="warning",
    meaning="rows with the text of another row but a different label",
    remedy="Choose one label, or drop these rows",
)
GROUP_LEAK = Issue(
    code="group-leak",
    severity="warning",
    meaning="the same groups in two splits",
    remedy="Keep each group in one file",
)


def missing_columns(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
    """Columns of the training file that another file lacks; a test file needs no labels."""
    for part in parts:
        needed = [*part.layout.text_columns, *(part.layout.label if part.split != "test" else ())]
        if lacking := [name for name in needed if name not in part.table.columns]:
            what = f"the file has no column {' or '.join(map(shown, lacking))}, which the training file has"
            remedy = MISSING_COLUMN.remedy.format(columns=", ".join(part.table.columns))
            yield part.found(MISSING_COLUMN, what=what, remedy=remedy)


def unseen_labels(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
    """Labels without a row in the training file."""
    train, *others = parts
    for part in others if train.kind.closed_labels else ():
        if unseen := [name for name in part.label_counts if name not in train.label_counts]:
            what = f"labels without a row in {train.file}: {', '.join(map(shown, unseen[:5]))}"
            rows = part.rows_with(unseen)
            yield part.found(UNSEEN_LABEL, rows, what=what, worst=len(rows) > MOST_OF_ROWS * part.size)


def leaked(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
    """Texts that are in two splits."""
    for first, second in combinations(parts, 2):
        keys = second.unit_keys
        rows = np.flatnonzero((keys != 0) & np.isin(keys, first.unit_keys))
        if len(rows):
            there = first.table.rows[int(np.flatnonzero(first.unit_keys == keys[rows[0]])[0])]
            what = f"{second.thing} that are also in {first.file}; that of the first row is in its row {there}"
            remedy = LEAK.remedy.format(split=second.split)
            yield second.found(LEAK, rows, what=what, remedy=remedy, worst=len(rows) > LEAKED * second.size)


def groups_apart(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
    """Groups that are in two splits."""
    name = parts[0].layout.group
    having = [part for part in parts if name and part.has([name])]
    for first, second in combinations(having, 2):
        there = {as_text(cell) for cell in first.table.columns[name]} - {""}
        rows = [row for row, cell in enumerate(second.table.columns[name]) if as_text(cell) in there]
        if rows:
            yield second.found(GROUP_LEAK, rows, what=f"rows whose group ('{name}') is also in {first.file}")


def wrong_splits(part: SplitFile) -> Iterator[FileFinding]:
    """A column of splits with which the data cannot be read."""
    if not part.by_column or is_saved_split(part.table, part.by_column):
        return
    unusable = {index for index, _ in part.unusable}
    try:
        dev_by_column(part.table, part.by_column, [row for row in range(len(part.texts)) if row not in unusable])
    except UserError as fault:
        yield part.found(SPLIT_CELL, what=fault.what.removeprefix(f"{part.file}: "), remedy=fault.way_out)


def leaked_by_column(part: SplitFile) -> Iterator[FileFinding]:
    """Texts and groups whose rows a column of splits puts into train and into dev."""
    if not part.by_column or not part.has([part.by_column]):
        return
    says = [as_text(cell).strip().lower() for cell in part.table.columns[part.by_column]]
    dev, train = (np.array([word in words for word in says], bool) for words in (DEV_WORDS, TRAIN_WORDS))
    kinds = [(LEAK, f"{part.thing} of dev", part.unit_keys)]
    if part.layout.group and part.has([part.layout.group]):
        groups = text_keys([as_text(cell) for cell in part.table.columns[part.layout.group]])
        kinds.append((GROUP_LEAK, f"rows of dev whose group ('{part.layout.group}') is", groups))
    for issue, what, keys in kinds:
        rows = np.flatnonzero(dev & (keys != 0) & np.isin(keys, keys[train]))
        if len(rows):
            what = f"{what} also in train, by the column '{part.by_column}'"
            remedy = "Give them one value there; they inflate the scores of dev"
            worst = issue is LEAK and len(rows) > LEAKED * dev.sum()
            yield part.found(issue, rows, what=what, remedy=remedy, worst=worst)


def repeated(parts: Sequence[SplitFile]) -> Iterator[FileFinding]:
    """Rows with the text and label of an earlier one, and texts with several labels."""
    for part in parts:
        every = enumerate(zip(part.keys.tolist(), part.golds, strict=True))
        rows = [(index, key, gold) for index, (key, gold) in every if key]
        seen, first, differing, again = set[int](), dict[int, Any](), set[int](), list[int]()
        for index, key, gold in rows:
            if (both := hash((key, gold))) in seen:
                again.append(index)
            seen.add(both)
            if gold is not None and first.setdefault(key, gold) != gold:
                differing.add(key)
        if again:
            yield part.found(DUPLICATE, again, worst=len(again) > MANY_OF_ROWS * part.size)
        if differing:
            what = f"{CONTRADICTION.meaning}; different texts: {len(differing):,}"
            some = [index for index, key, gold in rows if gold is not None and key in differing]
            yield part.found(CONTRADICTION, some, what=what, worst=len(some) > MANY_OF_ROWS * part.size)


CHECKS = (
    Check(find=missing_columns, issues=(MISSING_COLUMN,), refuses=True),
    Check(find=across(unseen_labels), issues=(UNSEEN_LABEL,), refuses=True),
    Check(find=across(groups_apart), issues=(GROUP_LEAK,)),
    Check(find=across(leaked), issues=(LEAK,), noted=True),
    Check(find=in_each(wrong_splits), issues=(SPLIT_CELL,), refuses=True),
    Check(find=in_each(leaked_by_column), issues=(LEAK, GROUP_LEAK)),
    Check(find=across(repeated), issues=(DUPLICATE, CONTRADICTION), noted=True),
)
