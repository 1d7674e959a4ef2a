"""A class or a number from the pooled output (Devlin et al. 2019, Figure 4 a and b)."""

from collections.abc import Sequence

from torch import Tensor, tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.task_types.pooled_head import PooledHead


class SentenceHead(PooledHead):
    """Dropout and one linear layer on the pooled output. A row's loss is multiplied by the weight of its class."""

    auto_class = "AutoModelForSequenceClassification"
    class_weights: Tensor | None

    def __init__(
        self,
        backbone: Backbone,
        labels: Sequence[str],
        *,
        regression: bool = False,
        class_weights: Sequence[float] = (),
    ) -> None:
        super().__init__(backbone, labels)
        self.regression = regression
        self.solved_as = "number" if regression else "class"
        weights = tensor(class_weights) if class_weights else None
        self.register_buffer("class_weights", weights, persistent=False)  # for training only

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of logits `(batch, labels)`, or squared error of `(batch, 1)`; summed over the batch."""
        if self.regression:
            return functional.mse_loss(logits.squeeze(-1), labels.to(logits.dtype), reduction="sum")
        return functional.cross_entropy(logits, labels, weight=self.class_weights, reduction="sum")

    def config_settings(self) -> dict[str, object]:
        """Label names, and the kind of problem, which transformers' classes and pipelines go by."""
        kind = "regression" if self.regression else "single_label_classification"
        return {**super().config_settings(), "problem_type": kind}
