"""Excel's .xlsx: the only sheet with rows or the one that is named, without title lines above the header."""

import io
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from finetune.data.checksums import state_of
from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.formats.dialect import is_group_line
from finetune.data.messages import first_of, shown, so_many
from finetune.data.open_files import Compression, FileStart
from finetune.data.paths import is_file
from finetune.data.records import Record, column_names, require_expanded
from finetune.data.values import flat_cell, without_surrogates
from finetune.errors import UserError, first_line

TOP = 1_000  # lines in which the header is
MOST_NAMED = 8  # sheets in a message
BELOW = 50  # lines below a header that tell whether it is a line of groups
TITLES = 5  # most title lines above the header of a sheet
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet
MOST_NAMELESS = 1_000  # columns without a name left or right of the last one
CELL_CHARS = 32_767  # characters of a cell


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The sheet that is read."""

    name: str

    def __str__(self) -> str:
        return f"sheet {shown(self.name)}"


def sniff(start: FileStart) -> Sheet | None:
    """The only sheet with rows of a workbook: a zip archive with one in it, or named .xlsx. Raises UserError for
    several sheets: the user names one.
    """
    sizes = sheets_of(start.path)
    filled = [name for name, rows in sizes.items() if rows > 1] or [*sizes][:1]
    if len(filled) > 1:
        listed = first_of([f"{shown(name)} ({so_many(sizes[name])})" for name in filled], MOST_NAMED)
        largest = max(filled, key=lambda name: sizes[name])
        way = f"Name one, such as the largest: {shlex.quote(f'sheet={largest}')}"
        raise UserError(f"{start.path}: has {len(filled)} sheets with rows: {listed}", way)
    return Sheet(name=filled[0]) if filled else None


def sheets_of(path: Path) -> dict[str, int]:
    """The names of a workbook's sheets, with the rows that each claims to have; none for any other file."""
    start = FileStart(path)
    if not is_file(path) or start.head[:4] != b"PK\x03\x04" or b"xl/" not in start.head + path.name.encode():
        return {}
    return _sheets(path, start.compression, *state_of(path))


@lru_cache(maxsize=8)
def _sheets(path: Path, compression: Compression, *_: int) -> dict[str, int]:
    with _book(path, FileFormat(format=FORMAT, compression=compression)) as book:
        sizes = {sheet.title: sheet.max_row or sum(1 for _ in sheet.iter_rows()) for sheet in book.worksheets}
    if not sizes:
        raise UserError(f"{path}: has no sheet with cells", "Save it again")
    return sizes


def named_sheet(path: Path, name: str) -> FileFormat:
    """How the sheet of that name is read. Raises UserError for a workbook without it, and for any other file."""
    sizes = sheets_of(path)
    if not sizes:
        raise UserError(f"{path}: is not an Excel file, which sheet= is for", "Leave sheet= out")
    if name not in sizes:
        raise UserError(f"{path}: has no sheet {shown(name)}", f"Its sheets are {', '.join(sizes)}")
    return FileFormat.of(FileStart(path), FORMAT, Sheet(name=name))


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row of the sheet that is not empty. Raises UserError for a sheet without a header, and
    with a line that no sheet has.
    """
    with _book(path, form) as book:
        sheet = next(sheet for sheet in book.worksheets if sheet.title == form.layout.name)
        sheet.reset_dimensions()  # else rows are padded to the size that the file claims
        lines = enumerate(sheet.iter_rows(max_col=MOST_COLUMNS, values_only=True), start=1)
        top = list(islice(lines, TOP))
        filled = [(line, cells) for line, cells in top if _filled(cells)]
        place = next((n for n, (line, cells) in enumerate(filled) if line <= TITLES + 1 and _filled(cells) > 1), 0)
        place += is_group_line([cells for _, cells in filled[place : place + BELOW]])
        if not filled:
            raise UserError(
                f"{path}: has no header in its first {TOP:,} lines", "Put the columns' names above the rows"
            )
        above, header = filled[place]  # below titles
        named = max(n for n, cell in enumerate(header, start=1) if cell is not None)
        width = max(n for _, cells in filled[place:] for n, cell in enumerate(cells, start=1) if cell is not None)
        if named - _filled(header) > MOST_NAMELESS:
            raise UserError(
                f"{path}: line {above} has a cell in column {named:,}, and most columns left of it have no name",
                "Delete the cells right of the table",
            )
        width = width if width <= named + MOST_NAMELESS else named  # cells without a name may be right of it
        header = [*header, *[None] * width][:width]
        names, row = column_names(["" if cell is None else str(cell) for cell in header]), 0
        for line, cells in chain(top, lines):
            if line > MOST_ROWS:
                raise UserError(f"{path}: has a row below {MOST_ROWS:,}, the last of a sheet", "Save it again")
            cells = cells[: len(names)]
            if line > above and any(cell is not None for cell in cells):
                row += 1
                yield Record(row=row, line=line, values=dict.fromkeys(names) | dict(zip(names, cells, strict=False)))


def _filled(cells: Sequence[Any]) -> int:
    return sum(cell is not None and str(cell).strip() != "" for cell in cells)


@contextmanager
def _book(path: Path, form: FileFormat) -> Iterator[Any]:
    """The workbook. Raises UserError for a damaged one, also while it is read."""
    openpyxl = _openpyxl(f"{path}: reading", ", or save the sheet as CSV")
    with form.open_bytes(path) as file:
        content = file.read()
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        require_expanded(path, size, packed=len(content))
        yield openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except UserError:
        raise
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


def _fits(path: Path, _: OutputFormat, rows: int) -> None:
    _openpyxl(f"{path}: writing")
    if rows >= MOST_ROWS:
        raise UserError(f"{path}: an Excel sheet holds {MOST_ROWS - 1:,} rows", "Choose another format")


def _write(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def cell_of(value: Any) -> Any:
        cell = WriteOnlyCell(sheet)
        # A spreadsheet holds no time zones and no years before 1900.
        dated = isinstance(value, date) and value.year > 1900 and not getattr(value, "tzinfo", None)
        if dated or isinstance(value, int | float | Decimal | time | timedelta):
            cell.value = value
        else:
            cell.value = ILLEGAL_CHARACTERS_RE.sub("", without_surrogates(flat_cell(value)))[:CELL_CHARS]
            cell.data_type = "s"  # a text, also where it begins with "="
        return cell

    for row in chain([dict(zip(output.names, output.names, strict=True))], rows):
        sheet.append([cell_of(row.get(name)) for name in output.names])
    book.save(file)
    return 0


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
