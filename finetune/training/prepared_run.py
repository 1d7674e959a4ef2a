"""A run before it trains: first what decides its result, and so its id; then model, tokenizer and features."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models import pretrained
from finetune.models.building import build_model
from finetune.models.device import resolve_device, resolve_precision, set_deterministic
from finetune.models.families import family_notes, has_own_class, most_tokens
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead, Head
from finetune.models.lora import require_peft
from finetune.models.model_folder import FAMILY, fitting_pooling, load_config, load_trained, some
from finetune.models.pretrained import ModelFiles
from finetune.models.tokenizers.load import add_tokens, load_tokenizer, tokenizer_hash
from finetune.models.tokenizers.train import trained_size, training_notes
from finetune.models.untrained import size_of
from finetune.runs.events import Watcher, Working, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lineage import Lineage
from finetune.runs.lookup import lineage_at
from finetune.runs.recipe import Recipe, is_new
from finetune.runs.recipe_tables import CONTRASTIVE
from finetune.runs.record_parts import OLD_DEV, DataFinding
from finetune.runs.run_id import data_fingerprint, run_id
from finetune.runs.without_folders import recipe_from_here
from finetune.task_types import registry
from finetune.task_types.options import changed_options
from finetune.task_types.prepare import array_features, load_splits, require_positions
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import Keys, known_keys, leaks
from finetune.task_types.task import Task
from finetune.task_types.types import columns_of
from finetune.task_types.vocabulary import vocabulary_notes
from finetune.training.distil.lessons import Lessons, plan_lessons
from finetune.training.keep_labels import Kept, carry_head, join, old_model, trained_on_rows
from finetune.training.schedules import noam_notes
from finetune.training.solvers import require_contrast, require_linear

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A recipe with everything that decides its result.

    `data` is the fingerprint of all rows, `default` the task without options, `lineage` that of the encoder,
    `vocabulary` the folder of a new encoder's vocabulary, `pooling` the resolved one, `kept` what `keep_labels`
    takes from another run, `lessons` what it learns besides labels, `known` the keys of the rows that the runs were
    trained on whose encoder it starts from, `findings` errors and warnings on the data, `typed` what was typed, and
    `notes` which runs its names mean.
    """

    recipe: Recipe
    default: Task
    task: Task
    source: Source
    splits: Mapping[str, Rows]
    data: str
    weights: ModelFiles
    vocabulary: str
    pooling: str
    lineage: Lineage | None
    kept: Kept | None
    lessons: Lessons | None
    device: torch.device
    precision: str
    known: Mapping[str, Keys] = field(default_factory=dict)
    findings: tuple[DataFinding, ...] = ()
    typed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def id(self) -> str:
        """The run's id: ten hex digits."""
        return run_id(
            self.recipe, task=self.task.name, version=self.task.version, data=self.data,
            weights=self.weights.fingerprint, precision=self.precision,
            options=changed_options(self.default, self.task), columns=columns_of(self.task),
            taught={} if self.lessons is None else self.lessons.facts,
            task_file=registry.file_hash(self.recipe.task),
        )  # fmt: skip

    @property
    def built_recipe(self) -> Recipe:
        """The recipe as its model is built."""
        return self.recipe.model_copy(update={"pooling": self.pooling})

    @cached_property
    def tokens(self) -> Sequence[str]:
        """The tokens that the rows of any split have, and a tokenizer may lack."""
        return self.task.new_tokens(chain.from_iterable(self.rows.values()))

    @cached_property
    def rows(self) -> dict[str, Sequence[Row]]:
        """The rows of each split."""
        return {split: loaded.rows for split, loaded in self.splits.items()}

    @property
    def own_splits(self) -> list[str]:
        """The dev splits of its own data, for which baselines are computed."""
        return [split for split in self.task.dev_splits if split != OLD_DEV]

    @property
    def train_rows(self) -> Sequence[Row]:
        """The rows that are trained on."""
        return self.rows[self.task.train_split]

    @property
    def rows_learned(self) -> Sequence[Row]:
        """The rows that are trained on, then those that only a teacher answers."""
        return [*self.train_rows, *self.lessons.text] if self.lessons and self.lessons.text else self.train_rows


@dataclass(frozen=True, kw_only=True)
class BuiltRun:
    """The model before training, its tokenizer, the features of each split, and notes on how they fit the rows.

    `new_weights` are the names of the encoder's weights that are not in the checkpoint.
    """

    model: EncoderWithHead
    new_weights: list[str]
    tokenizer: "PreTrainedTokenizerBase"
    features: dict[str, Sequence[Feature]]
    notes: list[str]


def plan_run(
    resolved: ResolvedRun, *, source: Source, device: str | None = None, watch: Watcher = unwatched
) -> PlannedRun:
    """Reads the rows and finds the weights.

    Raises UserError for data, weights, a device or a package that are missing or do not fit.
    """
    recipe, task, default = recipe_from_here(resolved.recipe), resolved.task, resolved.default
    if recipe.lora:
        require_peft()
    where = resolve_device(device)
    precision = resolve_precision(recipe.train.precision, where)
    set_deterministic(recipe.deterministic)
    task.require_batch(recipe.train.batch_size)
    size = trained_size(recipe)
    weights = None if size else _weights(recipe, resolved.encoder, str(recipe.tokenizer), watch)
    if size:
        size_of(recipe.model)  # first, since reading and training a vocabulary take a while
    old = old_model(resolved, weights)
    if old is not None:
        task = old.extended(task, recipe.keep_labels, default=default)
        default = old.extended(default, recipe.keep_labels)
    watch(Working("reading rows"))
    splits = load_splits(task, source, limit=recipe.limit)
    data = data_fingerprint({split: loaded.rows for split, loaded in splits.items()})
    splits[task.train_split] = train = trained_on_rows(recipe, task, splits)
    vocabulary = str(task.own_vocabulary(train.rows, watch, size=size) or "") if size else str(recipe.tokenizer)
    weights = weights or _weights(recipe, resolved.encoder, vocabulary, watch)
    kept = None
    if old is not None:
        splits, kept = join(old, recipe, task, splits, source)
        train = splits[task.train_split]
        task = replace(task, dev_splits=(*task.dev_splits, *kept.baselines))
    task = task.fit(train.rows)
    pooling = fitting_pooling(
        recipe, weights.folder, load_config(weights.folder), rows=len(train.rows), pooled=task.pooled
    )
    dev = [row for split in task.dev_splits for row in splits[split].rows]
    lineage, taught = lineage_at(weights.folder), dict[str, Keys]()
    known = known_keys(RunFolder(weights.folder.parent)) if lineage else {}
    for teacher in resolved.teachers:
        taught |= known_keys(RunFolder(teacher))
    lessons = plan_lessons(resolved, task, train.rows, dev, data=data, known=taught, device=device)
    findings = (*leaks(task, splits, known | taught, resolved.typed), *resolved.findings)
    return PlannedRun(
        recipe=recipe, default=default, task=task, source=source, splits=splits, data=data, weights=weights,
        vocabulary=vocabulary, pooling=pooling, lineage=lineage, kept=kept, lessons=lessons, device=where,
        precision=precision, known=known, findings=findings, typed=resolved.typed, notes=resolved.notes,
    )  # fmt: skip


def _weights(recipe: Recipe, encoder: Path | None, vocabulary: str, watch: Watcher) -> ModelFiles:
    """The encoder's files, named as in the recipe; a new encoder gets this vocabulary."""
    watch(Working("finding the encoder's weights"))
    return replace(pretrained.resolve(str(encoder or recipe.model), tokenizer=vocabulary), name=recipe.model)


def build_run(planned: PlannedRun, watch: Watcher) -> BuiltRun:
    """Builds the model and encodes the rows. Raises UserError where encoder, head, solver and rows do not fit."""
    recipe, task = planned.built_recipe, planned.task
    watch(Working("loading the encoder"))
    model, new = build_model(planned.weights.folder, task.head, recipe, device=planned.device, tokens=planned.tokens)
    if model.head.pretrains and (recipe.frozen or recipe.train.solver == "logistic"):
        given = "frozen=true" if recipe.frozen else "train.solver=logistic"
        raise UserError(f"{given}: pre-training on a text changes the encoder", "Leave it out, or set lora")
    if planned.kept is not None:
        carry_head(load_trained(planned.weights.folder, planned.kept.old.task.head), model)
    if recipe.train.solver == "logistic":
        require_linear(model, frozen=recipe.frozen)
    if recipe.train.solver == CONTRASTIVE:
        require_contrast(model, frozen=recipe.frozen)
    tokenizer = load_tokenizer(planned.weights.folder)
    add_tokens(tokenizer, planned.tokens)
    require_positions(tokenizer, recipe.max_length, most_tokens(model.backbone.encoder))
    features: dict[str, Sequence[Feature]] = {}
    for split, rows in planned.rows.items():
        drawn = None
        if split == task.train_split:
            drawn = task.train_features(rows, tokenizer, recipe.max_length, watch)
        if drawn is None:
            drawn = array_features(task, rows, tokenizer, recipe.max_length, watch)
        features[split] = drawn
    watch(Working("looking at the rows' words"))
    notes = [*planned.notes, *vocabulary_notes(planned.train_rows, tokenizer, recipe.model)]
    notes += family_notes(model.backbone.config) + model.notes + ([] if planned.kept is None else [planned.kept.note])
    notes += _schedule_notes(recipe, model, features[task.train_split])
    if size := trained_size(recipe):
        trained = Path(planned.vocabulary)
        notes = training_notes(trained, len(tokenizer), tokenizer_hash(tokenizer), size=size) + notes
    notes += _head_notes(planned.weights.name, model.head, new) + _pooling_notes(planned, model)
    return BuiltRun(model=model, new_weights=new, tokenizer=tokenizer, features=features, notes=notes)


def _schedule_notes(recipe: Recipe, model: EncoderWithHead, features: Sequence[Feature]) -> list[str]:
    train, count = recipe.train.lengthened(len(features)), len(features)
    updates = train.updates or train.epochs * math.ceil(count / train.batch_size)
    return noam_notes(train, updates=updates, width=model.backbone.config.hidden_size)


def _head_notes(name: str, head: Head, new: Sequence[str]) -> list[str]:
    """A note on the weights of a head for pre-training that a pretrained model lacks."""
    lacking = (
        [weight for weight in new if weight in head.to_checkpoint()] if head.pretrains and not is_new(name) else []
    )
    return [f"the head is new, since {name} lacks {some(lacking)}"] if lacking else []


def _pooling_notes(planned: PlannedRun, model: EncoderWithHead) -> list[str]:
    """A note where `auto` chose a vector that transformers' classes do not read."""
    if planned.recipe.pooling != "auto" or planned.pooling == FAMILY:
        return []
    vector = {
        "mean": "the mean of a text's tokens",
        "unit": "the mean of a text's tokens at length 1",
        "cls": "the vector of [CLS]",
    }[planned.pooling]
    known = has_own_class(model.backbone.config)
    other = " (pooling=family: one that transformers loads)" if known else ""
    return [
        f"pooling {planned.pooling}: the head reads {vector}, which fits {planned.weights.name}; the model is saved in "
        f"a format that only finetune loads{other}"
    ]
