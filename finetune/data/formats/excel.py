"""Excel's .xlsx: the first sheet, without title lines above the header."""

import io
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from finetune.data.bounds import require_expanded
from finetune.data.file_format import FileFormat, Format, Output, Row
from finetune.data.file_start import FileStart
from finetune.data.records import Record, column_names
from finetune.data.written_cells import flat, without_surrogates
from finetune.errors import UserError, first_line

TOP = 1_000  # lines in which the header is
TITLES = 5  # most title lines above the header of a sheet
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet
MOST_NAMELESS = 1_000  # columns without a name left of the last one
LONGEST = 32_767  # characters of a cell


def sniff(start: FileStart) -> bool:
    """Whether the file is a zip archive with a workbook in it, or is named .xlsx."""
    return start.head[:4] == b"PK\x03\x04" and b"xl/" in start.head + start.path.name.encode()


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row of the first sheet that is not empty."""
    with _sheet(path, form) as sheet:
        claimed = sheet.max_column or 0
        sheet.reset_dimensions()  # else rows are padded to the size that the file claims
        top = islice(_rows(path, sheet, width=MOST_COLUMNS), TOP)
        above, header = next(((line, cells) for line, cells in top if _is_header(line, cells)), (0, ()))
        names = _names(path, above, header, claimed)
        below = ((line, cells) for line, cells in _rows(path, sheet, width=max(1, len(names))) if line > above)
        filled = ((line, cells) for line, cells in below if any(cell is not None for cell in cells))
        for row, (line, cells) in enumerate(filled, start=1):
            yield Record(row=row, line=line, values=dict(zip(names, cells, strict=True)))


def _names(path: Path, line: int, header: Sequence[Any], claimed: int) -> list[str]:
    """The names of the columns: those in the header, and some right of it if the sheet claims that there are any.

    Raises UserError for a sheet without a header, and for one with most of its columns left of a far cell.
    """
    width = max((place for place, cell in enumerate(header, start=1) if cell is not None), default=0)
    if not width:
        raise UserError(f"{path}: has no header in its first {TOP:,} lines", "Put the columns' names above the rows")
    nameless = width - _filled(header)
    if nameless > MOST_NAMELESS:
        raise UserError(
            f"{path}: line {line} has a cell in column {width:,}, and {nameless:,} columns left of it have no name",
            "Delete the cells right of the table",
        )
    width = claimed if width < claimed <= width + MOST_NAMELESS else width
    return column_names(["" if cell is None else str(cell) for cell in header[:width]])


def _is_header(line: int, cells: Sequence[Any]) -> bool:
    """Whether a row that is not empty is the header, not a title above it."""
    return _filled(cells) >= 2 or (line > TITLES and any(cell is not None for cell in cells))


def _filled(cells: Sequence[Any]) -> int:
    """Counts the cells of a row that are not empty."""
    return sum(cell is not None and str(cell).strip() != "" for cell in cells)


@contextmanager
def _sheet(path: Path, form: FileFormat) -> Iterator[Any]:
    """The first sheet, whatever size it claims to have."""
    openpyxl = _openpyxl(f"{path}: reading", ", or save the sheet as CSV")
    with form.open_bytes(path) as file:
        content = file.read()
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        require_expanded(path, size, packed=len(content))
        sheet = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True).worksheets[0]
        yield sheet
    except UserError:
        raise
    except Exception as error:  # a damaged file makes zip, XML and openpyxl fail in any way
        raise UserError(f"{path}: is not a valid Excel file ({first_line(error)})", "Save it again") from error


def _rows(path: Path, sheet: Any, *, width: int = MOST_COLUMNS) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(line, cells) of the sheet, empty lines too. Raises UserError for a line that no sheet has."""
    for line, cells in enumerate(sheet.iter_rows(max_col=width, values_only=True), start=1):
        if line > MOST_ROWS:
            raise UserError(f"{path}: has a row below {MOST_ROWS:,}, the last of a sheet", "Save it again")
        yield line, cells


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
