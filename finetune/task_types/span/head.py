"""Start and end of an answer from the sequence output (Devlin et al. 2019, Figure 4 c)."""

from torch import Tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.models.family_rows import SPAN
from finetune.models.head import Head


class SpanHead(Head):
    """One linear layer gives each token a logit as start and one as end, minus infinity at padding.

    It is preceded by what transformers' class of a family has there.
    """

    inputs = frozenset({"sequence"})
    auto_class = "AutoModelForQuestionAnswering"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(("start", "end"))
        self.add_layers(backbone, "span", outputs=2, otherwise=SPAN)

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, length, width)` to `(batch, length, 2)`."""
        logits = self.through_layers(hidden)
        return logits.masked_fill(mask.unsqueeze(-1) == 0, -float("inf"))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy over the tokens, summed over starts and ends `(batch, 2)`."""
        return functional.cross_entropy(logits, labels, reduction="sum")
