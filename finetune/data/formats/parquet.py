"""Parquet, with the class names that the `datasets` library stores in it."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from finetune.data.bounds import require_expanded
from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.file_start import FileStart
from finetune.data.messages import so_many
from finetune.data.records import Record
from finetune.data.written_cells import flat_cell, without_surrogates
from finetune.errors import UserError, first_line

BATCH = 10_000  # rows
WIDTHS = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}  # bytes of a value
TEXTS = ("NONE", "STRING", "JSON", "ENUM")  # logical types
FEW_ROWS, MOST_ROWS = 1_000_000, 20  # rows that any file may declare, and rows for each of its bytes


def sniff(start: FileStart) -> bool:
    """Whether the file begins with Parquet's magic bytes."""
    return start.head[:4] == b"PAR1"


@contextmanager
def _opened(path: Path, form: FileFormat, *, coded: bool = False) -> Iterator[Any]:
    """The file; with `coded`, texts come as the numbers of different ones, as they are stored: a small file may repeat
    a long one any number of times. Raises UserError for one that declares more than it can hold.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with form.open_bytes(path) as file:
        try:
            content = io.BytesIO(file.read()) if form.compression else path.absolute()
            opened = pq.ParquetFile(content)
            packed, rows = path.stat().st_size, opened.metadata.num_rows
            groups = map(opened.metadata.row_group, range(opened.metadata.num_row_groups))
            parts = [group.column(number) for group in groups for number in range(group.num_columns)]
            # Numbers that are equal are stored once.
            least = (
                max(0, part.total_uncompressed_size, part.num_values * WIDTHS.get(part.physical_type, 0))
                for part in parts
            )
            require_expanded(path, sum(least), packed=packed)
            if rows > max(FEW_ROWS, MOST_ROWS * packed):
                raise UserError(
                    f"{path}: declares {so_many(rows)} in {so_many(packed, 'byte')}", "Write or download it again"
                )
            if coded:
                leaves = map(opened.schema.column, range(len(opened.schema)))
                texts = [
                    leaf.path
                    for leaf in leaves
                    if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in TEXTS
                ]
                opened = pq.ParquetFile(content, read_dictionary=texts)
            yield opened
        except (pa.ArrowException, ValueError) as error:
            raise UserError(
                f"{path}: is not a valid Parquet file (truncated?): {first_line(error)}", "Write or download it again"
            ) from error


def read(path: Path, form: FileFormat, columns: Sequence[str] | None = None) -> Iterator[Record]:
    """Yields a record for each row, reading in batches, with all columns or these alone.

    Equal texts of a batch are one object. Raises UserError where more is read than so small a file holds.
    """
    with _opened(path, form, coded=True) as file:
        # Within a row group: pyarrow joins no lists of texts that are stored as numbers over two of them.
        batches = (
            batch
            for group in range(file.num_row_groups)
            for batch in file.iter_batches(batch_size=BATCH, row_groups=[group], columns=columns)
        )
        yield from records_of(bounded(path, batches))


def bounded(path: Path, batches: Iterable[Any]) -> Iterator[Any]:
    """The batches. Raises UserError where they hold more than so small a file does."""
    size, packed = 0, path.stat().st_size
    for batch in batches:
        size += sum(map(_expanded, batch.columns))
        require_expanded(path, size, packed=packed)
        yield batch


def _expanded(column: Any) -> int:
    """The bytes of a column's cells, those of equal texts counted each time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind) and kind.value_type in (
        pa.string(), pa.large_string(), pa.binary(), pa.large_binary()
    ):  # fmt: skip
        return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    if pa.types.is_map(kind):
        return _expanded(column.keys) + _expanded(column.items)
    if pa.types.is_struct(kind):
        return sum(map(_expanded, column.flatten()))
    return _expanded(column.flatten()) if pa.types.is_nested(kind) else int(column.nbytes)


def _cells(column: Any) -> list[Any]:
    """The cells of a column as Python objects, equal texts as one."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    values = column.dictionary.to_pylist()
    return [None if number is None else values[number] for number in column.indices.to_pylist()]


def records_of(batches: Iterable[Any]) -> Iterator[Record]:
    """The records of pyarrow batches."""
    row = 0
    for batch in batches:
        names, columns = batch.schema.names, list(map(_cells, batch.columns))
        for cells in zip(*columns, strict=True):
            row += 1
            yield Record(row=row, line=row, values=dict(zip(names, cells, strict=True)))


def count_rows(path: Path, form: FileFormat) -> tuple[int, frozenset[str]]:
    """The number of rows, and the columns."""
    with _opened(path, form) as file:
        return int(file.metadata.num_rows), frozenset(file.schema_arrow.names)


def parquet_metadata(path: Path, form: FileFormat) -> dict[bytes, bytes]:
    """The metadata of the columns' schema."""
    with _opened(path, form) as file:
        return file.schema_arrow.metadata or {}


def class_names(stored: Mapping[bytes, bytes]) -> dict[str, dict[str, str]]:
    """The names of classes by number, by column, that the `datasets` library stores in a schema's metadata."""
    try:
        features = json.loads(stored.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
    except (ValueError, AttributeError):
        return {}
    names: dict[str, dict[str, str]] = {}
    for column, facts in features.items() if isinstance(features, dict) else ():
        inner = facts.get("feature", facts) if isinstance(facts, dict) else facts
        if isinstance(inner, dict) and isinstance(inner.get("names"), list):
            names[column] = {str(number): str(name) for number, name in enumerate(inner["names"])}
    return names


def _write(file: IO[bytes], rows: Iterable[FileRow], output: OutputFormat) -> int:
    import pyarrow.parquet as pq

    schema = schema_of(rows, output.names)
    with pq.ParquetWriter(file, schema) as writer:
        for table in tables_of(rows, schema):
            writer.write_table(table)
    return 0


def schema_of(rows: Iterable[FileRow], names: Sequence[str]) -> Any:
    """The columns with the types that fit all of their cells; text where no other type does, or there is no cell."""
    import pyarrow as pa

    kinds = {name: pa.null() for name in names}
    for part in _parts(rows):
        kinds = {name: _kind(kinds[name], [row.get(name) for row in part]) for name in names}
    return pa.schema([(name, pa.string() if pa.types.is_null(kind) else kind) for name, kind in kinds.items()])


def tables_of(rows: Iterable[FileRow], schema: Any) -> Iterator[Any]:
    """The rows as pyarrow tables, one per batch."""
    import pyarrow as pa

    for part in _parts(rows):
        columns = []
        for field in schema:
            cells = [row.get(field.name) for row in part]
            if pa.types.is_string(field.type):
                cells = [None if cell is None else without_surrogates(flat_cell(cell)) for cell in cells]
            columns.append(pa.array(cells, type=field.type))
        yield pa.Table.from_arrays(columns, schema=schema)


def _parts(rows: Iterable[FileRow]) -> Iterator[list[FileRow]]:
    coming = iter(rows)
    while part := list(islice(coming, BATCH)):
        yield part


def _kind(before: Any, cells: list[Any]) -> Any:
    """The type that fits these cells and the earlier ones; text where no other type does, and for dictionaries without
    keys, of which Parquet has no column.
    """
    import pyarrow as pa

    try:
        kind = pa.array(cells).type  # which fails for lists of numbers and texts
        if "struct<>" in str(kind):
            return pa.string()
        fields = [pa.schema([("", before)]), pa.schema([("", kind)])]
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowException, TypeError, ValueError):
        return pa.string()


FORMAT = Format(
    name="parquet",
    title="Parquet",
    suffixes=(".parquet",),
    text=False,
    compressed=True,
    cells="lists",
    sniff=sniff,
    read=read,
    count=count_rows,
    write=_write,
)
