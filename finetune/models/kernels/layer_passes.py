"""The forward and the backward pass of an encoder's layer, in the precision of its weights.

Attention, feed-forward, and for each dropout, residual and LayerNorm (Vaswani et al. 2017, figure 1; Devlin et al.
2019): states `(batch, length, width)` to the same, or to those of the first tokens `(batch, queries, width)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import gelu

from finetune.models.kernels.dropout import kept, masked

Saved = tuple[Tensor | None, ...]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a layer computes with besides tensors. `queries` is how many first tokens have an output; `dropouts` are the
    probabilities in attention, after it, and after the feed-forward part; `norms` the epsilons of both LayerNorms.
    """

    heads: int
    scaling: float
    queries: int
    dropouts: tuple[float, float, float]
    norms: tuple[float, float]


def forward_pass(states: Tensor, mask: Tensor | None, facts: Facts, weights: Sequence[Tensor]) -> tuple[Tensor, Saved]:
    """The layer's output, and what `backward_pass` needs.

    `mask` is added to scores, `(batch, 1, 1, length)`; `weights` are matrix and bias of query, key, value, output
    and both feed-forward products, and then of both LayerNorms, these in single precision.
    """
    wq, bq, wk, bk, wv, bv, wo, bo, w1, b1, w2, b2, g1, c1, g2, c2 = weights
    batch, length, width = states.shape
    every, first = states.reshape(-1, width), states[:, : facts.queries].reshape(-1, width)
    query = _by_head(torch.addmm(bq, first, wq.t()), batch, facts.heads)
    key = _by_head(torch.addmm(bk, every, wk.t()), batch, facts.heads)
    value = _by_head(torch.addmm(bv, every, wv.t()), batch, facts.heads)
    scores = _product(query, key.transpose(1, 2), facts.scaling)
    if mask is not None:
        scores.view(batch, facts.heads, -1, length).add_(mask)
    chances = torch.softmax(scores, -1, dtype=torch.float32).to(states.dtype)
    in_attention, after, last = facts.dropouts
    mask_0, dropped, scale = _dropped(chances, in_attention)
    context = _by_token(_product(dropped, value, scale), batch)
    mask_1, dropped, scale = _dropped(torch.addmm(bo, context, wo.t()), after)
    sum_1 = torch.add(first, dropped, alpha=scale)
    inner, *stats_1 = torch.native_layer_norm(sum_1, (width,), g1, c1, facts.norms[0])
    wide = torch.addmm(b1, inner, w1.t())
    bent = gelu(wide)
    mask_2, dropped, scale = _dropped(torch.addmm(b2, bent, w2.t()), last)
    sum_2 = torch.add(inner, dropped, alpha=scale)
    output, *stats_2 = torch.native_layer_norm(sum_2, (width,), g2, c2, facts.norms[1])
    saved = (
        every, first, query, key, value, chances, context, sum_1, *stats_1, inner, wide, bent, sum_2, *stats_2,
        mask_0, mask_1, mask_2, wq, wk, wv, wo, g1, c1, w1, w2, g2, c2,
    )  # fmt: skip
    return output.view(batch, -1, width), saved


def backward_pass(facts: Facts, gradient: Tensor, saved: Saved) -> tuple[Tensor, list[Tensor]]:
    """The gradients of the states `(batch, length, width)` and of each weight, of that of the output."""
    (every, first, query, key, value, chances, context, sum_1, mean_1, rstd_1, inner, wide, bent, sum_2, mean_2, rstd_2,
     mask_0, mask_1, mask_2, wq, wk, wv, wo, g1, c1, w1, w2, g2, c2) = saved  # fmt: skip
    batch, _, width = gradient.shape
    in_attention, after, last = (1 / (1 - p) for p in facts.dropouts)
    of_sum, of_g2, of_c2 = _of_norm(gradient.reshape(-1, width), sum_2, mean_2, rstd_2, g2, c2)
    of_w2, of_b2, of_bent = _of_linear(_undropped(of_sum, mask_2, last), bent, w2)
    of_wide = torch.ops.aten.gelu_backward(of_bent, wide)
    of_w1, of_b1, of_inner = _of_linear(of_wide, inner, w1, added=of_sum)
    of_first, of_g1, of_c1 = _of_norm(of_inner, sum_1, mean_1, rstd_1, g1, c1)
    of_wo, of_bo, of_context = _of_linear(_undropped(of_first, mask_1, after), context, wo)
    of_context = _by_head(of_context, batch, facts.heads)
    dropped = chances if mask_0 is None else masked(chances, mask_0)
    of_value = _product(dropped.transpose(1, 2), of_context, in_attention)
    of_chances = _undropped(_product(of_context, value.transpose(1, 2), in_attention), mask_0, 1.0)
    of_scores = torch.ops.aten._softmax_backward_data(of_chances, chances, -1, chances.dtype)
    of_key = _product(of_scores.transpose(1, 2), query, facts.scaling)
    of_query = _product(of_scores, key, facts.scaling)
    of_wv, of_bv, of_every = _of_linear(_by_token(of_value, batch), every, wv)
    of_wk, of_bk, of_every = _of_linear(_by_token(of_key, batch), every, wk, added=of_every)
    of_wq, of_bq, of_first = _of_linear(_by_token(of_query, batch), first, wq, added=of_first)
    of_states = of_every.view(batch, -1, width)
    of_states[:, : facts.queries] += of_first.view(batch, -1, width)
    return of_states, [
        of_wq, of_bq, of_wk, of_bk, of_wv, of_bv, of_wo, of_bo, of_w1, of_b1, of_w2, of_b2, of_g1, of_c1, of_g2, of_c2,
    ]  # fmt: skip


def _by_head(tokens: Tensor, batch: int, heads: int) -> Tensor:
    """`(batch * n, width)` as `(batch * heads, n, width / heads)`."""
    return tokens.view(batch, -1, heads, tokens.shape[1] // heads).transpose(1, 2).flatten(0, 1)


def _by_token(heads: Tensor, batch: int) -> Tensor:
    """`(batch * heads, n, width / heads)` as `(batch * n, width)`."""
    return heads.unflatten(0, (batch, -1)).transpose(1, 2).reshape(batch * heads.shape[1], -1)


def _product(left: Tensor, right: Tensor, factor: float) -> Tensor:
    """The products of two stacks of matrices, times a factor, which is not rounded."""
    return torch.baddbmm(left.new_empty(1, 1, 1), left, right, beta=0, alpha=factor)


def _dropped(x: Tensor, p: float) -> tuple[Tensor | None, Tensor, float]:
    """A mask, what is left of x, and the factor that is due to it."""
    if not p:
        return None, x, 1.0
    mask = kept(x, p)
    return mask, masked(x, mask), 1 / (1 - p)


def _undropped(gradient: Tensor, mask: Tensor | None, factor: float) -> Tensor:
    """The gradient of what was dropped from."""
    if mask is None:
        return gradient
    found = masked(gradient, mask)
    return found if factor == 1.0 else found.mul_(factor)


def _of_norm(
    gradient: Tensor, given: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.native_layer_norm_backward(
        gradient, given, given.shape[-1:], mean, rstd, weight, bias, [True] * 3
    )
    return found


def _of_linear(
    gradient: Tensor, given: Tensor, weight: Tensor, added: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of a product's matrix, bias and input, to the last of which `added` is added."""
    bias = torch.mm(gradient.new_ones(1, len(gradient)), gradient)[0]  # a sum over rows is slower, above all in bf16
    states = torch.mm(gradient, weight) if added is None else torch.addmm(added, gradient, weight)
    return torch.mm(gradient.t(), given), bias, states
