"""A score for each choice from the pooled output (Devlin et al. 2019, section 4.4)."""

from torch import Tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.task_types.classification.head import PooledHead


class ChoiceHead(PooledHead):
    """One score for each pair of context and choice: the dot product of the pooled output with a learned vector."""

    auto_class = "AutoModelForMultipleChoice"
    layers_of = "choice"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone, ())

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy over each row's choices `(batch, most choices)`, summed over the batch."""
        return functional.cross_entropy(logits, labels, reduction="sum")
