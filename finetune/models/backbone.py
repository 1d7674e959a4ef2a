"""Backbone: the encoder, with one vector per token and one per sequence; and mixes of its layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling

from finetune.errors import UserError
from finetune.models.families import FAMILIES, HeadName, is_left_to_right, takes_segments
from finetune.models.families import Layers as HeadLayers
from finetune.models.kernels.attention import stay_in_half_precision
from finetune.runs.recipe import Layers

POOLED = -1  # among layer indices: the pretrained pooler's output


class Backbone(nn.Module):
    """A pretrained encoder with weights in fp32, and the choice of hidden states that a head reads.

    `layers`, `bilstm` and `pooling` are settings of a recipe. Of a `frozen` encoder only the layer mix is trained. With
    `linear_only` a head has an output layer and no other. `vector` names the vector that represents a text.
    `attends_to_all` names the tokens that attend to all, where others attend to their neighbours (Longformer). Texts of
    more than `padded_up_to` tokens are encoded without padding, each length by itself; None sets no limit.
    """

    def __init__(
        self,
        encoder: PreTrainedModel,
        *,
        layers: Layers | Sequence[int] = "last",
        bilstm: bool | int = False,
        pooling: str = "family",
        frozen: bool = False,
        linear_only: bool = False,
    ) -> None:
        super().__init__()
        stay_in_half_precision(encoder)
        self.encoder = encoder
        self.frozen = frozen
        self.linear_only = linear_only
        self.pooling = pooling
        self.vector = "cls" if pooling == "family" else pooling
        self.attends_to_all = "none"
        self.has_row = True
        self.padded_up_to: int | None = None
        self.reader: LayerReader | None = None  # saved weights have the name `reader`
        if layers != "last" or bilstm:
            mix = mix_of(layers, depth=self.config.num_hidden_layers)
            self.reader = LayerReader(mix, width=self.config.hidden_size, bilstm=bilstm)
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

    @property
    def left_to_right(self) -> bool:
        """Whether each token attends only to those before it, and to itself."""
        return is_left_to_right(self.config)

    @property
    def pools(self) -> bool:
        """Whether the family's head for texts reads the output of a pretrained pooler."""
        has_pooler = getattr(self.encoder, "pooler", None) is not None and not self.left_to_right
        return has_pooler and FAMILIES[self.config.model_type].sentence.dense is None

    def family_head(self, name: HeadName) -> HeadLayers | None:
        """The layers of transformers' head for what this backbone reads; None where transformers has no class."""
        pools = name in ("sentence", "choice")
        if not self.has_row or self.reader is not None or (pools and (self.left_to_right or self.pooling != "family")):
            return None
        row: HeadLayers | None = getattr(FAMILIES[self.config.model_type], name)
        return row

    def layer_indices(self, *, pooled: bool) -> tuple[int, ...]:
        """The layers that a head reads; POOLED for the pretrained pooler. 0 is the embeddings."""
        if self.reader is not None:
            return self.reader.mix.layers
        return (POOLED,) if pooled and _has_pooler(self.encoder) else (self.config.num_hidden_layers,)

    def hidden_states(
        self, layers: Sequence[int], *, pooled: bool, positions: Tensor | None, **inputs: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Hidden states of `layers` `(batch, n, layers, width)`, and their mask `(batch, n)`.

        n is 1 if only the pooled output is read, else the width of `positions` `(batch, n)`, or the length.
        """
        output = self._encoded(layers, inputs)
        if pooled and not self.bilstm:
            mask: Any = inputs["attention_mask"]  # every batch has one
            return _stacked([self._pooled_vector(_layer(output, index), mask) for index in layers]), mask[:, :1]
        return self._sequence(output, layers, positions, inputs)

    def _encoded(self, layers: Sequence[int], inputs: dict[str, Tensor | None]) -> Any:
        if not takes_segments(self.config):
            inputs = inputs | {"token_type_ids": None}
        named: dict[str, Any] = {name: value for name, value in inputs.items() if value is not None}
        if set(layers) - {POOLED, self.config.num_hidden_layers}:
            named["output_hidden_states"] = True
        if self.attends_to_all != "none":
            sep: Any = self.config.sep_token_id
            named["global_attention_mask"] = attending(self.attends_to_all, named["input_ids"], sep=sep)
        if self.left_to_right:
            named["use_cache"] = False  # keys and values are for generation
        return self.encoder(**named) if self.padded_up_to is None else self._by_length(named, above=self.padded_up_to)

    def _by_length(self, named: dict[str, Any], *, above: int) -> Any:
        """The encoder's output; texts longer than `above` go through it by length, so that none is padded.

        Batches cannot be made so: the choices of one row differ in length.
        """
        lengths, longest = named["attention_mask"].sum(1), named["attention_mask"].shape[1]
        groups = lengths * (lengths > above)
        rows = [(groups == group).nonzero().squeeze(1) for group in groups.unique().tolist()]
        outputs = []
        for part in rows:
            end = int(lengths[part].max())
            tensors = {name: value[part, :end] for name, value in named.items() if isinstance(value, Tensor)}
            outputs.append(self.encoder(**named | tensors))
        order = torch.cat(rows).argsort()

        def joined(parts: Sequence[Tensor]) -> Any:
            return torch.cat([functional.pad(part, (0, 0, 0, longest - part.shape[1])) for part in parts])[order]

        pooled: list[Any] = [getattr(output, "pooler_output", None) for output in outputs]
        layers = [getattr(output, "hidden_states", None) for output in outputs]
        has_pooler = pooled[0] is not None and pooled[0].ndim == 2  # a dropped one returns all tokens
        return BaseModelOutputWithPooling(
            last_hidden_state=joined([output.last_hidden_state for output in outputs]),
            pooler_output=torch.cat(pooled)[order] if has_pooler else None,
            hidden_states=None if layers[0] is None else tuple(map(joined, zip(*layers, strict=True))),
        )

    def _pooled_vector(self, layer: Tensor, mask: Tensor) -> Tensor:
        """The vector `(batch, 1, width)` that represents a text, of a layer `(batch, length, width)`.

        `cls` is the first token's vector, or the last token's in a left-to-right encoder, where no other attends to
        all. `mean` is over all tokens, [CLS] and [SEP] too, as in sentence-transformers (Reimers and Gurevych 2019);
        `unit` is the mean at length 1.
        """
        if self.vector in ("mean", "unit"):
            weights = mask.unsqueeze(-1).to(layer.dtype)
            mean = (layer * weights).sum(1, keepdim=True) / weights.sum(1, keepdim=True)
            return mean if self.vector == "mean" else functional.normalize(mean, dim=-1)
        return at_positions(layer, mask.sum(1, keepdim=True) - 1) if self.left_to_right else layer[:, :1]

    def _sequence(
        self, output: Any, layers: Sequence[int], positions: Tensor | None, inputs: dict[str, Tensor | None]
    ) -> tuple[Tensor, Tensor]:
        mask: Any = inputs["attention_mask"]
        states = [_layer(output, index) for index in layers]
        if positions is not None:
            states = [at_positions(layer, positions) for layer in states]
            mask = (positions >= 0).long()
        return _stacked(states), mask

    def sequence_and_pooled(
        self, *, positions: Tensor | None, **inputs: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The last layer `(batch, n, width)`, its mask `(batch, n)`, and the pooled output `(batch, width)`.

        n is as in `hidden_states`.
        """
        layers = (self.config.num_hidden_layers, *self.layer_indices(pooled=True))
        output = self._encoded(layers, inputs)
        states, mask = self._sequence(output, layers[:1], positions, inputs)
        attention_mask: Any = inputs["attention_mask"]
        pooled = self._pooled_vector(_layer(output, layers[1]), attention_mask)
        return self.read(states, mask, pooled=False), mask, pooled[:, 0]

    def read(self, states: Tensor, mask: Tensor, *, pooled: bool) -> Tensor:
        """The head's input from hidden states `(batch, n, layers, width)`: the sequence output `(batch, n, width)`, or
        the pooled output `(batch, width)`.
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
        """Removes a pretrained pooler that no head reads: unused weights make distributed training fail."""
        if _has_pooler(self.encoder):
            self.encoder.pooler = nn.Identity()  # some encoders (LayoutLM, SqueezeBERT) call a pooler that is None


def attending(tokens: str, ids: Tensor, *, sep: int) -> Tensor:
    """1 for tokens of `ids` `(batch, length)` that attend to all others, as in transformers' classes, else 0.

    The first text ends before the first [SEP]; the second begins after the separator that follows it.
    """
    index = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    if tokens == "cls":
        return (index == 0).long()
    is_sep = ids == sep
    if tokens == "first text":
        return (is_sep.cumsum(1) == 0).long()
    return (index > is_sep.int().argmax(1, keepdim=True) + 1).long()


def _has_pooler(encoder: PreTrainedModel) -> bool:
    pooler = getattr(encoder, "pooler", None)
    return pooler is not None and any(True for _ in pooler.parameters())


def _layer(output: Any, index: int) -> Tensor:
    """A layer of an encoder's output `(batch, length, width)` in fp32; the length of the pooled output is 1."""
    if index == POOLED:
        return output.pooler_output.unsqueeze(1).float()  # type: ignore[no-any-return]
    layer = output.last_hidden_state if output.hidden_states is None else output.hidden_states[index]
    return layer.float()  # type: ignore[no-any-return]


def _stacked(layers: Sequence[Tensor]) -> Tensor:
    return layers[0].unsqueeze(2) if len(layers) == 1 else torch.stack(list(layers), dim=2)


def at_positions(layer: Tensor, positions: Tensor) -> Tensor:
    """Gathers `(batch, length, width)` at `positions` `(batch, n)`: `(batch, n, width)`."""
    return layer.gather(1, positions.clamp(min=0).unsqueeze(-1).expand(-1, -1, layer.shape[-1]))


LSTM_LAYERS = 2
LSTM_WIDTH = 768  # by default, in each direction (Devlin et al. 2019, section 5.3)


@dataclass(frozen=True, kw_only=True)
class LayerMix:
    """The layers that are read, and how they become one vector per position."""

    layers: tuple[int, ...]
    how: Literal["concat", "sum", "weighted"] = "concat"


def mix_of(layers: Layers | Sequence[int], *, depth: int) -> LayerMix:
    """Resolves a recipe's `layers` for an encoder of `depth` layers; a list of indices is concatenated.

    Raises UserError for a layer that the encoder lacks.
    """
    if isinstance(layers, str) and layers.endswith("last-4") and depth < 4:
        raise UserError(f"layers = '{layers}' and this encoder has {depth}", f"Name some of 0 to {depth}: layers=[...]")
    if not isinstance(layers, str):
        how, indices = "concat", tuple(layers)
    else:
        how = next((kind for kind in ("sum", "weighted") if layers.startswith(kind)), "concat")
        single = {"embeddings": 0, "second-to-last": depth - 1, "last": depth}
        mixed_indices = range(1 if layers.endswith("all") else depth - 3, depth + 1)
        indices = (single[layers],) if layers in single else tuple(mixed_indices)
    lacking = [index for index in indices if not 0 <= index <= depth]
    if lacking or not indices:
        wanted = f"layer {lacking[0]}" if lacking else "no layer at all"
        raise UserError(
            f"layers = {layers!r} asks for {wanted}", f"This encoder has 0 (the embeddings) to {depth}, the last"
        )
    return LayerMix(layers=indices, how=how)  # type: ignore[arg-type]


class LayerReader(nn.Module):
    """Mixes hidden states of layers to one vector per position, or one per sequence.

    A weighted sum has softmax weights and a scale that are learned (Peters et al. 2018, equation 1). With a BiLSTM
    the sequence's vector is its two end states, else the mix at the first position.
    """

    def __init__(self, mix: LayerMix, *, width: int, bilstm: bool | int) -> None:
        super().__init__()
        self.mix = mix
        if mix.how == "weighted":
            self.weights = nn.Parameter(torch.zeros(len(mix.layers)))
            self.scale = nn.Parameter(torch.ones(()))
        mixed = width * len(mix.layers) if mix.how == "concat" else width
        lstm = LSTM_WIDTH if bilstm is True else int(bilstm)
        self.bilstm = BiLSTM(mixed, lstm) if lstm else None
        self.width = 2 * lstm if lstm else mixed

    def forward(self, states: Tensor, mask: Tensor, *, pooled: bool) -> Tensor:
        """`(batch, n, layers, width)` to `(batch, n, self.width)`, or if `pooled` to `(batch, self.width)`."""
        if self.mix.how == "concat":
            mixed = states.flatten(2)
        elif self.mix.how == "sum":
            mixed = states.sum(2)
        else:
            shares = self.scale * self.weights.softmax(0)
            mixed = torch.einsum("bnkw,k->bnw", states, shares)
        if self.bilstm is not None:
            return self.bilstm(mixed, mask, ends=pooled)  # type: ignore[no-any-return]
        return mixed[:, 0] if pooled else mixed


class BiLSTM(nn.Module):
    """Two layers of a BiLSTM, `width` in each direction.

    Each direction is a plain LSTM; the backward one reads each sequence reversed within its own length. On a CPU this
    trains faster than a bidirectional LSTM over a PackedSequence, with the same result.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        widths = [inputs] + [2 * width] * (LSTM_LAYERS - 1)
        self.ahead, self.back = nn.ModuleList(), nn.ModuleList()
        for size in widths:  # the order decides which weights each gets from the seed
            self.ahead.append(nn.LSTM(size, width, batch_first=True))
            self.back.append(nn.LSTM(size, width, batch_first=True))

    def forward(self, hidden: Tensor, mask: Tensor, *, ends: bool) -> Tensor:
        """`(batch, n, inputs)` to `(batch, n, 2 * width)`; with `ends` to the last state of each direction
        `(batch, 2 * width)`. `mask` `(batch, n)` is 0 after a sequence's end; values returned there are undefined.
        """
        lengths = mask.sum(1, keepdim=True).long()
        positions = torch.arange(hidden.shape[1], device=hidden.device)
        reversed_ = torch.where(positions < lengths, lengths - 1 - positions, positions)
        rows = torch.arange(hidden.shape[0], device=hidden.device).unsqueeze(1)
        for ahead, back in zip(self.ahead, self.back, strict=True):
            forward, backward = ahead(hidden)[0], back(hidden[rows, reversed_])[0][rows, reversed_]
            hidden = torch.cat([forward, backward], dim=-1)
        if ends:
            last = forward[rows, lengths - 1].squeeze(1)
            return torch.cat([last, backward[:, 0]], dim=-1)
        return hidden
