"""Predicts one shard: any process may call it for any shard of a plan, again after it was killed too.

Predictions are kept apart from the rows until those of a file are all there: then its columns are copied as Arrow data,
which no cell's type is lost by.
"""

import json
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from finetune.data.addresses import version_now
from finetune.data.atomic import written_file
from finetune.data.formats.parquet import filled_schema_of, records_of, tables_of, without_nulls
from finetune.data.parquet_groups import batches, schema_of_file
from finetune.data.records import Record
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR, answer_windows, free_name, windows
from finetune.inference.asked import UNSURE
from finetune.inference.predict_file import count_left_out, model_facts
from finetune.inference.predictor import Predictor
from finetune.inference.shards.plan import InputFile, Marked, Plan, Shard, all_unsure
from finetune.runs.events import RowsPredicted, Watcher, unwatched
from finetune.storage.journal import Journal
from finetune.task_types.columns import Layout


def model_hash(predictor: Predictor, layout: Layout) -> str:
    """A hash of what decides the predictions of given rows."""
    return sha256(json.dumps(model_facts(predictor, layout)).encode()).hexdigest()


def predict_shard(predictor: Predictor, plan: Plan, shard: Shard, *, watch: Watcher = unwatched) -> None:
    """Predicts a shard, or what an earlier attempt left of it, and writes the file's output after its last shard.

    Returns at once if it is done. `watch` gets RowsPredicted with the shard's rows, first those that an earlier attempt
    predicted. Raises Busy if another process has the shard, and UserError if its rows cannot be read, the output cannot
    be written, or the predictor is not the one that the plan began with.
    """
    if model_hash(predictor, plan.layout) != plan.model:
        raise UserError(
            f"{plan.folder}: was begun with another model, library version, kind of device or precision",
            "Use the same on every machine",
        )
    file = plan.files[shard.file]
    if not _is_done(plan, file, shard):
        with plan.locked(shard.key, wait=False):
            if not _is_done(plan, file, shard):
                _predict(predictor, plan, file, shard, watch)
    write_output(plan, file)


def _is_done(plan: Plan, file: InputFile, shard: Shard) -> bool:
    return plan.output(file) is not None or plan.result(shard) is not None


def _predict(predictor: Predictor, plan: Plan, file: InputFile, shard: Shard, watch: Watcher) -> None:
    started = time.perf_counter()
    with Journal(plan.place(shard, ""), of=plan.of(file, shard)) as journal:
        before = journal.rows
        watch(RowsPredicted(done=before, total=shard.rows, rate=0.0))
        coming = windows(_records(plan, file, shard), skip=before)
        for _, answered in answer_windows(predictor, plan.layout, coming):
            rows = ({free_name(name, file.taken): cell for name, cell in one.cells.items()} for one in answered)
            journal.add(rows, truncated=sum(one.truncated for one in answered))
            rate = (journal.rows - before) / (time.perf_counter() - started)
            watch(RowsPredicted(done=journal.rows, total=shard.rows, rate=rate))
        if journal.rows != shard.rows:
            raise UserError(f"{file.address}: has fewer rows than its footer counts", "Write or download it again")
        _write_scratch(predictor, plan, file, shard, journal)
        journal.delete()


def _records(plan: Plan, file: InputFile, shard: Shard) -> Iterator[Record]:
    """The records of a shard, with the columns that the model reads."""
    return records_of(batches(file.address, range(*shard.groups), plan.read(file), rows=10_000))


def _write_scratch(predictor: Predictor, plan: Plan, file: InputFile, shard: Shard, journal: Journal) -> None:
    """Writes the predictions of a shard, always with a column of errors."""
    import pyarrow.parquet as pq

    error = free_name(ERROR, file.taken)
    names, failed = journal.names(error=error)
    schema = filled_schema_of(journal, list(dict.fromkeys([*names, error])))
    unsure = count_left_out(predictor, journal, free_name(UNSURE, file.taken))
    marked = Marked(
        of=plan.of(file, shard), failed=failed, truncated=journal.truncated, unsure=unsure
    ).added_to(schema)  # fmt: skip
    with written_file(plan.place(shard, ".parquet")) as scratch, pq.ParquetWriter(scratch, marked) as writer:
        for table in tables_of(journal, schema):
            writer.write_table(table)


def write_output(plan: Plan, file: InputFile) -> None:
    """Writes the output of a file if all its shards are predicted; waits if another process does.

    Raises UserError for an input that has changed since the plan was made.
    """
    if plan.output(file) is None and None not in map(plan.result, file.shards):
        with plan.locked(f"{file.name}/output", wait=True):
            if plan.output(file) is None:
                _write_output(plan, file)
                for shard in file.shards:
                    plan.place(shard, ".parquet").unlink(missing_ok=True)


def _write_output(plan: Plan, file: InputFile) -> None:
    import pyarrow.parquet as pq

    _require_unchanged(file)
    results = [found for found in map(plan.result, file.shards) if found is not None]
    failed, truncated = sum(one.failed for one in results), sum(one.truncated for one in results)
    parts = [pq.read_schema(plan.place(shard, ".parquet").absolute()) for shard in file.shards]
    added = _schema_of_predictions(parts, free_name(ERROR, file.taken))
    schema = schema_of_file(file.address)
    for column in added:
        schema = schema.append(column)
    mark = Marked(of=plan.of(file), failed=failed, truncated=truncated, unsure=all_unsure(results))
    schema = mark.added_to(schema)
    target = plan.folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with written_file(target) as scratch:
        with pq.ParquetWriter(scratch, schema) as writer:
            for table in _tables(plan, file, schema, added):
                writer.write_table(table)
        _require_unchanged(file)  # while it was read


def _require_unchanged(file: InputFile) -> None:
    if version_now(file.address) != (file.size, file.version):
        raise UserError(f"{file.address}: has changed since its prediction began", "Run the same command")


def _schema_of_predictions(parts: Sequence[Any], error: str) -> Any:
    """The columns of all shards, with types that fit all; that of errors, which each has, is the last."""
    import pyarrow as pa

    schemas = [part.remove_metadata() for part in parts]
    merged = pa.unify_schemas([pa.schema([(error, pa.string())]), *schemas], promote_options="permissive")
    return without_nulls(pa.schema([*(field for field in merged if field.name != error), merged.field(error)]))


def _tables(plan: Plan, file: InputFile, schema: Any, added: Any) -> Iterator[Any]:
    """The rows of a file with their predictions, a table for each batch."""
    import pyarrow as pa

    for shard in file.shards:
        at, predicted = 0, _predictions(plan.place(shard, ".parquet"), added)
        for batch in batches(file.address, range(*shard.groups)):
            some = predicted.slice(at, len(batch)).columns
            columns = [*map(pa.chunked_array, ([column] for column in batch.columns)), *some]
            yield pa.Table.from_arrays(columns, schema=schema)
            at += len(batch)


def _predictions(scratch: Path, added: Any) -> Any:
    """The predictions of a shard as a table with these columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = pq.read_table(scratch.absolute(), partitioning=None)
    columns = [
        found.column(field.name).cast(field.type)
        if field.name in found.column_names
        else pa.nulls(len(found), field.type)
        for field in added
    ]
    return pa.Table.from_arrays(columns, schema=added)
