"""Reads a file of any format, as records or as a table; rows that cannot be read keep their number, with a reason."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from finetune.data.checksums import state_of
from finetune.data.detect import detect
from finetune.data.file_format import FileFormat
from finetune.data.formats.delimited import header
from finetune.data.formats.dialect import Dialect
from finetune.data.formats.parquet import class_names
from finetune.data.records import Record, require_column, require_filled, whole
from finetune.data.table import Table, table_of_records
from finetune.errors import UserError


def records(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields every row of a file in order, with as little of it in memory as its format allows.

    Raises UserError where the file as a whole cannot be read.
    """
    for record in form.format.read(path, form):
        yield whole(record) if form.damaged else record


def read_table(path: Path, encoding: str = "", form: FileFormat | None = None) -> Table:
    """Reads the whole file, in this form if it is given.

    Raises UserError where its format or encoding is unknown, or it has no rows.
    """
    form = form or detect(path, encoding)
    names = header(path, form) if isinstance(form.layout, Dialect) else []  # also of a file whose rows are all faults
    table = table_of_records(path, form, records(path, form), names=names)
    if not table.rows and not table.faults:
        raise _empty(path)
    return replace(table, names=class_names(path, form))


def joined_tables(tables: Sequence[Table]) -> Table:
    """The rows of several files as one table, in which a row has the number `3 of new.csv`; of one file that itself.

    Raises UserError where their columns, or the names of their classes, differ.
    """
    first, *others = tables
    for table in others:
        if differ := [
            name
            for name in {**first.columns, **table.columns}
            if name not in first.columns or name not in table.columns
        ]:
            where = first if differ[0] in first.columns else table
            raise UserError(
                f"{first.path} and {table.path} have different columns: '{differ[0]}' is only in {where.path}",
                "Give both the same columns",
            )
        if table.names != first.names:
            raise UserError(f"{first.path} and {table.path} name their classes differently", "Write names as labels")
    if not others:
        return first
    changes: dict[str, list[int]] = {}
    rows, lines, faults = list[Any](), list[int](), list[Record]()
    for table in tables:
        for what, indexes in table.changes.items():
            changes.setdefault(what, []).extend(len(rows) + index for index in indexes)
        faults += [replace(fault, row=f"{fault.row} of {table.path}") for fault in table.faults]  # type: ignore[arg-type]
        rows += [f"{row} of {table.path}" for row in table.rows]
        lines += table.lines
    return replace(
        first,
        path=Path(",".join(str(table.path) for table in tables)),
        columns={name: [*chain.from_iterable(table.columns[name] for table in tables)] for name in first.columns},
        rows=rows,
        lines=lines,
        faults=faults,
        changes=changes,
    )


def first_rows(path: Path, form: FileFormat, *, most: int) -> Table:
    """Reads the first rows of a file as a table, without those that cannot be read. Raises UserError for no rows."""
    first = list(islice(records(path, form), most))
    if not first:
        raise _empty(path)
    return table_of_records(path, form, (record for record in first if not record.fault))


def _empty(path: Path) -> UserError:
    return UserError(f"{path}: has no rows below its header", "Give it at least one row")


def reading_notes(path: Path, form: FileFormat) -> list[str]:
    """What a reader of a file must know: its encoding, where it is not UTF, and lines that are no rows."""
    notes, layout = form.encoding_notes(path), form.layout
    if isinstance(layout, Dialect) and len(header(path, form)) == 1:  # other rows show it
        last = deque(records(path, form), maxlen=1)
        if any(record.line - record.row > layout.skip + layout.header for record in last):
            notes.append(f"{path}: empty lines are left out, so rows and lines have different numbers")
    return notes


def survey(path: Path, form: FileFormat) -> tuple[int, frozenset[str]]:
    """The number of rows of a file, and its columns."""
    rows, filled, names = 0, 0, set[str]()
    for record in records(path, form):
        rows = record.row
        filled += len(record.values)
        for name in record.values.keys() - names:
            names.add(name)
            require_column(path, name, number=len(names))
            require_filled(path, columns=len(names), rows=rows, filled=filled)
    return rows, frozenset(names)


def table_of(path: Path, encoding: str = "", form: FileFormat | None = None) -> Table:
    """The file's table, read in this form if it is given; cached until the file changes."""
    return _read(path, encoding, version_of(path), form)


def version_of(path: Path) -> tuple[tuple[int, ...], ...]:
    """Numbers that change when a file does, or any file in a folder. Raises UserError for one that cannot be read."""
    try:  # a folder's own time does not change when one of its files is written again
        return tuple(map(state_of, (path, *sorted(path.rglob("*"))) if path.is_dir() else (path,)))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})", "Check its name") from error


def forget_tables() -> None:
    """Drops the cached tables, whose rows are somewhere else now."""
    _read.cache_clear()


@lru_cache(maxsize=4)
def _read(path: Path, encoding: str, _: tuple[tuple[int, ...], ...], form: FileFormat | None) -> Table:
    return read_table(path, encoding, form)
