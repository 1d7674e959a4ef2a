"""From the vector of a text, or those of two markers, to a class, a number, steps or several labels, and its loss."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn, tensor
from torch.nn import functional
from transformers import PretrainedConfig

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.families import OTHER, PLAIN, POOLED_DROPOUT, HeadName, Layers, head_dropout
from finetune.models.feature import IGNORED
from finetune.models.head import Head
from finetune.task_types.classification.texts import LabelKind

VECTORS = {"cls": "cls", "bos": "cls", "mean": "mean"}  # as configs name them
PROBLEMS = {"class": "single_label_classification", "number": "regression"}
SEVERAL_PROBLEMS = "multi_label_classification"  # each probability is of its own, also of steps: of being above a label


class PooledHead(Head):
    """Dropout and one linear layer on the pooled output; families without a pretrained pooler get a new one."""

    inputs = frozenset({"pooled"})
    auto_class = "AutoModelForSequenceClassification"
    layers_of: HeadName = "sentence"

    def __init__(self, backbone: Backbone, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self.build(backbone, max(1, len(labels)))

    def build(self, backbone: Backbone, outputs: int) -> None:
        """Adds the layers."""
        layers = self.add_layers(backbone, self.layers_of, outputs=outputs, otherwise=own_layers(backbone))
        self.uses_pooler = self.has_class and layers.dense is None
        if self.has_class:
            backbone.vector = _vector(backbone.config, layers.vector)


class LabelHead(PooledHead):
    """A head of the kind that the task says. A row's loss is multiplied by the weight of its class."""

    class_weights: Tensor | None

    def __init__(
        self,
        backbone: Backbone,
        labels: Sequence[str],
        *,
        kind: LabelKind = "class",
        class_weights: Sequence[float] = (),
    ) -> None:
        super().__init__(backbone, labels)
        self.kind = kind
        self.solved_as = "" if self.reads == "markers" else kind
        self.problem_type = PROBLEMS.get(kind, SEVERAL_PROBLEMS)
        weights = tensor(class_weights) if class_weights else None
        self.register_buffer("class_weights", weights, persistent=False)  # for training only

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of logits `(batch, labels)`, squared error of `(batch, 1)`, binary cross-entropy of each label
        `(batch, labels)`, or CORN's loss of `(batch, labels - 1)`; summed over the rows that have a label.
        """
        if self.kind == "number":
            numbers = logits.squeeze(-1)
            labels = labels.to(logits.dtype)
            return functional.mse_loss(numbers, labels.where(~labels.isnan(), numbers.detach()), reduction="sum")
        if self.kind == "flags":
            there = (labels != IGNORED).to(logits.dtype)
            labels = labels.to(logits.dtype)
            return functional.binary_cross_entropy_with_logits(logits, labels, weight=there, reduction="sum")
        if self.kind == "steps":
            losses = corn_losses(logits, labels)
            return (losses if self.class_weights is None else losses * self.class_weights[labels.clamp(min=0)]).sum()
        return functional.cross_entropy(logits, labels, weight=self.class_weights, reduction="sum")


class MarkerHead(LabelHead):
    """Dropout and one linear layer on the vectors of two opening markers (Baldini Soares et al. 2019: entity start)."""

    inputs = frozenset({"sequence"})
    reads = "markers"

    def build(self, backbone: Backbone, outputs: int) -> None:
        """Adds the layers, which no class of transformers has."""
        self.has_class = False
        self.dropout = nn.Dropout(head_dropout(backbone.config, POOLED_DROPOUT))
        self.output = nn.Linear(2 * backbone.width, outputs)

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, 2, width)` to `(batch, labels)`."""
        return self.output(self.dropout(hidden.flatten(1)))  # type: ignore[no-any-return]


def corn_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """The losses `(batch,)` of logits `(batch, labels - 1)`: the sum of the binary losses that a row takes part in.

    CORN (Shi, Cao and Raschka 2021): logit k is of being above label k among rows that are at least at label k. The
    paper divides by the number of these, ours by that of rows, as for classes: the values are then comparable.
    """
    steps = torch.arange(logits.shape[1], device=logits.device)
    above = (labels[:, None] > steps).to(logits.dtype)
    each = functional.binary_cross_entropy_with_logits(logits, above, reduction="none")
    return (each * (labels[:, None] >= steps)).sum(1)


def own_layers(backbone: Backbone) -> Layers:
    """A new tanh layer over one token of a layer mix, a left-to-right encoder, or one without a row. A BiLSTM's ends
    are already pooled, and a vector that a recipe names is read as it is.
    """
    linear = backbone.linear_only and (backbone.reader is not None or backbone.left_to_right)
    return PLAIN if backbone.bilstm or linear or backbone.pooling != "family" else OTHER


def _vector(config: PretrainedConfig, name: str) -> str:
    """The vector that is named, or that a setting of this name names. Raises UserError for one that is not known."""
    found = getattr(config, name, name)
    if found not in VECTORS:
        raise UserError(
            f"config.json: {name} = '{found}' is not supported; it must be one of {', '.join(VECTORS)}",
            "Train a new model from it (model=FOLDER), which reads the mean, or name another checkpoint",
        )
    return VECTORS[found]
