"""Checks of metadata columns: ids rounded by a spreadsheet, split names."""

from collections.abc import Iterator

from finetune.checks.check import Check, in_each
from finetune.checks.finding import FileFinding
from finetune.checks.split_data import SplitFile
from finetune.data.column_types import RUINED
from finetune.data.issues import Issue
from finetune.data.messages import shown
from finetune.data.values import as_text
from finetune.task_types.first_rows import split_columns

SHARE_OF_CELLS = 0.5  # share of a column's filled cells
SPLIT_COLUMN = Issue(
    code="split-column",
    severity="warning",
    meaning="a column of split names, which is ignored",
    remedy="Name it if it says train and dev: split=COLUMN; else write each split into a file: FILE dev=FILE test=FILE",
)
RUINED_ID = Issue(
    code="ruined-id",
    severity="warning",
    meaning="ids rounded by a spreadsheet",
    remedy="Export that column as text; do not group by it",
)


def named_splits(part: SplitFile) -> Iterator[FileFinding]:
    """A column of split names, which is ignored."""
    for name in split_columns(part.layout, part.table, used=part.by_column) if part.trains else ():
        what = f"the column {shown(name)} has split names, but all rows are used for training and dev"
        yield part.found(SPLIT_COLUMN, what=what)


def ruined_ids(part: SplitFile) -> Iterator[FileFinding]:
    """Columns of numbers such as 1.23457E+17, of which several rows may now have the same."""
    for name, cells in part.table.columns.items():
        filled = [(index, text) for index, cell in enumerate(cells) if (text := as_text(cell).strip())]
        ruined = [index for index, text in filled if RUINED.fullmatch(text)]
        if ruined and len(ruined) >= SHARE_OF_CELLS * len(filled):
            example = shown(as_text(cells[ruined[0]]))
            what = f"the ids in the column {shown(name)} were rounded by a spreadsheet, such as {example}"
            yield part.found(RUINED_ID, ruined, what=what)


CHECKS = (
    Check(find=in_each(ruined_ids), issues=(RUINED_ID,)),
    Check(find=in_each(named_splits), issues=(SPLIT_COLUMN,)),
)
