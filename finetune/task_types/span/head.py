"""Start and end of an answer from the sequence output (Devlin et al. 2019, Figure 4 c)."""

from torch import Tensor, nn
from torch.nn import functional

from finetune.models.backbone import Backbone, Head
from finetune.models.families import SPAN_DROPOUT, head_dropout


class SpanHead(Head):
    """One linear layer gives each token a logit as start and one as end, minus infinity at padding.

    It is preceded by dropout where transformers' class of a family has it.
    """

    inputs = frozenset({"sequence"})
    auto_class = "AutoModelForQuestionAnswering"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(("start", "end"))
        self.dropout = nn.Dropout(head_dropout(backbone.config, SPAN_DROPOUT))
        self.output = nn.Linear(backbone.width, 2)
        self.checkpoint_names["output"] = "qa_outputs"

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, length, width)` to `(batch, length, 2)`."""
        logits: Tensor = self.output(self.dropout(hidden))
        return logits.masked_fill(mask.unsqueeze(-1) == 0, -float("inf"))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy over the tokens, summed over starts and ends `(batch, 2)`."""
        return functional.cross_entropy(logits, labels, reduction="sum")
