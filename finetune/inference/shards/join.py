"""Writes an output: the columns of the input and the predictions of its shards, compared with what was predicted."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from finetune.data.addresses import version_now
from finetune.data.atomic import written_file
from finetune.data.checksums import sha256_of
from finetune.data.formats.parquet import without_nulls
from finetune.data.parquet_groups import batches, schema_of_file
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR, free_name
from finetune.inference.shards.plan import InputFile, Plan, Shard, ShardResult, WrittenFile
from finetune.storage.journal import ENCODE


def join_file(plan: Plan, file: InputFile) -> WrittenFile | None:
    """Writes the output of a file if all its shards are predicted; waits if another process does. None if not.

    Raises UserError for an input that has changed, and where rows or predictions are not those that were predicted.
    """
    results = [plan.result(shard) for shard in file.shards]
    if None in results or plan.is_finished():
        return plan.output(file)
    with plan.locked(f"{file.name}/output", wait=True):
        if (done := plan.output(file)) is None:
            done = _written(plan, file, [result for result in results if result is not None])
            plan.save_output(file, done)
            for shard in file.shards:
                plan.place(shard, ".parquet").unlink(missing_ok=True)
    return done


def require_unchanged(file: InputFile) -> None:
    """Raises UserError where an input is not what it was when its prediction began."""
    if version_now(file.address) != (file.size, file.version):
        raise UserError(f"{file.address}: has changed since its prediction began", "Predict into another folder")


def _written(plan: Plan, file: InputFile, results: Sequence[ShardResult]) -> WrittenFile:
    import pyarrow.parquet as pq

    require_unchanged(file)
    for shard, result in zip(file.shards, results, strict=True):
        _require_scratch(plan, shard, result)
    before = schema_of_file(file.address)
    parts = [pq.read_schema(plan.place(shard, ".parquet").absolute()) for shard in file.shards]
    added = _schema_of_predictions(parts, free_name(ERROR, file.taken))
    schema = before
    for field in added:
        schema = schema.append(field)
    target = plan.folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with written_file(target) as scratch:
        ends = _write_shards(scratch, schema, plan, file, added)
        for shard, result, groups in zip(file.shards, results, ends, strict=True):
            _compare(scratch, groups, plan, shard, result, added)
        size, checksum = scratch.stat().st_size, sha256_of(scratch)
    return WrittenFile(rows=file.rows, bytes=size, sha256=checksum, shards=tuple(results))


def _write_shards(scratch: Path, schema: Any, plan: Plan, file: InputFile, added: Any) -> list[range]:
    """Writes all rows; returns the row groups of each shard."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    groups, written = [], 0
    with pq.ParquetWriter(scratch, schema) as writer:
        for shard in file.shards:
            begin, at, predicted = written, 0, _predictions(plan, shard, added)
            for batch in batches(file.address, range(*shard.groups)):
                some = predicted.slice(at, len(batch)).columns
                columns = [*map(pa.chunked_array, ([column] for column in batch.columns)), *some]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
                at, written = at + len(batch), written + 1
            groups.append(range(begin, written))
    return groups


def _predictions(plan: Plan, shard: Shard, added: Any) -> Any:
    """The predictions of a shard as a table with these columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = pq.read_table(plan.place(shard, ".parquet").absolute(), partitioning=None)
    columns = [
        found.column(field.name).cast(field.type)
        if field.name in found.column_names
        else pa.nulls(len(found), field.type)
        for field in added
    ]
    return pa.Table.from_arrays(columns, schema=added)


def _schema_of_predictions(parts: Sequence[Any], error: str) -> Any:
    """The columns of all shards, with types that fit all; that of errors, which each has, is the last."""
    import pyarrow as pa

    schemas = [part.remove_metadata() for part in parts]
    merged = pa.unify_schemas([pa.schema([(error, pa.string())]), *schemas], promote_options="permissive")
    return without_nulls(pa.schema([*(field for field in merged if field.name != error), merged.field(error)]))


def _require_scratch(plan: Plan, shard: Shard, result: ShardResult) -> None:
    """Raises UserError where the predictions of a shard are damaged, after which they are predicted again."""
    scratch = plan.place(shard, ".parquet")
    if not scratch.is_file() or sha256_of(scratch) != result.scratch:
        plan.place(shard, ".json").unlink(missing_ok=True)
        raise UserError(f"{scratch}: is damaged", "Run the same command: its rows are predicted again")


def _compare(written: Path, groups: range, plan: Plan, shard: Shard, result: ShardResult, added: Any) -> None:
    """Raises UserError where the rows of a shard in a written file are not those that were read and predicted."""
    read, at, predicted = sha256(), 0, _predictions(plan, shard, added)
    columns = plan.read(plan.files[shard.file])
    for batch in _read_back(written, groups, [*columns, *added.names]):
        for values in batch.select(columns).to_pylist():
            read.update(ENCODE(values).encode())
        if not batch.select(added.names).equals(predicted.slice(at, len(batch))):
            raise UserError(f"{written}: was not written as predicted", "Check the disk, and run it again")
        at += len(batch)
    if at != shard.rows or read.hexdigest() != result.read:
        raise UserError(
            f"{plan.files[shard.file].address}: has changed since its prediction began", "Predict into another folder"
        )


def _read_back(written: Path, groups: range, columns: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa

    for batch in batches(str(written), groups, columns):
        yield pa.Table.from_batches([batch])
