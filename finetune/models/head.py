"""A head, the few layers that read what a backbone returns of a text or of each token, and the model of both."""

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

    `inputs` are the outputs that it reads, one or both; of the sequence output it reads the positions of `reads`, and
    gives each its logits. `auto_class` is the class of transformers that loads what is
    saved, with the parameter names of `checkpoint_names` (ours -> theirs), and `problem_type` its kind of problem;
    `has_class` says whether it computes the same. `labels` are the names of the logits, if they have any, and
    `rows_by_label` those of the rows of each output layer, by the beginning of its parameters' names.

    `solved_as` is what a linear solver may fit the output layer to: a class of `labels`, 0 or 1 for each of them, or a
    number; empty where its loss is another. A head that `pretrains`
    keeps the checkpoint's own; `vocabulary` are its logits, where they are so many that prediction keeps `reduced` of
    them.
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

    def in_training(self, batch: Batch) -> Batch:
        """The batch that the encoder reads in training, where a head changes it."""
        return batch

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Any:
        """Logits `(batch, n)` of the pooled output `(batch, width)`, or `(batch, length, n)` of the sequence output, by
        the layers that were added.

        `mask` `(batch, length)` is 0 at padding. A head that reads both outputs gets the sequence output and `pooled`,
        and may return logits by name.
        """
        if hasattr(self, "dense"):
            hidden = self.activation(self.dense(self.first_dropout(hidden)))
        if hasattr(self, "norm"):
            hidden = self.norm(hidden)
        return self.output(self.dropout(hidden))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss of a head that has one, summed over all labels that are not ignored; the trainer divides by their
        number.
        """
        raise NotImplementedError

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Each loss by the name of its labels, as `loss`; the trainer divides each by the number of its own labels."""
        return {LABEL: self.loss(logits, labels[LABEL])}

    def reduced(self, logits: Any, labels: Mapping[str, Tensor]) -> Tensor:
        """What scoring needs of the logits, where it has a `vocabulary`: `(batch, positions, n)`."""
        raise NotImplementedError

    def config_settings(self) -> dict[str, Any]:
        """Settings of this head in the config of a saved model: names of labels, and the kind of problem, which
        transformers' classes and pipelines go by.
        """
        ids = {label: index for index, label in enumerate(self.labels)}
        named: dict[str, Any] = {"id2label": dict(enumerate(self.labels)), "label2id": ids} if ids else {}
        return named | ({"problem_type": self.problem_type} if self.problem_type else {})

    def initialise(self) -> None:
        """New weights as in the original code: normal 0.02 truncated at two deviations, biases 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02, a=-0.04, b=0.04)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def names_in_checkpoint(self) -> dict[str, str]:
        """The names that transformers gives the parameters, by ours."""
        parts = {name: name.rpartition(".") for name in self.state_dict()}
        return {name: f"{self.checkpoint_names[layer]}.{kind}" for name, (layer, _, kind) in parts.items()}

    def to_checkpoint(self) -> dict[str, Tensor]:
        """Parameters by the names that transformers gives them."""
        state = self.state_dict()
        return {theirs: state[ours] for ours, theirs in self.names_in_checkpoint().items()}

    def from_checkpoint(self, state: dict[str, Tensor]) -> None:
        """Loads the parameters from a transformers checkpoint."""
        self.load_state_dict({ours: state[theirs] for ours, theirs in self.names_in_checkpoint().items()})


class JoinedHead(Head):
    """Heads by name on one encoder, whose logits are next to each other: each is trained on the labels of its name.

    Logits are `(batch, n)` where all heads read the pooled output, else `(batch, words, n)`, in which a text has
    the same logits at each of its words. A batch may lack the labels of a head, and a row may have none of its name.
    """

    def __init__(self, backbone: Backbone, made: "Mapping[str, HeadFor]") -> None:
        """Raises UserError where layers are mixed, and heads read the last one as well as the pooled output."""
        backbone.has_row = True  # also where it is loaded in finetune's own format
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
        """The heads that read an output, by name."""
        heads: Mapping[str, Any] = dict(zip(self.names, self.heads, strict=True))
        return {name: head for name, head in heads.items() if output in head.inputs}

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> Tensor:
        """`(batch, words, width)`, or without words `(batch, width)`, and of both outputs also `pooled`."""
        of_text = hidden if pooled is None else pooled
        parts = {name: head(of_text, mask) for name, head in self.reading("pooled").items()}
        if pooled is not None:
            parts = {name: part.unsqueeze(1).expand(-1, hidden.shape[1], -1) for name, part in parts.items()}
        parts |= {name: head(hidden, mask) for name, head in self.reading("sequence").items()}
        return torch.cat([parts[name] for name in self.names], dim=-1)

    def losses(self, logits: Tensor, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Each head's own loss, by its name, where the batch has labels of it."""
        texts, words = self.reading("pooled"), self.reading("sequence")
        losses = dict[str, Tensor]()
        for name, part in zip(self.names, torch.split(logits, self.widths, dim=-1), strict=True):
            if name in labels and name in words:
                losses[name] = words[name].loss(part, labels[name])
            elif name in labels:
                losses[name] = texts[name].loss(part[:, 0] if words else part, labels[name])
        first = next(iter(losses))
        losses[first] = losses[first] + 0 * logits.float().mean()  # a gradient for all, which processes wait for
        return losses

    def initialise(self) -> None:
        heads: Sequence[Any] = list(self.heads)
        for head in heads:
            head.initialise()

    def names_in_checkpoint(self) -> dict[str, str]:
        return {name: name for name in self.state_dict()}


def dropout_layer(config: PretrainedConfig, names: Sequence[str]) -> nn.Dropout:
    """Dropout with the probability of the first of these settings that is set, else 0."""
    return nn.Dropout(head_dropout(config, names))


def dense_layer(config: PretrainedConfig, width: int, wanted: int) -> nn.Linear:
    """A head's dense layer, with a bias unless the family leaves it out."""
    return nn.Linear(width, wanted, bias=getattr(config, "classifier_bias", True))


def activation(config: PretrainedConfig, name: str) -> nn.Module:
    """The activation that is named, or that a setting of this name names. Raises UserError for an unknown one."""
    function = getattr(config, name, name)
    if function not in ACT2FN:
        raise UserError(f"config.json: {name} = '{function}' is unknown", f"Choose one of {', '.join(sorted(ACT2FN))}")
    layer: nn.Module = ACT2FN[function]
    return layer


def norm_layer(config: PretrainedConfig, width: int, *, epsilon: float | None = None) -> nn.LayerNorm:
    """A head's LayerNorm as in the encoder, unless `epsilon` is another."""
    epsilon = epsilon or getattr(config, "norm_eps", None) or config.layer_norm_eps
    return nn.LayerNorm(width, eps=epsilon, bias=getattr(config, "norm_bias", True))


class EncoderWithHead(nn.Module):
    """A backbone and a head; `notes` are for the user, on how it is computed.

    `pooled` says whether the head reads the pooled output alone, `reads_both` whether it reads the sequence output too,
    and `by_position` whether each position that is read has logits.
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
        """Logits of a batch (`batch.Batch`), see `Head.forward`; with `choices` `(batch, n)` one row of logits for each
        feature's choices, `(batch, most choices)`, minus infinity where a feature has fewer.
        """
        batch = Batch(input_ids, attention_mask, token_type_ids, choices, positions, states)
        batch = self.head.in_training(batch) if self.training else batch
        logits = self.head(*self.hidden(batch))
        if choices is None:
            return logits
        by_feature = logits.squeeze(-1).gather(0, choices.clamp(min=0).flatten()).view_as(choices)
        return by_feature.masked_fill(choices < 0, -torch.inf)

    def hidden(self, batch: Batch) -> tuple[Tensor, ...]:
        """The head's input, `(batch, n, width)` or `(batch, width)`, and the mask of its positions `(batch, n)`; then,
        for a head that reads both outputs, the pooled output `(batch, width)`.
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
