"""Weights in half precision, cast once for all batches of a prediction."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_casts: ContextVar[dict[int, tuple[Tensor, Tensor]] | None] = ContextVar("_casts", default=None)


@contextmanager
def cast_once() -> Iterator[None]:
    """Within it `cast` keeps what it has made. No weight may change there."""
    token = _casts.set({})
    try:
        yield
    finally:
        _casts.reset(token)


def cast(weight: Tensor, kind: torch.dtype) -> Tensor:
    """A weight in this precision."""
    kept = _casts.get()
    if kept is None or weight.dtype == kind:
        return weight.to(kind)
    if id(weight) not in kept:
        kept[id(weight)] = weight, weight.to(kind)  # with the weight, so that no other has its id
    return kept[id(weight)][1]
