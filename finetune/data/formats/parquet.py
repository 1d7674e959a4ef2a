"""Parquet and Arrow, with the class names that the `datasets` library stores; also the folder of one split that it
writes with `save_to_disk`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from finetune.data.file_format import FileFormat, FileRow, Format, OutputFormat
from finetune.data.messages import so_many
from finetune.data.paths import is_file, is_folder, read_small_text
from finetune.data.records import Record, require_expanded
from finetune.data.values import flat_cell, without_surrogates
from finetune.errors import UserError, first_line

BATCH = 10_000  # rows
FEW_ROWS, MOST_ROWS = 1_000_000, 20  # rows that any file may declare, and rows for each of its bytes
TEXTS = ("NONE", "STRING", "JSON", "ENUM")  # logical types
STATE = "state.json"  # lists the files of a split, in their order
MOST_BYTES = 100_000_000  # of STATE
STREAM, FILE = b"\xff\xff\xff\xff", b"ARROW1"  # how both kinds of Arrow files begin


def is_saved(folder: Path) -> bool:
    """Whether it is the folder of a split that `datasets` saved."""
    return is_folder(folder) and is_file(folder / STATE)


@contextmanager
def _opened(path: Path, form: FileFormat) -> Iterator[Any]:
    """The file. Raises UserError where it cannot be parsed, also within, and for one that declares more rows or bytes
    than it can hold.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with form.open_bytes(path) as file:
            if form.format is ARROW:
                magic = file.read(len(FILE))
                file.seek(0)
                yield (pa.ipc.open_file if magic == FILE else pa.ipc.open_stream)(file)
                return
            content = pa.py_buffer(file.read()) if form.compression else str(path.absolute())
            opened = pq.ParquetFile(pa.BufferReader(content) if form.compression else content)
            facts, schema, packed = opened.metadata, opened.schema, path.stat().st_size
            groups = map(facts.row_group, range(facts.num_row_groups))
            require_expanded(path, sum(max(0, group.total_byte_size) for group in groups), packed=packed)
            if facts.num_rows > max(FEW_ROWS, MOST_ROWS * packed):
                what = f"{path}: declares {so_many(facts.num_rows)} in {so_many(packed, 'byte')}"
                raise UserError(what, "Write or download it again")
            # Texts as they are stored, equal ones once: a small file may repeat a long one any number of times.
            leaves = [leaf for leaf in map(schema.column, range(len(schema))) if leaf.physical_type == "BYTE_ARRAY"]
            texts = [leaf.path for leaf in leaves if leaf.logical_type.type in TEXTS]
            yield pq.ParquetFile(pa.BufferReader(content) if form.compression else content, read_dictionary=texts)
    except (pa.ArrowException, ValueError) as error:
        what = f"{path}: is not a valid {form.format.title} file (truncated?): {first_line(error)}"
        raise UserError(what, "Write or download it again") from error


def read(path: Path, form: FileFormat) -> Iterator[Record]:
    """Yields a record for each row. Raises UserError where more is read than so small a file holds."""
    row = 0
    for file in _files(path):
        size, packed = 0, file.stat().st_size
        with _opened(file, form) as opened:
            for batch in _batches(opened):
                size += sum(map(_expanded, batch.columns))
                require_expanded(file, size, packed=packed)
                for cells in zip(*map(_cells, batch.columns), strict=True):
                    row += 1
                    yield Record(row=row, line=row, values=dict(zip(batch.schema.names, cells, strict=True)))


def _batches(opened: Any) -> Iterator[Any]:
    if hasattr(opened, "num_row_groups"):
        # Within a row group: pyarrow joins no lists of texts that are stored as numbers over two of them.
        for group in range(opened.num_row_groups):
            yield from opened.iter_batches(batch_size=BATCH, row_groups=[group])
    elif hasattr(opened, "num_record_batches"):
        yield from map(opened.get_batch, range(opened.num_record_batches))
    else:
        yield from opened


def _files(path: Path) -> list[Path]:
    """The files of a split. Raises UserError for a folder that does not say which."""
    if not is_folder(path):
        return [path]
    try:
        listed = json.loads(read_small_text(path / STATE, most=MOST_BYTES))["_data_files"]
        return [path / Path(entry["filename"]).name for entry in listed]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path / STATE}: lists no files ({first_line(error)})", "Save the data again") from error


def _expanded(column: Any) -> int:
    """The bytes of a column's cells; equal texts count each time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
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


def class_names(path: Path, form: FileFormat) -> dict[str, dict[str, str]]:
    """The names of classes by number, by column, as the `datasets` library stores them with a schema."""
    if form.format not in (FORMAT, ARROW):
        return {}
    with _opened(_files(path)[0], form) as file:
        stored = (file.schema if form.format is ARROW else file.schema_arrow).metadata or {}
    names: dict[str, dict[str, str]] = {}
    try:
        for column, facts in json.loads(stored.get(b"huggingface", b"{}")).get("info", {}).get("features", {}).items():
            listed = facts.get("feature", facts).get("names")
            if isinstance(listed, list):
                names[column] = {str(number): str(name) for number, name in enumerate(listed)}
    except (ValueError, AttributeError):
        pass
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
    return iter(lambda: list(islice(coming, BATCH)), [])


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
    name="parquet", title="Parquet", suffixes=(".parquet",), text=False, compressed=True, cells="lists",
    sniff=lambda start: start.head[:4] == b"PAR1", read=read, write=_write,
)  # fmt: skip
ARROW = Format(
    name="arrow",
    title="Arrow",
    text=False,
    compressed=True,
    cells="lists",
    read=read,
    sniff=lambda start: is_saved(start.path) or (not is_folder(start.path) and start.head.startswith((STREAM, FILE))),
)
