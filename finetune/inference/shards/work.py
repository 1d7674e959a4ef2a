"""Predicts many files: works through the shards of a plan until all are done."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from finetune.data.addresses import Stored
from finetune.errors import UserError
from finetune.inference.predict_plan import known_type, layout_for
from finetune.inference.predictor import Predictor
from finetune.inference.shards.begin import begin, sample_of
from finetune.inference.shards.plan import Busy, InputFile, Marked, Plan, all_unsure
from finetune.inference.shards.predict import model_hash, predict_shard, write_output
from finetune.runs.events import Event, Note, RowsPredicted, Watcher

NO_RANKS = "scores alone, without `rank`: rows of one query may be in several files; of one file predict writes both"
WAIT = 0.5  # seconds, while other processes have all shards that are left
Failures = dict[str, str]  # what is wrong, by the key of the shard
Reporter = Callable[[str, int], None]  # told the key of a shard, and how many of its rows are predicted


class ShardExecutor(Protocol):
    """Predicts the shards of a plan in other processes."""

    def held(self, output: Path) -> AbstractContextManager[None]:
        """Prepares what a prediction into a folder needs, and keeps it. Raises UserError where it cannot be had."""

    def __call__(self, plan: Plan, report: Reporter) -> Failures:
        """Predicts all shards: what is wrong, by shard. Raises UserError where not all could be tried."""


@dataclass(kw_only=True)
class FolderPrediction:
    """Result of predicting many files: files and rows, `failed` rows (with an error), truncated ones, those predicted
    `before`, seconds, notes, and why files have no output; what was left out as `unsure`, if that was asked for.
    """

    files: int
    rows: int = 0
    failed: int = 0
    truncated: int = 0
    before: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    errors: Failures = field(default_factory=dict)
    unsure: int | None = None

    def facts(self, output: Path) -> dict[str, Any]:
        """JSON values, with the name of the output."""
        return {
            "output": str(output),
            "files": self.files,
            "rows": self.rows,
            "errors": self.failed,
            "truncated": self.truncated / max(1, self.rows),
            "resumed": self.before,
            "seconds": self.seconds,
            "rows_per_second": (self.rows - self.before) / max(self.seconds, 1e-9),
            "notes": self.notes,
            "not_predicted": self.errors,
            **({} if self.unsure is None else {"unsure": self.unsure}),
        }


def predict_files(
    predictor: Predictor,
    stored: Sequence[Stored],
    output: Path,
    *,
    options: Mapping[str, str],
    watch: Watcher,
    executor: ShardExecutor | None = None,
) -> FolderPrediction:
    """Predicts every row of Parquet files into files of the same names in a folder.

    Resumes what an earlier call has left. Without an executor this process predicts all shards. Files that cannot be
    read are in `errors` of the result. Raises UserError as `begin` does.
    """
    started = time.perf_counter()
    task, sample = predictor.task, sample_of(stored)
    layout, notes = layout_for(known_type(task), predictor.layout, sample, options, inputs=task.inputs)
    notes += predictor.unsure.notes if predictor.unsure else ()
    notes += [NO_RANKS] * known_type(task).ranked
    plan = begin(stored, output, layout=layout, model=model_hash(predictor, layout))
    left = plan.left()
    before = plan.rows - sum(shard.rows for shard in left)
    for note in notes:
        watch(Note(note))
    report = ShardProgress(watch, before=before, total=plan.rows)
    work = executor or partial(predict_all, predictor)
    failures = work(plan, report) if left else {}
    found = finish(plan, failures)
    found.before, found.notes, found.seconds = min(before, found.rows), notes, time.perf_counter() - started
    return found


class ShardProgress:
    """Tells a watcher how many rows of all shards are predicted."""

    def __init__(self, watch: Watcher, *, before: int, total: int) -> None:
        self.watch = watch
        self.before = before
        self.total = total
        self.rows: dict[str, int] = {}
        self.resumed: dict[str, int] = {}
        self.started = 0.0

    def __call__(self, key: str, rows: int) -> None:
        """Counts the rows of a shard; the first time those that an earlier attempt predicted.

        The rate is that since the first process began to predict.
        """
        self.started = self.started or time.perf_counter()
        self.resumed.setdefault(key, rows)
        self.rows[key] = rows
        done = sum(self.rows.values())
        now = done - sum(self.resumed.values())
        if now:
            rate = now / (time.perf_counter() - self.started)
            self.watch(RowsPredicted(done=self.before + done, total=self.total, rate=rate))


def predict_all(predictor: Predictor, plan: Plan, report: Reporter) -> Failures:
    """Predicts the shards that are left, as long as there are any; those that other processes have are waited for.

    A shard that cannot be read is tried once. Any number of processes may do this at once, also on several machines.
    """
    failures: Failures = {}
    while left := [shard for shard in plan.left() if shard.key not in failures]:
        taken = False
        for shard in left:
            try:
                predict_shard(predictor, plan, shard, watch=partial(_report_rows, report, shard.key))
            except Busy:
                continue
            except UserError as error:
                failures[shard.key] = error.what
            taken = True
        if not taken:
            time.sleep(WAIT)
    return failures


def _report_rows(report: Reporter, key: str, event: Event) -> None:
    if isinstance(event, RowsPredicted):
        report(key, event.done)


def finish(plan: Plan, failures: Failures) -> FolderPrediction:
    """Writes the outputs that are missing; removes the state if all is done."""
    reasons = {key.rpartition("/")[0]: why for key, why in failures.items()}
    found = {file.name: _finished(plan, file, reasons.get(file.name, file.error)) for file in plan.files.values()}
    outputs = {name: one for name, one in found.items() if isinstance(one, Marked)}
    if len(outputs) == len(found):
        plan.remove_state()
    return FolderPrediction(
        files=len(outputs),
        rows=sum(file.rows for file in plan.files.values() if file.name in outputs),
        failed=sum(one.failed for one in outputs.values()),
        truncated=sum(one.truncated for one in outputs.values()),
        errors={name: one for name, one in found.items() if isinstance(one, str)},
        unsure=all_unsure(outputs.values()),
    )


def _finished(plan: Plan, file: InputFile, why: str) -> Marked | str:
    """What is known of the output of a file, which is written if its shards are done; or why it has none."""
    try:
        if not why:
            write_output(plan, file)
        return why or plan.output(file) or "is not predicted yet"
    except UserError as error:
        return error.what
