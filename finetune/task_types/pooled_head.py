"""The base of heads on the pooled output: from the vector of a text to logits."""

from collections.abc import Sequence

from transformers import PretrainedConfig

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.families import OTHER, PLAIN, HeadName, Layers
from finetune.models.head import Head

VECTORS = {"cls": "cls", "bos": "cls", "mean": "mean"}  # as configs name them


class PooledHead(Head):
    """Dropout and one linear layer on the pooled output; families without a pretrained pooler get a new one."""

    inputs = frozenset({"pooled"})

    def __init__(self, backbone: Backbone, labels: Sequence[str], *, name: HeadName = "sentence") -> None:
        super().__init__(labels)
        layers = self.add_layers(backbone, name, outputs=max(1, len(labels)), otherwise=own_layers(backbone))
        self.uses_pooler = self.has_class and layers.dense is None
        if self.has_class:
            backbone.vector = _vector(backbone.config, layers.vector)


def _vector(config: PretrainedConfig, name: str) -> str:
    """The vector that is named, or that a setting of this name names. Raises UserError for one that is not known."""
    found = getattr(config, name, name)
    if found not in VECTORS:
        raise UserError(
            f"config.json: {name} = '{found}' is not supported; it must be one of {', '.join(VECTORS)}",
            "Train a new model from it (model=FOLDER), which reads the mean, or name another checkpoint",
        )
    return VECTORS[found]


def own_layers(backbone: Backbone) -> Layers:
    """A new tanh layer over one token of a layer mix, a left-to-right encoder, or one without a row. A BiLSTM's ends
    are already pooled, and a vector that a recipe names is read as it is.
    """
    linear = backbone.linear_only and (backbone.reader is not None or backbone.left_to_right)
    return PLAIN if backbone.bilstm or linear or backbone.pooling != "family" else OTHER
