"""Predicts many files: works through the shards of a plan until all are done, and proves it."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from finetune.data.addresses import Stored, version_now
from finetune.errors import UserError
from finetune.inference.predict_plan import known_type, layout_for
from finetune.inference.predictor import Predictor
from finetune.inference.shards.begin import begin, sample_of
from finetune.inference.shards.join import join_file
from finetune.inference.shards.plan import Busy, InputFile, Plan
from finetune.inference.shards.predict import model_hash, predict_shard
from finetune.runs.events import Event, Note, RowsPredicted, Watcher

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
    `before`, seconds, notes, and why files have no output.
    """

    files: int
    rows: int = 0
    failed: int = 0
    truncated: int = 0
    before: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    errors: Failures = field(default_factory=dict)

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
    """Predicts every row of Parquet files into files of the same names in a folder, with a manifest.

    Resumes what an earlier call has left, and checks what it has done. Without an executor this process predicts all
    shards. Files that cannot be read are in `errors` of the result. Raises UserError as `begin` does.
    """
    started = time.perf_counter()
    task, sample = predictor.task, sample_of(stored)
    layout, notes = layout_for(known_type(task), predictor.layout, sample, options, inputs=task.inputs)
    plan = begin(stored, output, layout=layout, model=model_hash(predictor, layout), notes=notes)
    before = plan.manifest.rows - sum(shard.rows for shard in plan.left())
    for note in notes:
        watch(Note(note))
    report = ShardProgress(plan, watch)
    work = executor or partial(predict_all, predictor)
    failures = work(plan, report) if plan.left() else {}
    found = finish(plan, failures)
    found.before, found.notes, found.seconds = min(before, found.rows), notes, time.perf_counter() - started
    return found


class ShardProgress:
    """Tells a watcher how many rows of all shards are predicted."""

    def __init__(self, plan: Plan, watch: Watcher) -> None:
        self.watch = watch
        self.total = plan.manifest.rows
        self.before = self.total - sum(shard.rows for shard in plan.left())
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
    """Writes the outputs that are missing, and the manifest; removes the state if all is done.

    Raises UserError where the rows of an output are not those of its input.
    """
    reasons = {key.rpartition("/")[0]: why for key, why in failures.items()}
    files = [_finished(plan, file, reasons) for file in plan.manifest.files]
    complete = all(file.output is not None for file in files)
    saved = [file.model_copy(update={"error": ""}) if _has_changed(file) else file for file in files]
    plan.save(plan.manifest.model_copy(update={"files": tuple(saved), "complete": complete}))
    if complete:
        plan.remove_state()
    results = [shard for file in files if file.output is not None for shard in file.output.shards]
    return FolderPrediction(
        files=sum(file.output is not None for file in files),
        rows=sum(one.rows for one in results),
        failed=sum(one.failed for one in results),
        truncated=sum(one.truncated for one in results),
        errors={file.name: file.error for file in files if file.output is None},
    )


def _finished(plan: Plan, file: InputFile, reasons: Mapping[str, str]) -> InputFile:
    """The input with its output, or with why it has none."""
    why = reasons.get(file.name, file.error)
    output = None
    try:
        output = None if why else join_file(plan, file)
    except UserError as error:
        why = error.what
    if output is None:
        return file.model_copy(update={"error": why or "is not predicted yet"})
    if [shard.rows for shard in file.shards] != [result.rows for result in output.shards] or output.rows != file.rows:
        raise UserError(f"{plan.folder / file.name}: has other rows than its input", "Predict into another folder")
    return file.model_copy(update={"output": output, "error": ""})


def _has_changed(file: InputFile) -> bool:
    """Whether an input without an output has changed, which stays an error when the command is repeated."""
    try:
        return file.output is None and version_now(file.address) != (file.size, file.version)
    except UserError:
        return False
