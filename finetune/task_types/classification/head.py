"""From the vector of a text to a class, a number or several labels, and its loss."""

from collections.abc import Sequence

from torch import Tensor, tensor
from torch.nn import functional
from transformers import PretrainedConfig

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.families import OTHER, PLAIN, HeadName, Layers
from finetune.models.feature import IGNORED
from finetune.models.head import Head
from finetune.task_types.classification.texts import LabelKind

VECTORS = {"cls": "cls", "bos": "cls", "mean": "mean"}  # as configs name them
PROBLEMS = {
    "class": "single_label_classification",
    "number": "regression",
    "flags": "multi_label_classification",
}


class PooledHead(Head):
    """Dropout and one linear layer on the pooled output; families without a pretrained pooler get a new one."""

    inputs = frozenset({"pooled"})
    auto_class = "AutoModelForSequenceClassification"
    layers_of: HeadName = "sentence"

    def __init__(self, backbone: Backbone, labels: Sequence[str]) -> None:
        super().__init__(labels)
        # A new tanh layer over one token of a layer mix, a left-to-right encoder, or one without a row. A BiLSTM's ends
        # are already pooled, and a vector that a recipe names is read as it is.
        linear = backbone.linear_only and (backbone.reader is not None or backbone.left_to_right)
        own: Layers = PLAIN if backbone.bilstm or linear or backbone.pooling != "family" else OTHER
        layers = self.add_layers(backbone, self.layers_of, outputs=max(1, len(labels)), otherwise=own)
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
        self.kind = self.solved_as = kind
        self.problem_type = PROBLEMS[kind]
        weights = tensor(class_weights) if class_weights else None
        self.register_buffer("class_weights", weights, persistent=False)  # for training only

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of logits `(batch, labels)`, squared error of `(batch, 1)`, or binary cross-entropy of each
        label `(batch, labels)`; summed over the rows that have a label.
        """
        if self.kind == "number":
            numbers = logits.squeeze(-1)
            labels = labels.to(logits.dtype)
            return functional.mse_loss(numbers, labels.where(~labels.isnan(), numbers.detach()), reduction="sum")
        if self.kind == "flags":
            labelled = (labels != IGNORED).to(logits.dtype)
            labels = labels.to(logits.dtype)
            return functional.binary_cross_entropy_with_logits(logits, labels, weight=labelled, reduction="sum")
        return functional.cross_entropy(logits, labels, weight=self.class_weights, reduction="sum")


def _vector(config: PretrainedConfig, name: str) -> str:
    """The vector that is named, or that a setting of this name names. Raises UserError for one that is not known."""
    named = getattr(config, name, name)
    if named not in VECTORS:
        raise UserError(
            f"config.json: {name} = '{named}' is not supported; it must be one of {', '.join(VECTORS)}",
            "Train a new model from it (model=FOLDER), which reads the mean, or name another checkpoint",
        )
    return VECTORS[named]
