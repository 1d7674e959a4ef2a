"""Excel's .xlsx: the first sheet, without title lines above the header."""

import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import IO, Any

from finetune.data.file_format import FileFormat, Format, Output, Row
from finetune.data.file_start import FileStart
from finetune.data.records import Record, column_names
from finetune.data.written_cells import flat, without_surrogates
from finetune.errors import UserError, first_line

TITLES = 5  # most title lines above the header of a sheet
MOST_ROWS = 1_048_576  # of a sheet
LONGEST = 32_767  # characters of a cell


def sniff(start: FileStart) -> bool:
    """Whether the file is a zip archive with a workbook in it, or is named .xlsx."""
    return start.head[:4] == b"PK\x03\x04" and b"xl/" in start.head + start.path.name.encode()


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row of the first sheet that is not empty."""
    names: list[str] = []
    row = 0
    for line, cells in enumerate(_sheet(path, form), start=1):
        if all(cell is None for cell in cells):
            continue
        if not names and _filled(cells) < 2 and line <= TITLES:
            continue  # a title above the header
        if not names:
            names = column_names(["" if cell is None else str(cell) for cell in cells])
            continue
        row += 1
        yield Record(row=row, line=line, values=dict(zip(names, cells, strict=False)))


def _filled(cells: Sequence[Any]) -> int:
    """Counts the cells of a row that are not empty."""
    return sum(cell is not None and str(cell).strip() != "" for cell in cells)


def _sheet(path: Path, form: FileFormat) -> Iterator[tuple[Any, ...]]:
    """The cells of the first sheet, row by row."""
    openpyxl = _openpyxl(f"{path}: reading", ", or save the sheet as CSV")
    with form.open_bytes(path) as file:
        content = io.BytesIO(file.read())
    try:
        yield from openpyxl.load_workbook(content, read_only=True, data_only=True).worksheets[0].values
    except Exception as error:  # a damaged file makes zip, XML and openpyxl fail in any way
        raise UserError(f"{path}: is not a valid Excel file ({first_line(error)})", "Save it again") from error


def _openpyxl(doing: str, otherwise: str = "") -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f"{doing} Excel needs a package that is not installed",
            f"Install it: pip install 'bert-finetune[excel]'{otherwise}",
        ) from error
    return openpyxl


def _fits(path: Path, _: Collection[str], rows: int) -> None:
    _openpyxl(f"{path}: writing")
    if rows >= MOST_ROWS:
        raise UserError(f"{path}: an Excel sheet holds {MOST_ROWS - 1:,} rows", "Choose another format")


def _write(file: IO[bytes], rows: Iterable[Row], output: Output) -> int:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def cell_of(value: Any) -> Any:
        cell = WriteOnlyCell(sheet)
        if isinstance(value, int | float | Decimal | timedelta) or _is_sheet_date(value):
            cell.value = value
            return cell
        cell.value = ILLEGAL_CHARACTERS_RE.sub("", without_surrogates(flat(value)))[:LONGEST]
        cell.data_type = "s"  # a text, also where it begins with "="
        return cell

    header = dict(zip(output.names, output.names, strict=True))
    for row in chain([header], rows):
        sheet.append([cell_of(row.get(name)) for name in output.names])
    book.save(file)
    return 0


def _is_sheet_date(cell: Any) -> bool:
    """Whether a spreadsheet can hold this date or time: no time zones, no years before 1900."""
    return isinstance(cell, time) or (isinstance(cell, date) and cell.year > 1900 and not getattr(cell, "tzinfo", None))


FORMAT = Format(
    name="excel",
    title="Excel",
    suffixes=(".xlsx",),
    text=False,
    compressed=True,
    cells="values",
    sniff=sniff,
    read=read,
    fits=_fits,
    write=_write,
)
