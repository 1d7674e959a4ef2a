"""A logit for each label from the pooled output."""

from torch import Tensor
from torch.nn import functional

from finetune.task_types.pooled_head import PooledHead


class MultiLabelHead(PooledHead):
    """Dropout and one linear layer on the pooled output."""

    auto_class = "AutoModelForSequenceClassification"
    solved_as = "flags"
    problem_type = "multi_label_classification"

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Binary cross-entropy of each label `(batch, labels)`, summed over all."""
        return functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="sum")
