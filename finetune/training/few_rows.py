"""What few rows get: a linear probe as a baseline, and scores by folds where dev is too small to tell.

The probe is what `frozen=true train.solver=logistic pooling=unit` trains, in the time of one pass over the rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.feature import Feature
from finetune.models.model_folder import FAMILY, FEW_ROWS, UNIT
from finetune.runs.events import Note, Working, unwatched
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import HeldOut, Train
from finetune.runs.record_parts import Margin, best_baseline
from finetune.runs.toml import is_new
from finetune.task_types.columns import own_data
from finetune.task_types.held_out import held_out_rows
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import margin
from finetune.task_types.shared_rows import Keys, keys_of, shared
from finetune.training.extras import Extra, RunState
from finetune.training.logistic import fit_output, require_linear

# By method the predictions for rows, from the places of the rows to fit to and of the rows to predict.
Methods = Callable[[Sequence[int], Sequence[int]], Mapping[str, Sequence[Answer]]]
PROBE = "linear-probe"
FOLDS = 5


class LinearProbe(Extra):
    """A baseline where rows are few: what `frozen=true train.solver=logistic pooling=unit` trains; and a first look."""

    encoders_rows: Mapping[str, Keys]  # by the run that the encoder comes from

    def after_reading(self, run: RunState) -> None:
        """Takes what is known of the rows that the encoder was trained on."""
        self.encoders_rows = run.known

    def before_training(self, run: RunState) -> None:
        """Says what cheap methods reach, before training takes its time."""
        for note in first_look(run, self.encoders_rows):
            run.watch(Note(note))
            run.notes.append(note)

    def after_scoring(self, run: RunState) -> None:
        """Adds the predictions of the probe."""
        probe = probe_engine(run)
        if probe is not None:
            run.watch(Working("fitting a linear probe, as a baseline"))
            fit_output(probe, run.features[run.task.train_split])
            for split, answers in run.evaluation(probe).answers.items():
                run.baselines.setdefault(split, {})[PROBE] = answers


def probe_engine(run: RunState) -> Engine | None:
    """The model of the probe before it is fitted: a linear head on the mean vector of a text at length 1, or on the
    vectors of words. None where rows are many, for tasks without a linear layer, and where the run itself is one.
    """
    recipe = run.recipe
    if len(run.train_rows) >= FEW_ROWS or is_new(recipe.model) or recipe.train.solver == "logistic":
        return None
    settings: dict[str, Any] = {"pooling": UNIT if run.model.pooled else FAMILY}
    train = Train(solver="logistic", precision=recipe.train.precision)
    read = Recipe(task=recipe.task, model=recipe.model, frozen=True, train=train, **settings)
    model, _ = build_model(run.weights.folder, run.task.head, read, device=run.device, tokens=run.tokens)
    try:
        require_linear(model, frozen=True)
    except UserError:
        return None
    return replace(run.engine, model=model, watch=unwatched)


def first_look(run: RunState, known: Mapping[str, Keys]) -> list[str]:
    """The scores of baselines and probe by folds of your training rows, where dev is too small to tell if fine-tuning
    is worth it; with the runs whose rows are `known` and among these.
    """
    if not dev_tells_nothing(run):
        return []
    task, rows, metric = run.task, run.train_rows, run.task.metrics[0]
    found = answers_by_folds(run, cheap_methods(run), f"trying the baselines on {FOLDS} folds of {len(rows)} rows")
    scores = {method: task.score(answers, rows) for method, answers in found.items()}
    if not (best := best_baseline(scores, metric)):
        return []
    against = {PROBE: found[PROBE]} if PROBE in found and best != PROBE else {}
    of_best = margin(task, rows, found[best], against)
    interval = of_best.interval and " (the best: {} to {})".format(*map(metric.shown, of_best.interval))
    listed = ", ".join(f"{method} {metric.shown(score[metric.name])}" for method, score in scores.items())
    dev = so_many(len(run.rows[task.dev_splits[0]]))
    note = (
        f"few rows: dev has {dev}, too few to choose or tell anything. By {FOLDS} folds of the {len(rows)} training "
        f"rows, {metric.name}: {listed}{interval or ''}{advice(best, of_best)}"
    )
    keys = keys_of(task, rows)
    for before, others in known.items():
        if count := shared(keys, others):
            what = f"whose encoder this is, was trained on {count:,} of these rows: its probe knows them"
            note += f". Run {before}, {what}"
    return [note]


def advice(best: str, of_best: Margin) -> str:
    """What the best method says of the encoder, where it is ahead by more than chance."""
    if best == PROBE:
        return ". The probe is trained by frozen=true train.solver=logistic"
    if of_best.difference_interval is None or of_best.difference_interval[0] <= 0:
        return ""
    return f". {best} is ahead of what the encoder knows of these texts: choose one for their language and domain"


def dev_tells_nothing(run: RunState) -> bool:
    """Whether the data is yours, with so few rows that dev tells nothing, and enough for folds."""
    from finetune.task_types.starting_recipe import DEV_TO_CHOOSE

    few = 2 * FOLDS <= len(run.train_rows) < FEW_ROWS and len(run.rows[run.task.dev_splits[0]]) < DEV_TO_CHOOSE
    return few and own_data(run.task) is not None


def cheap_methods(run: RunState) -> Methods:
    """The baselines and the probe."""
    task, rows, probe = run.task, run.train_rows, probe_engine(run)
    features = run.features[task.train_split]
    if probe is not None:  # the encoder reads each row once
        from finetune.inference.hidden_states import with_states_in_memory

        features = with_states_in_memory(features, probe)

    def methods(fitted: Sequence[int], held: Sequence[int]) -> dict[str, Sequence[Answer]]:
        held_rows = [rows[i] for i in held]
        answers: dict[str, Sequence[Answer]] = {**task.baselines([rows[i] for i in fitted], held_rows)}
        if probe is not None:
            fit_output(probe, features_of(features, fitted))
            judged = features_of(features, held)
            answers[PROBE] = task.decode(probe.logits(judged), judged, held_rows)
        return answers

    return methods


def answers_by_folds(run: RunState, methods: Methods, doing: str) -> dict[str, list[Answer]]:
    """By method a prediction for each training row, fitted to the rows of the other folds.

    Empty where rows that must stay together leave a fold, or the rest, without any.
    """
    train, by_method = run.splits[run.task.train_split], dict[str, dict[int, Answer]]()
    for fold in range(FOLDS):
        run.watch(Working(doing, done=fold, total=FOLDS))
        try:
            held = sorted(held_out_rows(run.task, train, 1 / FOLDS, HeldOut().seed, fold=fold))
            found = methods(sorted({*range(len(train.rows))} - {*held}), held)
        except UserError:
            return {}
        for method, answers in found.items():
            by_method.setdefault(method, {}).update(zip(held, answers, strict=True))
    return {method: [answers[i] for i in range(len(train.rows))] for method, answers in by_method.items()}


def features_of(features: Sequence[Feature], rows: Sequence[int]) -> list[Feature]:
    """The features of some rows, with the rows' places among these."""
    places = {row: place for place, row in enumerate(rows)}
    return [replace(feature, row=places[feature.row]) for feature in features if feature.row in places]
