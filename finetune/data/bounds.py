"""What a data file may ask for at most: checked while it is read, before memory is taken."""

from collections.abc import Sequence
from pathlib import Path

from finetune.data.messages import shown, so_many
from finetune.data.records import Record
from finetune.errors import UserError

MOST_COLUMNS = 20_000
FEW_COLUMNS, SPARSE = 1_000, 0.01  # above so many columns, that share of the cells must be filled
MOST_FAULTS = 1_000_000  # rows that cannot be read
LONGEST_NAME = 1_000  # characters of a column's name
LONGEST_LINE = 1 << 26  # bytes
LONGEST_TEXT = 1 << 28  # bytes of a file that is read at once: predictions, names of labels
MOST_EXPANDED = 200  # times a compressed file's size; texts shrink to a tenth
ALWAYS_EXPANDED = 1 << 26  # bytes that any compressed file may expand to


def require_column(path: Path, name: str, *, number: int) -> None:
    """Raises UserError for one column more than a table has, and for a name that is too long."""
    if number > MOST_COLUMNS:
        raise UserError(
            f"{path}: has more than {MOST_COLUMNS:,} columns",
            "Give all rows the same names, and put what varies into one column",
        )
    if len(name) > LONGEST_NAME:
        raise UserError(
            f"{path}: the name of column {number:,} has {so_many(len(name), 'character')}: {shown(name)}",
            "Put a header with short names above the rows",
        )


def require_readable(path: Path, faults: Sequence[Record]) -> None:
    """Raises UserError where so many rows cannot be read that the file is of another kind."""
    if len(faults) > MOST_FAULTS:
        first = faults[0]
        why = first.fault.what if first.fault else ""
        raise UserError(
            f"{path}: more than {MOST_FAULTS:,} rows cannot be read; the first is in line {first.line:,}: {why}",
            "Is it a file of rows, in one of the supported formats?",
        )


def require_filled(path: Path, *, columns: int, rows: int, filled: int) -> None:
    """Raises UserError where so many columns have hardly a cell."""
    if columns > FEW_COLUMNS and filled < SPARSE * columns * rows:
        raise UserError(
            f"{path}: its first {rows:,} rows have {columns:,} different columns, nearly all of them empty",
            "Give all rows the same names; put what varies into one of them",
        )


def require_expanded(path: Path | str, size: int, *, packed: int) -> None:
    """Raises UserError where a compressed file of `packed` bytes expands to `size` bytes, as no text does."""
    if size > max(ALWAYS_EXPANDED, MOST_EXPANDED * packed):
        raise UserError(
            f"{path}: {packed:,} compressed bytes expand to {size:,} or more, over {MOST_EXPANDED} times as many",
            "Do not open it if it is a stranger's; else unpack it first",
        )
