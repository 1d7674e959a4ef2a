"""A class, a number or steps from the pooled output (Devlin et al. 2019, Figure 4 a and b)."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn, tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.models.families import POOLED_DROPOUT, head_dropout
from finetune.models.head import Head
from finetune.task_types.pooled_head import PooledHead
from finetune.task_types.sentence.corn import corn_losses

LabelKind = Literal["class", "number", "steps"]
# In transformers steps are decisions of their own: each is of being above a label for what is not below it.
PROBLEMS = {"class": "single_label_classification", "number": "regression", "steps": "multi_label_classification"}


class LabelHead(Head):
    """A head for a class, a number or steps. A row's loss is multiplied by the weight of its class."""

    auto_class = "AutoModelForSequenceClassification"
    kind: LabelKind
    class_weights: Tensor | None

    def learn(self, kind: LabelKind, class_weights: Sequence[float]) -> None:
        """Sets what the loss is."""
        self.kind, self.problem_type = kind, PROBLEMS[kind]
        weights = tensor(class_weights) if class_weights else None
        self.register_buffer("class_weights", weights, persistent=False)  # for training only

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of logits `(batch, labels)`, squared error of `(batch, 1)`, or CORN's loss of
        `(batch, labels - 1)`; summed over the batch.
        """
        if self.kind == "number":
            return functional.mse_loss(logits.squeeze(-1), labels.to(logits.dtype), reduction="sum")
        if self.kind == "steps":
            losses = corn_losses(logits, labels)
            return (losses if self.class_weights is None else losses * self.class_weights[labels]).sum()
        return functional.cross_entropy(logits, labels, weight=self.class_weights, reduction="sum")


class SentenceHead(LabelHead, PooledHead):
    """Dropout and one linear layer on the pooled output."""

    def __init__(
        self,
        backbone: Backbone,
        labels: Sequence[str],
        *,
        kind: LabelKind = "class",
        class_weights: Sequence[float] = (),
    ) -> None:
        super().__init__(backbone, labels)
        self.solved_as = kind
        self.learn(kind, class_weights)


class MarkerHead(LabelHead):
    """Dropout and one linear layer on the vectors of two opening markers (Baldini Soares et al. 2019: entity start)."""

    inputs = frozenset({"sequence"})
    reads = "markers"

    def __init__(
        self,
        backbone: Backbone,
        labels: Sequence[str],
        *,
        kind: LabelKind = "class",
        class_weights: Sequence[float] = (),
    ) -> None:
        super().__init__(labels)
        self.has_class = False
        self.dropout = nn.Dropout(head_dropout(backbone.config, POOLED_DROPOUT))
        self.output = nn.Linear(2 * backbone.width, max(1, len(labels)))
        self.learn(kind, class_weights)

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, 2, width)` to `(batch, labels)`."""
        return self.output(self.dropout(hidden.flatten(1)))  # type: ignore[no-any-return]
