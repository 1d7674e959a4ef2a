"""A layer of a BERT-like encoder on a CPU as two functions, each with its own backward pass.

Of a step in half precision more than half was not products: autograd casts the input of each product and its gradient,
copies each head's queries, and reads the masks of dropout as bytes. Here the layer's states stay in the precision of
autocast, queries and keys are laid out once for all heads, and a bias's gradient is a product. Its sums are rounded in
another order than those of transformers' layer, nothing else differs.

Both parts end with dropout, the residual and LayerNorm (Vaswani et al. 2017, figure 1; Devlin et al. 2019). States are
`(batch, length, width)`. The weights are the matrix and bias of each product in their order, and then the two of the
LayerNorm, these in single precision. `backward` returns the gradients of the states, of the mask and of each weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu

from finetune.models.kernels.cpu import gradients_of_product, product
from finetune.models.kernels.dropout import kept, masked

Saved = tuple[Any, ...]  # tensors; None where there is no dropout
Gradients = tuple[Tensor, Tensor | None, list[Tensor]]


@dataclass(frozen=True, kw_only=True)
class AttentionPasses:
    """Self-attention with its output product. Only the first `queries` tokens have an output."""

    heads: int
    scaling: float
    queries: int
    weights_dropout: float
    dropout: float
    epsilon: float

    def forward(self, states: Tensor, mask: Tensor | None, weights: Sequence[Tensor]) -> tuple[Tensor, Saved]:
        """`mask` is added to scores, `(batch, 1 or heads, 1 or queries, length)`; its gradient is that of all heads."""
        wq, bq, wk, bk, wv, bv, wo, bo, *norm = weights
        batch, length, width = states.shape
        every, first = states.reshape(-1, width), states[:, : self.queries].reshape(-1, width)
        query = _by_head(product(first, wq.t(), bias=bq), batch, self.heads)
        key = _by_head(product(every, wk.t(), bias=bk), batch, self.heads)
        value = _by_head(product(every, wv.t(), bias=bv), batch, self.heads)
        scores = _product(query, key.transpose(1, 2), self.scaling).float()
        if mask is not None:
            scores.view(batch, self.heads, -1, length).add_(mask)
        chances = torch.softmax(scores, -1).to(states.dtype)
        kept_weights, dropped, scale = _dropped(chances, self.weights_dropout)
        context = _by_token(_product(dropped, value, scale), batch)
        kept_states, dropped, scale = _dropped(product(context, wo.t(), bias=bo), self.dropout)
        output, *of_norm = _normalised(torch.add(first, dropped, alpha=scale), norm, self.epsilon)
        saved = (every, first, query, key, value, chances, context, kept_weights, kept_states, wq, wk, wv, wo, *of_norm)
        return output.view(batch, -1, width), saved

    def backward(self, gradient: Tensor, saved: Saved) -> Gradients:
        every, first, query, key, value, chances, context, kept_weights, kept_states, wq, wk, wv, wo, *norm = saved
        batch, scale = len(gradient), 1 / (1 - self.weights_dropout)
        of_first, *of_norm = _of_normalised(gradient.reshape(first.shape), norm)
        of_wo, of_bo, of_context = gradients_of_product(_of_dropped(of_first, kept_states, self.dropout), context, wo)
        of_context = _by_head(of_context, batch, self.heads)
        dropped = chances if kept_weights is None else masked(chances, kept_weights)
        of_value = _product(dropped.transpose(1, 2), of_context, scale)
        of_chances = _of_dropped(_product(of_context, value.transpose(1, 2), scale), kept_weights)
        of_scores = torch.ops.aten._softmax_backward_data(of_chances, chances, -1, chances.dtype)
        of_key = _product(of_scores.transpose(1, 2), query, self.scaling)
        of_query = _product(of_scores, key, self.scaling)
        of_wv, of_bv, of_every = gradients_of_product(_by_token(of_value, batch), every, wv)
        of_wk, of_bk, of_every = gradients_of_product(_by_token(of_key, batch), every, wk, added=of_every)
        of_wq, of_bq, of_first = gradients_of_product(_by_token(of_query, batch), first, wq, added=of_first)
        of_states = of_every.view(batch, -1, gradient.shape[-1])
        of_states[:, : self.queries] += of_first.view(gradient.shape)
        of_mask = of_scores.view(batch, self.heads, *of_scores.shape[1:])
        return of_states, of_mask, [of_wq, of_bq, of_wk, of_bk, of_wv, of_bv, of_wo, of_bo, *of_norm]


@dataclass(frozen=True, kw_only=True)
class FeedForwardPasses:
    """Two products with GELU between them, `approximate` as torch has it."""

    approximate: str
    dropout: float
    epsilon: float

    def forward(self, states: Tensor, mask: Tensor | None, weights: Sequence[Tensor]) -> tuple[Tensor, Saved]:
        """Each token for itself, so without a mask."""
        w1, b1, w2, b2, *norm = weights
        given = states.reshape(-1, states.shape[-1])
        wide = product(given, w1.t(), bias=b1)
        bent = gelu(wide, approximate=self.approximate)
        kept_states, dropped, scale = _dropped(product(bent, w2.t(), bias=b2), self.dropout)
        output, *of_norm = _normalised(torch.add(given, dropped, alpha=scale), norm, self.epsilon)
        return output.view(states.shape), (given, wide, bent, kept_states, w1, w2, *of_norm)

    def backward(self, gradient: Tensor, saved: Saved) -> Gradients:
        given, wide, bent, kept_states, w1, w2, *norm = saved
        of_sum, *of_norm = _of_normalised(gradient.reshape(given.shape), norm)
        of_w2, of_b2, of_bent = gradients_of_product(_of_dropped(of_sum, kept_states, self.dropout), bent, w2)
        of_wide = torch.ops.aten.gelu_backward(of_bent, wide, approximate=self.approximate)
        of_w1, of_b1, of_given = gradients_of_product(of_wide, given, w1, added=of_sum)
        return of_given.view(gradient.shape), None, [of_w1, of_b1, of_w2, of_b2, *of_norm]


def _by_head(tokens: Tensor, batch: int, heads: int) -> Tensor:
    """`(batch * n, width)` as `(batch * heads, n, width / heads)`."""
    return tokens.view(batch, -1, heads, tokens.shape[1] // heads).transpose(1, 2).flatten(0, 1)


def _by_token(heads: Tensor, batch: int) -> Tensor:
    """`(batch * heads, n, width / heads)` as `(batch * n, width)`."""
    each = heads.view(batch, -1, *heads.shape[1:]).transpose(1, 2)
    return each.reshape(batch * heads.shape[1], -1)


def _product(left: Tensor, right: Tensor, factor: float) -> Tensor:
    return torch.baddbmm(left.new_empty(1, 1, 1), left, right, beta=0, alpha=factor)


def _dropped(x: Tensor, p: float) -> tuple[Tensor | None, Tensor, float]:
    """A mask, what it leaves of x, and the factor that is due to that."""
    if not p:
        return None, x, 1.0
    mask = kept(x, p)
    return mask, masked(x, mask), 1 / (1 - p)


def _of_dropped(gradient: Tensor, mask: Tensor | None, p: float = 0.0) -> Tensor:
    if mask is None:
        return gradient
    found = masked(gradient, mask)
    return found.mul_(1 / (1 - p)) if p else found


def _normalised(given: Tensor, weights: Sequence[Tensor], epsilon: float) -> tuple[Tensor, ...]:
    weight, bias = weights
    output, mean, rstd = torch.native_layer_norm(given, given.shape[-1:], weight, bias, epsilon)
    return output, given, mean, rstd, weight, bias


def _of_normalised(gradient: Tensor, saved: Sequence[Tensor]) -> tuple[Tensor, ...]:
    given, mean, rstd, *weights = saved
    backward = torch.ops.aten.native_layer_norm_backward
    return tuple(backward(gradient, given, given.shape[-1:], mean, rstd, *weights, [True] * 3))


def computed(passes: Any, layers: Sequence[Any], states: Tensor, mask: Tensor | None) -> Tensor:
    """The output of a part whose products and LayerNorm are `layers`."""
    weights = [weight for layer in layers for weight in (layer.weight, layer.bias)]
    return _Part.apply(passes, states, mask, *weights)  # type: ignore[no-any-return, no-untyped-call]


class _Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: Any, states: Tensor, mask: Tensor | None, *weights: Tensor) -> Tensor:
        kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
        with torch.autocast("cpu", enabled=False):
            products = [each.to(kind) for each in weights[:-2]]
            output, saved = passes.forward(states.to(kind), mask, [*products, *weights[-2:]])
        ctx.passes, ctx.kind = passes, states.dtype
        ctx.save_for_backward(*saved)
        return output  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        of_states, of_mask, of_weights = ctx.passes.backward(gradient, ctx.saved_tensors)
        wanted = zip((of_mask, *of_weights), ctx.needs_input_grad[2:], strict=True)
        return None, of_states.to(ctx.kind), *(each.float() if needs else None for each, needs in wanted)
