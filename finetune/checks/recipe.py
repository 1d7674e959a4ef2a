"""`finetune check RECIPE`: what a run would use, without training."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from finetune.data.source import Source
from finetune.models import pretrained
from finetune.models.device import resolve_device, resolve_precision
from finetune.models.lora import lora_targets, require_peft
from finetune.models.saving import empty_model, load_config
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.task_types.options import option_values
from finetune.task_types.prepare import encode, length_summary, load_splits, truncated_share
from finetune.task_types.task import Task


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Facts by section, and the first encoded examples as tokens."""

    facts: dict[str, dict[str, Any]]
    examples: list[dict[str, Any]]


def check(recipe: Recipe, task: Task, *, source: Source, device: str | None = None, shown: int = 2) -> Preview:
    """Resolves data and model and encodes all rows. Raises UserError where a run would."""
    if recipe.lora:
        require_peft()
    where = resolve_device(device)
    precision = resolve_precision(recipe.train.precision, where)
    splits = load_splits(task, source, limit=recipe.limit)
    files = pretrained.resolve(recipe.model)
    config, tokenizer = load_config(files.folder), load_tokenizer(files.folder)
    probe = empty_model(config, task.head)
    if recipe.lora:
        lora_targets(probe.backbone.encoder, recipe)
    facts: dict[str, dict[str, Any]] = {
        "task": {
            "name": task.name,
            "version": task.version,
            "metrics": ", ".join(task.metric_names),
            **option_values(task),
        },
        "model": {
            "name": files.name,
            "folder": str(files.folder),
            "type": config.model_type,
            "layers": config.num_hidden_layers,
            "width": config.hidden_size,
        },
    }
    examples: list[dict[str, Any]] = []
    for name, loaded in splits.items():
        features = encode(task, loaded.rows, tokenizer, recipe.max_length, config)
        facts[name] = {
            "from": loaded.origin,
            "rows": len(loaded.rows),
            "features": len(features),
            "tokens": length_summary(features),
            "truncated": truncated_share(features),
            "notes": list(loaded.notes),
        }
        if name == task.train_split:
            an_epoch = math.ceil(len(features) / recipe.train.batch_size)
            facts["training"] = {
                "device": str(where),
                "precision": precision,
                "updates": an_epoch * recipe.train.epochs,
                "updates an epoch": an_epoch,
                "warm-up updates": math.ceil(recipe.train.warmup * an_epoch * recipe.train.epochs),
            }
            for feature in features[:shown]:
                sequences = [
                    tokenizer.convert_ids_to_tokens(np.asarray(sequence.input_ids).tolist())
                    for sequence in feature.choices or (feature,)
                ]
                examples.append({"tokens": sequences, "label": task.shown_label(feature, sequences[0])})
    return Preview(facts=facts, examples=examples)
