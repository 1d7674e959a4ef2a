"""Parquet, with the class names that the `datasets` library stores in it."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from finetune.data.bounds import require_expanded
from finetune.data.file_format import FileFormat, Format, Output, Row
from finetune.data.file_start import FileStart
from finetune.data.messages import so_many
from finetune.data.records import Record
from finetune.data.written_cells import flat, without_surrogates
from finetune.errors import UserError, first_line

BATCH = 10_000  # rows
FEW_ROWS, MOST_ROWS = 10_000_000, 20  # rows that any file may declare, and rows for each of its bytes


def sniff(start: FileStart) -> bool:
    """Whether the file begins with Parquet's magic bytes."""
    return start.head[:4] == b"PAR1"


@contextmanager
def _opened(path: Path, form: FileFormat) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with form.open_bytes(path) as file:
        try:
            opened = pq.ParquetFile(io.BytesIO(file.read()) if form.compression else path.absolute())
            require_sizes(path, opened.metadata, packed=path.stat().st_size)
            yield opened
        except (pa.ArrowException, ValueError) as error:
            raise UserError(
                f"{path}: is not a valid Parquet file (truncated?): {first_line(error)}", "Write or download it again"
            ) from error


def require_sizes(path: Path | str, declared: Any, *, packed: int) -> None:
    """Raises UserError for a file of `packed` bytes that declares more rows or bytes than it can hold."""
    groups = [declared.row_group(number) for number in range(declared.num_row_groups)]
    require_expanded(path, sum(max(0, group.total_byte_size) for group in groups), packed=packed)
    if declared.num_rows > max(FEW_ROWS, MOST_ROWS * packed):
        raise UserError(
            f"{path}: declares {so_many(declared.num_rows)} in {so_many(packed, 'byte')}", "Write or download it again"
        )


def read(path: Path, form: FileFormat, columns: Sequence[str] | None = None) -> Iterator[Record]:
    """Yields a record for each row, reading in batches, with all columns or these alone."""
    with _opened(path, form) as file:
        yield from records_of(file.iter_batches(batch_size=BATCH, columns=columns))


def records_of(batches: Iterable[Any]) -> Iterator[Record]:
    """The records of pyarrow batches."""
    row = 0
    for batch in batches:
        for values in batch.to_pylist():
            row += 1
            yield Record(row=row, line=row, values=values)


def count(path: Path, form: FileFormat) -> tuple[int, frozenset[str]]:
    """The number of rows, and the columns."""
    with _opened(path, form) as file:
        return int(file.metadata.num_rows), frozenset(file.schema_arrow.names)


def class_names(path: Path, form: FileFormat) -> dict[str, dict[str, str]]:
    """The names of classes by number, by column, that the file stores."""
    with _opened(path, form) as file:
        return names_in(file.schema_arrow.metadata or {})


def names_in(metadata: dict[bytes, bytes]) -> dict[str, dict[str, str]]:
    """The names of classes by number, by column, that the `datasets` library stores in a schema's metadata."""
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


def _write(file: IO[bytes], rows: Iterable[Row], output: Output) -> int:
    import pyarrow.parquet as pq

    schema = schema_of(rows, output.names)
    with pq.ParquetWriter(file, schema) as writer:
        for table in tables_of(rows, schema):
            writer.write_table(table)
    return 0


def schema_of(rows: Iterable[Row], names: Sequence[str]) -> Any:
    """The columns with the types that fit all of their cells; text where no other type does."""
    return without_nulls(filled_schema_of(rows, names))


def filled_schema_of(rows: Iterable[Row], names: Sequence[str]) -> Any:
    """`schema_of`, in which the type of columns without a cell is null."""
    import pyarrow as pa

    kinds = {name: pa.null() for name in names}
    for part in _parts(rows):
        kinds = {name: _kind(kinds[name], [row.get(name) for row in part]) for name in names}
    return pa.schema([*kinds.items()])


def without_nulls(schema: Any) -> Any:
    """The schema with text as the type of columns without a cell."""
    import pyarrow as pa

    return pa.schema([field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema])


def tables_of(rows: Iterable[Row], schema: Any) -> Iterator[Any]:
    """The rows as pyarrow tables, one per batch."""
    import pyarrow as pa

    for part in _parts(rows):
        cells = [[_fitting(row.get(field.name), field.type) for row in part] for field in schema]
        arrays = [pa.array(column, type=field.type) for field, column in zip(schema, cells, strict=True)]
        yield pa.Table.from_arrays(arrays, schema=schema)


def _parts(rows: Iterable[Row]) -> Iterator[list[Row]]:
    coming = iter(rows)
    while part := list(islice(coming, BATCH)):
        yield part


def _kind(before: Any, cells: list[Any]) -> Any:
    """The type that fits these cells and the earlier ones; text where no other type does."""
    import pyarrow as pa

    try:
        fields = [pa.schema([("", before)]), pa.schema([("", pa.infer_type(cells))])]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowException, TypeError, ValueError):
        return pa.string()


def _fitting(cell: Any, kind: Any) -> Any:
    import pyarrow as pa

    return without_surrogates(flat(cell)) if cell is not None and pa.types.is_string(kind) else cell


FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    corpus=(".parquet",),
    text=False,
    compressed=True,
    cells="lists",
    sniff=sniff,
    read=read,
    read_columns=read,
    count=count,
    class_names=class_names,
    write=_write,
)
