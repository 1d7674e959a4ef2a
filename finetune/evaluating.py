"""Scores of a checkpoint on a task, without training: a run's own model, or any of transformers' format."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from finetune import cpu, weights
from finetune import task as tasks
from finetune.device import build_accelerator, resolve_device, resolve_precision
from finetune.errors import UserError
from finetune.events import Watcher
from finetune.model import load_config, load_trained
from finetune.prepare import encode, load_splits, load_tokenizer
from finetune.recipe import Train
from finetune.source import Source
from finetune.task import Answer, Row
from finetune.trainer import Trainer

DEFAULT_LENGTH = 128


def evaluate(
    model: str | Path,
    task_name: str,
    *,
    source: Source,
    watch: Watcher,
    split: str | None = None,
    device: str | None = None,
) -> dict[str, dict[str, float]]:
    """Scores by split (the task's dev splits, or the one named). Raises UserError where the rows have no gold."""
    task = tasks.find(task_name)
    splits = load_splits(task, source, limit=None, names=[split] if split else task.dev_splits)
    for name, loaded in splits.items():
        if any(answer.value is None for answer in task.gold(loaded.rows)):
            raise UserError(f"{loaded.origin}: the rows of '{name}' have no gold labels", "Choose a split with labels")
    rows = {name: loaded.rows for name, loaded in splits.items()}
    answers = predict(str(model), task_name, rows, watch=watch, device=device)
    return {name: task.score(answers[name], rows[name]) for name in rows}


def predict(
    model: str, task_name: str, rows: dict[str, Sequence[Row]], *, watch: Watcher, device: str | None = None
) -> dict[str, list[Answer]]:
    """Answers of a fine-tuned checkpoint to the rows of each split. Raises UserError for one without a trained head."""
    task = tasks.find(task_name)
    files = weights.resolve(model)
    place = resolve_device(device)
    tokenizer = load_tokenizer(files.folder)
    loaded = load_trained(files.folder, task.head)
    if place.type == "cpu":
        cpu.speed_up(loaded, loaded.backbone.encoder)
    trainer = Trainer(
        model=loaded,
        settings=Train(),
        accelerator=build_accelerator(place, resolve_precision("auto", place)),
        pad_id=tokenizer.pad_token_id,
        data_seed=0,
        watch=watch,
    )
    settings: dict[str, Any] = getattr(load_config(files.folder), "finetune", None) or {}
    length = settings.get("max_length", DEFAULT_LENGTH)
    answers = {}
    for name, given in rows.items():
        features = encode(task, given, tokenizer, length, loaded.backbone.config)
        answers[name] = task.decode(trainer.predict(features), features, given)
    return answers
