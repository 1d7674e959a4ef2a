"""A tag for each word from the sequence output (Devlin et al. 2019, Figure 4 d)."""

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional

from finetune.models.backbone import Backbone
from finetune.models.families import TOKEN
from finetune.models.feature import IGNORED
from finetune.models.head import Head


class TaggingHead(Head):
    """Dropout and one linear layer on the vector of each word's first sub-token (section 5.3).

    Some families have more layers.
    """

    inputs = frozenset({"sequence"})
    reads = "words"
    auto_class = "AutoModelForTokenClassification"
    solved_as = "class"

    def __init__(self, backbone: Backbone, labels: Sequence[str]) -> None:
        super().__init__(labels)
        self.add_layers(backbone, "token", outputs=len(labels), otherwise=TOKEN)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy summed over the words `(batch, words)`."""
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, reduction="sum")
