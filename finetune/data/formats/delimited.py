"""Delimited text: CSV, TSV and the like; `read_strictly` raises at the first fault, `read` yields faults as rows."""

import codecs
import csv
import operator
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import IO

from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.formats.dialect import Dialect, csv_reader, find_dialect
from finetune.data.issues import CELLS, QUOTE, UNREADABLE, Finding
from finetune.data.open_files import FileStart, utf_8
from finetune.data.paths import paths_in
from finetune.data.records import AROUND, Record, column_names, encoding_fault
from finetune.data.values import flat_cell, safe
from finetune.errors import UserError

RecordCells = tuple[int, list[str], Finding | None]  # line, cells, fault
MOST_LINES = 1 << 20  # of a cell
RULE = re.compile(":?-[-: ]*")  # between the header and the rows of a Markdown table
MOST_IN_CELL = 1 << 26  # most characters of a cell over several lines: with more, its quote was not closed
CSV, TSV = Dialect(delimiter=",", quoted=True), Dialect(delimiter="\t", quoted=False)


def sniff(start: FileStart) -> Dialect:
    """Detects the dialect; any text has one."""
    return find_dialect(start.text, start.suffix)


def dialect_of(form: FileFormat) -> Dialect:
    """The dialect of a delimited file; for other formats one without a delimiter."""
    return form.layout if isinstance(form.layout, Dialect) else Dialect(delimiter="", quoted=False)


def names_columns(form: FileFormat) -> bool:
    """Whether a file names its columns; otherwise they are `column 1` and so on."""
    return form.format.names_columns and dialect_of(form).header


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row below the header."""
    names = header(path, form)
    filled = (row for row in _lines(path, form, width=len(names)) if not _is_empty(row))
    for row, (line, cells, fault) in enumerate(islice(filled, form.layout.header, None), start=1):
        yield Record(row=row, line=line, values={} if fault else dict(zip(names, cells, strict=True)), fault=fault)


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
    form = FileFormat(format=FORMAT, encoding="utf-8-sig", newline="" if dialect.quoted else "\n", layout=dialect)
    listed = list(names) or header(path, form)
    if missing := [column for column in columns if column not in listed]:
        raise UserError(f"{path}: has no column {', '.join(missing)}", f"Its columns are {', '.join(listed)}")
    rows = islice(dropwhile(_is_empty, _lines(path, form, width=len(listed))), dialect.header, None)
    empty: list[RecordCells] = []  # lines that are rows without cells, unless they end the file
    for row in rows:
        if _is_empty(row):
            if not dialect.quoted:
                empty.append((row[0], [], Finding(UNREADABLE, "is an empty line")))
            continue
        for line, cells, fault in (*empty, row):
            if fault and on_fault is not None:
                on_fault(line)
                continue
            if fault := fault or encoding_fault(zip(listed, cells, strict=True)):
                raise UserError(f"{path}:{line}: {fault.what}", "Fix or remove that row")
            yield line, dict(zip(listed, cells, strict=True))
        empty.clear()


def _is_empty(row: RecordCells) -> bool:
    _, cells, fault = row
    return not cells and not fault


def header(path: Path, form: FileFormat) -> list[str]:
    """The names of a delimited file's columns."""
    dialect: Dialect = form.layout
    if not dialect.header and dialect.names:
        return list(dialect.names)
    first = first_cells(path, form)
    if not dialect.header:
        return [f"column {number}" for number in range(1, len(first) + 1)]
    return column_names(["", *first] if dialect.indexed else first)


def first_cells(path: Path, form: FileFormat) -> list[str]:
    """The first row of a delimited file, or of the first of several, unchanged; empty for other formats."""
    if not isinstance(form.layout, Dialect):
        return []
    with form.open_text(paths_in(path)[0]) as file:
        lines = islice(file, form.layout.skip, None)
        return next(filter(None, _rows_of(lines, form.layout)), [])


def nameless_columns(path: Path, form: FileFormat) -> list[str]:
    """The columns without a name in the header of a delimited file."""
    dialect = dialect_of(form)
    first = first_cells(path, form) if dialect.header else []
    cells = ["", *first] if first and dialect.indexed else first
    return [name for name, cell in zip(column_names(cells), cells, strict=True) if not cell.strip(AROUND)]


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
            before = {name: flat_cell(row.get(name)) for name in output.names}
            cells = [safe(cell) if name in output.escaped else cell for name, cell in before.items()]
            changed += sum(map(operator.ne, cells, before.values()))
            # Python 3.11 and 3.12 leave a lone carriage return without quotes, and it would end the row.
            (quoted if "\r" in "".join(cells) else plain).writerow(cells)
    return changed


def _rows_of(lines: Iterable[str], dialect: Dialect, *, strict: bool = False) -> Iterator[list[str]]:
    return csv_reader(lines, dialect.delimiter, quoted=dialect.quoted, quote=dialect.quote, strict=strict)


def _lines(path: Path, form: FileFormat, *, width: int) -> Iterator[RecordCells]:
    """(line, cells, fault) of every row, from the header on; an empty line has neither cells nor a fault.

    Where a quote is never closed, only its own line is a fault, and reading continues after it.
    """
    dialect: Dialect = form.layout
    taken, returned = list[str](), deque[str]()  # lines of a row, and lines that were put back
    with form.open_text(path) as file:
        number = 1 + sum(1 for _ in islice(file, dialect.skip))

        def lines() -> Iterator[str]:
            size = 0
            while size <= MOST_IN_CELL and len(taken) <= MOST_LINES:
                if not (line := returned.popleft() if returned else next(file, "")):
                    break
                size = len(line) + (size if taken else 0)
                taken.append(line)
                yield line
            taken.append("")  # which no line is: the row had no end

        reader = _rows_of(lines(), dialect)
        while (cells := next(reader, None)) is not None:
            rest, line = taken[1:], number
            if not taken[-1] or (rest and not _ends_well(taken, dialect, cells, width)):
                returned.extendleft(reversed(list(filter(None, rest))))
                taken.clear()
                reader, number = _rows_of(lines(), dialect), number + 1
                yield line, [], Finding(QUOTE, "a quote opens in it and is not closed")
                continue
            number += len(taken)
            taken.clear()
            if dialect.delimiter == "|" and cells and RULE.fullmatch("".join(cells).strip()):
                continue
            if not cells or (cells == [""] and width > 1):  # of a single column `""` is a row
                yield line, [], None
                continue
            yield line, cells, None if len(cells) == width else Finding(CELLS, _wrong_width(cells, width, dialect))


def _wrong_width(cells: Sequence[str], width: int, dialect: Dialect) -> str:
    """`expected 3 cells, as in the header, found 4`, and the cell where the text probably continues."""
    what = f"expected {width} cells, as in the {'header' if dialect.header else 'first row'}, found {len(cells)}"
    if len(cells) < width:
        return what
    at = next((cell.strip() for cell in cells[1:] if cell[:1] == " "), cells[width - 1].strip())
    return f"{what}: a cell that holds the delimiter needs quotes, perhaps around '...{dialect.delimiter} {at[:20]}'"


def _ends_well(taken: Sequence[str], dialect: Dialect, cells: Sequence[str], width: int) -> bool:
    """Whether lines make one row, with a delimiter or the end of the line after each closing quote.

    If not, the closing quote is the next row's opening one.
    """
    try:
        return len(cells) == width and bool(list(_rows_of(taken, dialect, strict=True)))
    except csv.Error:
        return False


FORMAT = Format(
    name="delimited",
    title="delimited text",
    suffixes=(".csv", ".tsv", ".txt"),
    sniff=sniff,
    read=read,
    markable=True,
    write=_write,
)
