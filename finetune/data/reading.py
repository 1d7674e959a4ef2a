"""Records of a file of any format, one by one or as a table; what cannot be read keeps its place, with a reason."""

import io
import json
import re
import unicodedata
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from finetune.data.detect import FileFormat, detect, open_bytes, open_text
from finetune.data.encodings.detect import find_encoding
from finetune.data.formats.class_folders import texts_of
from finetune.data.formats.companions import labels_of_texts, read_together
from finetune.data.formats.delimited import numbered_cells
from finetune.data.formats.dialect import csv_reader
from finetune.data.formats.exports import plain_row
from finetune.data.formats.json_rows import rows_in
from finetune.data.formats.word_lines import sentences
from finetune.data.issues import BYTES, JSON, REJECTED, UNREADABLE, Fault
from finetune.data.nested import fields_of
from finetune.errors import UserError, first_line

TITLES = 5  # lines above the header of a sheet that may be titles
MOST_EMPTY = 50_000_000  # cells of a table that no row fills
SHORT, MOST_SEEN = 20, 100_000  # characters of a text that comes often, and how many of those are kept in mind
SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Row number `row` of a file, counted from 1 without the header, which begins in `line`, and its cells by column.

    `fault` says why it could not be read; then there are no values.
    """

    row: int
    line: int
    values: dict[str, Any] = field(default_factory=dict)
    fault: Fault | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A whole file: its cells by column, the row's number and line of each, and the records that could not be read.

    `derived` columns are fields of objects in other columns, by names such as `labels.quality`.
    `names` are those of classes by number that a file says of a column.
    """

    path: Path
    form: FileFormat
    columns: dict[str, list[Any]]
    rows: Sequence[int]
    lines: Sequence[int]
    faults: list[Record]
    derived: frozenset[str] = frozenset()
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many rows could be read."""
        return len(self.rows)

    def records(self) -> Iterator[Record]:
        """The rows that could be read."""
        names = [name for name in self.columns if name not in self.derived]
        columns = [self.columns[name] for name in names]
        for row, line, *cells in zip(self.rows, self.lines, *columns, strict=True):
            yield Record(row=row, line=line, values=dict(zip(names, cells, strict=True)))


def read_table(path: Path, encoding: str = "") -> Table:
    """The whole file. Raises UserError where it is of no known format or encoding, or has no rows at all."""
    if path.is_dir():
        return _class_folders(path, encoding)
    form = detect(path, encoding)
    if (labels := labels_of_texts(path)) is not None:
        columns, rows = read_together(path, labels, form)
        form = FileFormat(kind="delimited", encoding=form.encoding, header=False)
        return Table(path=path, form=form, columns=dict(columns), rows=rows, lines=rows, faults=[])
    table = _cells_table(path, form) if form.kind == "delimited" and not form.damaged else _records_table(path, form)
    if not table.rows and not table.faults:
        raise UserError(f"{path}: has no rows below its header", "Give it at least one row")
    return replace(table, names=_class_names(path, form))


def _class_folders(folder: Path, encoding: str) -> Table:
    """A row for each text in the folders of classes."""

    def read(file: Path) -> str:
        opened = partial(open_bytes, file, packed=False)
        with opened() as raw:
            content = raw.read()
        return content.decode(find_encoding(file, opened, encoding).name, errors="replace") if content.strip() else ""

    columns = texts_of(folder, read)
    rows = range(1, len(columns["text"]) + 1)
    form = FileFormat(kind="folders")
    return Table(path=folder, form=form, columns=dict(columns), rows=rows, lines=rows, faults=[])


@lru_cache(maxsize=4)
def _read(path: Path, encoding: str, _: tuple[int, int]) -> Table:
    return read_table(path, encoding)


def table_of(path: Path, encoding: str = "") -> Table:
    """The file's table, read once as long as the file does not change."""
    try:
        stat = path.stat()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})", "Check its name") from error
    return _read(path, encoding, (stat.st_mtime_ns, stat.st_size))


def _records_table(path: Path, form: FileFormat) -> Table:
    columns: dict[str, list[Any]] = {name: [] for name in header(path, form)}
    rows, lines, faults, seen, filled = array("q"), array("q"), [], _Seen(), 0
    for record in records(path, form):
        if record.fault:
            faults.append(record)
            continue
        for name, value in record.values.items():
            if name not in columns:
                columns[name] = []
                _require_filled(path, len(columns), len(rows), filled)
            cells = columns[name]
            cells += [None] * (len(rows) - len(cells))
            cells.append(seen[value] if type(value) is str and len(value) < SHORT else value)
        filled += len(record.values)
        rows.append(record.row)
        lines.append(record.line)
    _require_filled(path, len(columns), len(rows), filled)
    for cells in columns.values():
        cells += [None] * (len(rows) - len(cells))
    return with_fields(Table(path=path, form=form, columns=columns, rows=rows, lines=lines, faults=faults))


def with_fields(table: Table) -> Table:
    """The table with a column more for each field of the objects that its columns hold."""
    fields = fields_of(table.columns)
    if not fields:
        return table
    return replace(table, columns=table.columns | fields, derived=frozenset(fields))


def _require_filled(path: Path, columns: int, rows: int, filled: int) -> None:
    """Raises UserError where rows with keys of their own would make a table that is nearly all empty."""
    if columns * rows - filled > MOST_EMPTY:
        raise UserError(
            f"{path}: its first {rows:,} rows have {columns:,} different columns, nearly all of them empty",
            "Give all rows the same names; put what varies into one of them",
        )


def _cells_table(path: Path, form: FileFormat) -> Table:
    """The table of a delimited file, in half the time: no Record is made of a row that can be read."""
    names = header(path, form)
    columns: list[list[str]] = [[] for _ in names]
    rows, lines, faults, seen = array("q"), array("q"), [], _Seen()
    for row, line, values, fault in _numbered(path, form, width=len(names)):
        if fault:
            faults.append(Record(row=row, line=line, fault=fault))
            continue
        for cells, value in zip(columns, values, strict=True):
            cells.append(seen[value] if len(value) < SHORT else value)
        rows.append(row)
        lines.append(line)
    by_name: dict[str, list[Any]] = dict(zip(names, columns, strict=True))
    return with_fields(Table(path=path, form=form, columns=by_name, rows=rows, lines=lines, faults=faults))


class _Seen(dict[str, str]):
    """Short texts by themselves: labels and the like come often, and one object for each is enough."""

    def __missing__(self, text: str) -> str:
        if len(self) < MOST_SEEN:
            self[text] = text
        return text


def header(path: Path, form: FileFormat) -> list[str]:
    """The names of the columns that a file begins with; none where each row names its own."""
    if form.kind != "delimited":
        return []
    first = first_cells(path, form)
    if not form.header:
        return [f"column {number}" for number in range(1, (form.width or len(first)) + 1)]
    return column_names(["", *first] if form.indexed else first)


def first_cells(path: Path, form: FileFormat) -> list[str]:
    """The first row of a delimited file as it stands there; nothing of other files."""
    if form.kind != "delimited":
        return []
    with open_text(path, form) as file:
        skip_lines(file, form.skip)
        return next(
            (cells for cells in csv_reader(file, form.delimiter, quoted=form.quoted, quote=form.quote) if cells), []
        )


def skip_lines(file: Iterator[str], count: int) -> None:
    """Reads over the lines above the header."""
    for _ in range(count):
        next(file, None)


def nameless_columns(path: Path, form: FileFormat) -> list[str]:
    """The columns that the header of a delimited file has no name for."""
    if form.kind != "delimited" or not form.header:
        return []
    first = first_cells(path, form)
    names = header(path, form)
    cells = ["", *first] if form.indexed else first
    return [name for name, cell in zip(names, cells, strict=True) if not cell.strip(" \t\r\n\ufeff\0")]


def column_names(cells: Sequence[str]) -> list[str]:
    """Names in NFC without marks and outer spaces, each once: an empty one is `column N`, a second `text` `text 2`."""
    return list(_distinct_names(tuple(cells)))


@lru_cache(maxsize=64)  # rows of JSON have the same names again and again
def _distinct_names(cells: tuple[str, ...]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for number, cell in enumerate(cells, start=1):
        plain = unicodedata.normalize("NFC", SURROGATE.sub("?", str(cell)))
        name = plain.strip(" \t\r\n\ufeff\0") or f"column {number}"
        while name in names:
            name = f"{name} {number}"
        names[name] = None
    return tuple(names)


def records(path: Path, form: FileFormat) -> Iterator[Record]:
    """Every row of a file in its order, with as little of it in memory as its format allows.

    Raises UserError where the file as a whole cannot be read.
    """
    read = {
        "delimited": _delimited,
        "json-lines": _json_lines,
        "json": _json,
        "parquet": _parquet,
        "columns": _columns,
        "labelled": _labelled,
        "excel": _excel,
    }[form.kind]
    halves = form.damaged or form.kind in ("json", "json-lines")
    yield from map(whole, read(path, form)) if halves else read(path, form)


def whole(record: Record) -> Record:
    """The record, or one with a fault where a text has half a character or bytes of another encoding."""
    for name, value in record.values.items():
        texts = value if isinstance(value, list) else [value]
        for text in texts:
            if isinstance(text, str) and not text.isascii() and SURROGATE.search(text):
                fault = f"the cell '{name}' has bytes of another encoding, or half a character (a lone surrogate)"
                return Record(row=record.row, line=record.line, fault=Fault(fault, BYTES))
    return record


def _delimited(path: Path, form: FileFormat) -> Iterator[Record]:
    names = header(path, form)
    for row, line, cells, fault in _numbered(path, form, width=len(names)):
        values = {} if fault else dict(zip(names, cells, strict=True))
        yield Record(row=row, line=line, values=values, fault=fault)


def _numbered(path: Path, form: FileFormat, *, width: int) -> Iterator[tuple[int, int, list[str], Fault | None]]:
    """(row, line, cells, fault) of every row below the header."""
    with open_text(path, form) as file:
        skip_lines(file, form.skip)
        rows = numbered_cells(file, form, width=width)
        if form.header:
            next(rows, None)
        for row, (line, cells, fault) in enumerate(rows, start=1):
            yield row, line + form.skip, cells, fault


def _json_lines(path: Path, form: FileFormat) -> Iterator[Record]:
    row = 0
    with open_text(path, form) as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            row += 1
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                yield Record(row=row, line=line, fault=Fault(f"is not JSON ({first_line(error)})", JSON))
                continue
            yield _of_object(value, row=row, line=line)


def _json(path: Path, form: FileFormat) -> Iterator[Record]:
    with open_text(path, form) as file:
        try:
            content = json.load(file)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: is not JSON ({first_line(error)})", "Mend that place") from error
    for row, value in enumerate(rows_in(content, path), start=1):
        yield _of_object(value, row=row, line=row)


def _of_object(value: Any, *, row: int, line: int) -> Record:
    if not isinstance(value, dict):
        return Record(row=row, line=line, fault=Fault("is no JSON object with the columns' names", JSON))
    value, fault = plain_row(value)
    if fault:
        return Record(row=row, line=line, fault=Fault(fault, REJECTED))
    names = column_names(list(value))
    return Record(row=row, line=line, values=dict(zip(names, value.values(), strict=True)))


def _class_names(path: Path, form: FileFormat) -> dict[str, dict[str, str]]:
    """The names of classes by number that a Parquet file of the `datasets` library says of its columns."""
    if form.kind != "parquet":
        return {}
    with _parquet_file(path, form) as opened:
        metadata = opened.schema_arrow.metadata or {}
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    except (ValueError, AttributeError):
        return {}
    names: dict[str, dict[str, str]] = {}
    for column, facts in features.items() if isinstance(features, dict) else ():
        inner = facts.get("feature", facts) if isinstance(facts, dict) else facts
        if isinstance(inner, dict) and isinstance(inner.get("names"), list):
            names[column] = {str(number): str(name) for number, name in enumerate(inner["names"])}
    return names


def parquet_facts(path: Path, form: FileFormat) -> tuple[int, frozenset[str]]:
    """How many rows a Parquet file has, and its columns."""
    with _parquet_file(path, form) as opened:
        return int(opened.metadata.num_rows), frozenset(opened.schema_arrow.names)


def _parquet(path: Path, form: FileFormat) -> Iterator[Record]:
    row = 0
    with _parquet_file(path, form) as opened:
        for batch in opened.iter_batches(batch_size=10_000):
            for values in batch.to_pylist():
                row += 1
                yield Record(row=row, line=row, values=values)


@contextmanager
def _parquet_file(path: Path, form: FileFormat) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_bytes(path, packed=form.gzip) as file:
        try:
            yield pq.ParquetFile(io.BytesIO(file.read()) if form.gzip else path)
        except (pa.ArrowException, ValueError) as error:
            raise UserError(f"{path}: is no whole Parquet file ({first_line(error)})", "Write it again") from error


def _columns(path: Path, form: FileFormat) -> Iterator[Record]:
    assert form.words is not None  # as `detect` gives it for this kind
    with open_text(path, form) as file:
        for row, sentence in enumerate(sentences(enumerate(file, start=1), form.words), start=1):
            if sentence.fault:
                yield Record(row=row, line=sentence.fault_line, fault=Fault(sentence.fault, UNREADABLE))
            else:
                values = {**sentence.columns, "document": str(sentence.document)}
                yield Record(row=row, line=sentence.line, values=values)


def _labelled(path: Path, form: FileFormat) -> Iterator[Record]:
    assert form.labels is not None  # as `detect` gives it for this kind
    row = 0
    with open_text(path, form) as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            row += 1
            if (cells := form.labels.cells(text)) is None:
                yield Record(row=row, line=line, fault=Fault("has no label and text", UNREADABLE))
            else:
                yield Record(row=row, line=line, values={"label": cells[0], "text": cells[1]})


def _excel(path: Path, form: FileFormat) -> Iterator[Record]:
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f"{path}: reading Excel needs a package that is not installed",
            "Install it: pip install 'bert-finetune[excel]', or save the sheet as CSV",
        ) from error
    names: list[str] = []
    row = 0
    for line, cells in enumerate(_sheet(path, form, openpyxl), start=1):
        if all(cell is None for cell in cells):
            continue
        if not names and row_filled(cells) < 2 and line <= TITLES:
            continue  # a title above the header
        if not names:
            names = column_names(["" if cell is None else str(cell) for cell in cells])
            continue
        row += 1
        yield Record(row=row, line=line, values=dict(zip(names, cells, strict=False)))


def row_filled(cells: Sequence[Any]) -> int:
    """How many cells of a row hold something."""
    return sum(cell is not None and str(cell).strip() != "" for cell in cells)


def _sheet(path: Path, form: FileFormat, openpyxl: Any) -> Iterator[tuple[Any, ...]]:
    """The cells of the first sheet, row by row."""
    with open_bytes(path, packed=form.gzip) as file:
        content = io.BytesIO(file.read())
    try:
        yield from openpyxl.load_workbook(content, read_only=True, data_only=True).worksheets[0].values
    except Exception as error:  # a damaged file makes zip, XML and openpyxl fail in any way
        raise UserError(f"{path}: is no whole Excel file ({first_line(error)})", "Save it again") from error
