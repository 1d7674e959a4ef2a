"""Excel's .xlsx: the first sheet or the one that is named, without title lines above the header."""

import io
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from finetune.data.bounds import require_expanded
from finetune.data.checksums import state_of
from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.file_start import FileStart
from finetune.data.formats.dialect import is_group_line
from finetune.data.messages import shown, so_many
from finetune.data.open_files import Compression
from finetune.data.paths import is_file
from finetune.data.records import Record, column_names
from finetune.data.written_cells import flat_cell, without_surrogates
from finetune.errors import UserError, first_line

TOP = 1_000  # lines in which the header is
COVER = 4  # times its rows that another sheet has
MOST_NAMED = 8  # sheets in a message
BELOW = 50  # lines below a header that tell whether it is a line of groups
TITLES = 5  # most title lines above the header of a sheet
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384  # of a sheet
MOST_NAMELESS = 1_000  # columns without a name left of the last one
CELL_CHARS = 32_767  # characters of a cell


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The sheet that is read, with the `others` of the workbook, the largest first; each has a name and rows.

    `given` says that the user named it, so that no other is meant.
    """

    name: str
    rows: int = 0
    others: tuple[tuple[str, int], ...] = ()
    given: bool = False

    def __str__(self) -> str:
        alone = f"sheet {shown(self.name)}" + (f" of {len(self.others) + 1}" if self.others else "")
        name, rows = self.others[0] if self.others and not self.given else ("", 0)
        larger = f"; {shown(name)} has more rows ({rows:,}): {setting_of(name)} reads it"
        return alone + (larger if rows > self.rows else "")

    @property
    def meant(self) -> tuple[tuple[str, int], ...]:
        """The other sheets that the user may mean: all that have rows, unless one was named."""
        return () if self.given else tuple((name, rows) for name, rows in self.others if rows > 1)

    @property
    def is_cover(self) -> bool:
        """Whether another sheet that may be meant has many times its rows."""
        return any(rows >= COVER * self.rows for _, rows in self.meant)


def setting_of(sheet: str) -> str:
    """The setting that names a sheet, as typed in a shell: `'sheet=All rows'`."""
    return shlex.quote(f"sheet={sheet}")


def sniff(start: FileStart) -> Sheet | None:
    """The first sheet of a workbook: a zip archive with one in it, or named .xlsx."""
    sizes = sheets_of(start.path)
    return _described(sizes, "") if sizes else None


def sheets_of(path: Path) -> dict[str, int]:
    """The names of a workbook's sheets, with the rows that each claims to have; none for any other file."""
    start = FileStart(path)
    if not is_file(path) or start.head[:4] != b"PK\x03\x04" or b"xl/" not in start.head + path.name.encode():
        return {}
    return _sheets(path, start.compression, *state_of(path))


@lru_cache(maxsize=8)
def _sheets(path: Path, compression: Compression, *_: int) -> dict[str, int]:
    with _book(path, FileFormat(format=FORMAT, compression=compression)) as book:
        sizes = {one.title: one.max_row or sum(1 for _ in one.iter_rows()) for one in book.worksheets}
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
    return FileFormat.of(FileStart(path), FORMAT, _described(sizes, name))


def _described(sizes: Mapping[str, int], name: str) -> Sheet:
    """The sheet of that name, or the first one."""
    chosen = name or next(iter(sizes))
    others = sorted((sheet for sheet in sizes.items() if sheet[0] != chosen), key=lambda sheet: -sheet[1])
    return Sheet(name=chosen, rows=sizes[chosen], others=tuple(others), given=bool(name))


def hint_of(form: FileFormat) -> str:
    """The other sheets of a form that is a sheet's, after a semicolon; empty for other forms."""
    meant = form.layout.meant if isinstance(form.layout, Sheet) else ()
    listed = ", ".join(f"{setting_of(name)} ({so_many(rows)})" for name, rows in meant[:MOST_NAMED])
    return f"; other sheets: {listed}" if listed else ""


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row of the sheet that is not empty. Raises UserError for a sheet without a header, with
    a line that no sheet has, or with most of its columns left of a far cell.
    """
    with _book(path, form) as book:
        sheet = next(one for one in book.worksheets if one.title == form.layout.name)
        claimed = sheet.max_column or 0
        sheet.reset_dimensions()  # else rows are padded to the size that the file claims
        lines = enumerate(sheet.iter_rows(max_col=MOST_COLUMNS, values_only=True), start=1)
        top = list(islice(lines, TOP))
        filled = [(line, cells) for line, cells in top if _filled(cells)]
        place = next((n for n, (line, cells) in enumerate(filled) if line <= TITLES + 1 and _filled(cells) > 1), 0)
        place += is_group_line([cells for _, cells in filled[place : place + BELOW]])
        above, header = filled[place] if filled else (0, ())  # below titles
        width = max((number for number, cell in enumerate(header, start=1) if cell is not None), default=0)
        nameless = width - _filled(header)
        if not width:
            raise UserError(
                f"{path}: has no header in its first {TOP:,} lines{hint_of(form)}",
                "Put the columns' names above the rows",
            )
        if nameless > MOST_NAMELESS:
            raise UserError(
                f"{path}: line {above} has a cell in column {width:,}, and {nameless:,} columns left of it"
                " have no name",
                "Delete the cells right of the table",
            )
        width = claimed if width < claimed <= width + MOST_NAMELESS else width  # cells without a name are right of it
        names, row = column_names(["" if cell is None else str(cell) for cell in header[:width]]), 0
        for line, cells in chain(top, lines):
            if line > MOST_ROWS:
                raise UserError(f"{path}: has a row below {MOST_ROWS:,}, the last of a sheet", "Save it again")
            cells = cells[: len(names)]
            if line > above and any(cell is not None for cell in cells):
                row += 1
                yield Record(row=row, line=line, values=dict.fromkeys(names) | dict(zip(names, cells, strict=False)))


def _filled(cells: Sequence[Any]) -> int:
    """Counts the cells of a row that are not empty."""
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
