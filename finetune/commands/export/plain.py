"""Encoders computed in a plain way, which a graph of any batch and length can hold: no kernels, no choice by length."""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.models.longformer.modeling_longformer import LongformerBaseModelOutput

from finetune.models.model import EncoderWithHead

MASKED = torch.finfo(torch.float32).min


def make_plain(model: EncoderWithHead) -> None:
    """Makes a model compute what a graph can hold, with the same weights. A BiLSTM is then one in the graph alone."""
    _make_encoder_plain(model.backbone.encoder)
    for module in model.modules():
        if isinstance(module, nn.LSTM):
            setattr(module, "forward", partial(_lstm, module))  # noqa: B010


def _lstm(self: nn.LSTM, hidden: Tensor) -> tuple[Tensor, None]:
    """ONNX's own operator, of one layer in one direction, since torch traces so many steps as the example has."""
    inputs, width = hidden.transpose(0, 1), self.hidden_size
    weights = [_by_gate(getattr(self, f"{name}_l0")) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    given = (inputs, weights[0].unsqueeze(0), weights[1].unsqueeze(0), torch.cat(weights[2:]).unsqueeze(0))
    shape = (inputs.shape[0], 1, inputs.shape[1], width)
    found = torch.onnx.ops.symbolic("LSTM", given, {"hidden_size": width}, dtype=hidden.dtype, shape=shape, version=14)
    return found.squeeze(1).transpose(0, 1), None


def _by_gate(weights: Tensor) -> Tensor:
    """Weights of the four gates in ONNX's order: input, output, forget, cell; torch has the output last."""
    enters, forgets, cell, leaves = weights.chunk(4)
    return torch.cat([enters, leaves, forgets, cell])


def _make_encoder_plain(encoder: PreTrainedModel) -> None:
    """Matrix products and a softmax alone."""
    if getattr(encoder.config, "attention_type", "") == "block_sparse":
        with torch.device("meta"):  # without new weights, which would be drawn
            encoder.set_attention_type("original_full")
        return
    encoder.set_attn_implementation("eager")
    if encoder.config.model_type == "longformer":
        _attend_densely(encoder)


def _attend_densely(encoder: Any) -> None:
    """Longformer with all scores and a mask, in place of chunks whose number a graph cannot know.

    Memory is of the square of the length.
    """
    encoder._pad_to_window_size = _unpadded
    encoder.encoder.forward = partial(_through_layers, encoder.encoder)
    for layer in encoder.encoder.layer:
        layer.attention.self.forward = partial(_attend, layer.attention.self)


def _unpadded(**inputs: Any) -> tuple[Any, ...]:
    """In the order of transformers' `_pad_to_window_size`, which would add so many tokens."""
    names = ("input_ids", "attention_mask", "token_type_ids", "position_ids", "inputs_embeds")
    return 0, *(inputs[name] for name in names)


def _through_layers(
    self: Any, hidden: Tensor, attention_mask: Tensor, output_hidden_states: bool = False, **_: Any
) -> LongformerBaseModelOutput:
    """The layers, without asking whether a token of this batch attends to all."""
    states = [hidden]
    for layer in self.layer:
        states.append(layer(states[-1], attention_mask=attention_mask)[0])
    every = tuple(states) if output_hidden_states else None
    return LongformerBaseModelOutput(last_hidden_state=states[-1], hidden_states=every)


def _attend(self: Any, hidden: Tensor, attention_mask: Tensor, **_: Any) -> tuple[Tensor]:
    """Attention of `hidden` `(batch, length, width)`: to the window and to tokens that attend to all, and of these to
    all tokens by weights of their own. `attention_mask` `(batch, length)` is negative at padding, positive at them.
    """
    padding, reads_all = attention_mask < 0, attention_mask > 0
    place = torch.arange(hidden.shape[1], device=hidden.device)
    near = (place.unsqueeze(0) - place.unsqueeze(1)).abs() <= self.one_sided_attn_window_size
    seen = (near | reads_all[:, None, None]) & ~padding[:, None, None]
    local = _product(self, hidden, seen, self.query, self.key, self.value)
    whole = _product(self, hidden, ~padding[:, None, None], self.query_global, self.key_global, self.value_global)
    return (torch.where(reads_all.unsqueeze(-1), whole, local),)


def _product(self: Any, hidden: Tensor, seen: Tensor, *layers: nn.Module) -> Tensor:
    """Attention `(batch, length, width)` to the tokens that are `seen` `(batch, 1, 1 or length, length)`."""
    query, key, value = (layer(hidden).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for layer in layers)
    scores = query @ key.transpose(2, 3) / self.head_dim**0.5
    shares = scores.masked_fill(~seen, MASKED).softmax(-1)
    return (shares @ value).transpose(1, 2).flatten(2)  # type: ignore[no-any-return]
