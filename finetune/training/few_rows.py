"""For few rows: a linear head that is solved at once, for itself or as a baseline, and cross-validated scores.

`train.solver=logistic` is scikit-learn's logistic or ridge regression on the hidden states of a frozen encoder. The
coefficients become the head's output layer, so saving, prediction and scoring work as after any training. The linear
probe is the model of `frozen=true train.solver=logistic pooling=unit`, for the time of one pass over the rows.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.inference.feature_batches import BATCH_TOKENS
from finetune.inference.hidden_states import with_states_in_memory
from finetune.models.building import build_model
from finetune.models.feature import LABEL, Feature, label_counts, lengths
from finetune.models.head import EncoderWithHead, Head
from finetune.models.model_folder import FAMILY, FEW_ROWS, MEAN, UNIT
from finetune.runs.events import EpochDone, EpochResult, Training, Working, unwatched
from finetune.runs.recipe import HeldOut, Recipe, Train
from finetune.runs.record import best_baseline
from finetune.runs.settings import is_new
from finetune.task_types.columns import own_data
from finetune.task_types.held_out import held_out_rows
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import margin
from finetune.task_types.shared_rows import Keys, keys_of, shared
from finetune.training.checkpoints import Progress
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.extras import Extra, RunState, require_no_pretraining

# From the numbers of the rows to fit to, and of the rows to predict, to predictions by method.
Methods = Callable[[Sequence[int], Sequence[int]], Mapping[str, Sequence[Answer]]]
PROBE = "linear-probe"
FOLDS = 5
UNSEEN = -100.0  # the logit of a label without training rows
STRENGTH = 1.0  # scikit-learn's C, and 1 / alpha of ridge regression, on standardised inputs
MEAN_STRENGTH = 10.0  # on mean vectors, scaled by one number: the encoder was trained for their spread by dimension


class LogisticHead(Extra):
    """`train.solver=logistic`: the output layer alone is fitted, to all rows at once."""

    def after_building(self, run: RunState) -> None:
        """Raises UserError where more than the output layer would be trained."""
        require_no_pretraining(run, "train.solver=logistic")
        require_linear(run.model, frozen=run.recipe.frozen)

    def before_training(self, run: RunState) -> None:
        """Replaces the training loop."""
        run.fit = lambda trainer, features, dev: fit_logistic(trainer.engine, features, dev)


class LinearProbe(Extra):
    """For few rows, the probe as a baseline; and before training, cross-validated scores of the cheap methods."""

    encoder_rows: Mapping[str, Keys]  # by run, the rows on which the encoder was trained; a teacher adds its own later

    def after_reading(self, run: RunState) -> None:
        """Keeps the keys of the encoder's rows."""
        self.encoder_rows = run.earlier_rows

    def before_training(self, run: RunState) -> None:
        """Shows the scores of cheap methods before training takes its time, and adds the probe to the baselines."""
        if dev_tells_nothing(run):
            run.note(*_cross_validated_baselines(run, self.encoder_rows))
        if (probe := probe_engine(run)) is not None:
            run.watch(Working("fitting a linear probe, as a baseline"))
            fit_output(probe, run.features[run.task.train_split])
            features = {split: run.features[split] for split in run.task.dev_splits}
            evaluation = DevEvaluation(task=run.task, rows=run.rows, features=features)
            for split, answers in evaluation(probe).answers.items():
                run.baselines.setdefault(split, {})[PROBE] = answers


def probe_engine(run: RunState) -> Engine | None:
    """The probe before it is fitted: a linear head on the mean vector of a text at length 1, or on vectors of words.

    None where rows are many, for a task without a linear output layer, and where the run itself is a probe.
    """
    recipe = run.recipe
    if len(run.train_rows) >= FEW_ROWS or is_new(recipe.model) or recipe.train.solver == "logistic":
        return None
    pooling: Any = UNIT if run.model.pooled else FAMILY
    train = Train(solver="logistic", precision=recipe.train.precision)
    probe = Recipe(task=recipe.task, model=recipe.model, frozen=True, train=train, pooling=pooling)
    model, _ = build_model(run.weights.folder, run.task.head, probe, device=run.device, tokens=run.tokens)
    try:
        require_linear(model, frozen=True)
    except UserError:
        return None
    return replace(run.engine, model=model, watch=unwatched)


def _cross_validated_baselines(run: RunState, encoder_rows: Mapping[str, Keys]) -> Iterator[str]:
    """A note with the scores of baselines and probe by folds of the training rows, where dev is too small to tell.

    It names the runs of `encoder_rows` that learned some of these rows: their probe knows the labels.
    """
    task, rows, metric = run.task, run.train_rows, run.task.metrics[0]
    folds = answers_by_folds(run, cheap_methods(run), f"trying the baselines on {FOLDS} folds of {len(rows)} rows")
    scores = {method: task.score(answers, rows) for method, answers in folds.items()}
    if not (best := best_baseline(scores, metric)):
        return
    compared = {PROBE: folds[PROBE]} if PROBE in folds and best != PROBE else {}
    lead = margin(task, rows, folds[best], compared)
    interval = " (the best: {} to {})".format(*map(metric.shown, lead.interval)) if lead.interval else ""
    listed = ", ".join(f"{method} {metric.shown(score[metric.name])}" for method, score in scores.items())
    note = (
        f"few rows: dev has {so_many(len(run.rows[task.dev_splits[0]]))}, too few to choose or tell anything. By "
        f"{FOLDS} folds of the {len(rows)} training rows, {metric.name}: {listed}{interval}"
    )
    if best == PROBE:
        note += ". The probe is trained by frozen=true train.solver=logistic"
    elif lead.difference_interval and lead.difference_interval[0] > 0:
        note += f". {best} is ahead of what the encoder knows of these texts: choose one for their language and domain"
    keys = keys_of(task, rows)
    for earlier, earlier_keys in encoder_rows.items():
        if count := shared(keys, earlier_keys):
            what = f"whose encoder this is, was trained on {count:,} of these rows: its probe knows them"
            note += f". Run {earlier}, {what}"
    yield note


def dev_tells_nothing(run: RunState) -> bool:
    """Whether rows of a user's file are too few for dev to tell anything, and enough for folds."""
    from finetune.task_types.starting_recipe import DEV_TO_CHOOSE

    few = 2 * FOLDS <= len(run.train_rows) < FEW_ROWS and len(run.rows[run.task.dev_splits[0]]) < DEV_TO_CHOOSE
    return few and own_data(run.task) is not None


def cheap_methods(run: RunState) -> Methods:
    """The baselines and the probe."""
    task, rows, probe = run.task, run.train_rows, probe_engine(run)
    features = run.features[task.train_split]
    if probe is not None:  # the encoder reads each row once for all folds
        features = with_states_in_memory(features, probe)

    def methods(fitted: Sequence[int], held: Sequence[int]) -> dict[str, Sequence[Answer]]:
        held_rows = [rows[i] for i in held]
        answers: dict[str, Sequence[Answer]] = {**task.baselines([rows[i] for i in fitted], held_rows)}
        if probe is not None:
            fit_output(probe, features_of(features, fitted))
            held_features = features_of(features, held)
            answers[PROBE] = task.decode(probe.logits(held_features), held_features, held_rows)
        return answers

    return methods


def answers_by_folds(run: RunState, methods: Methods, doing: str) -> dict[str, list[Answer]]:
    """By method a prediction for each training row, fitted to the rows of the other folds; `doing` is for the progress.

    Empty where groups of rows, which are not divided, leave a fold or the rest without any.
    """
    train, by_method = run.splits[run.task.train_split], dict[str, dict[int, Answer]]()
    for fold in range(FOLDS):
        run.watch(Working(doing, done=fold, total=FOLDS))
        try:
            held = sorted(held_out_rows(run.task, train, 1 / FOLDS, HeldOut().seed, fold=fold))
            answers = methods(sorted({*range(len(train.rows))} - {*held}), held)
        except UserError:
            return {}
        for method, predicted in answers.items():
            by_method.setdefault(method, {}).update(zip(held, predicted, strict=True))
    return {method: [answer for _, answer in sorted(answers.items())] for method, answers in by_method.items()}


def features_of(features: Sequence[Feature], rows: Sequence[int]) -> list[Feature]:
    """The features of these rows, numbered by their order in `rows`."""
    numbers = {row: number for number, row in enumerate(rows)}
    return [replace(feature, row=numbers[feature.row]) for feature in features if feature.row in numbers]


def require_linear(model: EncoderWithHead, *, frozen: bool) -> None:
    """Raises UserError where a linear solver cannot train all of the model's new layers."""
    reader, config = model.backbone.reader, model.backbone.config
    if not frozen:
        raise UserError("train.solver = 'logistic' trains only the output layer", "Set frozen=true with it")
    if reader is not None and (reader.bilstm is not None or reader.mix.how == "weighted"):
        raise UserError(
            "train.solver = 'logistic' cannot train a BiLSTM or layer weights",
            "Choose a layer, a sum or a concatenation without weights, and bilstm=false",
        )
    if hasattr(model.head, "dense"):
        raise UserError(
            f"an encoder of type '{config.model_type}' has no pretrained pooler",
            f"Name the layer to read with train.solver=logistic: layers=[{config.num_hidden_layers}]",
        )
    if not model.head.solved_as:
        raise UserError("train.solver = 'logistic' is for text and word labels", "Leave it out for this task")


def fit_logistic(
    engine: Engine, features: Sequence[Feature], evaluate: Callable[[Engine], Evaluated]
) -> tuple[Progress, Evaluated]:
    """Fits the output layer to all features at once; the same on every process."""
    started = time.perf_counter()
    engine.watch(Training(updates=1, done=0, epochs=1, examples=len(features)))
    fit_output(engine, features)
    progress = Progress(update=1, seconds=time.perf_counter() - started, best_epoch=1)
    result, loss = evaluate(engine), 0.0
    with torch.inference_mode(), engine.accelerator.autocast():
        for part in _parts(features):
            batch = engine.batch(part)
            loss += float(engine.model.head.loss(engine.model(*batch.inputs()).float(), batch.labels[LABEL]))
    loss /= label_counts(features)[LABEL]
    done = EpochResult(epoch=1, loss=loss, headline=result.headline, scores=result.scores, dev_loss=result.loss)
    progress.epochs.append(done)
    engine.watch(EpochDone(result=done, best=result.headline, metrics=result.metrics))
    return progress, result


def fit_output(engine: Engine, features: Sequence[Feature]) -> None:
    """Fits the output layer to its inputs of all features."""
    inputs, labels = _columns(engine, features)
    head, mean = engine.model.head, inputs.mean(0)
    is_mean = engine.model.pooled and engine.model.backbone.pooling in (MEAN, UNIT)
    spread = np.linalg.norm(inputs, axis=1).mean() if is_mean else inputs.std(0) + 1e-6
    strength = MEAN_STRENGTH if is_mean else STRENGTH
    weight, bias = _coefficients((inputs - mean) / spread, labels, head, strength=strength)
    weight = weight / spread
    with torch.no_grad():
        head.output.weight.copy_(torch.from_numpy(weight))
        head.output.bias.copy_(torch.from_numpy(bias - weight @ mean))


def _parts(features: Sequence[Feature]) -> Iterator[Sequence[Feature]]:
    step = max(1, BATCH_TOKENS["cpu"] // int(lengths(features).max()))
    for begin in range(0, len(features), step):
        yield features[begin : begin + step]


def _columns(engine: Engine, features: Sequence[Feature]) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of the output layer `(n, width)` and labels `(n,)` or `(n, labels)`, of texts or words."""
    model = engine.model.to(engine.accelerator.device).eval()
    inputs, labels = list[np.ndarray](), list[Any]()
    with torch.inference_mode(), engine.accelerator.autocast():
        for part in _parts(features):
            hidden, mask, *_ = model.hidden(engine.batch(part))
            inputs.append((hidden if model.pooled else hidden[mask.bool()]).float().cpu().numpy())
            for feature in part:
                labels += [feature.label] if model.pooled else feature.label
    return np.concatenate(inputs), np.array(labels)


def _coefficients(
    inputs: np.ndarray, labels: np.ndarray, head: Head, *, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weight `(labels, width)` and bias `(labels,)` by regression, of the kind that `head.solved_as` names."""
    from sklearn.linear_model import LogisticRegression, Ridge

    count = len(head.labels)
    if head.solved_as == "number":
        ridge = Ridge(alpha=1 / strength).fit(inputs, labels)
        return ridge.coef_.reshape(1, -1), np.atleast_1d(ridge.intercept_)
    if head.solved_as == "flags":
        weights, biases = zip(*(_binary(inputs, labels[:, label], strength) for label in range(count)), strict=True)
        return np.stack(weights), np.array(biases)
    weight, bias = np.zeros((count, inputs.shape[1])), np.full(count, UNSEEN)
    if len(set(labels.tolist())) == 1:
        bias[labels[0]] = 0.0
        return weight, bias
    by_class = getattr(head, "class_weights", None)
    row_weights = None if by_class is None else by_class.cpu().numpy()[labels]
    solver: Any = LogisticRegression(C=strength, max_iter=1_000).fit(inputs, labels, sample_weight=row_weights)
    if len(solver.classes_) == 2:  # scikit-learn fits one row, for the difference of the two classes
        first, second = solver.classes_
        weight[second], bias[second], bias[first] = solver.coef_[0], solver.intercept_[0], 0.0
    else:
        weight[solver.classes_], bias[solver.classes_] = solver.coef_, solver.intercept_
    return weight, bias


def _binary(inputs: np.ndarray, labels: np.ndarray, strength: float) -> tuple[np.ndarray, float]:
    from sklearn.linear_model import LogisticRegression

    if len(set(labels.tolist())) < 2:
        return np.zeros(inputs.shape[1]), -UNSEEN if labels[:1].any() else UNSEEN
    solver = LogisticRegression(C=strength, max_iter=1_000).fit(inputs, labels)
    return solver.coef_[0], float(solver.intercept_[0])
