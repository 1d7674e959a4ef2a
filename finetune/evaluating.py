"""Scores of a checkpoint on a task, without training: a run's own model, or any of transformers' format."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from finetune import cpu, weights
from finetune import task as tasks
from finetune.device import build_accelerator, resolve_device, resolve_precision
from finetune.errors import UserError
from finetune.events import Watcher
from finetune.metrics import Scores
from finetune.model import load_config, load_trained
from finetune.predictions import write_predictions
from finetune.prepare import encode, load_splits, load_tokenizer
from finetune.recipe import Train
from finetune.source import Source
from finetune.task import Answer, Row, Task
from finetune.trainer import Trainer

DEFAULT_LENGTH = 128


def evaluate(
    model: str,
    task_name: str,
    *,
    source: Source,
    watch: Watcher,
    split: str | None = None,
    device: str | None = None,
    predictions: Path | None = None,
) -> Scores:
    """Scores by split (the task's dev splits, or the one named); with `predictions` also writes every answer there.

    A split without gold has no scores. Raises UserError where that leaves nothing to give.
    """
    task = tasks.find(task_name)
    rows = {
        name: loaded.rows
        for name, loaded in load_splits(task, source, names=[split] if split else task.dev_splits).items()
    }
    labelled = [name for name in rows if all(answer.value is not None for answer in task.gold(rows[name]))]
    if not labelled and predictions is None:
        raise UserError(
            f"the rows of {' and '.join(rows)} of {task.name} have no gold labels",
            "Choose another --split, or have the answers written with --predictions FILE.parquet",
        )
    answers = predict(model, task, rows, watch=watch, device=device)
    if predictions is not None:
        every = [(row, answer) for name in rows for row, answer in zip(rows[name], answers[name], strict=True)]
        write_predictions(predictions, task, [row for row, _ in every], [answer for _, answer in every])
    return {name: task.score(answers[name], rows[name]) for name in labelled}


def predict(
    model: str, task: Task, rows: dict[str, Sequence[Row]], *, watch: Watcher, device: str | None = None
) -> dict[str, list[Answer]]:
    """Answers of a fine-tuned checkpoint to the rows of each split, in the precision of its training.

    Raises UserError for a checkpoint without a trained head.
    """
    files = weights.resolve(model)
    place = resolve_device(device)
    config = load_config(files.folder)
    settings: dict[str, Any] = getattr(config, "finetune", None) or {}
    tokenizer = load_tokenizer(files.folder)
    loaded = load_trained(files.folder, task.head)
    if len(loaded.head.labels) > 1 and str(config.id2label[0]).lower() == "label_0":
        watch(
            "note", text=f"{model} does not name its labels: taken to be {', '.join(loaded.head.labels)}, in that order"
        )
    if place.type == "cpu":
        cpu.speed_up(loaded, loaded.backbone.encoder)
    trainer = Trainer(
        model=loaded,
        settings=Train(),
        accelerator=build_accelerator(place, resolve_precision(settings.get("precision", "auto"), place)),
        pad_id=tokenizer.pad_token_id,
        data_seed=0,
        watch=watch,
    )
    answers = {}
    for name, given in rows.items():
        length = settings.get("max_length", DEFAULT_LENGTH)
        features = encode(task, given, tokenizer, length, loaded.backbone.config)
        answers[name] = task.decode(trainer.predict(features), features, given)
    return answers
