"""One score from the pooled output of a query and a passage, learned row by row or from all passages of a query."""

import torch
from torch import Tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.models.feature import IGNORED
from finetune.task_types.classification.head import PooledHead


class RankingHead(PooledHead):
    """Dropout and one linear layer on the pooled output: a cross-encoder (Nogueira and Cho 2019)."""

    problem_type = "multi_label_classification"  # pipelines of transformers apply the sigmoid, as for several labels

    def __init__(self, backbone: Backbone, *, learns: str) -> None:
        super().__init__(backbone, ("relevance",))
        self.learns = learns

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, width)` to `(batch, 1)`, in the precision of the weights: in bfloat16 many scores would be equal."""
        with torch.autocast(hidden.device.type, enabled=False):
            return super().forward(hidden.to(self.output.weight.dtype), mask)  # type: ignore[no-any-return]

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss summed over rows or queries.

        `row`: binary cross-entropy of `(batch, 1)` with the share of the highest grade. `listwise`, of the logits of
        each query's passages, `(batch, most passages)`: cross-entropy of ListNet's probability of being first (Cao et
        al. 2007) with each passage's share of the grades (Bruch et al. 2019), labels `(batch, 1, most passages)`.
        """
        if self.learns == "row":
            scores = logits.squeeze(-1)
            return functional.binary_cross_entropy_with_logits(scores, labels.to(logits.dtype), reduction="sum")
        chances, shares = logits.log_softmax(-1), labels[:, 0].to(logits.dtype)
        return -(shares * chances)[labels[:, 0] != IGNORED].sum()
