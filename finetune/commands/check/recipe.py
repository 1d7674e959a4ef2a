"""`finetune check RECIPE`: what a run would use, without training."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.rows import HashedRows, Rows
from finetune.data.source import Source
from finetune.models import pretrained
from finetune.models.device import resolve_device, resolve_precision
from finetune.models.encoder_sizes import size_of
from finetune.models.families import most_tokens
from finetune.models.feature import Feature
from finetune.models.loading import empty_model
from finetune.models.lora import lora_targets, require_peft
from finetune.models.tokenizers.added_tokens import add_tokens
from finetune.models.tokenizers.load import load_tokenizer
from finetune.models.tokenizers.own_vocabulary import trained_size
from finetune.models.weight_files import load_config
from finetune.runs.recipe import Recipe
from finetune.task_types.options import option_values
from finetune.task_types.prepare import encode_rows, length_summary, load_splits, truncated_share
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Facts by section, and the first encoded examples as tokens."""

    facts: dict[str, dict[str, Any]]
    examples: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The preview as JSON values."""
        return asdict(self)


def check_recipe(run: ResolvedRun, *, source: Source, device: str | None = None, shown: int = 2) -> Preview:
    """Reads data and model and encodes all rows. Raises UserError where a run would."""
    recipe, task, before = run.recipe, run.task, [one.recipe for one in run.before]
    if recipe.lora:
        require_peft()
    where = resolve_device(device)
    precision = resolve_precision(recipe.train.precision, where)
    splits = load_splits(task, source, limit=recipe.limit)
    first = before[0] if before else recipe
    if trained_size(first) and (before or isinstance(splits[task.train_split].rows, HashedRows)):
        return Preview(facts=_before_vocabulary(recipe, first, task, splits))
    files = pretrained.resolve(first.model, tokenizer=first.tokenizer_folder)
    config, tokenizer = load_config(files.folder), load_tokenizer(files.folder)
    add_tokens(tokenizer, task.new_tokens(chain.from_iterable(loaded.rows for loaded in splits.values())))
    probe = empty_model(config, task.head)
    if recipe.lora:
        lora_targets(probe.backbone.encoder, recipe)
    facts = {
        "task": _task_facts(task),
        "model": {
            **_model_name(recipe, before),
            "folder": str(files.folder),
            "type": config.model_type,
            "layers": config.num_hidden_layers,
            "width": config.hidden_size,
        },
    }
    examples: list[dict[str, Any]] = []
    for name, loaded in splits.items():
        features = encode_rows(task, loaded.rows, tokenizer, recipe.max_length, most_tokens(probe.backbone.encoder))
        facts[name] = _split_facts(loaded, features)
        if name == task.train_split:
            facts["training"] = {"device": str(where), "precision": precision, **_updates(recipe, len(features))}
            examples = [_example(task, feature, tokenizer) for feature in features[:shown]]
    return Preview(facts=facts, examples=examples)


def _model_name(recipe: Recipe, before: Sequence[Recipe]) -> dict[str, str]:
    begins = {"begins with": f"{before[0].model}; {recipe.model} is run first"} if before else {}
    return {"name": recipe.model, **begins}


def _split_facts(loaded: Rows, features: Sequence[Feature]) -> dict[str, Any]:
    return {
        "from": loaded.origin,
        "rows": len(loaded.rows),
        "features": len(features),
        "tokens": length_summary(features),
        "truncated": truncated_share(features),
        "notes": list(loaded.notes),
    }


def _updates(recipe: Recipe, features: int) -> dict[str, int]:
    an_epoch = math.ceil(features / recipe.train.batch_size)
    updates = recipe.train.lengthened(features).updates or an_epoch * recipe.train.epochs
    return {"updates": updates, "updates an epoch": an_epoch, "warm-up updates": recipe.train.warmup_updates(updates)}


def _example(task: Task, feature: Feature, tokenizer: "PreTrainedTokenizerBase") -> dict[str, Any]:
    """The tokens of a feature's sequences, and its label."""
    sequences = [
        tokenizer.convert_ids_to_tokens(np.asarray(sequence.input_ids).tolist())
        for sequence in feature.choices or (feature,)
    ]
    return {"tokens": sequences, "label": task.shown_label(feature, sequences[0])}


def _task_facts(task: Task) -> dict[str, Any]:
    metrics = ", ".join(task.metric_names)
    return {"name": task.name, "version": task.version, "metrics": metrics, **option_values(task)}


def _before_vocabulary(
    recipe: Recipe, first: Recipe, task: Task, splits: Mapping[str, Rows]
) -> dict[str, dict[str, Any]]:
    """What is known without the vocabulary, which takes a while to train. Raises UserError for a bad size."""
    size = size_of(first.model)
    trained = f"{trained_size(first):,} tokens or fewer, trained on the text when it is run"
    before = [] if first is recipe else [first]
    model = {**_model_name(recipe, before), "layers": size.layers, "width": size.width, "vocabulary": trained}
    rows = {
        name: {"from": loaded.origin, "rows": len(loaded.rows), "notes": list(loaded.notes)}
        for name, loaded in splits.items()
    }
    return {"task": _task_facts(task), "model": model, **rows}
