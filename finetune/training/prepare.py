"""A run before it trains: first what decides its result, and so its id; then model, tokenizer and features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.models import pretrained
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device, resolve_precision, set_deterministic
from finetune.models.families import is_left_to_right, most_tokens
from finetune.models.model_folder import FAMILY, fitting_pooling, load_config, some
from finetune.models.tokenizers.load import add_tokens, load_tokenizer, tokenizer_hash
from finetune.models.tokenizers.train import trained_size, training_notes
from finetune.models.untrained import size_of
from finetune.runs.events import Watcher, Working, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import lineage_at
from finetune.runs.recipe import Recipe, recipe_from_here
from finetune.runs.run_id import data_fingerprint
from finetune.runs.toml import is_new
from finetune.task_types.held_out import divided
from finetune.task_types.parts import batch_maker
from finetune.task_types.prepare import array_features, load_splits, require_positions
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import known_keys, leaks
from finetune.task_types.task import Task
from finetune.task_types.train_share import with_share
from finetune.task_types.vocabulary import vocabulary_notes
from finetune.training.extras import Extra, RunState, extras_of

VECTORS = {
    "mean": "the mean of a text's tokens",
    "unit": "the mean of a text's tokens at length 1",
    "cls": "the vector of [CLS]",
}


def plan_run(
    resolved: ResolvedRun,
    *,
    source: Source,
    device: str | None = None,
    watch: Watcher = unwatched,
    extras: Sequence[Extra] | None = None,
) -> RunState:
    """Reads the rows and finds the weights; without `extras` the run has those that its recipe asks for.

    Raises UserError for data, weights, a device or a package that are missing or do not fit.
    """
    recipe, where = recipe_from_here(resolved.recipe), resolve_device(device)
    run = RunState(
        resolved=resolved, recipe=recipe, task=resolved.task, default=resolved.default, source=source, device=where,
        precision=resolve_precision(recipe.train.precision, where), watch=watch,
        extras=extras_of(recipe) if extras is None else extras,
    )  # fmt: skip
    set_deterministic(recipe.deterministic)
    batch_maker(run.task).require_batch(recipe.train.batch_size)
    run.vocabulary, vocabulary_size = str(recipe.tokenizer), trained_size(recipe)
    if vocabulary_size:
        size_of(recipe.model)  # first, since reading and training a vocabulary take a while
    else:
        _find_weights(run)
    for extra in run.extras:
        extra.before_reading(run)
    watch(Working("reading rows"))
    run.splits = load_splits(run.task, source, limit=recipe.limit)
    run.data = data_fingerprint(run.rows)
    run.splits[run.task.train_split] = trained_on_rows(recipe, run.task, run.splits)
    if vocabulary_size:
        run.vocabulary = str(batch_maker(run.task).own_vocabulary(run.train_rows, watch, size=vocabulary_size) or "")
        _find_weights(run)
    run.rows_learned, run.lineage = run.train_rows, lineage_at(run.weights.folder)
    run.known = known_keys(RunFolder(run.weights.folder.parent)) if run.lineage else {}
    for extra in run.extras:
        extra.after_reading(run)
    run.task = run.task.fit(run.train_rows)
    config = load_config(run.weights.folder)
    run.pooling = fitting_pooling(recipe, run.weights.folder, config, rows=len(run.train_rows), pooled=run.task.pooled)
    run.findings = (*leaks(run.task, run.splits, run.known, resolved.typed), *resolved.findings)
    return run


def _find_weights(run: RunState) -> None:
    """The encoder's files, named as in the recipe; a new encoder gets the run's vocabulary."""
    run.watch(Working("finding the encoder's weights"))
    files = pretrained.resolve(str(run.resolved.encoder or run.recipe.model), tokenizer=run.vocabulary)
    run.weights = replace(files, name=run.recipe.model)


def trained_on_rows(recipe: Recipe, task: Task, splits: Mapping[str, Rows]) -> Rows:
    """The rows that are trained on: without those that are held out, and of these a share."""
    train, _ = divided(task, splits[task.train_split], recipe.held_out)
    return with_share(task, train, recipe.train_share, seed=recipe.seeds[1])


def build_run(run: RunState) -> None:
    """Builds the model and encodes the rows. Raises UserError where encoder, head, solver and rows do not fit."""
    recipe, task, watch = run.built_recipe, run.task, run.watch
    watch(Working("loading the encoder"))
    run.model, run.new_weights = build_model(
        run.weights.folder, task.head, recipe, device=run.device, tokens=run.tokens
    )
    run.accelerator = build_accelerator(run.device, run.precision)
    for extra in run.extras:
        extra.after_building(run)
    run.tokenizer = load_tokenizer(run.weights.folder)
    add_tokens(run.tokenizer, run.tokens)
    require_positions(run.tokenizer, recipe.max_length, most_tokens(run.model.backbone.encoder))
    for split, rows in run.rows.items():
        drawn = None
        if split == task.train_split:
            drawn = batch_maker(task).train_features(rows, run.tokenizer, recipe.max_length, watch)
        if drawn is None:
            drawn = array_features(task, rows, run.tokenizer, recipe.max_length, watch)
        run.features[split] = drawn
    watch(Working("looking at the rows' words"))
    run.notes += _notes(run)


def _notes(run: RunState) -> list[str]:
    """How encoder, head and rows fit."""
    recipe, head, config = run.recipe, run.model.head, run.model.backbone.config
    notes = [*run.resolved.notes, *vocabulary_notes(run.train_rows, run.tokenizer, recipe.model)]
    if is_left_to_right(config):
        last = "the last token's vector represents a text, not that of [CLS]"
        notes.append(f"the encoder reads from left to right: {last}")
    notes += run.model.notes
    if size := trained_size(recipe):
        own = training_notes(Path(run.vocabulary), len(run.tokenizer), tokenizer_hash(run.tokenizer), size=size)
        notes = own + notes
    if head.pretrains and not is_new(recipe.model):
        lacking = [weight for weight in run.new_weights if weight in head.to_checkpoint()]
        notes += [f"the head is new, since {recipe.model} lacks {some(lacking)}"] if lacking else []
    if recipe.pooling == "auto" and run.pooling != FAMILY:  # a vector that transformers' classes do not read
        notes.append(
            f"pooling {run.pooling}: the head reads {VECTORS[run.pooling]}, which fits {recipe.model}; the model is "
            "saved in a format that only finetune loads (pooling=family: one that transformers loads)"
        )
    return notes
