"""A file as a table: its cells by column, fields of objects in them, and the records that could not be read."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat
from finetune.data.formats.spans import span_form, unknown_names
from finetune.data.records import Record, require_column, require_readable
from finetune.data.values import parsed_literal
from finetune.errors import UserError

MOST_EMPTY = 50_000_000  # most empty cells of a table
INTERNED_CHARS, MOST_SEEN = 20, 100_000  # longest text that is interned, and how many are
MOST_FIELDS = 200  # of one column
MOST_FIELDS_IN_ALL = 2_000
DEEPEST_OBJECTS = 4  # objects within objects
CELLS_SEEN = 20_000
OBJECTS = 0.5  # share of the cells that hold one


def cell_at(values: Mapping[str, Any], name: str) -> Any:
    """The cell of that name, or the field of an object for a dotted name; None where there is neither."""
    if name in values or "." not in name:
        return values.get(name)
    parent, _, field = name.rpartition(".")
    return _field(parsed(cell_at(values, parent)), field)


def nested_fields(columns: Mapping[str, Sequence[Any]], *, depth: int = 1) -> dict[str, list[Any]]:
    """A column for each field of the objects in these columns, or in lists there, and of the objects in those.

    SQuAD's answers (an object of two lists) and lists of spans are one value. A field with a line break or the like in
    its name is left out: no setting could name it.
    """
    fields: dict[str, list[Any]] = {}
    for name, cells in columns.items():
        if len(fields) >= MOST_FIELDS_IN_ALL:
            break
        sample = [parsed(cell) for cell in islice(cells, CELLS_SEEN) if cell is not None]
        keys = Counter(key for cell in sample for item in _objects(cell) for key in item if str(key).isprintable())
        few = sum(bool(_objects(cell)) for cell in sample) <= OBJECTS * len(sample)
        if not keys or few or "answer_start" in keys or _are_spans(sample):
            continue
        for key in islice((key for key in keys if str(key).isprintable()), MOST_FIELDS):  # names are in messages
            fields[f"{name}.{key}"] = [_field(parsed(cell), key) for cell in cells]
    fields = {name: cells for name, cells in fields.items() if name not in columns}
    return fields | (nested_fields(fields, depth=depth + 1) if fields and depth < DEEPEST_OBJECTS else {})


def holds(columns: Mapping[str, Sequence[Any]], name: str, field: str) -> bool:
    """Whether the field is of objects in the column of that name: `answer.label` of `answer`."""
    inside = field.startswith(f"{name}.")
    return inside and any(_objects(parsed(cell)) for cell in islice(columns[name], CELLS_SEEN) if cell is not None)


def parsed(cell: Any) -> Any:
    """Parses a text that is an object, or a list of them, in JSON or Python; any other cell is returned unchanged."""
    if not isinstance(cell, str) or cell[:1] not in "[{" or "{" not in cell[:3]:
        return cell
    value = parsed_literal(cell)
    return cell if value is None else value


def _are_spans(cells: Sequence[Any]) -> bool:
    few = cells[:1000]
    return any(isinstance(cell, list) for cell in cells) and bool(span_form(few) or unknown_names(few))


def _objects(cell: Any) -> list[dict[str, Any]]:
    """The objects in a cell: itself, or the items of a list of objects only."""
    if isinstance(cell, dict):
        return [cell]
    objects = isinstance(cell, list) and bool(cell) and all(isinstance(item, dict) for item in cell)
    return cell if objects else []


def _field(cell: Any, key: str) -> Any:
    """The field of an object; for a list of objects the list of their fields, or the only one."""
    if isinstance(cell, dict):
        return cell.get(key)
    values = [item.get(key) for item in _objects(cell)]
    return values[0] if len(values) == 1 else values or None


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
