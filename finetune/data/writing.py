"""Writes rows in any format: the file at once or not at all, and the cells as they are but where asked otherwise."""

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from finetune.data.atomic import output_file
from finetune.data.column_types import NUMBER, as_text, tags_of
from finetune.errors import UserError

FORMULA = ("=", "+", "-", "@", "\t", "\r")
ESCAPED = "with an apostrophe in front, so that no spreadsheet runs them"
SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".json", ".parquet", ".xlsx", ".conll")
PACKED = (".parquet", ".xlsx")
MOST_IN_SHEET = 1_048_576
BATCH = 10_000


def written_format(path: Path) -> str:
    """The suffix that says how a file is written, without `.gz`. Raises UserError for one that is not known."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"{path}: it cannot be told from its name how to write it", f"End it with {', '.join(SUFFIXES)}"
        )
    if suffix in PACKED and path.suffix == ".gz":
        raise UserError(f"{path}: {suffix} files are packed in themselves", "Leave .gz out")
    return suffix


def require_writable(path: Path, names: Collection[str], *, rows: int) -> None:
    """Raises UserError, before anything is done, where about so many rows of these columns do not fit the format."""
    suffix = written_format(path)
    if suffix == ".conll" and not {"words", "answer"} <= set(names):
        raise UserError(
            f"{path}: CoNLL columns hold words and tags alone, in columns `words` and `answer`", "Choose another format"
        )
    if suffix == ".xlsx":
        _openpyxl(path)
        if rows >= MOST_IN_SHEET:
            raise UserError(f"{path}: an Excel sheet holds {MOST_IN_SHEET - 1:,} rows", "Choose another format")


def _openpyxl(path: Path) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise UserError(
            f"{path}: writing Excel needs a package that is not installed",
            "Install it: pip install 'bert-finetune[excel]'",
        ) from error
    return openpyxl


def write_rows(
    path: Path, rows: Iterable[Mapping[str, Any]], names: Sequence[str], *, escaped: Collection[str] = ()
) -> int:
    """Writes all rows, which are gone through twice, with these columns; the file is replaced when all of it is there.

    In CSV and TSV, cells of the columns `escaped` that a spreadsheet would run as a formula get an apostrophe in
    front: how many did. Raises UserError where the file cannot be written.
    """
    suffix = written_format(path)
    with output_file(path) as scratch:
        if suffix in PACKED or suffix == ".conll":
            {".parquet": _parquet, ".xlsx": _excel, ".conll": _columns}[suffix](scratch, rows, names, path)
            return 0
        with _opened(scratch, packed=path.suffix == ".gz") as file:
            if suffix not in (".jsonl", ".json"):
                return _delimited(file, rows, names, "," if suffix == ".csv" else "\t", escaped)
            (_json if suffix == ".json" else _json_lines)(file, rows, names)
            return 0


def safe(cell: Any) -> str:
    """A cell as text that no spreadsheet runs: an apostrophe before what begins like a formula.

    Numbers, and a sign alone (as a label may be), run nothing.
    """
    text = flat(cell)
    return f"'{text}" if text.startswith(FORMULA) and len(text) > 1 and not NUMBER.fullmatch(text) else text


def flat(cell: Any) -> str:
    """A cell as text: lists as JSON, numbers as they are, dates as ISO 8601; one that is not a number is empty."""
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, list | tuple | dict):
        return json.dumps(cell, ensure_ascii=False, default=flat)
    if isinstance(cell, float):
        return "" if math.isnan(cell) else repr(cell)
    return as_text(cell)


@contextmanager
def _opened(path: Path, *, packed: bool) -> Iterator[IO[str]]:
    with gzip.open(path, "wb") if packed else path.open("wb") as file:
        # Half characters, which JSON can hold, have no bytes: they are written as \ud800.
        text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        yield text
        text.flush()


def _delimited(
    file: IO[str],
    rows: Iterable[Mapping[str, Any]],
    names: Sequence[str],
    delimiter: str,
    escaped: Collection[str],
) -> int:
    """Writes a header and the rows; how many cells were escaped."""
    plain, quoted = (
        csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=how)
        for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    changed = 0
    for row in chain([dict(zip(names, names, strict=True))], rows):
        texts = [(safe if name in escaped else flat)(row.get(name)) for name in names]
        changed += sum(name in escaped and text != flat(row.get(name)) for name, text in zip(names, texts, strict=True))
        # Python 3.11 and 3.12 leave a lone carriage return without quotes, and it would end the row.
        (quoted if any("\r" in text for text in texts) else plain).writerow(texts)
    return changed


def _json_lines(file: IO[str], rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> None:
    file.writelines(_as_json(row, names) + "\n" for row in rows)


def _as_json(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """The cells that the row has; what is not a number is null, since JSON has no word for it."""
    cells = {name: row[name] for name in names if name in row}
    cells = {name: None if isinstance(cell, float) and math.isnan(cell) else cell for name, cell in cells.items()}
    return json.dumps(cells, ensure_ascii=False, default=flat)


def _json(file: IO[str], rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> None:
    between = "[\n"
    for row in rows:
        file.write(between + _as_json(row, names))
        between = ",\n"
    file.write("\n]\n" if between == ",\n" else "[]\n")


def _columns(scratch: Path, rows: Iterable[Mapping[str, Any]], names: Sequence[str], path: Path) -> None:
    """Word, the tag that was given if any, and the answer, parted by tabs; a row without an answer has the tag O."""
    require_writable(path, names, rows=0)
    with _opened(scratch, packed=path.suffix == ".gz") as file:
        for row in rows:
            words = _parted(row.get("words"))
            given, tags = _parted(row.get("tags")), _parted(row.get("answer"))
            lists = [words, *([given] if len(given) == len(words) else [])]
            tags = tags if len(tags) == len(words) else ["O"] * len(words)
            file.writelines("\t".join(cells) + "\n" for cells in zip(*lists, tags, strict=True))
            file.write("\n")


def _parted(cell: Any) -> list[str]:
    """Words or tags, without what would end their column or line."""
    return [re.sub(r"[\t\r\n]", " ", item).strip() or "_" for item in tags_of(cell)]


def _parquet(scratch: Path, rows: Iterable[Mapping[str, Any]], names: Sequence[str], _: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {name: pa.null() for name in names}
    for part in _parts(rows):
        kinds = {name: _kind(kinds[name], [row.get(name) for row in part]) for name in names}
    schema = pa.schema([(name, pa.string() if pa.types.is_null(kind) else kind) for name, kind in kinds.items()])
    with pq.ParquetWriter(scratch, schema) as writer:
        for part in _parts(rows):
            cells = [[_fitting(row.get(name), schema.field(name).type) for row in part] for name in names]
            arrays = [pa.array(column, type=schema.field(name).type) for name, column in zip(names, cells, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _parts(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    coming = iter(rows)
    while part := list(islice(coming, BATCH)):
        yield part


def _kind(before: Any, cells: list[Any]) -> Any:
    """The type that holds these cells and those before; text where nothing else does."""
    import pyarrow as pa

    try:
        fields = [pa.schema([("", before)]), pa.schema([("", pa.infer_type(cells))])]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowException, TypeError, ValueError):
        return pa.string()


def _fitting(cell: Any, kind: Any) -> Any:
    import pyarrow as pa

    return _clean(flat(cell)) if cell is not None and pa.types.is_string(kind) else cell


def _clean(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _is_sheet_date(cell: Any) -> bool:
    """Whether a spreadsheet has such a date or time: it has no time zones, and no years before 1900."""
    return isinstance(cell, time) or (isinstance(cell, date) and cell.year > 1900 and not getattr(cell, "tzinfo", None))


def _excel(scratch: Path, rows: Iterable[Mapping[str, Any]], names: Sequence[str], path: Path) -> None:
    openpyxl = _openpyxl(path)
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("predictions")

    def cell_of(value: Any) -> Any:
        cell = WriteOnlyCell(sheet)
        if isinstance(value, int | float | Decimal | timedelta) or _is_sheet_date(value):
            cell.value = value
            return cell
        cell.value = ILLEGAL_CHARACTERS_RE.sub("", _clean(flat(value)))[:32_767]
        cell.data_type = "s"  # a text, also where it begins with "="
        return cell

    for row in chain([dict(zip(names, names, strict=True))], rows):
        sheet.append([cell_of(row.get(name)) for name in names])
    book.save(scratch)
