"""`train.solver=contrastive`: the encoder is trained on pairs of rows, then the output layer is fitted.

Vectors of rows with the same label move together, others apart (Tunstall et al. 2022), by the supervised contrastive
loss over all pairs of a batch (Khosla et al. 2020, equation 2): 16 texts are encoded once for their 120 pairs. Batches
are drawn one by one, so memory and time do not grow with the number of possible pairs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.building import build_model
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead, Head
from finetune.runs.events import Working, unwatched
from finetune.runs.verdict import baseline_words, by_folds
from finetune.task_types.columns import own_data
from finetune.task_types.parts import Answer
from finetune.task_types.resampling import margin
from finetune.task_types.task import TEST
from finetune.training.checkpoints import Progress
from finetune.training.evaluation import DevEvaluation, Evaluated
from finetune.training.extras import Extra, RunState
from finetune.training.few_rows import (
    FOLDS,
    answers_by_folds,
    cheap_methods,
    dev_tells_nothing,
    features_of,
    fit_output,
)
from finetune.training.trainer import Evaluate, Trainer
from finetune.training.updates import Draw

OURS = ""  # the trained model, among the names of methods
TEMPERATURE = 0.1  # as in the paper
OF_A_LABEL = 2  # rows of a label in a batch, at least: one makes no pair
KINDS = ("class", "flags")  # `Head.solved_as` for which rows make pairs
FEW_TO_LEARN = 100  # rows of training and dev, below which the rows of dev are learned too


class ContrastiveStep(Extra):
    """`train.solver=contrastive`: the encoder is trained on pairs of rows, then the output layer is fitted.

    Where dev was drawn from a user's few rows, it is scored first, and then a second training learns it too.
    """

    learned: Sequence[str] = ()  # dev splits

    def after_building(self, run: RunState) -> None:
        """Raises UserError for a model that pairs cannot train, and for several processes: each would see the pairs
        of its own rows alone.
        """
        require_contrast(run.model, frozen=run.recipe.frozen)
        if run.accelerator.num_processes > 1:
            what = f"train.solver = 'contrastive' trains in one process, and here are {run.accelerator.num_processes}"
            raise UserError(what, "Start it without a launcher: few rows need seconds to minutes")

    def before_training(self, run: RunState) -> None:
        """Replaces the way of training."""
        data, first = own_data(run.task), run.task.dev_splits[0]
        few = len(run.train_rows) + len(run.rows[first]) < FEW_TO_LEARN
        run.fit = fit_contrastive
        if few and data is not None and "dev" not in data.files and first == "dev" and len(run.inputs[first]):
            self.learned = (first,)
            run.fit = partial(fit_then_all, dev_features=run.inputs[first])
        if TEST not in run.splits and dev_tells_nothing(run):
            run.note(*_scores_by_folds(run))

    def after_scoring(self, run: RunState) -> None:
        """Records the learned splits, and the rows of all batches: dev's too."""
        run.facts["learned"] = list(self.learned)
        run.facts["examples_per_second"] = run.progress.update * run.recipe.train.batch_size / run.progress.seconds
        run.rows_learned = [*run.rows_learned, *(row for split in self.learned for row in run.rows[split])]


def _scores_by_folds(run: RunState) -> Iterator[str]:
    """A note with the cross-validated score of the same training, and of the best baseline, where dev is too small to
    tell and there is no test split.
    """
    task, rows, recipe, cheap = run.task, run.train_rows, run.built_recipe, cheap_methods(run)
    features, metric = run.features[task.train_split], run.task.metrics[0]

    def methods(fitted: Sequence[int], held: Sequence[int]) -> dict[str, Sequence[Answer]]:
        model, _ = build_model(run.weights.folder, task.head, recipe, device=run.device, tokens=run.tokens)
        engine = replace(run.engine, model=model, watch=unwatched)
        trainer = Trainer(engine=engine, settings=recipe.train, data_seed=recipe.seeds[1])
        held_features = {"held": features_of(features, held)}
        evaluation = DevEvaluation(task=task, rows={"held": [rows[i] for i in held]}, features=held_features)
        _, result = fit_contrastive(trainer, features_of(features, fitted), evaluation)
        run.accelerator.free_memory()  # Accelerate keeps every prepared model
        return {OURS: result.answers["held"], **cheap(fitted, held)}

    baselines = answers_by_folds(run, methods, f"training on {FOLDS} folds of the rows, for a score")
    if not baselines:  # or a fold has no pair of rows
        return
    answers = baselines.pop(OURS)
    lead = margin(task, rows, answers, baselines)

    def score(answers: Sequence[Answer]) -> str:
        return metric.shown(task.score(answers, rows)[metric.name])

    note = f"{by_folds(FOLDS, len(rows))} {metric.name} is {score(answers)}"
    if lead.interval:
        note += " (95 % {} to {})".format(*map(metric.shown, lead.interval))
    if lead.baseline is not None:
        note += f", and that of {baseline_words(lead.baseline)} {score(baselines[lead.baseline])}"
    yield note


def require_contrast(model: EncoderWithHead, *, frozen: bool) -> None:
    """Raises UserError unless the encoder is trained, and the head reads one vector of a text."""
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


def fit_contrastive(trainer: Trainer, features: Sequence[Feature], evaluate: Evaluate) -> tuple[Progress, Evaluated]:
    """Trains the encoder on pairs, then fits the output layer and scores once. Raises UserError without any pair."""
    engine = trainer.engine
    vectors = EncoderWithHead(engine.model.backbone, ContrastiveHead(uses_pooler=engine.model.head.uses_pooler))

    def with_head(_: Engine) -> Any:
        fit_output(engine, features)
        return replace(evaluate(engine), loss=None)  # it is not the loss that was trained

    draw = drawn_from(features, size=trainer.settings.batch_size)
    return replace(trainer, engine=replace(engine, model=vectors), draw=draw).fit(features, with_head)


def fit_then_all(
    trainer: Trainer, features: Sequence[Feature], evaluate: Evaluate, *, dev_features: Sequence[Feature]
) -> tuple[Progress, Evaluated]:
    """As `fit_contrastive`, and then again from the start, with dev's features too: of few rows each counts.

    The scores are from the first training, which has not seen dev.
    """
    engine = trainer.engine
    start = {name: tensor.clone() for name, tensor in engine.model.state_dict().items()}
    progress, scored = fit_contrastive(trainer, features, evaluate)
    engine.watch(Working("training once more, with the rows of dev"))
    engine.model.load_state_dict(start)
    engine.accelerator.free_memory()  # Accelerate keeps every prepared model
    again = replace(trainer, engine=replace(engine, watch=unwatched), checkpoints=None, rows=())
    fit_contrastive(again, [*features, *dev_features], lambda _: scored)
    count = so_many(len(dev_features), "row")
    progress.notes.append(f"the saved model has learned dev's {count} too, after they were scored")
    return progress, scored


class ContrastiveHead(Head):
    """A head without layers: its logits are the vectors of texts, at unit length."""

    inputs = frozenset({"pooled"})

    def __init__(self, *, uses_pooler: bool) -> None:
        super().__init__(())
        self.uses_pooler = uses_pooler

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """Vectors `(batch, width)` to unit vectors."""
        return functional.normalize(hidden.float(), dim=1)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The mean over rows, times their number, by which the trainer divides."""
        return contrastive_loss(logits, shared_labels(labels)) * labels.numel()


def shared_labels(labels: Tensor) -> Tensor:
    """The Jaccard index of the labels of two rows, `(batch, batch)`, from 0 to 1.

    `labels` are classes `(batch,)`, or 0 and 1 for each label `(batch, labels)`.
    """
    if labels.ndim == 1:
        return (labels[:, None] == labels[None]).float()
    flags = labels.float()
    both, count = flags @ flags.T, flags.sum(1)
    return both / (count[:, None] + count[None] - both).clamp(min=1)


def contrastive_loss(vectors: Tensor, weights: Tensor) -> Tensor:
    """The mean cross-entropy of telling the rows with shared labels from all others; rows without such are left out.

    `vectors` `(batch, width)` have unit length; `weights` `(batch, batch)` are as `shared_labels` returns them.
    """
    itself = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    similarity = (vectors @ vectors.T / TEMPERATURE).masked_fill(itself, -torch.inf)
    log_probabilities = functional.log_softmax(similarity, dim=1).masked_fill(itself, 0.0)
    weights = weights.masked_fill(itself, 0.0)
    total = weights.sum(1)
    losses = -(weights * log_probabilities).sum(1) / total.clamp(min=1e-6)
    return losses.sum() / (total > 0).sum().clamp(min=1)


def drawn_from(features: Sequence[Feature], *, size: int) -> Draw:
    """A `draw` of about `size` features, equally many of each label; of many labels, of as many as fit.

    If rows were drawn as they come, most batches of 100 labels would have no pair. Raises UserError where no label has
    two rows.
    """
    by_label: dict[Any, list[int]] = {}
    for index, feature in enumerate(features):
        flags = np.ndim(feature.label) > 0
        for label in np.flatnonzero(feature.label).tolist() if flags else [feature.label]:
            by_label.setdefault(label, []).append(index)
    groups = [np.array(indices) for _, indices in sorted(by_label.items())]
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
