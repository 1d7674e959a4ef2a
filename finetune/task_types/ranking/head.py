"""One score from the pooled output of a query and a passage, and its losses: a row, pairwise, listwise."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.models.feature import IGNORED
from finetune.task_types.classification.head import PooledHead

RankingLoss = Literal["row", "pairwise", "listwise"]


class RankingHead(PooledHead):
    """Dropout and one linear layer on the pooled output: a cross-encoder (Nogueira and Cho 2019)."""

    problem_type = "multi_label_classification"  # pipelines of transformers apply the sigmoid, as for several labels

    def __init__(self, backbone: Backbone, labels: Sequence[str], *, learns: RankingLoss) -> None:
        super().__init__(backbone, labels)
        self.learns = learns

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, width)` to `(batch, 1)`, in the precision of the weights: in bfloat16 many scores would be equal."""
        with torch.autocast(hidden.device.type, enabled=False):
            return super().forward(hidden.to(self.output.weight.dtype), mask)  # type: ignore[no-any-return]

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss summed over rows, pairs or queries.

        `row`: binary cross-entropy of `(batch, 1)` with the share of the highest grade. The others take the logits of
        each query's passages, `(batch, most passages)`. `pairwise`: RankNet (Burges et al. 2005), labels
        `(batch, pairs, 2)` are the places of a better and a worse passage. `listwise`: cross-entropy of ListNet's
        probability of being first (Cao et al. 2007) with each passage's share of the grades (Bruch et al. 2019),
        labels `(batch, 1, most passages)`.
        """
        if self.learns == "row":
            return functional.binary_cross_entropy_with_logits(
                logits.squeeze(-1), labels.to(logits.dtype), reduction="sum"
            )
        there = labels != IGNORED
        if self.learns == "pairwise":
            better, worse = (logits.gather(1, each) for each in labels.long().clamp(min=0).unbind(-1))
            there = there[..., 0]
            return functional.softplus(worse.masked_fill(~there, 0) - better.masked_fill(~there, 0))[there].sum()
        chances, shares, there = logits.log_softmax(-1), labels[:, 0].to(logits.dtype), there[:, 0]
        return -(shares * chances)[there].sum()
