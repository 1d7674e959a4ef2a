"""Delimited text: CSV, TSV and the like; `read_strictly` raises at the first fault, `read` yields faults as rows."""

import codecs
import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import IO

from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.file_start import FileStart
from finetune.data.formats.dialect import Dialect, csv_reader
from finetune.data.formats.find_dialect import find_dialect
from finetune.data.formats.numbered_cells import numbered_cells
from finetune.data.issues import UNREADABLE, Finding
from finetune.data.open_files import utf_8
from finetune.data.records import AROUND, Record, column_names, encoding_fault
from finetune.data.written_cells import flat_cell, safe
from finetune.errors import UserError

RecordCells = tuple[int, list[str], Finding | None]  # line, cells, fault
CSV, TSV = Dialect(delimiter=",", quoted=True), Dialect(delimiter="\t", quoted=False)


def sniff(start: FileStart) -> Dialect:
    """Detects the dialect; any text has one."""
    return find_dialect(start.text, start.suffix)


def dialect_of(form: FileFormat) -> Dialect:
    """The dialect of a delimited file; for other formats one without a delimiter."""
    return form.layout if isinstance(form.layout, Dialect) else Dialect(delimiter="", quoted=False)


def names_columns(form: FileFormat) -> bool:
    """Whether a file names its columns; those of other files have names of ours."""
    return form.format.names_columns and dialect_of(form).header


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row below the header."""
    names = header(path, form)
    filled = (row for row in _lines(path, form, width=len(names)) if not _is_empty(row))
    for row, (line, cells, fault) in enumerate(islice(filled, form.layout.header, None), start=1):
        yield Record(row=row, line=line, values={} if fault else dict(zip(names, cells, strict=True)), fault=fault)


def _lines(path: Path, form: FileFormat, *, width: int, newline: str = "") -> Iterator[RecordCells]:
    """(line, cells, fault) of every line, or several lines in quotes, from the header on."""
    dialect: Dialect = form.layout
    with form.open_text(path, newline=newline) as file:
        above = sum(1 for _ in islice(file, dialect.skip))
        for line, cells, fault in numbered_cells(file, dialect, width=width):
            yield line + above, cells, fault


def read_strictly(
    path: Path,
    dialect: Dialect,
    *,
    columns: Sequence[str] = (),
    names: Sequence[str] = (),
    on_fault: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, {column: text}) for every row of a file in UTF-8 whose dialect is known: `CSV` or `TSV`.

    `names` are the columns of a file without a header line. In a file without quotes each line is a row, and a carriage
    return is part of a text. Raises UserError for one of `columns` that is missing, and with file and line for the
    first row that cannot be read; with `on_fault`, a row with a wrong number of cells is left out, and its line passed
    to it.
    """
    dialect = replace(dialect, header=not names)
    form = FileFormat(format=FORMAT, encoding="utf-8-sig", layout=dialect)
    found = list(names) or header(path, form)
    if missing := [column for column in columns if column not in found]:
        raise UserError(f"{path}: has no column {', '.join(missing)}", f"Its columns are {', '.join(found)}")
    lines = _lines(path, form, width=len(found), newline="" if dialect.quoted else "\n")
    rows = islice(dropwhile(_is_empty, lines), dialect.header, None)
    for line, cells, fault in _without_empty(rows, each_line=not dialect.quoted):
        if fault and on_fault is not None:
            on_fault(line)
            continue
        fault = fault or encoding_fault(zip(found, cells, strict=True))
        if fault:
            raise UserError(f"{path}:{line}: {fault.what}", "Fix or remove that row")
        yield line, dict(zip(found, cells, strict=True))


def _is_empty(row: RecordCells) -> bool:
    _, cells, fault = row
    return not cells and not fault


def _without_empty(rows: Iterable[RecordCells], *, each_line: bool) -> Iterator[RecordCells]:
    """Skips empty lines. Where each line is a row, an empty one is a fault, unless it ends the file."""
    empty: list[int] = []
    for row in rows:
        if _is_empty(row):
            empty.append(row[0])
            continue
        yield from ((line, [], Finding(UNREADABLE, "is an empty line")) for line in empty if each_line)
        empty.clear()
        yield row


def count_records(path: Path, form: FileFormat) -> tuple[int, frozenset[str]]:
    """The estimated number of rows (a row may have several lines), and the columns."""
    with form.open_bytes(path) as file:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    return lines - form.layout.header, frozenset(header(path, form))


def blank_lines(path: Path, form: FileFormat) -> int:
    """The empty lines above the last row of a file of one column; other formats, whose rows show it, have none."""
    found = coming = 0
    if not isinstance(form.layout, Dialect) or len(header(path, form)) != 1:
        return found
    for row in _lines(path, form, width=1):
        coming = coming + 1 if _is_empty(row) else 0
        found += _is_empty(row)
    return found - coming


def header(path: Path, form: FileFormat) -> list[str]:
    """The names of a delimited file's columns."""
    dialect: Dialect = form.layout
    first = first_cells(path, form)
    if not dialect.header and dialect.names:
        return list(dialect.names)
    if not dialect.header:
        return [f"column {number}" for number in range(1, (dialect.width or len(first)) + 1)]
    return column_names(["", *first] if dialect.indexed else first)


def first_cells(path: Path, form: FileFormat) -> list[str]:
    """The first row of a delimited file, unchanged; empty for other formats."""
    if not isinstance(form.layout, Dialect):
        return []
    dialect = form.layout
    with form.open_text(path) as file:
        lines = islice(file, dialect.skip, None)
        rows = csv_reader(lines, dialect.delimiter, quoted=dialect.quoted, quote=dialect.quote)
        return next((cells for cells in rows if cells), [])


def nameless_columns(path: Path, form: FileFormat) -> list[str]:
    """The columns without a name in the header of a delimited file."""
    dialect = dialect_of(form)
    first = first_cells(path, form)
    if not first or not dialect.header:
        return []
    cells = ["", *first] if dialect.indexed else first
    return [name for name, cell in zip(header(path, form), cells, strict=True) if not cell.strip(AROUND)]


def _write(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    delimiter = "," if output.suffix == ".csv" else "\t"
    changed = 0
    file.write(codecs.BOM_UTF8 if output.marked else b"")
    with utf_8(file) as text:
        plain, quoted = (
            csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=how)
            for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
        )
        for row in chain([dict(zip(output.names, output.names, strict=True))], rows):
            before = [flat_cell(row.get(name)) for name in output.names]
            cells = [
                safe(cell) if name in output.escaped else cell for name, cell in zip(output.names, before, strict=True)
            ]
            changed += sum(new != old for new, old in zip(cells, before, strict=True))
            if output.bare and not any(char in cell for cell in cells for char in (delimiter, "\n", "\r")):
                text.write(delimiter.join(cells) + "\n")
                continue
            # Python 3.11 and 3.12 leave a lone carriage return without quotes, and it would end the row.
            (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)
    return changed


FORMAT = Format(
    name="delimited",
    title="delimited text",
    suffixes=(".csv", ".tsv", ".txt"),
    corpus=(".csv", ".tsv"),
    sniff=sniff,
    read=read,
    count=count_records,
    markable=True,
    write=_write,
)
