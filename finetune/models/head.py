"""Head: the few layers that read what a backbone returns of a text, or of each of its tokens."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers.activations import ACT2FN

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.families import head_dropout
from finetune.models.family_rows import HeadName, Layers
from finetune.models.feature import LABEL

Output = Literal["pooled", "sequence"]
Logits = Tensor | dict[str, Tensor]


class Head(nn.Module):
    """The few layers on top of the encoder's outputs (Devlin et al. 2019, Figure 4).

    `inputs` are the outputs that it reads, one or both; `auto_class` is the class of transformers that loads what is
    saved, with the parameter names of `checkpoint_names` (ours -> theirs); `labels` are the names of the logits, if
    they have any. `solved_as` is what a linear solver may fit the output layer to: a class of `labels`, 0 or 1 for each
    of them, a number, or steps: being above each of some ordered classes; empty where its loss is another.
    """

    inputs: ClassVar[frozenset[Output]]
    reads_words: ClassVar[bool] = False  # whether it reads the positions of words alone, not of all tokens
    joins: ClassVar[bool] = False  # whether a text has logits of all positions together, not of each
    pretrains: ClassVar[bool] = False  # whether the checkpoint's own head is kept
    auto_class: ClassVar[str]
    output: nn.Linear
    solved_as: Literal["", "class", "flags", "number", "steps"] = ""
    vocabulary: int = 0  # logits of a position, where they are so many that prediction keeps `reduced` of them

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.labels = tuple(labels)
        self.checkpoint_names: dict[str, str] = {"output": "classifier"}
        self.uses_pooler = False
        self.has_class = True  # whether `auto_class` computes the same

    @property
    def rows_by_label(self) -> Mapping[str, Sequence[str]]:
        """The labels of the rows of its output layers, by the beginning of their parameters' names."""
        return {"output.": self.labels}

    def add_layers(self, backbone: Backbone, name: HeadName, *, outputs: int, otherwise: Layers) -> Layers:
        """Adds the layers that the encoder's family has in this head, or `otherwise`; returns their row."""
        row, config = backbone.family_head(name), backbone.config
        layers = row or otherwise
        self.has_class = row is not None
        backbone.attends_to_all = layers.attends_to_all
        if layers.dense is not None:
            first = dropout_layer(config, layers.before)
            self.first_dropout = first if layers.before else nn.Identity()
            self.dense = dense_layer(config, backbone.width, backbone.width)
            self.activation = activation(config, layers.activation)
            self.checkpoint_names["dense"] = layers.dense
        if layers.norm is not None:
            self.norm = norm_layer(config, backbone.width)
            self.checkpoint_names["norm"] = layers.norm
        self.dropout = dropout_layer(config, layers.dropout)
        self.output = nn.Linear(backbone.width, outputs)
        self.checkpoint_names["output"] = layers.output
        return layers

    def through_layers(self, hidden: Tensor) -> Tensor:
        """Logits `(..., outputs)` of vectors `(..., width)`, by the layers that were added."""
        if hasattr(self, "dense"):
            hidden = self.activation(self.dense(self.first_dropout(hidden)))
        if hasattr(self, "norm"):
            hidden = self.norm(hidden)
        return self.output(self.dropout(hidden))  # type: ignore[no-any-return]

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Any:
        """Logits `(batch, n)` of the pooled output `(batch, width)`, or `(batch, length, n)` of the sequence output.

        `mask` `(batch, length)` is 0 at padding. A head that reads both outputs gets the sequence output and `pooled`,
        and may return logits by name.
        """
        raise NotImplementedError

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss summed over all labels that are not ignored; the trainer divides by their number."""
        raise NotImplementedError

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Each loss by the name of its labels, as `loss`; the trainer divides each by the number of its own labels."""
        return {LABEL: self.loss(logits, labels[LABEL])}

    def by_item(self, logits: Tensor) -> Tensor:
        """The logits by what each answer is about, `(batch, items, n)`: a row, a label of several, a word, a start."""
        return logits.unsqueeze(1)

    def reduced(self, logits: Any, labels: Mapping[str, Tensor]) -> Tensor:
        """What scoring needs of the logits, where it has a `vocabulary`: `(batch, positions, n)`."""
        raise NotImplementedError

    def config_settings(self) -> dict[str, Any]:
        """Settings of this head in the config of a saved model."""
        return {
            "id2label": dict(enumerate(self.labels)),
            "label2id": {label: index for index, label in enumerate(self.labels)},
        }

    def initialise(self) -> None:
        """New weights as in the original code: normal 0.02 truncated at two deviations, biases 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def to_checkpoint(self) -> dict[str, Tensor]:
        """Parameters by the names that transformers gives them."""
        return {self._checkpoint_name(name): tensor for name, tensor in self.state_dict().items()}

    def from_checkpoint(self, state: dict[str, Tensor]) -> None:
        """Loads the parameters from a transformers checkpoint."""
        self.load_state_dict({name: state[self._checkpoint_name(name)] for name in self.state_dict()})

    def _checkpoint_name(self, name: str) -> str:
        layer, _, parameter = name.rpartition(".")
        return f"{self.checkpoint_names[layer]}.{parameter}"


def dropout_layer(config: PretrainedConfig, names: Sequence[str]) -> nn.Dropout:
    """Dropout with the probability of the first of these settings that is set, else 0."""
    return nn.Dropout(head_dropout(config, names))


def dense_layer(config: PretrainedConfig, width: int, wanted: int) -> nn.Linear:
    """A head's dense layer, with a bias unless the family leaves it out."""
    return nn.Linear(width, wanted, bias=getattr(config, "classifier_bias", True))


def activation(config: PretrainedConfig, name: str) -> nn.Module:
    """The activation that is named, or that a setting of this name names. Raises UserError for an unknown one."""
    found = getattr(config, name, name)
    if found not in ACT2FN:
        raise UserError(f"config.json: {name} = '{found}' is unknown", f"Choose one of {', '.join(sorted(ACT2FN))}")
    layer: nn.Module = ACT2FN[found]
    return layer


def norm_layer(config: PretrainedConfig, width: int, *, epsilon: float | None = None) -> nn.LayerNorm:
    """A head's LayerNorm as in the encoder, unless `epsilon` is another."""
    epsilon = epsilon or getattr(config, "norm_eps", None) or config.layer_norm_eps
    return nn.LayerNorm(width, eps=epsilon, bias=getattr(config, "norm_bias", True))
