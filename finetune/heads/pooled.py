"""What all heads on the pooled output share: from the first token's vector to logits, by the table of families."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from transformers.activations import ACT2FN

from finetune.families import POOLED_DROPOUT, Pooling, head_dropout, pooling
from finetune.model import Backbone, Head


class PooledHead(Head):
    """Dropout and one linear layer on the pooled output; families without a pretrained pooler get a new one."""

    reads = "pooled"

    def __init__(self, backbone: Backbone, labels: Sequence[str], *, table: dict[str, Pooling]) -> None:
        super().__init__(labels)
        config = backbone.config
        self.pooling = pooling(table, config)
        self.dropout = nn.Dropout(head_dropout(config, POOLED_DROPOUT))
        if self.pooling.dense is None:
            self.uses_pooler = True
        else:
            self.dense = nn.Linear(config.hidden_size, config.hidden_size)
            self.activation = ACT2FN[self.pooling.activation]
            self.checkpoint_names["dense"] = self.pooling.dense
        self.output = nn.Linear(config.hidden_size, max(1, len(labels)))
        self.checkpoint_names["output"] = self.pooling.output

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """`(batch, width)` to `(batch, labels)`, or to `(batch, 1)` where the logits have no names."""
        if self.pooling.drop_first:
            hidden = self.dropout(hidden)
        if self.pooling.dense is not None:
            hidden = self.activation(self.dense(hidden))
        return self.output(self.dropout(hidden))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text or a pair as tokens."""

    ids: list[int]
    segments: list[int] | None
    truncated: bool


def encode_texts(
    texts: Sequence[str], pairs: Sequence[str] | None, tokenizer: PreTrainedTokenizerBase, max_length: int
) -> list[Encoded]:
    """`[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]`, the longer of a pair cut first."""
    if not texts:
        return []
    encoded = tokenizer(list(texts), pairs and list(pairs), truncation=True, max_length=max_length)
    segments = encoded.get("token_type_ids", [None] * len(texts))
    return [
        Encoded(ids, segments[index], bool(encoded.encodings[index].overflowing))
        for index, ids in enumerate(encoded["input_ids"])
    ]
