"""Encoders computed in a plain way, which a graph of any batch and length can hold: no kernels, no choice by length."""

from functools import partial

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from finetune.errors import UserError
from finetune.models.model import EncoderWithHead


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
    """Matrix products and a softmax alone. Raises UserError for Longformer, whose chunks of a text no graph counts."""
    if getattr(encoder.config, "attention_type", "") == "block_sparse":
        with torch.device("meta"):  # without new weights, which would be drawn
            encoder.set_attention_type("original_full")
        return
    if encoder.config.model_type == "longformer":
        raise UserError(
            "encoders of type 'longformer' cannot be exported (they read a text in chunks)",
            "Serve the run itself: finetune serve RUN",
        )
    encoder.set_attn_implementation("eager")
