"""A layer of a BERT-like encoder on a CPU as two functions, each with its own backward pass.

More than half of a step in half precision was not products: autograd casts the input and the gradient of each product,
copies each head's queries, and reads the masks of dropout as bytes. Here the states stay in the precision of autocast,
queries and keys are laid out once for all heads, and a bias's gradient is a product. Sums are rounded in another order
than in transformers' layer; nothing else differs.

Both parts end with dropout, the residual and LayerNorm (Vaswani et al. 2017, figure 1; Devlin et al. 2019). States are
`(batch, length, width)`. Weights are the matrix and bias of each product in order, then the weight and bias of the
LayerNorm, these two in single precision. `backward` returns the gradients of the states, the mask and each weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import gelu

from finetune.models.kernels.cpu import gradients_of_product, product
from finetune.models.kernels.dropout import apply_mask, dropout_mask

Saved = tuple[Any, ...]  # tensors; None where there is no dropout
Gradients = tuple[Tensor, Tensor | None, list[Tensor]]


@dataclass(frozen=True, kw_only=True)
class AttentionPasses:
    """Self-attention with its output product. The first `queries` tokens have an output, and no others."""

    heads: int
    scaling: float
    queries: int
    weights_dropout: float
    dropout: float
    epsilon: float

    def forward(self, states: Tensor, mask: Tensor | None, weights: Sequence[Tensor]) -> tuple[Tensor, Saved]:
        """`mask` `(batch, 1 or heads, 1 or queries, length)` is added to the scores of all heads."""
        wq, bq, wk, bk, wv, bv, wo, bo, *norm = weights
        batch, length, width = states.shape
        tokens, first = states.reshape(-1, width), states[:, : self.queries].reshape(-1, width)
        query = _by_head(product(first, wq.t(), bias=bq), batch, self.heads)
        key = _by_head(product(tokens, wk.t(), bias=bk), batch, self.heads)
        value = _by_head(product(tokens, wv.t(), bias=bv), batch, self.heads)
        scores = _product(query, key.transpose(1, 2), self.scaling).float()
        if mask is not None:
            scores.view(batch, self.heads, -1, length).add_(mask)
        probs = torch.softmax(scores, -1).to(states.dtype)
        probs_mask, dropped, scale = _dropout(probs, self.weights_dropout)
        context = _by_token(_product(dropped, value, scale), batch)
        output_mask, dropped, scale = _dropout(product(context, wo.t(), bias=bo), self.dropout)
        output, *norm_saved = _norm(torch.add(first, dropped, alpha=scale), norm, self.epsilon)
        saved = (tokens, first, query, key, value, probs, context, probs_mask, output_mask, wq, wk, wv, wo)
        return output.view(batch, -1, width), (*saved, *norm_saved)

    def backward(self, gradient: Tensor, saved: Saved) -> Gradients:
        tokens, first, query, key, value, probs, context, probs_mask, output_mask, wq, wk, wv, wo, *norm = saved
        batch, scale = len(gradient), 1 / (1 - self.weights_dropout)
        grad_first, *grad_norm = _norm_backward(gradient.reshape(first.shape), norm)
        grad_output = _dropout_backward(grad_first, output_mask, self.dropout)
        grad_wo, grad_bo, grad_context = gradients_of_product(grad_output, context, wo)
        grad_context = _by_head(grad_context, batch, self.heads)
        dropped = probs if probs_mask is None else apply_mask(probs, probs_mask)
        grad_value = _product(dropped.transpose(1, 2), grad_context, scale)
        grad_probs = _dropout_backward(_product(grad_context, value.transpose(1, 2), scale), probs_mask)
        grad_scores = torch.ops.aten._softmax_backward_data(grad_probs, probs, -1, probs.dtype)
        grad_key = _product(grad_scores.transpose(1, 2), query, self.scaling)
        grad_query = _product(grad_scores, key, self.scaling)
        grad_wv, grad_bv, grad_tokens = gradients_of_product(_by_token(grad_value, batch), tokens, wv)
        grad_wk, grad_bk, grad_tokens = gradients_of_product(_by_token(grad_key, batch), tokens, wk, added=grad_tokens)
        grad_wq, grad_bq, grad_first = gradients_of_product(_by_token(grad_query, batch), first, wq, added=grad_first)
        grad_states = grad_tokens.view(batch, -1, gradient.shape[-1])
        grad_states[:, : self.queries] += grad_first.view(gradient.shape)
        grad_mask = grad_scores.view(batch, self.heads, *grad_scores.shape[1:])
        grad_products = (grad_wq, grad_bq, grad_wk, grad_bk, grad_wv, grad_bv, grad_wo, grad_bo)
        return grad_states, grad_mask, [*grad_products, *grad_norm]


@dataclass(frozen=True, kw_only=True)
class FeedForwardPasses:
    """Two products with GELU between them; `approximate` is torch's name of the kind of GELU."""

    approximate: str
    dropout: float
    epsilon: float

    def forward(self, states: Tensor, mask: Tensor | None, weights: Sequence[Tensor]) -> tuple[Tensor, Saved]:
        """No token reads another, so there is no mask."""
        w1, b1, w2, b2, *norm = weights
        inputs = states.reshape(-1, states.shape[-1])
        wide = product(inputs, w1.t(), bias=b1)
        activated = gelu(wide, approximate=self.approximate)
        output_mask, dropped, scale = _dropout(product(activated, w2.t(), bias=b2), self.dropout)
        output, *norm_saved = _norm(torch.add(inputs, dropped, alpha=scale), norm, self.epsilon)
        return output.view(states.shape), (inputs, wide, activated, output_mask, w1, w2, *norm_saved)

    def backward(self, gradient: Tensor, saved: Saved) -> Gradients:
        inputs, wide, activated, output_mask, w1, w2, *norm = saved
        grad_sum, *grad_norm = _norm_backward(gradient.reshape(inputs.shape), norm)
        grad_output = _dropout_backward(grad_sum, output_mask, self.dropout)
        grad_w2, grad_b2, grad_activated = gradients_of_product(grad_output, activated, w2)
        grad_wide = torch.ops.aten.gelu_backward(grad_activated, wide, approximate=self.approximate)
        grad_w1, grad_b1, grad_inputs = gradients_of_product(grad_wide, inputs, w1, added=grad_sum)
        return grad_inputs.view(gradient.shape), None, [grad_w1, grad_b1, grad_w2, grad_b2, *grad_norm]


def _by_head(tokens: Tensor, batch: int, heads: int) -> Tensor:
    """`(batch * n, width)` as `(batch * heads, n, width / heads)`."""
    return tokens.view(batch, -1, heads, tokens.shape[1] // heads).transpose(1, 2).flatten(0, 1)


def _by_token(heads: Tensor, batch: int) -> Tensor:
    """`(batch * heads, n, width / heads)` as `(batch * n, width)`."""
    return heads.view(batch, -1, *heads.shape[1:]).transpose(1, 2).reshape(batch * heads.shape[1], -1)


def _product(left: Tensor, right: Tensor, factor: float) -> Tensor:
    return torch.baddbmm(left.new_empty(1, 1, 1), left, right, beta=0, alpha=factor)


def _dropout(x: Tensor, p: float) -> tuple[Tensor | None, Tensor, float]:
    """(mask, masked x, scale) of dropout; the caller multiplies by the scale, within a product if it can."""
    if not p:
        return None, x, 1.0
    mask = dropout_mask(x, p)
    return mask, apply_mask(x, mask), 1 / (1 - p)


def _dropout_backward(gradient: Tensor, mask: Tensor | None, p: float = 0.0) -> Tensor:
    if mask is None:
        return gradient
    masked = apply_mask(gradient, mask)
    return masked.mul_(1 / (1 - p)) if p else masked


def _norm(inputs: Tensor, weights: Sequence[Tensor], epsilon: float) -> tuple[Tensor, ...]:
    weight, bias = weights
    output, mean, rstd = torch.native_layer_norm(inputs, inputs.shape[-1:], weight, bias, epsilon)
    return output, inputs, mean, rstd, weight, bias


def _norm_backward(gradient: Tensor, saved: Sequence[Tensor]) -> tuple[Tensor, ...]:
    inputs, mean, rstd, *weights = saved
    backward = torch.ops.aten.native_layer_norm_backward
    return tuple(backward(gradient, inputs, inputs.shape[-1:], mean, rstd, *weights, [True] * 3))


def computed(passes: Any, layers: Sequence[Any], states: Tensor, mask: Tensor | None) -> Tensor:
    """The output of a part of a layer; `layers` are its products and its LayerNorm."""
    weights = [weight for layer in layers for weight in (layer.weight, layer.bias)]
    return _Part.apply(passes, states, mask, *weights)  # type: ignore[no-any-return, no-untyped-call]


class _Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, passes: Any, states: Tensor, mask: Tensor | None, *weights: Tensor) -> Tensor:
        kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else states.dtype
        with torch.autocast("cpu", enabled=False):
            products = [weight.to(kind) for weight in weights[:-2]]
            output, saved = passes.forward(states.to(kind), mask, [*products, *weights[-2:]])
        ctx.passes, ctx.states_dtype = passes, states.dtype
        ctx.save_for_backward(*saved)
        return output  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        grad_states, grad_mask, grad_weights = ctx.passes.backward(gradient, ctx.saved_tensors)
        needed = zip((grad_mask, *grad_weights), ctx.needs_input_grad[2:], strict=True)
        return None, grad_states.to(ctx.states_dtype), *(grad.float() if needs else None for grad, needs in needed)
