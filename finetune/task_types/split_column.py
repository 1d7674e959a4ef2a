"""The dev rows of a file that says in a column which they are: `split=COLUMN`."""

from collections.abc import Sequence

from finetune.data.messages import shown
from finetune.data.table import Table
from finetune.data.values import as_text
from finetune.errors import UserError

TRAIN_WORDS = frozenset({"train", "training"})
DEV_WORDS = frozenset({"dev", "val", "valid", "validation"})


def dev_by_column(table: Table, name: str, indexes: Sequence[int]) -> set[int]:
    """Which of the rows with these indexes in the table are dev, by their place among them.

    Raises UserError for a cell that says neither dev nor train, and where no row is one of them.
    """
    says = [as_text(table.columns[name][index]).strip().lower() for index in indexes]
    for place, word in enumerate(says):
        if word not in TRAIN_WORDS | DEV_WORDS:
            row = table.rows[indexes[place]]
            raise UserError(
                f"{table.path}: row {row} has {shown(word)} in the column '{name}', which split= names",
                "Write train or dev there, and give test rows in a file of their own: test=FILE",
            )
    dev = {place for place, word in enumerate(says) if word in DEV_WORDS}
    if len(dev) in (0, len(says)):
        raise UserError(
            f"{table.path}: all rows are {'dev' if dev else 'train'} by the column '{name}'",
            "Leave split= out to have dev drawn",
        )
    return dev
