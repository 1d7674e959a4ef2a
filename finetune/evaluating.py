"""Scores of a checkpoint on a task, without training: a run's own model, or any of transformers' format."""

from collections.abc import Iterable
from pathlib import Path

from finetune import task as tasks
from finetune.data.own import task_on
from finetune.errors import UserError
from finetune.events import Watcher
from finetune.metrics import Scores
from finetune.predictions import write_predictions
from finetune.predictor import load, saved
from finetune.prepare import load_splits
from finetune.record import load_record
from finetune.source import Source
from finetune.targets import find_run, is_own_data, latest_run
from finetune.task import Task


def evaluate(
    model: str,
    task_name: str,
    *,
    source: Source,
    out: Path,
    watch: Watcher,
    split: str | None = None,
    device: str | None = None,
    predictions: Path | None = None,
    encoding: str = "",
) -> Scores:
    """Scores by split (the task's dev splits, or the one named); with `predictions` also writes every answer there.

    The task may be a file or folder of data with the columns that the model was trained on, in `encoding` if that is
    given: all its rows count. A split without gold has no scores. Raises UserError where that leaves nothing to give.
    """
    wanted = _task_of_data(model, task_name, out, encoding) if is_own_data(task_name) else tasks.find(task_name)
    predictor = load(model, task=wanted, out=out, watch=watch, device=device)
    task = predictor.task
    splits = load_splits(task, source, names=[split] if split else task.dev_splits)
    for note in (note for loaded in splits.values() for note in loaded.notes):
        watch("note", text=note)
    if is_own_data(task_name) and _was_trained_on(model, {loaded.origin for loaded in splits.values()}, out):
        watch("note", text=f"{task_name} was read in training: these scores tell how well its rows are remembered")
    rows = {name: loaded.rows for name, loaded in splits.items()}
    labelled = [name for name in rows if all(answer.value is not None for answer in task.gold(rows[name]))]
    if not labelled and predictions is None:
        raise UserError(
            f"the rows of {' and '.join(rows)} of {task.name} have no gold labels",
            "Choose another --split, or have the answers written with --predictions FILE.parquet",
        )
    answers = {name: predictor.answers(given) for name, given in rows.items()}
    if predictions is not None:
        every = [(row, answer) for name in rows for row, answer in zip(rows[name], answers[name], strict=True)]
        given = [row for row, _ in every], [answer for _, answer in every]
        write_predictions(predictions, task, *given, prefix=f"{predictions.stem}-")
    for name in labelled:
        for remark in task.remarks(answers[name], rows[name]):
            watch("note", text=f"{name}: {remark}")
    return {name: task.score(answers[name], rows[name]) for name in labelled}


def _was_trained_on(model: str, origins: Iterable[str], out: Path) -> bool:
    folder = find_run(model, out) or latest_run(model, out)
    trained = load_record(folder.record_file).data_origin.get("train", "") if folder is not None else ""
    return any(Path(origin).resolve() == Path(trained).resolve() for origin in origins)


def _task_of_data(model: str, data: str, out: Path, encoding: str) -> Task:
    """The model's own task on other data. Raises UserError for data without the columns of its training."""
    layout = saved(model, out=out).layout
    if layout is None:
        raise UserError(
            f"{model} was trained on no file of data, so it cannot be told what the columns of {data} are to it",
            f"Name them: finetune predict {model} {data} text=COLUMN label=COLUMN",
        )
    otherwise = f"finetune predict {model} {data} text=COLUMN label=COLUMN"
    return task_on(layout, data, otherwise=otherwise, encoding=encoding)
