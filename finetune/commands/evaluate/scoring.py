"""`finetune evaluate`: scores a run's model, or any transformers checkpoint, on a task."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.checks.all_checks import data_findings
from finetune.commands.evaluate import Evaluation
from finetune.data.files import split_files
from finetune.data.messages import so_many
from finetune.data.paths import is_data, is_folder
from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.data.table import Table
from finetune.errors import UserError
from finetune.inference.predict_plan import columns_read, known_type, shown_names
from finetune.inference.predictor import load_predictor, saved
from finetune.runs.events import Event, Note, Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import named_run
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.verdict import chosen_for_model
from finetune.task_types import registry
from finetune.task_types.columns import Layout
from finetune.task_types.own_data import task_on
from finetune.task_types.prepare import load_splits
from finetune.task_types.pretraining.own import scored_on
from finetune.task_types.shared_rows import FILE, Keys, keys_of, known_keys, shared
from finetune.task_types.task import Task


def evaluate_model(
    model: str,
    task_name: str,
    *,
    source: Source,
    out: Path,
    watch: Watcher,
    split: str | None = None,
    device: str | None = None,
    options: Mapping[str, str],
) -> Evaluation:
    """Scores by split (the task's dev splits, or `split`).

    The task may be a file or folder of data with the columns that the model was trained on; `options` (text, label,
    encoding) name others. A split without labels has no scores. Raises UserError where there is nothing to return.
    """
    if is_data(task_name):
        wanted = task_of_data(model, task_name, out, options)
    else:
        for name in options:
            raise UserError(f"{name}= does not apply to the task {task_name}", "It is for a data file; leave it out")
        wanted = registry.find(task_name)
    notes: list[str] = []

    def noting(event: Event) -> None:
        watch(event)
        if isinstance(event, Note):
            notes.append(event.text)

    predictor = load_predictor(model, task=wanted, out=out, watch=noting, device=device)
    task = predictor.task
    splits = load_splits(task, source, names=[split] if split else task.dev_splits)
    run = named_run(model, out)
    trained_on = {} if run is None else known_keys(run)
    counts = {split: _known(task, loaded.rows, trained_on) for split, loaded in splits.items()}
    for finding in data_findings(task):
        noting(Note(finding.note))
    read = [note for loaded in splits.values() for note in loaded.notes]
    for note in [*read, *(() if run is None else _reuse(run, splits, counts, source))]:
        noting(Note(note))
    rows = {name: loaded.rows for name, loaded in splits.items()}
    labelled = [name for name in rows if all(answer.value is not None for answer in task.labels_of(rows[name]))]
    if not labelled:
        raise UserError(
            f"the rows of {' and '.join(rows)} of {task.name} have no labels",
            "Choose another `split`, or predict them: finetune predict MODEL FILE",
        )
    scored: dict[str, tuple[list[Any], Sequence[Any]]]
    scored = {name: (predictor.answers(rows[name]), rows[name]) for name in labelled}
    scores = {name: task.score(*answered) for name, answered in scored.items()}
    repeated = {split: count for split, count in counts.items() if count}
    file = Path(task_name).name if Path(task_name).is_file() else ""
    return Evaluation(task=task, scores=scores, notes=tuple(notes), shared=repeated, file=file)


def _known(task: Task, rows: Sequence[Row], trained_on: Mapping[str, Keys]) -> dict[str, int]:
    """By the id of a run how many rows have texts that it was trained on; of those that have some."""
    keys = keys_of(task, rows) if trained_on else None
    return {run: count for run, others in trained_on.items() if keys is not None and (count := shared(keys, others))}


def _reuse(
    run: RunFolder, splits: Mapping[str, Rows], counts: Mapping[str, Mapping[str, int]], source: Source
) -> Iterator[str]:
    """Notes on rows that this run, or one that it learned from, was trained on, or that chose something of it."""
    record = load_record(run.record_file)
    if not (record.is_pretraining or (run.path / FILE).is_file()):
        yield f"run {record.id} did not keep which rows it was trained on, so that these are not compared with them"
    chosen = chosen_for_model(record)
    for name, loaded in splits.items():
        for other, count in counts[name].items():
            few = f"{count:,} of the {so_many(len(loaded.rows))} of {name} have texts that run {other} was trained on"
            whose = "" if other == record.id else ", from which this one learned"
            yield f"{few}{whose}: to that part these are scores of training rows, which are too high"
        if chosen and _is_split(record, record.first_split, loaded, source):
            yield f"{name} was used to choose {chosen} of this model, so its scores are optimistic"


def _is_split(record: RunRecord, split: str, loaded: Rows, source: Source) -> bool:
    """Whether rows are a run's split: a user's file of the same content, or the same file of a task."""
    origin = record.data_origin.get(split)
    if loaded.content or origin is None:
        return loaded.content == record.data_files.get(split)
    return Path(loaded.origin).resolve() in (Path(origin).resolve(), Path(source.folder or "", origin).resolve())


def task_of_data(model: str, data: str, out: Path, options: Mapping[str, str]) -> Task:
    """The model's task on other data, all of it dev, or on the dev and test of a folder.

    Raises UserError for data without the columns of training that `options` name no others for.
    """
    saved_model, encoding = saved(model, out=out), options.get("encoding", "")
    if (of_text := scored_on(saved_model.task(), data, options)) is not None:
        return of_text
    files = split_files(Path(data)) if is_folder(Path(data)) else {"dev": Path(data)}
    scored = tuple(split for split in ("dev", "test") if split in files) or ("train",)
    task, layouts = saved_model.task(), list[Layout]()
    for split in scored:
        read = columns_read(files[split], known_type(task), saved_model.layout, options, inputs=task.inputs)
        _require_label(read.layout, saved_model.layout, read.sample)
        layouts.append(read.layout)
    files = {"train": files[scored[0]], **files}
    return task_on(task, layouts[0], files, name=data, scored=scored, encoding=encoding, sheet=options.get("sheet", ""))


def _require_label(layout: Layout, trained: Layout | None, sample: Table) -> None:
    """Raises UserError, with the remaining columns, where the label's column is unknown."""
    if layout.label:
        return
    others = [name for name in sample.columns if name not in layout.text]
    names = " and ".join(f"'{name}'" for name in trained.label) if trained else ""
    raise UserError(
        f"{sample.path}: has no column {names}, which had the labels in training"
        if names
        else f"{sample.path}: the column of the labels is unknown, since the model was not trained on a data file",
        f"Name it: label=COLUMN, one of {shown_names(others)}"
        if others
        else "It has no other column: `finetune predict` predicts rows without labels",
    )
