"""A logit for each label from the pooled output."""

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.task_types.pooled_head import PooledHead


class MultiLabelHead(PooledHead):
    """Dropout and one linear layer on the pooled output."""

    auto_class = "AutoModelForSequenceClassification"
    solved_as = "flags"

    def __init__(self, backbone: Backbone, labels: Sequence[str]) -> None:
        super().__init__(backbone, labels)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Binary cross-entropy of each label `(batch, labels)`, summed over all."""
        return functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="sum")

    def by_item(self, logits: Tensor) -> Tensor:
        """`(batch, labels)` to `(batch, labels, 1)`."""
        return logits.unsqueeze(-1)

    def config_settings(self) -> dict[str, object]:
        """Label names, and the kind of problem, which transformers' classes and pipelines go by."""
        return {**super().config_settings(), "problem_type": "multi_label_classification"}
