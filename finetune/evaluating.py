"""Scores of a checkpoint on a task, without training: a run's own model, or any of transformers' format."""

from pathlib import Path

from finetune import task as tasks
from finetune.errors import UserError
from finetune.events import Watcher
from finetune.metrics import Scores
from finetune.predictions import write_predictions
from finetune.predictor import load
from finetune.prepare import load_splits
from finetune.source import Source


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
) -> Scores:
    """Scores by split (the task's dev splits, or the one named); with `predictions` also writes every answer there.

    A split without gold has no scores. Raises UserError where that leaves nothing to give.
    """
    predictor = load(model, task=tasks.find(task_name), out=out, watch=watch, device=device)
    task = predictor.task
    splits = load_splits(task, source, names=[split] if split else task.dev_splits)
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
