"""A run before training: `plan_run` reads what decides its id, `build_run` makes model, tokenizer and features,
`prepare_training` what the updates need.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from finetune.data.rows import data_fingerprint
from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.models import pretrained
from finetune.models.building import build_model
from finetune.models.device import build_accelerator, resolve_device, resolve_precision, set_deterministic
from finetune.models.encoder_size import size_of
from finetune.models.families import is_left_to_right, most_tokens
from finetune.models.model_folder import FAMILY, fitting_pooling, load_config, some
from finetune.models.tokenizers.load import add_tokens, load_tokenizer, tokenizer_hash
from finetune.models.tokenizers.train import trained_size, training_notes
from finetune.runs.events import Watcher, Working, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import lineage_at
from finetune.runs.resolve import recipe_from_here
from finetune.runs.settings import is_new
from finetune.task_types.held_out import trained_on_rows
from finetune.task_types.parts import batch_maker
from finetune.task_types.prepare import array_features, load_splits, require_positions
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import known_keys, leaks
from finetune.task_types.vocabulary import vocabulary_notes
from finetune.training.evaluation import DevEvaluation, predicted_by_baselines
from finetune.training.extras import Extra, RunState, extras_of
from finetune.training.trainer import Trainer

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
    """Reads the rows and finds the weights. By default the recipe decides the `extras`.

    Raises UserError for data, weights, a device or a package that are missing or do not fit.
    """
    recipe, chosen_device = recipe_from_here(resolved.recipe), resolve_device(device)
    run = RunState(
        resolved=resolved, recipe=recipe, task=resolved.task, default=resolved.default, source=source,
        device=chosen_device, precision=resolve_precision(recipe.train.precision, chosen_device), watch=watch,
        extras=extras_of(recipe) if extras is None else extras,
    )  # fmt: skip
    set_deterministic(recipe.deterministic)
    batch_maker(run.task).require_batch(recipe.train.batch_size)
    run.vocabulary, vocabulary_size = str(recipe.tokenizer), trained_size(recipe)
    if vocabulary_size:
        size_of(recipe.model)  # a wrong size is an error before the minutes that training a vocabulary takes
    else:
        _find_weights(run)
    for extra in run.extras:
        extra.before_reading(run)
    watch(Working("reading rows"))
    task, splits = run.task, load_splits(run.task, source, limit=recipe.limit)
    run.splits, run.data = splits, data_fingerprint({split: loaded.rows for split, loaded in splits.items()})
    splits[task.train_split] = trained_on_rows(recipe, task, splits)
    run.rows_learned = run.train_rows
    if vocabulary_size:
        vocabulary = batch_maker(task).own_vocabulary(run.train_rows, watch, size=vocabulary_size)
        run.vocabulary = str(vocabulary or "")
        _find_weights(run)
    folder = run.weights.folder
    run.lineage = lineage_at(folder)
    run.earlier_rows = known_keys(RunFolder(folder.parent)) if run.lineage else {}
    for extra in run.extras:
        extra.after_reading(run)
    run.task, config = run.task.fit(run.train_rows), load_config(folder)
    run.pooling = fitting_pooling(recipe, folder, config, rows=len(run.train_rows), pooled=run.task.pooled)
    run.findings = (*leaks(run.task, splits, run.earlier_rows, resolved.typed), *resolved.findings)
    return run


def _find_weights(run: RunState) -> None:
    run.watch(Working("finding the encoder's weights"))
    files = pretrained.resolve(str(run.resolved.encoder or run.recipe.model), tokenizer=run.vocabulary)
    run.weights = replace(files, name=run.recipe.model)


def build_run(run: RunState) -> None:
    """Builds the model and encodes the rows. Raises UserError if encoder, head, solver and rows do not fit."""
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
        arguments = (rows, run.tokenizer, recipe.max_length, watch)
        drawn = batch_maker(task).train_features(*arguments) if split == task.train_split else None
        run.features[split] = array_features(task, *arguments) if drawn is None else drawn
    watch(Working("looking at the rows' words"))
    run.notes += _notes(run)


def prepare_training(run: RunState) -> Trainer:
    """Makes the engine, the cheap predictions and the model's inputs; returns the trainer of a run that is built."""
    task, recipe = run.task, run.recipe
    run.engine = Engine(
        model=run.model, accelerator=run.accelerator, pad_id=run.tokenizer.pad_token_id, watch=run.watch
    )
    run.inputs = dict(run.features)
    if run.accelerator.is_main_process:
        run.watch(Working("predicting with the baselines"))
        run.cheap = dict(run.resolved.baselines) or predicted_by_baselines(task, run.train_rows, run.rows)
    for extra in run.extras:
        extra.before_training(run)
    run.watch(Working("computing the first update"))
    features = {split: run.inputs[split] for split in task.dev_splits}
    run.evaluation = DevEvaluation(task=task, rows=run.rows, features=features)
    return Trainer(
        engine=run.engine, settings=recipe.train, data_seed=recipe.seeds[1], rows=run.rows_learned,
        draw=batch_maker(task).draw, objective=run.objective,
    )  # fmt: skip


def _notes(run: RunState) -> Iterator[str]:
    recipe, model, tokenizer = run.recipe, run.model, run.tokenizer
    if size := trained_size(recipe):
        yield from training_notes(Path(run.vocabulary), len(tokenizer), tokenizer_hash(tokenizer), size=size)
    yield from run.resolved.notes
    yield from vocabulary_notes(run.train_rows, tokenizer, recipe.model)
    if is_left_to_right(model.backbone.config):
        yield "the encoder reads from left to right: the last token's vector represents a text, not that of [CLS]"
    yield from model.notes
    lacking = [weight for weight in run.new_weights if model.head.pretrains and weight in model.head.to_checkpoint()]
    if lacking and not is_new(recipe.model):
        yield f"the head is new, since {recipe.model} lacks {some(lacking)}"
    if recipe.pooling == "auto" and run.pooling != FAMILY:
        yield (
            f"pooling {run.pooling}: the head reads {VECTORS[run.pooling]}, which fits {recipe.model}; in transformers "
            "the model needs the class that is saved with it (pooling=family: none)"
        )
