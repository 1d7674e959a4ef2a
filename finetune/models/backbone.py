"""Backbone, Head and Model: the encoder returns one vector per token and one per sequence; a head reads either."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from finetune.models.batch import Batch
from finetune.models.families import takes_segments
from finetune.models.freezing import freeze_unread
from finetune.models.kernels.first_token import last_layer_for_first_token
from finetune.models.layer_mix import LayerReader, mix_of
from finetune.runs.recipe import Layers

POOLED = -1  # among layer indices: the pretrained pooler's output


class Backbone(nn.Module):
    """A pretrained encoder, its weights in fp32, and which of its hidden states a head reads.

    `layers` and `bilstm` are as in a recipe; of a `frozen` encoder only the layer mix is trained. With `linear_only` a
    head adds no layer but its output layer.
    """

    def __init__(
        self,
        encoder: PreTrainedModel,
        *,
        layers: Layers | Sequence[int] = "last",
        bilstm: bool = False,
        frozen: bool = False,
        linear_only: bool = False,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.frozen = frozen
        self.linear_only = linear_only
        self.reader: LayerReader | None = None  # its name is in saved weights
        if layers != "last" or bilstm:
            mix = mix_of(layers, depth=self.config.num_hidden_layers)
            self.reader = LayerReader(mix, width=self.config.hidden_size, bilstm=bilstm)
            freeze_unread(encoder, above=max(mix.layers))
        if frozen:
            encoder.requires_grad_(False)

    @property
    def config(self) -> PretrainedConfig:
        """The encoder's configuration; `model_type` is its family."""
        return self.encoder.config

    @property
    def width(self) -> int:
        """Width of the vectors that a head reads."""
        return int(self.config.hidden_size) if self.reader is None else self.reader.width

    @property
    def bilstm(self) -> bool:
        """Whether a BiLSTM reads the layers, which then needs all positions."""
        return self.reader is not None and self.reader.bilstm is not None

    def layer_indices(self, *, pooled: bool) -> tuple[int, ...]:
        """The layers that a head reads; POOLED for the pretrained pooler. 0 is the embeddings."""
        if self.reader is not None:
            return self.reader.mix.layers
        has_pooler = getattr(self.encoder, "pooler", None) is not None
        return (POOLED,) if pooled and has_pooler else (self.config.num_hidden_layers,)

    def hidden_states(
        self, layers: Sequence[int], *, pooled: bool, positions: Tensor | None, **inputs: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Hidden states of some layers `(batch, n, layers, width)`, and their mask `(batch, n)`.

        n is 1 where only the first position is read, else the width of `positions` `(batch, n)`, or the length.
        """
        mask = inputs["attention_mask"]
        assert mask is not None  # every batch has one
        if not takes_segments(self.config):
            inputs = inputs | {"token_type_ids": None}
        inner = set(layers) - {POOLED, self.config.num_hidden_layers} != set()
        given = {name: value for name, value in inputs.items() if value is not None}
        output = self.encoder(**given, **({"output_hidden_states": True} if inner else {}))
        if pooled and not self.bilstm:
            found = [_layer(output, index)[:, :1] for index in layers]
            mask = mask[:, :1]
        else:
            found = [_layer(output, index) for index in layers]
            if positions is not None:
                found = [_at_positions(layer, positions) for layer in found]
                mask = (positions >= 0).long()
        return found[0].unsqueeze(2) if len(found) == 1 else torch.stack(found, dim=2), mask

    def read(self, states: Tensor, mask: Tensor, *, pooled: bool) -> Tensor:
        """The head's input: the sequence output `(batch, n, width)`, or the pooled output `(batch, width)`.

        Pooled is the pretrained pooler's output where this backbone keeps one, else the first token's vector.
        """
        if self.reader is not None:
            return self.reader(states, mask, pooled=pooled)  # type: ignore[no-any-return]
        return states[:, 0, 0] if pooled else states[:, :, 0]

    def train(self, mode: bool = True) -> "Backbone":
        """`nn.Module.train`, but a frozen encoder stays in evaluation mode, without dropout."""
        super().train(mode)
        if self.frozen:
            self.encoder.eval()
        return self

    def drop_pooler(self) -> None:
        """Removes a pretrained pooler that no head reads; unused weights make distributed training fail."""
        if getattr(self.encoder, "pooler", None) is not None:
            self.encoder.pooler = None


class Head(nn.Module):
    """The few layers on top of one of the two outputs (Devlin et al. 2019, Figure 4).

    `reads` is the output that it reads; `auto_class` is the class of transformers that loads what is saved, with the
    parameter names of `checkpoint_names` (ours -> theirs); `labels` are the names of the logits, if they have any.
    """

    reads: ClassVar[Literal["pooled", "sequence"]]
    reads_words: ClassVar[bool] = False  # whether the head reads only the first sub-token of each word
    auto_class: ClassVar[str]
    output: nn.Linear

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        self.labels = tuple(labels)
        self.checkpoint_names: dict[str, str] = {"output": "classifier"}
        self.uses_pooler = False

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Logits `(batch, n)` of the pooled output `(batch, width)`, or `(batch, length, n)` of the sequence output.

        `mask` `(batch, length)` is 0 at padding.
        """
        raise NotImplementedError

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss summed over all labels that are not ignored; the trainer divides by their number."""
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


HeadFor = Callable[[Backbone], Head]


class Model(nn.Module):
    """A backbone and a head."""

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        if not head.uses_pooler:
            backbone.drop_pooler()
        if self.pooled and not backbone.bilstm:
            last_layer_for_first_token(backbone.encoder)

    @property
    def pooled(self) -> bool:
        """Whether the head reads the pooled output, not the sequence output."""
        return self.head.reads == "pooled"

    def forward(
        self,
        input_ids: Tensor | None,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
        counts: Tensor | None = None,
        positions: Tensor | None = None,
        states: Tensor | None = None,
    ) -> Tensor:
        """Logits of a batch (`batch.Batch`), see `Head.forward`; with `counts` `(batch,)` one row of logits for each
        feature's choices, `(batch, most choices)`, minus infinity where a feature has fewer.
        """
        batch = Batch(input_ids, attention_mask, token_type_ids, counts, positions, states)
        logits: Tensor = self.head(*self.hidden(batch))
        return logits if counts is None else _by_feature(logits.squeeze(-1), counts)

    def hidden(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The head's input, `(batch, n, width)` or `(batch, width)`, and the mask of its positions `(batch, n)`."""
        states, mask = batch.states, batch.attention_mask
        if states is None:
            layers = self.backbone.layer_indices(pooled=self.pooled)
            states, mask = self.backbone.hidden_states(layers, pooled=self.pooled, **batch.for_encoder())
        return self.backbone.read(states, mask, pooled=self.pooled), mask


def _layer(output: Any, index: int) -> Tensor:
    """A layer of an encoder's output `(batch, length, width)`; the length is 1 for the pooled output."""
    if index == POOLED:
        return output.pooler_output.unsqueeze(1)  # type: ignore[no-any-return]
    if output.hidden_states is None:
        return output.last_hidden_state  # type: ignore[no-any-return]
    return output.hidden_states[index]  # type: ignore[no-any-return]


def _at_positions(layer: Tensor, positions: Tensor) -> Tensor:
    """Gathers `(batch, length, width)` at `positions` `(batch, n)`: `(batch, n, width)`."""
    return layer.gather(1, positions.clamp(min=0).unsqueeze(-1).expand(-1, -1, layer.shape[-1]))


def _by_feature(logits: Tensor, counts: Tensor) -> Tensor:
    """Groups logits `(sequences,)` by feature: `(batch, most choices)`, padded with minus infinity."""
    there = torch.arange(int(counts.max()), device=counts.device) < counts.unsqueeze(1)
    return logits.new_full(there.shape, -torch.inf).masked_scatter(there, logits)
