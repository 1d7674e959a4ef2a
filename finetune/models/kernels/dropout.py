"""Dropout on a CPU: masks from a fast generator, applied to the bits of a tensor.

torch's samples one number at a time on one core, and multiplies half precision by a byte through copies.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_generator = np.random.SFC64(0)
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def seed(value: int) -> None:
    """Sets the generator of dropout masks."""
    global _generator
    _generator = np.random.SFC64(value)


def repeatable() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Contexts for a computation and for its repetition, which draws the same dropout masks."""
    return nullcontext(), _drawing_from(_generator.state)


@contextmanager
def _drawing_from(state: Any) -> Iterator[None]:
    current = _generator.state
    _generator.state = state
    try:
        yield
    finally:
        _generator.state = current


def dropout_mask(x: Tensor, p: float) -> Tensor:
    """A mask of x's shape: integers as wide as x's numbers, 0 with probability p (to within 2^-16), else all bits."""
    numbers = _generator.random_raw((x.numel() + 3) // 4).view(np.int16)[: x.numel()]
    bits = (numbers >= round(p * 65536) - 32768).view(np.int8)
    return torch.from_numpy(-bits).to(_BITS[x.element_size()]).reshape(x.shape)  # numpy widens bytes slowly


def apply_mask(x: Tensor, mask: Tensor) -> Tensor:
    """x where a mask of `dropout_mask` has bits, else 0."""
    return (x.contiguous().view(mask.dtype) & mask).view(x.dtype)


def dropout(x: Tensor, p: float) -> Tensor:
    """Zeroes each element with probability p (to within 2^-16) and scales the others by 1 / (1 - p)."""
    return _Dropout.apply(x, p)  # type: ignore[no-any-return, no-untyped-call]


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        mask = dropout_mask(x, p)
        ctx.save_for_backward(mask)
        ctx.scale = 1 / (1 - p)
        return apply_mask(x, mask).mul_(ctx.scale)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return apply_mask(gradient, ctx.saved_tensors[0]).mul_(ctx.scale), None


class FastDropout(nn.Dropout):
    """nn.Dropout with masks from this file's generator."""

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p > 0 else x
