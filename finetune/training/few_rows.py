"""What trains where rows are few: scikit-learn on a frozen encoder, and pairs of rows before it.

Linear: logistic or ridge regression on hidden states. The coefficients become the head's output layer, so that saving,
prediction and scoring work as after any other training. It is a baseline too, the linear probe.

Contrastive: rows of equal labels are drawn together and others apart (Tunstall et al. 2022), by the supervised
contrastive loss over all pairs of a batch (Khosla et al. 2020, equation 2), so that a batch of 16 texts is encoded once
for its 120 pairs; then the linear solver fits the head. Batches are drawn as they are needed: neither memory nor time
grow with the number of pairs that rows could make.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from finetune.data.messages import so_many
from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.inference.feature_batches import BATCH_TOKENS
from finetune.models.building import build_model
from finetune.models.feature import LABEL, Feature, label_counts, lengths
from finetune.models.head import EncoderWithHead, Head
from finetune.models.model_folder import FAMILY, FEW_ROWS, MEAN, UNIT
from finetune.runs.events import EpochDone, EpochResult, Note, Training, Working, unwatched
from finetune.runs.recipe import Recipe, is_new
from finetune.runs.recipe_tables import HeldOut, Train
from finetune.runs.record_parts import Margin, best_baseline
from finetune.runs.verdict import baseline_words, by_folds
from finetune.task_types.columns import own_data
from finetune.task_types.held_out import held_out_rows
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import margin
from finetune.task_types.shared_rows import Keys, keys_of, shared
from finetune.task_types.task import TEST
from finetune.training.checkpoints import Progress
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.extras import Extra, RunState, require_labels_alone
from finetune.training.trainer import Result, Trainer
from finetune.training.updates import Draw

PROBE = "linear-probe"
OURS = ""  # the trained model, among the methods of folds
FOLDS = 5
UNSEEN = -100.0  # the logit of a label without training rows
STRENGTH = 1.0  # scikit-learn's C, and 1 / alpha of ridge regression, on standardised inputs
MEAN_STRENGTH = 10.0  # on means, which are scaled as one to about unit length: their spread is what was trained
TEMPERATURE = 0.1  # as in the paper
OF_A_LABEL = 2  # rows of a label in a batch, at least: one makes no pair
KINDS = ("class", "flags")
FEW_TO_LEARN = 100  # rows of training and dev, below which those of dev are learned too


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
    if not _dev_tells_nothing(run):
        return []
    task, rows, probe = run.task, run.train_rows, probe_engine(run)
    features = run.features[task.train_split]
    if probe is not None:  # the encoder reads each row once
        from finetune.inference.hidden_states import with_states_in_memory

        features = with_states_in_memory(features, probe)

    def methods(fitted: Sequence[int], held: Sequence[int]) -> dict[str, Sequence[Answer]]:
        held_rows = [rows[i] for i in held]
        answers: dict[str, Sequence[Answer]] = {**task.baselines([rows[i] for i in fitted], held_rows)}
        if probe is not None:
            fit_output(probe, _of_rows(features, fitted))
            judged = _of_rows(features, held)
            answers[PROBE] = task.decode(probe.logits(judged), judged, held_rows)
        return answers

    found, metric = (
        _by_folds(run, methods, f"trying the baselines on {FOLDS} folds of {len(rows)} rows"),
        task.metrics[0],
    )
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


def _dev_tells_nothing(run: RunState) -> bool:
    """Whether the data is yours, with so few rows that dev tells nothing, and enough for folds."""
    from finetune.task_types.starting_recipe import DEV_TO_CHOOSE

    few = 2 * FOLDS <= len(run.train_rows) < FEW_ROWS and len(run.rows[run.task.dev_splits[0]]) < DEV_TO_CHOOSE
    return few and own_data(run.task) is not None


def _by_folds(
    run: RunState, methods: Callable[[Sequence[int], Sequence[int]], Mapping[str, Sequence[Answer]]], doing: str
) -> dict[str, list[Answer]]:
    """By method a prediction for each training row: `methods` is given the rows to fit to, and those to predict.

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


class LogisticHead(Extra):
    """`train.solver=logistic`: the output layer alone is fitted, to all rows at once."""

    def after_building(self, run: RunState) -> None:
        """Raises UserError unless the output layer is all there is to train."""
        require_labels_alone(run, "train.solver=logistic")
        require_linear(run.model, frozen=run.recipe.frozen)

    def before_training(self, run: RunState) -> None:
        """Takes the place of the loop."""
        run.fit = lambda trainer, features, dev: fit_logistic(trainer.engine, features, dev)


class ContrastiveStep(Extra):
    """`train.solver=contrastive`: the encoder is trained on pairs of rows, then the output layer is fitted.

    Where dev was drawn from the few rows of the user, a second training has them too, once they are scored.
    """

    learned: Sequence[str] = ()  # splits

    def after_building(self, run: RunState) -> None:
        """Raises UserError for what pairs cannot train, and on several processes: each would learn from the pairs of
        its own rows alone.
        """
        require_contrast(run.model, frozen=run.recipe.frozen)
        if run.accelerator.num_processes > 1:
            what = f"train.solver = 'contrastive' trains in one process, and here are {run.accelerator.num_processes}"
            raise UserError(what, "Start it without a launcher: few rows need seconds to minutes")

    def before_training(self, run: RunState) -> None:
        """Trains on pairs."""
        read, first = own_data(run.task), run.task.dev_splits[0]
        few = len(run.train_rows) + len(run.rows[first]) < FEW_TO_LEARN
        if few and read is not None and "dev" not in read.files and first == "dev":
            self.learned = (first,)
        drawn = [feature for split in self.learned for feature in run.inputs[split]]
        run.fit = partial(fit_then_all, drawn=drawn) if drawn else fit_contrastive
        for note in _notes_by_folds(run):
            run.watch(Note(note))
            run.notes.append(note)

    def after_scoring(self, run: RunState) -> None:
        """Says what was learned: batches of pairs, and the rows of dev."""
        run.facts["learned"] = list(self.learned)
        seconds, size = run.progress.seconds, run.recipe.train.batch_size
        run.facts["examples_per_second"] = run.progress.update * size / seconds
        run.rows_learned = [*run.rows_learned, *(row for split in self.learned for row in run.rows[split])]


def _notes_by_folds(run: RunState) -> Iterator[str]:
    """The score of the same training by folds, where dev tells nothing and no rows of test will, next to the best
    baseline's.
    """
    if TEST in run.splits or not _dev_tells_nothing(run):
        return
    task, rows, features = run.task, run.train_rows, run.features[run.task.train_split]

    def methods(fitted: Sequence[int], held: Sequence[int]) -> dict[str, Sequence[Answer]]:
        held_rows = [rows[i] for i in held]
        ours = _trained_on(run, _of_rows(features, fitted), held_rows, _of_rows(features, held))
        return {OURS: ours, **task.baselines([rows[i] for i in fitted], held_rows)}

    baselines = _by_folds(run, methods, f"training on {FOLDS} folds of the rows, for a score")
    if not baselines:  # or a fold has no pair of rows
        return
    found, metric = baselines.pop(OURS), task.metrics[0]
    of = margin(task, rows, found, baselines)
    interval = of.interval and " (95 % {} to {})".format(*map(metric.shown, of.interval))
    score = metric.shown(task.score(found, rows)[metric.name])
    against = ""
    if of.baseline is not None:
        theirs = task.score(baselines[of.baseline], rows)[metric.name]
        against = f", and that of {baseline_words(of.baseline)} {metric.shown(theirs)}"
    yield f"{by_folds(FOLDS, len(rows))} {metric.name} is {score}{interval or ''}{against}"


def _trained_on(
    run: RunState, fitted: Sequence[Feature], rows: Sequence[Row], features: Sequence[Feature]
) -> Sequence[Answer]:
    """Predictions for rows of a model that is trained as the run's, from the start."""
    recipe = run.built_recipe
    model, _ = build_model(run.weights.folder, run.task.head, recipe, device=run.device, tokens=run.tokens)
    engine = replace(run.engine, model=model, watch=unwatched)
    trainer = Trainer(engine=engine, settings=recipe.train, data_seed=recipe.seeds[1])
    held = DevEvaluation(task=run.task, rows={"held": rows}, features={"held": features})
    _, judged = fit_contrastive(trainer, fitted, held)
    run.accelerator.free_memory()  # which keeps what it has prepared
    return judged.answers["held"]


def _of_rows(features: Sequence[Feature], rows: Sequence[int]) -> list[Feature]:
    """The features of some rows, with the rows' places among these."""
    places = {row: place for place, row in enumerate(rows)}
    return [replace(feature, row=places[feature.row]) for feature in features if feature.row in places]


def require_linear(model: EncoderWithHead, *, frozen: bool) -> None:
    """Raises UserError unless the output layer is all there is to train."""
    reader = model.backbone.reader
    if not frozen:
        raise UserError("train.solver = 'logistic' trains only the output layer", "Set frozen=true with it")
    if reader is not None and (reader.bilstm is not None or reader.mix.how == "weighted"):
        raise UserError(
            "train.solver = 'logistic' cannot train a BiLSTM or layer weights",
            "Choose a layer, a sum or a concatenation without weights, and bilstm=false",
        )
    if hasattr(model.head, "dense"):
        raise UserError(
            f"an encoder of type '{model.backbone.config.model_type}' has no pretrained pooler",
            f"Name the layer to read with train.solver=logistic: layers=[{model.backbone.config.num_hidden_layers}]",
        )
    if not model.head.solved_as:
        raise UserError("train.solver = 'logistic' is for text and word labels", "Leave it out for this task")


def fit_logistic(
    engine: Engine, features: Sequence[Feature], evaluate: Callable[[Engine], Result]
) -> tuple[Progress, Result]:
    """Fits the output layer to all features at once; the same on every process."""
    started = time.perf_counter()
    engine.watch(Training(updates=1, done=0, epochs=1, examples=len(features)))
    fit_output(engine, features)
    progress = Progress(update=1, seconds=time.perf_counter() - started, best_epoch=1)
    result = evaluate(engine)
    loss = _loss(engine, features)
    done = EpochResult(epoch=1, loss=loss, headline=result.headline, scores=result.scores, dev_loss=result.loss)
    progress.epochs.append(done)
    engine.watch(EpochDone(result=done, best=result.headline, metrics=result.metrics))
    return progress, result


def fit_output(engine: Engine, features: Sequence[Feature]) -> None:
    """Fits the output layer to what it reads of all features."""
    inputs, labels = _columns(engine, features)
    head, mean = engine.model.head, inputs.mean(0)
    unit = engine.model.pooled and engine.model.backbone.pooling in (MEAN, UNIT)
    spread = np.linalg.norm(inputs, axis=1).mean() if unit else inputs.std(0) + 1e-6
    weight, bias = _coefficients((inputs - mean) / spread, labels, head, strength=MEAN_STRENGTH if unit else STRENGTH)
    weight = weight / spread
    with torch.no_grad():
        head.output.weight.copy_(torch.from_numpy(weight))
        head.output.bias.copy_(torch.from_numpy(bias - weight @ mean))


def _parts(features: Sequence[Feature]) -> Iterator[Sequence[Feature]]:
    step = max(1, BATCH_TOKENS["cpu"] // int(lengths(features).max()))
    for begin in range(0, len(features), step):
        yield features[begin : begin + step]


def _loss(engine: Engine, features: Sequence[Feature]) -> float:
    """Mean loss per label, as in training."""
    total = 0.0
    with torch.inference_mode(), engine.accelerator.autocast():
        for some in _parts(features):
            batch = engine.batch(some)
            total += float(engine.model.head.loss(engine.model(*batch.inputs()).float(), batch.labels[LABEL]))
    return total / label_counts(features)[LABEL]


def _columns(engine: Engine, features: Sequence[Feature]) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of the output layer `(n, width)` and labels `(n,)` or `(n, labels)`, of texts or words."""
    model = engine.model.to(engine.accelerator.device).eval()
    inputs: list[np.ndarray] = []
    labels: list[Any] = []
    with torch.inference_mode(), engine.accelerator.autocast():
        for some in _parts(features):
            batch = engine.batch(some)
            hidden, mask, *_ = model.hidden(batch)
            given = hidden if model.pooled else hidden[mask.bool()]
            inputs.append(given.float().cpu().numpy())
            labels += [feature.label for feature in some] if model.pooled else [x for f in some for x in f.label]
    return np.concatenate(inputs), np.array(labels)


def _coefficients(
    inputs: np.ndarray, labels: np.ndarray, head: Head, *, strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weight `(labels, width)` and bias `(labels,)`, of what the head says that its labels are."""
    from sklearn.linear_model import LogisticRegression, Ridge

    count = len(head.labels)
    if head.solved_as == "number":
        ridge = Ridge(alpha=1 / strength).fit(inputs, labels)
        return ridge.coef_.reshape(1, -1), np.atleast_1d(ridge.intercept_)
    if head.solved_as == "flags":
        weights, biases = zip(*(_binary(inputs, labels[:, label], strength) for label in range(count)), strict=True)
        return np.stack(weights), np.array(biases)
    by_class = getattr(head, "class_weights", None)
    each_row = None if by_class is None else by_class.cpu().numpy()[labels]
    weight, bias = np.zeros((count, inputs.shape[1])), np.full(count, UNSEEN)
    if len(set(labels.tolist())) == 1:
        bias[labels[0]] = 0.0
        return weight, bias
    fitted: Any = LogisticRegression(C=strength, max_iter=1_000).fit(inputs, labels, sample_weight=each_row)
    if len(fitted.classes_) == 2:  # one row, for the difference of the two
        rest, one = fitted.classes_
        weight[one], bias[one], bias[rest] = fitted.coef_[0], fitted.intercept_[0], 0.0
    else:
        weight[fitted.classes_], bias[fitted.classes_] = fitted.coef_, fitted.intercept_
    return weight, bias


def _binary(inputs: np.ndarray, labels: np.ndarray, strength: float) -> tuple[np.ndarray, float]:
    from sklearn.linear_model import LogisticRegression

    if len(set(labels.tolist())) < 2:
        return np.zeros(inputs.shape[1]), -UNSEEN if labels[:1].any() else UNSEEN
    fitted = LogisticRegression(C=strength, max_iter=1_000).fit(inputs, labels)
    return fitted.coef_[0], float(fitted.intercept_[0])


def require_contrast(model: EncoderWithHead, *, frozen: bool) -> None:
    """Raises UserError unless the encoder is trained and its head reads one vector of a text for its labels."""
    if frozen:
        raise UserError(
            "train.solver = 'contrastive' trains the encoder, and frozen = true", "Set train.solver=logistic with it"
        )
    if hasattr(model.head, "dense"):
        raise UserError(
            f"an encoder of type '{model.backbone.config.model_type}' has no pretrained pooler", "Set pooling=mean"
        )
    if not model.pooled or model.head.solved_as not in KINDS:
        way = "Leave it out here, and preset=few-labels, which sets it"
        raise UserError("train.solver = 'contrastive' is for labels of texts and of pairs", way)
    if not any(parameter.requires_grad for parameter in model.backbone.parameters()):
        what = "train.solver = 'contrastive' trains the encoder, and freeze_layers leaves none of its layers"
        raise UserError(what, "Set freeze_layers=0 with it")


def fit_contrastive(
    trainer: Trainer, features: Sequence[Feature], evaluate: Callable[[Engine], Evaluated]
) -> tuple[Progress, Evaluated]:
    """Trains the encoder on pairs, then fits the output layer and scores once. Raises UserError without any pair."""
    engine = trainer.engine
    vectors = EncoderWithHead(engine.model.backbone, ContrastiveHead(uses_pooler=engine.model.head.uses_pooler))

    def with_head(_: Engine) -> Evaluated:
        fit_output(engine, features)
        return replace(evaluate(engine), loss=None)  # which does not measure the loss of pairs

    draw = drawn_from(features, size=trainer.settings.batch_size)
    return replace(trainer, engine=replace(engine, model=vectors), draw=draw).fit(features, with_head)


def fit_then_all(
    trainer: Trainer, features: Sequence[Feature], evaluate: Callable[[Engine], Evaluated], *, drawn: Sequence[Feature]
) -> tuple[Progress, Evaluated]:
    """As `fit_contrastive`, and then once more from the start, with what dev has `drawn`: of few rows each counts.

    The score stays the one of the first training, which has not seen them.
    """
    engine = trainer.engine
    start = {name: tensor.clone() for name, tensor in engine.model.state_dict().items()}
    progress, found = fit_contrastive(trainer, features, evaluate)
    engine.watch(Working("training once more, with the rows of dev"))
    engine.model.load_state_dict(start)
    engine.accelerator.free_memory()  # which keeps what it has prepared
    again = replace(trainer, engine=replace(engine, watch=unwatched), checkpoints=None, rows=())
    fit_contrastive(again, [*features, *drawn], lambda _: found)
    progress.notes.append(f"the saved model has learned dev's {so_many(len(drawn), 'row')} too, after they were scored")
    return progress, found


class ContrastiveHead(Head):
    """No layers: its logits are the vectors of texts, at unit length."""

    inputs = frozenset({"pooled"})

    def __init__(self, *, uses_pooler: bool) -> None:
        super().__init__(())
        self.uses_pooler = uses_pooler

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, width)` to the same."""
        return functional.normalize(hidden.float(), dim=1)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The mean over rows, times what the trainer divides by."""
        return contrastive_loss(logits, shared_labels(labels)) * labels.numel()


def shared_labels(labels: Tensor) -> Tensor:
    """How much the labels of rows have in common, `(batch, batch)` from 0 to 1, of classes `(batch,)` or of 0 and 1
    for each label `(batch, labels)`: the size of the intersection by that of the union.
    """
    if labels.ndim == 1:
        return (labels[:, None] == labels[None]).float()
    given = labels.float()
    both, count = given @ given.T, given.sum(1)
    return both / (count[:, None] + count[None] - both).clamp(min=1)


def contrastive_loss(vectors: Tensor, weights: Tensor) -> Tensor:
    """Mean over rows of the cross-entropy of finding, among all others, the rows alike; those without any are left out.

    `vectors` `(batch, width)` have unit length, and `weights` `(batch, batch)` say how much two rows are alike.
    """
    itself = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    likeness = (vectors @ vectors.T / TEMPERATURE).masked_fill(itself, -torch.inf)
    chosen = functional.log_softmax(likeness, dim=1).masked_fill(itself, 0.0)
    weights = weights.masked_fill(itself, 0.0)
    total = weights.sum(1)
    each = -(weights * chosen).sum(1) / total.clamp(min=1e-6)
    return each.sum() / (total > 0).sum().clamp(min=1)


def drawn_from(features: Sequence[Feature], *, size: int) -> Draw:
    """Draws batches of about `size` features, equally many of each label, or where labels are many of some of them.

    Where rows are drawn as they come, most batches of 100 labels have no pair. Raises UserError where no label has two
    rows, which make no pair.
    """
    by_label: dict[Any, list[int]] = {}
    for index, feature in enumerate(features):
        flags = np.ndim(feature.label) > 0
        for label in np.flatnonzero(feature.label).tolist() if flags else [feature.label]:
            by_label.setdefault(label, []).append(index)
    groups = [np.array(by_label[label]) for label in sorted(by_label)]
    if max(map(len, groups), default=0) < OF_A_LABEL:
        raise UserError(
            "train.solver = 'contrastive' learns from two rows of a label, and each label has one row",
            "Label a second row of each, or leave out preset=few-labels",
        )
    share = max(OF_A_LABEL, size // len(groups))
    labels_of_batch = max(1, size // share)

    def draw(_: Sequence[Feature], generator: np.random.Generator) -> Sequence[Feature]:
        labels = generator.permutation(len(groups))[:labels_of_batch]
        rows = [generator.permutation(groups[label])[:share] for label in labels]
        return [features[row] for row in dict.fromkeys(np.concatenate(rows).tolist())]

    return draw
