"""The base of heads on the pooled output: from the first token's vector to logits."""

from collections.abc import Sequence

from torch import Tensor, nn
from transformers.activations import ACT2FN

from finetune.models.backbone import Backbone, Head
from finetune.models.families import Pooling, head_dropout, pooling


class PooledHead(Head):
    """Dropout and one linear layer on the pooled output; families without a pretrained pooler get a new one."""

    inputs = frozenset({"pooled"})

    def __init__(self, backbone: Backbone, labels: Sequence[str], *, table: dict[str, Pooling]) -> None:
        super().__init__(labels)
        config = backbone.config
        own = backbone.reader is not None or backbone.left_to_right or backbone.pooling != "family"
        self.pooling = read_pooling(backbone) if own else pooling(table, config)
        self.dropout = nn.Dropout(head_dropout(config, self.pooling.dropout))
        if self.pooling.dense is None:
            self.uses_pooler = not own
        else:
            self.dense = nn.Linear(backbone.width, backbone.width)
            self.activation = ACT2FN[self.pooling.activation]
            self.checkpoint_names["dense"] = self.pooling.dense
        self.output = nn.Linear(backbone.width, max(1, len(labels)))
        self.checkpoint_names["output"] = self.pooling.output

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, width)` to `(batch, labels)`, or to `(batch, 1)` for a head without label names."""
        if self.pooling.drop_first:
            hidden = self.dropout(hidden)
        if self.pooling.dense is not None:
            hidden = self.activation(self.dense(hidden))
        return self.output(self.dropout(hidden))  # type: ignore[no-any-return]


def read_pooling(backbone: Backbone) -> Pooling:
    """A new tanh layer over one token of a layer mix or a left-to-right encoder. A BiLSTM's ends are already pooled,
    and a vector that a recipe names is read as it is.
    """
    bare = backbone.bilstm or backbone.linear_only or backbone.pooling != "family"
    return Pooling() if bare else Pooling(dense="dense", activation="tanh")
