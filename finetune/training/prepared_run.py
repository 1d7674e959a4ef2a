"""A run before it trains: first what decides its result, and so its id; then model, tokenizer and features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.models import pretrained
from finetune.models.backbone import Model
from finetune.models.device import resolve_device, resolve_precision, set_deterministic
from finetune.models.families import family_notes
from finetune.models.feature import Feature
from finetune.models.lora import require_peft
from finetune.models.pretrained import Weights
from finetune.models.saving import build_model
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Watcher
from finetune.runs.recipe import Recipe
from finetune.runs.run_id import data_fingerprint, run_id
from finetune.task_types import registry
from finetune.task_types.feature_cache import array_features
from finetune.task_types.options import changed_options, resolved
from finetune.task_types.prepare import load_splits
from finetune.task_types.task import Task
from finetune.task_types.train_share import with_share
from finetune.task_types.types import columns_of
from finetune.task_types.vocabulary import vocabulary_notes
from finetune.training.logistic import require_linear

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A recipe with all that decides its result: `data` is the fingerprint of all rows, `id` ten hex digits."""

    recipe: Recipe
    task: Task
    source: Source
    splits: Mapping[str, Rows]
    data: str
    weights: Weights
    device: torch.device
    precision: str
    id: str

    @cached_property
    def rows(self) -> dict[str, Sequence[Row]]:
        """The rows of each split."""
        return {split: loaded.rows for split, loaded in self.splits.items()}

    @property
    def train_rows(self) -> Sequence[Row]:
        """The rows that are trained on."""
        return self.rows[self.task.train_split]


@dataclass(frozen=True, kw_only=True)
class BuiltRun:
    """The model before training, its tokenizer, the features of each split, and notes on how they fit the rows.

    `new_weights` are the names of the encoder's weights that are not in the checkpoint.
    """

    model: Model
    new_weights: list[str]
    tokenizer: "PreTrainedTokenizerBase"
    features: dict[str, Sequence[Feature]]
    notes: list[str]


def plan_run(
    recipe: Recipe, *, source: Source, tasks: tuple[Task, Task] | None = None, device: str | None = None
) -> PlannedRun:
    """Reads the rows and finds the weights; `tasks` is the task without and with its options, if it is known.

    Raises UserError for data, weights, a device or a package that are missing or do not fit.
    """
    if recipe.lora:
        require_peft()
    where = resolve_device(device)
    precision = resolve_precision(recipe.train.precision, where)
    set_deterministic(recipe.deterministic)
    default, task = tasks or resolved(recipe.task, recipe.options)
    weights = pretrained.resolve(recipe.model)
    splits = load_splits(task, source, limit=recipe.limit)
    data = data_fingerprint({split: loaded.rows for split, loaded in splits.items()})
    train = with_share(task, splits[task.train_split], recipe.train_share, seed=recipe.seeds[1])
    splits[task.train_split] = train
    task = task.seen(train.rows)
    name = run_id(
        recipe, task=task.name, version=task.version, data=data, weights=weights.fingerprint, precision=precision,
        options=changed_options(default, task), columns=columns_of(task), task_file=registry.file_hash(recipe.task),
    )  # fmt: skip
    return PlannedRun(
        recipe=recipe, task=task, source=source, splits=splits, data=data, weights=weights, device=where,
        precision=precision, id=name,
    )  # fmt: skip


def build_run(planned: PlannedRun, watch: Watcher) -> BuiltRun:
    """Builds the model and encodes the rows. Raises UserError where encoder, head, solver and rows do not fit."""
    recipe, task = planned.recipe, planned.task
    model, new = build_model(planned.weights.folder, task.head, recipe, device=planned.device)
    if recipe.train.solver == "logistic":
        require_linear(model, frozen=recipe.frozen)
    tokenizer, config = load_tokenizer(planned.weights.folder), model.backbone.config
    features: dict[str, Sequence[Feature]] = {
        split: array_features(
            task, some, tokenizer, recipe.max_length, config, content=_content(planned, split), watch=watch
        )
        for split, some in planned.rows.items()
    }
    notes = vocabulary_notes(planned.train_rows, tokenizer, recipe.model) + family_notes(config)
    return BuiltRun(model=model, new_weights=new, tokenizer=tokenizer, features=features, notes=notes)


def _content(planned: PlannedRun, split: str) -> str:
    """What decides the rows of a split, for the cache of features."""
    recipe = planned.recipe
    share = recipe.train_share if split == planned.task.train_split else 1
    return f"{planned.data}:{split}" + (f":{share}:{recipe.seeds[1]}" if share < 1 else "")
