"""Writes files by the csv module and json: nothing of the tool takes part."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a table is written: `quoting` is one of the csv module's, QUOTE_NONE writes cells as they are."""

    delimiter: str = ","
    quoting: int = csv.QUOTE_MINIMAL
    header: bool = True
    ends: str = "\n"
    encoding: str = "utf-8"


COMMAS = Dialect()
Columns = Mapping[str, Sequence[str]]


def put(path: Path, text: str, *, encoding: str = "utf-8") -> Path:
    """Writes a text with its line ends as they are, gzipped where the name ends in .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def put_table(path: Path, columns: Columns, dialect: Dialect = COMMAS) -> Path:
    """A table; without a header the names of the columns are left out."""
    rows = [*([list(columns)] if dialect.header else []), *zip(*columns.values(), strict=True)]
    if dialect.quoting == csv.QUOTE_NONE:
        assert not any(sign in cell for row in rows for cell in row for sign in (dialect.delimiter, "\n", "\r"))
        text = "".join(dialect.delimiter.join(row) + dialect.ends for row in rows)
    else:
        text = _written(rows, dialect)
    return put(path, text, encoding=dialect.encoding)


def _written(rows: Iterable[Sequence[str]], dialect: Dialect) -> str:
    file = io.StringIO(newline="")
    quoting: Any = dialect.quoting
    csv.writer(file, delimiter=dialect.delimiter, quoting=quoting, lineterminator=dialect.ends).writerows(rows)
    return file.getvalue()


def put_parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """A Parquet file; a column with numbers and texts is one of texts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    mixed = {name for name, cells in columns.items() if len({isinstance(cell, str) for cell in cells}) > 1}
    plain = {name: [str(cell) for cell in cells] if name in mixed else cells for name, cells in columns.items()}
    pq.write_table(pa.table(plain), path)
    return path


def put_sheet(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """An Excel file of one sheet, whose empty cells are empty."""
    from openpyxl import Workbook

    book = Workbook()
    for row in [dict(zip(rows[0], rows[0], strict=True)), *rows]:
        book.active.append([None if cell == "" else cell for cell in row.values()])
    book.save(path)
    return path


def put_lines(path: Path, values: Iterable[Any]) -> Path:
    """JSON Lines."""
    return put(path, "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))
