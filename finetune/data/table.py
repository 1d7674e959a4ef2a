"""A file as a table: its cells by column, and the records that could not be read."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from finetune.data.bounds import require_column, require_readable
from finetune.data.file_format import FileFormat
from finetune.data.nested_fields import nested_fields
from finetune.data.records import Record
from finetune.errors import UserError

MOST_EMPTY = 50_000_000  # most empty cells of a table
INTERNED_CHARS, MOST_SEEN = 20, 100_000  # longest text that is interned, and how many are


@dataclass(frozen=True, kw_only=True)
class Table:
    """A whole file: its cells by column, the row's number and line of each, and the records that could not be read.

    `derived` columns are fields of objects in other columns, with names such as `labels.quality`.
    `names` are a column's class names by number, where the file stores them. `changes` says what of some rows is left
    out, with their indexes.
    """

    path: Path
    form: FileFormat
    columns: dict[str, list[Any]]
    rows: Sequence[int]
    lines: Sequence[int]
    faults: list[Record]
    derived: frozenset[str] = frozenset()
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    changes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of rows that could be read."""
        return len(self.rows)

    def records(self) -> Iterator[Record]:
        """The rows that could be read."""
        names = [name for name in self.columns if name not in self.derived]
        columns = [self.columns[name] for name in names]
        for row, line, *cells in zip(self.rows, self.lines, *columns, strict=True):
            yield Record(row=row, line=line, values=dict(zip(names, cells, strict=True)))


def table_of_records(path: Path, form: FileFormat, records: Iterable[Record], *, names: Sequence[str] = ()) -> Table:
    """Builds a table from records, which may have different columns: `names`, if they are known, and those found.

    Raises UserError where rows have so many different columns that the table would be nearly empty.
    """
    columns: dict[str, list[Any]] = {}
    changes: dict[str, list[int]] = {}
    rows, lines, faults, seen, filled = array("q"), array("q"), [], _Seen(), 0

    def added(name: str) -> list[Any]:
        columns[name] = []
        require_column(path, name, number=len(columns))
        _require_filled(path, len(columns), len(rows), filled)
        return columns[name]

    for name in names:
        added(name)
    for record in records:
        if record.fault:
            faults.append(record)
            require_readable(path, faults)
            continue
        count = len(rows)
        if record.change:
            changes.setdefault(record.change, []).append(count)
        for name, value in record.values.items():
            cells = columns[name] if name in columns else added(name)
            if len(cells) < count:
                cells += [None] * (count - len(cells))
            cells.append(seen[value] if type(value) is str and len(value) < INTERNED_CHARS else value)
        filled += len(record.values)
        rows.append(record.row)
        lines.append(record.line)
    _require_filled(path, len(columns), len(rows), filled)
    for cells in columns.values():
        cells += [None] * (len(rows) - len(cells))
    table = Table(path=path, form=form, columns=columns, rows=rows, lines=lines, faults=faults, changes=changes)
    fields = nested_fields(columns)
    return replace(table, columns=columns | fields, derived=frozenset(fields)) if fields else table


class _Seen(dict[str, str]):
    """Interns short texts: labels are repeated often, and one object for each saves memory."""

    def __missing__(self, text: str) -> str:
        if len(self) < MOST_SEEN:
            self[text] = text
        return text


def _require_filled(path: Path, columns: int, rows: int, filled: int) -> None:
    if columns * rows - filled > MOST_EMPTY:
        raise UserError(
            f"{path}: its first {rows:,} rows have {columns:,} different columns, nearly all of them empty",
            "Give all rows the same names; put what varies into one of them",
        )
