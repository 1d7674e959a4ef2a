"""A logit for each tag of a word, and for each intent of the text."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.feature import IGNORED
from finetune.models.head import Head, dropout_layer

INTENT, SLOTS = "intent", "slots"  # the names of the losses, as the task names its labels
DROPOUT = ("classifier_dropout", "classifier_dropout_prob")  # settings of an encoder's config, the first that is set
TAG_DROPOUT = (*DROPOUT, "hidden_dropout_prob", "dropout")
INTENT_DROPOUT = (*DROPOUT, "seq_classif_dropout", "hidden_dropout_prob")


class IntentHead(Head):
    """Dropout and one linear layer on the pooled output, another on the vector of each word's first sub-token
    (section 3.2). A family without a pretrained pooler gets a new tanh layer before the first.

    The logits of both are one tensor, `(batch, words, tags + intents)`: at each word those of its tags, then those
    of the intents, which are the same at each.
    """

    inputs = frozenset({"sequence", "pooled"})
    reads = "words"
    auto_class = "AutoModelForTokenClassification"

    def __init__(self, backbone: Backbone, tags: Sequence[str], intents: Sequence[str]) -> None:
        super().__init__((*tags, *intents))
        if backbone.reader is not None:
            raise UserError(
                "intents and slots are read from the last layer alone",
                "Leave layers and bilstm out of its settings",
            )
        self.rows_by_label = {"output.": tuple(tags), "intent.": tuple(intents)}
        self.has_class = False  # no class of transformers has both
        self.uses_pooler = backbone.pools
        width = backbone.width
        self.dropout = dropout_layer(backbone.config, TAG_DROPOUT)
        self.output = nn.Linear(width, len(tags))
        self.pooler = nn.Identity() if backbone.pools else nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.intent_dropout = dropout_layer(backbone.config, INTENT_DROPOUT)
        self.intent = nn.Linear(width, len(intents))

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, words, width)` and `(batch, width)` to `(batch, words, tags + intents)`."""
        intents = self.intent(self.intent_dropout(self.pooler(pooled))).unsqueeze(1)
        return torch.cat([self.output(self.dropout(hidden)), intents.expand(-1, hidden.shape[1], -1)], dim=-1)

    def losses(self, logits: Tensor, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cross-entropy of the intents `(batch,)`, and summed over the words that of their tags `(batch, words)`;
        the objective of section 3.2. A row that is read in several windows has its intent in each.
        """
        count = self.output.out_features
        tags = logits[..., :count].flatten(0, 1), labels[SLOTS].flatten()
        return {
            INTENT: functional.cross_entropy(logits[:, 0, count:], labels[INTENT], reduction="sum"),
            SLOTS: functional.cross_entropy(*tags, ignore_index=IGNORED, reduction="sum"),
        }
