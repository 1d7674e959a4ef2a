"""Predicts one shard: any process may call it for any shard of a plan, again after it was killed too."""

import json
import time
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from finetune.data.atomic import written_file
from finetune.data.checksums import sha256_of
from finetune.data.formats.parquet import filled_schema_of, records_of, tables_of
from finetune.data.parquet_groups import batches
from finetune.data.records import Record
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR, answer_windows, free_name, windows
from finetune.inference.predict_file import model_facts
from finetune.inference.predictor import Predictor
from finetune.inference.shards.join import join_file
from finetune.inference.shards.plan import InputFile, Plan, Shard, ShardResult
from finetune.runs.events import RowsPredicted, Watcher, unwatched
from finetune.storage.journal import ENCODE, Journal
from finetune.task_types.columns import Layout


def model_hash(predictor: Predictor, layout: Layout) -> str:
    """A hash of what decides the predictions of given rows."""
    return sha256(json.dumps(model_facts(predictor, layout)).encode()).hexdigest()


def predict_shard(predictor: Predictor, plan: Plan, shard: Shard, *, watch: Watcher = unwatched) -> ShardResult:
    """Predicts a shard, or what an earlier attempt left of it, and writes the file's output after its last shard.

    Returns at once if it is done. `watch` gets RowsPredicted with the shard's rows, first those that an earlier attempt
    predicted. Raises Busy if another process
    has the shard, and UserError if its rows cannot be read, the output cannot be written, or the predictor is not the
    one that the plan began with.
    """
    if model_hash(predictor, plan.layout) != plan.manifest.model:
        raise UserError(
            f"{plan.folder}: was begun with another model, library version, kind of device or precision",
            "Use the same on every machine",
        )
    file = plan.files[shard.file]
    if (done := plan.result(shard)) is None:
        with plan.locked(shard.key, wait=False):
            if (done := plan.result(shard)) is None:
                done = _predicted(predictor, plan, shard, watch)
                plan.save_result(shard, done)
                _journal(plan, shard, file).delete()
    join_file(plan, file)
    return done


def _journal(plan: Plan, shard: Shard, file: InputFile) -> Journal:
    return Journal(plan.place(shard, ""), of=f"{plan.manifest.model} {file.size} {file.version} {shard}")


def _predicted(predictor: Predictor, plan: Plan, shard: Shard, watch: Watcher) -> ShardResult:
    file, started, read = plan.files[shard.file], time.perf_counter(), sha256()
    with _journal(plan, shard, file) as journal:
        before = journal.rows
        watch(RowsPredicted(done=before, total=shard.rows, rate=0.0))
        coming = windows(_records(plan, shard, read), skip=before)
        for _, answered in answer_windows(predictor, plan.layout, coming):
            rows = ({free_name(name, file.taken): cell for name, cell in one.cells.items()} for one in answered)
            journal.add(rows, truncated=sum(one.truncated for one in answered))
            rate = (journal.rows - before) / (time.perf_counter() - started)
            watch(RowsPredicted(done=journal.rows, total=shard.rows, rate=rate))
        if journal.rows != shard.rows:
            raise UserError(f"{file.address}: has fewer rows than its footer counts", "Write or download it again")
        failed = _write_scratch(plan, shard, journal, free_name(ERROR, file.taken))
        return ShardResult(
            rows=journal.rows,
            failed=failed,
            truncated=journal.truncated,
            read=read.hexdigest(),
            predictions=journal.checksum(),
            scratch=sha256_of(plan.place(shard, ".parquet")),
        )


def _records(plan: Plan, shard: Shard, read: Any) -> Iterator[Record]:
    """The records of a shard, with the columns that the model reads; `read` hashes them."""
    file = plan.files[shard.file]
    for record in records_of(batches(file.address, range(*shard.groups), plan.read(file), rows=10_000)):
        read.update(ENCODE(record.values).encode())
        yield record


def _write_scratch(plan: Plan, shard: Shard, journal: Journal, error: str) -> int:
    """Writes the predictions of a shard, always with a column of errors; returns how many rows have one."""
    import pyarrow.parquet as pq

    names, failed = journal.names(error=error)
    names = list(dict.fromkeys([*names, error]))
    schema = filled_schema_of(journal, names)
    with written_file(plan.place(shard, ".parquet")) as scratch, pq.ParquetWriter(scratch, schema) as writer:
        for table in tables_of(journal, schema):
            writer.write_table(table)
    return failed
