"""`Head`: the few layers on top of an encoder. `EncoderWithHead`: the whole model."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig
from transformers.activations import ACT2FN

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.batch import Batch
from finetune.models.families import HeadName, Layers, head_dropout
from finetune.models.feature import LABEL

Output = Literal["pooled", "sequence"]


class Head(nn.Module):
    """The few layers on top of the encoder's outputs (Devlin et al. 2019, Figure 4).

    - `inputs`: the outputs of the encoder that it reads, one or both. `reads`: the positions of the sequence output
      that get logits.
    - `auto_class`: transformers' class that loads a saved model; `has_class`: whether it computes the same.
      `checkpoint_names`: its names of layers by ours. `problem_type`: transformers' word for the kind of labels.
    - `labels`: the names of the logits, if they have any. `rows_by_label`: the names of the rows of each output layer,
      by the beginning of its parameters' names.
    - `solved_as`: the target of a linear solver: a class of `labels`, 0 or 1 for each label, or a number; empty for
      another loss.
    - `pretrains`: whether it is loaded from the checkpoint, for pre-training. `vocabulary`: its number of logits, if
      these are so many that prediction keeps what `reduced` returns.
    """

    inputs: frozenset[Output]
    reads: Literal["tokens", "words"] = "tokens"
    pretrains: ClassVar[bool] = False
    auto_class: str
    output: nn.Linear
    solved_as: Literal["", "class", "flags", "number"] = ""
    problem_type: str = ""
    vocabulary: int = 0

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.labels = tuple(labels)
        self.rows_by_label: Mapping[str, Sequence[str]] = {"output.": self.labels}
        self.checkpoint_names: dict[str, str] = {"output": "classifier"}
        self.uses_pooler = False
        self.has_class = True

    def add_layers(self, backbone: Backbone, name: HeadName, *, outputs: int, otherwise: Layers) -> Layers:
        """Adds the layers of the family's head of this name, or `otherwise`; returns the added ones."""
        row, config = backbone.family_head(name), backbone.config
        layers = row or otherwise
        self.has_class = row is not None
        backbone.attends_to_all = layers.attends_to_all
        if layers.dense is not None:
            self.first_dropout = dropout_layer(config, layers.before) if layers.before else nn.Identity()
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

    def in_training(self, batch: Batch) -> Batch:
        """The batch that the encoder reads in training; a head may change it."""
        return batch

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Any:
        """Logits `(batch, n)` of the pooled output `(batch, width)`, or `(batch, length, n)` of the sequence output.

        `mask` `(batch, length)` is 0 at padding. A head that reads both outputs gets the sequence output and `pooled`,
        and may return logits by name.
        """
        if hasattr(self, "dense"):
            hidden = self.activation(self.dense(self.first_dropout(hidden)))
        if hasattr(self, "norm"):
            hidden = self.norm(hidden)
        return self.output(self.dropout(hidden))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss `()` of a head with one loss, summed over labels that are not IGNORED; the trainer divides by their
        number.
        """
        raise NotImplementedError

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Each loss by the name of its labels, summed as in `loss`."""
        return {LABEL: self.loss(logits, labels[LABEL])}

    def reduced(self, logits: Any, labels: Mapping[str, Tensor]) -> Tensor:
        """The part of the logits that scoring needs, of a head with a `vocabulary`: `(batch, positions, n)`."""
        raise NotImplementedError

    def config_settings(self) -> dict[str, Any]:
        """Settings of this head in a saved config, for transformers and its pipelines: labels and kind of problem."""
        ids = {label: index for index, label in enumerate(self.labels)}
        named: dict[str, Any] = {"id2label": dict(enumerate(self.labels)), "label2id": ids} if ids else {}
        return named | ({"problem_type": self.problem_type} if self.problem_type else {})

    def initialise(self) -> None:
        """New weights as in the original code: normal 0.02, truncated at two deviations; biases 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def names_in_checkpoint(self) -> dict[str, str]:
        """transformers' names of the parameters, by ours."""
        parts = {name: name.rpartition(".") for name in self.state_dict()}
        return {name: f"{self.checkpoint_names[layer]}.{kind}" for name, (layer, _, kind) in parts.items()}

    def to_checkpoint(self) -> dict[str, Tensor]:
        """Parameters by transformers' names."""
        state = self.state_dict()
        return {theirs: state[ours] for ours, theirs in self.names_in_checkpoint().items()}

    def from_checkpoint(self, state: dict[str, Tensor]) -> None:
        """Loads the parameters from a transformers checkpoint."""
        self.load_state_dict({ours: state[theirs] for ours, theirs in self.names_in_checkpoint().items()})


class JoinedHead(Head):
    """Several heads by name on one encoder; their logits are concatenated, and each learns the labels of its name.

    Logits are `(batch, n)` if all heads read the pooled output; else `(batch, words, n)`, where those of the text are
    repeated at each word. A batch or a row may lack the labels of a head.
    """

    def __init__(self, backbone: Backbone, made: "Mapping[str, HeadFor]") -> None:
        """Raises UserError for a layer mix where heads read both outputs."""
        backbone.has_row = True  # loading a head of our own has set it to False
        heads = {name: head_for(backbone) for name, head_for in made.items()}
        super().__init__([f"{name}: {label}" for name, head in heads.items() for label in head.labels])
        self.names, self.heads = tuple(heads), nn.ModuleList(heads.values())
        self.widths = [head.output.out_features for head in heads.values()]
        self.inputs = frozenset[Output]().union(*(head.inputs for head in heads.values()))
        if len(self.inputs) == 2 and backbone.reader is not None:
            what = f"{' and '.join(heads)} are read from the last layer alone"
            raise UserError(what, "Leave layers and bilstm out of its settings")
        self.reads = "words" if "sequence" in self.inputs else "tokens"
        self.auto_class = next(iter(heads.values())).auto_class
        self.rows_by_label = {
            f"heads.{number}.{begin}": labels
            for number, head in enumerate(heads.values())
            for begin, labels in head.rows_by_label.items()
        }
        self.uses_pooler = any(head.uses_pooler for head in heads.values())
        self.has_class = False  # no class of transformers has several

    def reading(self, output: Output) -> dict[str, Any]:
        """The heads that read this output, by name."""
        heads: Mapping[str, Any] = dict(zip(self.names, self.heads, strict=True))
        return {name: head for name, head in heads.items() if output in head.inputs}

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, words, width)`, or without words `(batch, width)`, and of both outputs also `pooled`."""
        text = hidden if pooled is None else pooled
        parts = {name: head(text, mask) for name, head in self.reading("pooled").items()}
        if pooled is not None:
            parts = {name: part.unsqueeze(1).expand(-1, hidden.shape[1], -1) for name, part in parts.items()}
        parts |= {name: head(hidden, mask) for name, head in self.reading("sequence").items()}
        return torch.cat([parts[name] for name in self.names], dim=-1)

    def losses(self, logits: Tensor, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The losses by name of head; heads without labels in this batch have none."""
        words, losses = self.reading("sequence"), dict[str, Tensor]()
        parts: Any = zip(self.names, self.heads, torch.split(logits, self.widths, dim=-1), strict=True)
        for name, head, part in parts:
            if name in labels:
                losses[name] = head.loss(part[:, 0] if words and name not in words else part, labels[name])
        first = next(iter(losses))
        losses[first] = losses[first] + 0 * logits.float().mean()  # other processes wait for a gradient of every head
        return losses

    def initialise(self) -> None:
        heads: Sequence[Any] = list(self.heads)
        for head in heads:
            head.initialise()

    def names_in_checkpoint(self) -> dict[str, str]:
        return {name: name for name in self.state_dict()}


def dropout_layer(config: PretrainedConfig, names: Sequence[str]) -> nn.Dropout:
    """Dropout with the probability of the first of these settings of the config that is set, else 0."""
    return nn.Dropout(head_dropout(config, names))


def dense_layer(config: PretrainedConfig, width: int, wanted: int) -> nn.Linear:
    """A head's dense layer, with a bias unless the config says otherwise."""
    return nn.Linear(width, wanted, bias=getattr(config, "classifier_bias", True))


def activation(config: PretrainedConfig, name: str) -> nn.Module:
    """The activation of this name, or of the config's setting of this name. Raises UserError for an unknown one."""
    function = getattr(config, name, name)
    if function not in ACT2FN:
        raise UserError(f"config.json: {name} = '{function}' is unknown", f"Choose one of {', '.join(sorted(ACT2FN))}")
    layer: nn.Module = ACT2FN[function]
    return layer


def norm_layer(config: PretrainedConfig, width: int, *, epsilon: float | None = None) -> nn.LayerNorm:
    """A head's LayerNorm, with `epsilon` or the encoder's."""
    epsilon = epsilon or getattr(config, "norm_eps", None) or config.layer_norm_eps
    return nn.LayerNorm(width, eps=epsilon, bias=getattr(config, "norm_bias", True))


class EncoderWithHead(nn.Module):
    """A backbone and a head; `notes` are for the user.

    `pooled`: the head reads the pooled output alone; `reads_both`: both outputs; `by_position`: there are logits for
    each position.
    """

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.notes: list[str] = []
        self.pooled = head.inputs == {"pooled"}
        self.reads_both = len(head.inputs) == 2
        self.by_position = not self.pooled
        if not head.uses_pooler:
            backbone.drop_pooler()

    def forward(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        choices: Tensor | None = None,
        positions: Tensor | None = None,
        states: Tensor | None = None,
    ) -> Any:
        """Logits of a `Batch`, as in `Head.forward`; with `choices` `(batch, n)` a logit for each choice `(batch, n)`,
        minus infinity where a feature has fewer.
        """
        batch = Batch(input_ids, attention_mask, token_type_ids, choices, positions, states)
        batch = self.head.in_training(batch) if self.training else batch
        logits = self.head(*self.hidden(batch))
        if choices is None:
            return logits
        by_feature = logits.squeeze(-1).gather(0, choices.clamp(min=0).flatten()).view_as(choices)
        return by_feature.masked_fill(choices < 0, -torch.inf)

    def hidden(self, batch: Batch) -> tuple[Tensor, ...]:
        """The head's input `(batch, n, width)` or `(batch, width)`, and its mask `(batch, n)`; for a head that reads
        both outputs also the pooled output `(batch, width)`.
        """
        if self.reads_both:
            return self.backbone.sequence_and_pooled(**batch.for_encoder())
        states, mask = batch.states, batch.attention_mask
        if states is None:
            layers = self.backbone.layer_indices(pooled=self.pooled)
            states, mask = self.backbone.hidden_states(layers, pooled=self.pooled, **batch.for_encoder())
        return self.backbone.read(states, mask, pooled=self.pooled), mask


HeadFor = Callable[[Backbone], Head]


def as_float(logits: Any) -> Any:
    """Logits, or logits by name, in single precision."""
    return {name: tensor.float() for name, tensor in logits.items()} if isinstance(logits, dict) else logits.float()
