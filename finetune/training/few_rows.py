"""What cheap methods reach where rows are few: the linear probe as a baseline, and a note before training.

The probe is what `frozen=true train.solver=logistic pooling=unit` trains, in the time of one pass over the rows. The
note has scores of baselines, probe and own training by folds of the training rows, where dev is too small to tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.feature import Feature
from finetune.models.model_folder import FAMILY, FEW_ROWS, UNIT
from finetune.runs.events import Note, Working, unwatched
from finetune.runs.recipe import Recipe, is_new
from finetune.runs.recipe_tables import CONTRASTIVE, HeldOut, Train
from finetune.runs.record_parts import Margin, best_baseline
from finetune.runs.verdict import baseline_words, by_folds
from finetune.task_types.held_out import held_out_rows
from finetune.task_types.own_data import own_data
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import margin
from finetune.task_types.shared_rows import Keys, keys_of, shared
from finetune.task_types.starting_recipe import DEV_TO_CHOOSE
from finetune.task_types.task import TEST
from finetune.training.evaluation import Answers, DevEvaluation
from finetune.training.extras import Extra, RunState
from finetune.training.solvers import fit_contrastive, fit_output, require_linear
from finetune.training.trainer import Trainer

PROBE = "linear-probe"
FOLDS = 5


class FewRows(Extra):
    """A linear probe as a baseline, and for your data a note before training; nothing where rows are many."""

    encoders_rows: Mapping[str, Keys]

    def after_reading(self, run: RunState) -> None:
        """Takes what is known of the rows that the encoder was trained on."""
        self.encoders_rows = run.known

    def before_training(self, run: RunState) -> None:
        """Adds the notes."""
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
    vectors of words.

    None where rows are many, for tasks that a linear layer cannot be fitted to, and where the run itself is one.
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
    """A note on your data with few rows: the scores of baselines and linear probe, by folds of the training rows.

    A dev of ten rows does not tell whether fine-tuning is worth it, and training takes longer than all of these. The
    note names the runs whose rows are `known` and among these.
    """
    task, rows = run.task, run.train_rows
    dev = len(run.rows[task.dev_splits[0]])
    if own_data(task) is None or dev >= DEV_TO_CHOOSE or not 2 * FOLDS <= len(rows) < FEW_ROWS:
        return []
    run.watch(Working(f"trying the baselines on {FOLDS} folds of {len(rows)} rows"))
    try:
        found = _by_folds(run, probe_engine(run))
    except UserError:  # rows that must stay together, or one part would have none
        return []
    metric = task.metrics[0]
    scores = {method: task.score(answers, rows) for method, answers in found.items()}
    if not (best := best_baseline(scores, metric)):
        return []
    against = {PROBE: found[PROBE]} if PROBE in found and best != PROBE else {}
    of_best = margin(task, rows, found[best], against)
    interval = of_best.interval and " (the best: {} to {})".format(*map(metric.shown, of_best.interval))
    listed = ", ".join(f"{method} {metric.shown(score[metric.name])}" for method, score in scores.items())
    note = (
        f"few rows: dev has {so_many(dev, 'row')}, too few to choose or tell anything. By {FOLDS} folds of the "
        f"{len(rows)} training rows, {metric.name}: {listed}{interval or ''}{advice(best, of_best)}"
    )
    keys = keys_of(task, rows)
    for before, others in known.items():
        if count := shared(keys, others):
            what = f"whose encoder this is, was trained on {count:,} of these rows: its probe knows them"
            note += f". Run {before}, {what}"
    return [note, *_own_by_folds(run, found)]


def _own_by_folds(run: RunState, others: Answers) -> list[str]:
    """A note on the score of the run's own training by the same folds, where it is short and no test rows will tell."""
    task, rows = run.task, run.train_rows
    if run.recipe.train.solver != CONTRASTIVE or TEST in run.splits:
        return []
    try:
        found = _trained_by_folds(run)
    except UserError:  # a fold without a pair of rows
        return []
    metric, of = task.metrics[0], margin(task, rows, found, others)
    between = of.interval and " (95 % {} to {})".format(*map(metric.shown, of.interval))
    score = metric.shown(task.score(found, rows)[metric.name])
    against = ""
    if of.baseline is not None:
        theirs = task.score(others[of.baseline], rows)[metric.name]
        against = f", and that of {baseline_words(of.baseline)} {metric.shown(theirs)}"
    return [f"{by_folds(FOLDS, len(rows))} {metric.name} is {score}{between or ''}{against}"]


def advice(best: str, of_best: Margin) -> str:
    """What the best method says of the encoder, where it is ahead by more than chance."""
    if best == PROBE:
        return ". The probe is trained by frozen=true train.solver=logistic"
    if of_best.difference_interval is None or of_best.difference_interval[0] <= 0:
        return ""
    return f". {best} is ahead of what the encoder knows of these texts: choose one for their language and domain"


def _by_folds(run: RunState, probe: Engine | None) -> Answers:
    """By method a prediction for each training row, fitted to the rows of the other folds."""
    task, rows, features = run.task, run.train_rows, run.features[run.task.train_split]
    found: dict[str, dict[int, Answer]] = {}
    if probe is not None:  # the encoder reads each row once
        from finetune.inference.hidden_states import with_states_in_memory

        features = with_states_in_memory(features, probe)
    for fitted, held in _folds(run):
        judged_rows = [rows[i] for i in held]
        methods = task.baselines([rows[i] for i in fitted], judged_rows)
        if probe is not None:
            fit_output(probe, _of_rows(features, fitted))
            judged = _of_rows(features, held)
            methods |= {PROBE: task.decode(probe.logits(judged), judged, judged_rows)}
        for method, answers in methods.items():
            found.setdefault(method, {}).update(zip(held, answers, strict=True))
    return {method: [answers[i] for i in range(len(rows))] for method, answers in found.items()}


def _folds(run: RunState) -> Iterator[tuple[list[int], list[int]]]:
    """The training rows to fit to and those that are held out, fold by fold."""
    train = run.splits[run.task.train_split]
    for fold in range(FOLDS):
        held = held_out_rows(run.task, train, 1 / FOLDS, HeldOut().seed, fold=fold)
        yield [i for i in range(len(train.rows)) if i not in held], sorted(held)


def _trained_by_folds(run: RunState) -> list[Answer]:
    """A prediction for each training row, by the run's own training on the rows of the other folds."""
    task, recipe, found = run.task, run.built_recipe, dict[int, Answer]()
    features = run.features[task.train_split]
    for fold, (fitted, held) in enumerate(_folds(run)):
        run.watch(Working(f"training on {FOLDS} folds of the rows, for a score", done=fold, total=FOLDS))
        model, _ = build_model(run.weights.folder, task.head, recipe, device=run.device, tokens=run.tokens)
        own = replace(run.engine, model=model, watch=unwatched)
        trainer = Trainer(engine=own, settings=recipe.train, data_seed=recipe.seeds[1])
        rows = [run.train_rows[i] for i in held]
        every = DevEvaluation(task=task, rows={"held": rows}, features={"held": _of_rows(features, held)})
        _, judged = fit_contrastive(trainer, _of_rows(features, fitted), every)
        found.update(zip(held, judged.answers["held"], strict=True))
        run.accelerator.free_memory()  # which keeps what it has prepared
    return [found[i] for i in range(len(run.train_rows))]


def _of_rows(features: Sequence[Feature], rows: Sequence[int]) -> list[Feature]:
    """The features of some rows, with the rows' places among these."""
    places = {row: place for place, row in enumerate(rows)}
    return [replace(feature, row=places[feature.row]) for feature in features if feature.row in places]
