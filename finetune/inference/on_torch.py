"""Loads a trained model to predict with torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from finetune.inference.engine import Engine
from finetune.models.device import build_accelerator, resolve_device, usable_precision
from finetune.models.fast_paths import take_fast_paths
from finetune.models.model_folder import load_config, load_trained
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Note, Watcher
from finetune.task_types.task import Task


def load_on_torch(
    name: str, folder: Path, settings: Mapping[str, Any], *, task: Task, device: str | None, watch: Watcher
) -> tuple[Engine, PreTrainedTokenizerBase]:
    """The engine of a model's folder, and its tokenizer; `settings` are those that its run saved in the config.

    Raises UserError for a model without a trained head.
    """
    place, labels = resolve_device(device), getattr(load_config(folder), "id2label", None) or {}
    loaded = load_trained(folder, task.head)
    if len(loaded.head.labels) > 1 and str(labels.get(0)).lower() == "label_0":
        names = ", ".join(loaded.head.labels)
        watch(Note(f"{name} does not name its labels: assumed to be {names}, in that order"))
    precision = _precision(name, settings.get("precision", "auto"), place, watch)
    take_fast_paths(loaded, device=place, precision=precision)
    tokenizer = load_tokenizer(folder)
    accelerator = build_accelerator(place, precision)
    return Engine(model=loaded, accelerator=accelerator, pad_id=tokenizer.pad_token_id, watch=watch), tokenizer


def _precision(name: str, trained_in: str, place: torch.device, watch: Watcher) -> str:
    """The precision of prediction, with a note where training used another."""
    precision = usable_precision(trained_in, place)
    if trained_in not in (precision, "auto"):
        text = f"{name} was trained in {trained_in}, in which this {place.type} does not compute natively"
        watch(Note(f"{text}: it predicts in {precision}"))
    return precision
