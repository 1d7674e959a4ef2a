"""Layer mixing for heads: concatenation, sum or scalar mix of hidden layers, optionally with a BiLSTM over it.

The feature-based approach of Devlin et al. 2019 (section 5.3, Table 7); it works with a trained encoder too. Layer 0 is
the embeddings, layer n the output of the n-th transformer layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from finetune.errors import UserError
from finetune.runs.recipe import Layers

LSTM_LAYERS = 2
LSTM_WIDTH = 768  # in each direction (section 5.3), where a recipe gives no other


@dataclass(frozen=True, kw_only=True)
class LayerMix:
    """Which layers are read, and how they are combined to one vector per position."""

    layers: tuple[int, ...]
    how: Literal["concat", "sum", "weighted"] = "concat"


def mix_of(layers: Layers | Sequence[int], *, depth: int) -> LayerMix:
    """Resolves a recipe's `layers` for an encoder of `depth` layers; a list of indices is concatenated.

    Raises UserError for a layer that the encoder lacks.
    """
    if isinstance(layers, str) and layers.endswith("last-4") and depth < 4:
        raise UserError(f"layers = '{layers}' and this encoder has {depth}", f"Name some of 0 to {depth}: layers=[...]")
    single = {"embeddings": 0, "second-to-last": depth - 1, "last": depth}
    if not isinstance(layers, str):
        mix = LayerMix(layers=tuple(layers))
    elif layers in single:
        mix = LayerMix(layers=(single[layers],))
    else:
        first = 1 if layers.endswith("all") else depth - 3
        kind: Literal["concat", "sum", "weighted"] = "concat" if layers.startswith("concat") else "sum"
        every = tuple(range(first, depth + 1))
        mix = LayerMix(layers=every, how="weighted" if layers.startswith("weighted") else kind)
    lacking = [index for index in mix.layers if not 0 <= index <= depth]
    if lacking or not mix.layers:
        wanted = f"layer {lacking[0]}" if lacking else "no layer at all"
        raise UserError(
            f"layers = {layers!r} asks for {wanted}", f"This encoder has 0 (the embeddings) to {depth}, the last"
        )
    return mix


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
        """`(batch, n, layers, width)` to `(batch, n, self.width)`, or `(batch, self.width)` where pooled."""
        mixed = self._mixed(states)
        if self.bilstm is not None:
            return self.bilstm(mixed, mask, ends=pooled)  # type: ignore[no-any-return]
        return mixed[:, 0] if pooled else mixed

    def _mixed(self, states: Tensor) -> Tensor:
        if self.mix.how == "concat":
            return states.flatten(2)
        if self.mix.how == "sum":
            return states.sum(2)
        shares = self.scale * self.weights.softmax(0)
        return torch.einsum("bnkw,k->bnw", states, shares)


class BiLSTM(nn.Module):
    """Two layers of some width in each direction, 768 in the paper.

    A direction is a plain LSTM: the backward one reads each sequence reversed within its own length. On a CPU
    that trains faster than one bidirectional LSTM over a PackedSequence, and the result is the same.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        widths = [inputs] + [2 * width] * (LSTM_LAYERS - 1)
        self.ahead, self.back = nn.ModuleList(), nn.ModuleList()
        for each in widths:
            self.ahead.append(nn.LSTM(each, width, batch_first=True))
            self.back.append(nn.LSTM(each, width, batch_first=True))

    def forward(self, hidden: Tensor, mask: Tensor, *, ends: bool) -> Tensor:
        """`(batch, n, inputs)` to `(batch, n, 2 * width)`, or with `ends` to the last state of each direction,
        `(batch, 2 * width)`. `mask` `(batch, n)` is 0 after a sequence's end; values returned there are undefined.
        """
        lengths = mask.sum(1, keepdim=True).long()
        places = torch.arange(hidden.shape[1], device=hidden.device)
        reversed_ = torch.where(places < lengths, lengths - 1 - places, places)
        rows = torch.arange(hidden.shape[0], device=hidden.device).unsqueeze(1)
        for ahead, back in zip(self.ahead, self.back, strict=True):
            forward, backward = ahead(hidden)[0], back(hidden[rows, reversed_])[0][rows, reversed_]
            hidden = torch.cat([forward, backward], dim=-1)
        if ends:
            last = forward[rows, lengths - 1].squeeze(1)
            return torch.cat([last, backward[:, 0]], dim=-1)
        return hidden
