"""`train.solver=logistic`: scikit-learn's logistic or ridge regression on the hidden states of a frozen encoder.

The coefficients become the head's output layer, so that saving, prediction and scoring work as after any training.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.inference.feature_batches import BATCH_TOKENS
from finetune.models.feature import LABEL, Feature, label_counts, lengths
from finetune.models.head import EncoderWithHead, Head
from finetune.models.model_folder import MEAN, UNIT
from finetune.runs.events import EpochDone, EpochResult, Training
from finetune.training.checkpoints import Progress
from finetune.training.extras import Extra, RunState, require_labels_alone
from finetune.training.trainer import Result

UNSEEN = -100.0  # the logit of a label without training rows
STRENGTH = 1.0  # scikit-learn's C, and 1 / alpha of ridge regression, on standardised inputs
MEAN_STRENGTH = 10.0  # on means, which are scaled as one to about unit length: their spread is what was trained


class LogisticHead(Extra):
    """`train.solver=logistic`: the output layer alone is fitted, to all rows at once."""

    def after_building(self, run: RunState) -> None:
        """Raises UserError unless the output layer is all there is to train."""
        require_labels_alone(run, "train.solver=logistic")
        require_linear(run.model, frozen=run.recipe.frozen)

    def before_training(self, run: RunState) -> None:
        """Takes the place of the loop."""
        run.fit = lambda trainer, features, dev: fit_logistic(trainer.engine, features, dev)


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
