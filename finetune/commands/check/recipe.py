"""`finetune check RECIPE`: what a run would use, without training."""

import math
from itertools import chain
from typing import Any

import numpy as np

from finetune.data.rows import HashedRows
from finetune.data.source import Source
from finetune.models import pretrained
from finetune.models.device import resolve_device, resolve_precision
from finetune.models.encoder_size import size_of
from finetune.models.families import most_tokens
from finetune.models.lora import lora_targets, require_peft
from finetune.models.model_folder import empty_model, load_config
from finetune.models.tokenizers.load import add_tokens, load_tokenizer
from finetune.models.tokenizers.train import trained_size
from finetune.runs.recipe import Recipe
from finetune.task_types.options import option_values
from finetune.task_types.prepare import encode_rows, length_summary, load_splits, truncated_share
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.forecast import forecast_of

EXAMPLES = 2


def check_recipe(run: ResolvedRun, *, source: Source, device: str | None = None) -> dict[str, Any]:
    """Reads data and model and encodes all rows: `facts` by section, and the first `examples` as tokens with a label.

    A vocabulary that the run trains first is not trained. Raises UserError where a run would.
    """
    recipe, task, first = run.recipe, run.task, [*run.before, run][0].recipe
    if recipe.lora:
        require_peft()
    where = resolve_device(device)
    precision = resolve_precision(recipe.train.precision, where)
    splits = load_splits(task, source, limit=recipe.limit)
    metrics = ", ".join(task.metric_names)
    model: dict[str, Any] = {"name": recipe.model}
    if run.before:
        model["begins with"] = f"{first.model}; {recipe.model} is run first"
    facts: dict[str, dict[str, Any]] = {
        "task": {"name": task.name, "version": task.version, "metrics": metrics, **option_values(task)},
        "model": model,
    }
    rows = {name: {"from": loaded.origin, "rows": len(loaded.rows)} for name, loaded in splits.items()}
    notes = {name: {"notes": list(loaded.notes)} for name, loaded in splits.items()}
    if trained_size(first) and (run.before or isinstance(splits[task.train_split].rows, HashedRows)):
        size, vocabulary = size_of(first.model), f"{trained_size(first):,} tokens or fewer"
        vocabulary += ", trained on the text when it is run"
        model |= {"layers": size.layers, "width": size.width, "vocabulary": vocabulary}
        return {"facts": facts | {name: rows[name] | notes[name] for name in splits}, "examples": []}
    files = pretrained.resolve(first.model, tokenizer=first.tokenizer_folder)
    config, tokenizer = load_config(files.folder), load_tokenizer(files.folder)
    add_tokens(tokenizer, task.new_tokens(chain.from_iterable(loaded.rows for loaded in splits.values())))
    encoder = empty_model(config, task.head).backbone.encoder
    if recipe.lora:
        lora_targets(encoder, recipe)
    model |= {"folder": str(files.folder), "type": config.model_type}
    model |= {"layers": config.num_hidden_layers, "width": config.hidden_size}
    examples = []
    for name, loaded in splits.items():
        features = encode_rows(task, loaded.rows, tokenizer, recipe.max_length, most_tokens(encoder))
        lengths = {"tokens": length_summary(features), "truncated": truncated_share(features)}
        facts[name] = {**rows[name], "features": len(features), **lengths, **notes[name]}
        if name != task.train_split:
            continue
        facts["training"] = {"device": str(where), "precision": precision, **_updates(recipe, len(features))}
        labels = task.labels_of(loaded.rows[:EXAMPLES])
        for feature in features[:EXAMPLES]:
            ids = [np.asarray(sequence.input_ids).tolist() for sequence in feature.choices or (feature,)]
            tokens = list(map(tokenizer.convert_ids_to_tokens, ids))
            examples.append({"tokens": tokens, "label": str(labels[feature.row].value)})
    told = None if run.before else forecast_of(run, source, device=device)
    return {"facts": facts, "examples": examples, "forecast": told}


def _updates(recipe: Recipe, features: int) -> dict[str, int]:
    an_epoch = math.ceil(features / recipe.train.batch_size)
    updates = recipe.train.lengthened(features).updates or an_epoch * recipe.train.epochs
    return {"updates": updates, "updates an epoch": an_epoch, "warm-up updates": recipe.train.warmup_updates(updates)}
