"""An intent from the pooled output, and a tag for each word from the sequence output."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.families import FAMILIES, POOLED_DROPOUT, TOKEN, head_dropout
from finetune.models.feature import IGNORED
from finetune.models.head import Head
from finetune.task_types.tagging.intent.row import INTENT, SLOTS


class IntentHead(Head):
    """Dropout and one linear layer on the pooled output, another on the vector of each word's first sub-token (Chen,
    Zhuo and Wang 2019, section 3.2). A family without a pretrained pooler gets a new tanh layer before the first.

    The logits of both are one tensor, `(batch, words, tags + intents)`: at each word those of its tags, then those of
    the intents, which are the same at each.
    """

    inputs = frozenset({"sequence", "pooled"})
    reads = "words"
    auto_class = "AutoModelForTokenClassification"

    def __init__(self, backbone: Backbone, tags: Sequence[str], intents: Sequence[str]) -> None:
        super().__init__((*tags, *intents))
        if backbone.reader is not None:
            raise UserError(
                "intents and slots are read from the last layer alone", "Leave layers and bilstm out of its settings"
            )
        self.rows_by_label = {"output.": tuple(tags), "intent.": tuple(intents)}
        self.has_class = False  # no class of transformers has both
        self.uses_pooler = _pools(backbone)
        width, config = backbone.width, backbone.config
        self.dropout = nn.Dropout(head_dropout(config, TOKEN.dropout))
        self.output = nn.Linear(width, len(tags))
        self.pooler = nn.Identity() if self.uses_pooler else nn.Sequential(nn.Linear(width, width), nn.Tanh())
        self.intent_dropout = nn.Dropout(head_dropout(config, POOLED_DROPOUT))
        self.intent = nn.Linear(width, len(intents))

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, words, width)` and `(batch, width)` to `(batch, words, tags + intents)`."""
        intents = self.intent(self.intent_dropout(self.pooler(pooled))).unsqueeze(1)
        return torch.cat([self.output(self.dropout(hidden)), intents.expand(-1, hidden.shape[1], -1)], dim=-1)

    def losses(self, logits: Tensor, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cross-entropy of the intents `(batch,)`, and summed over the words that of their tags `(batch, words)`; the
        objective of section 3.2. A row that is read in several windows has its intent in each.
        """
        tags, intents = self._split(logits)
        flat = tags.flatten(0, 1), labels[SLOTS].flatten()
        return {
            INTENT: functional.cross_entropy(intents, labels[INTENT], reduction="sum"),
            SLOTS: functional.cross_entropy(*flat, ignore_index=IGNORED, reduction="sum"),
        }

    def _split(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """The logits of tags `(batch, words, tags)`, and of intents `(batch, intents)`."""
        count = self.output.out_features
        return logits[..., :count], logits[:, 0, count:]


def _pools(backbone: Backbone) -> bool:
    """Whether an encoder's family has a pretrained pooler that a text's label is read from."""
    family = FAMILIES.get(backbone.config.model_type)
    there = getattr(backbone.encoder, "pooler", None) is not None and not backbone.left_to_right
    return there and family is not None and family.sentence.dense is None
