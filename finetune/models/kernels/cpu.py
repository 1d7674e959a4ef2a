"""Faster on a CPU: malloc keeps freed memory, products by the faster library, fast dropout, attention in two products.

Measured with benchmarks/cpu_parts.py. The results are the same except for the random numbers of dropout, and for
rounding where another library computes products: torch computes those in single precision by MKL, which leaves what
AVX-512 can do to processors of Intel (measured on a Zen 5: 210 of 460 GFLOP/s). oneDNN, by which torch computes half
precision, does not.
"""

import ctypes
import os
import platform
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from finetune.models.families import FAMILIES
from finetune.models.kernels.attention import ON_CPU, register_attention
from finetune.models.kernels.dropout import FastDropout

CPU_INFO = Path("/proc/cpuinfo")
LEAST_WORK = 1 << 22  # multiplications of a product: oneDNN compiles code for each shape, half a millisecond long


@cache
def is_faster_by_onednn() -> bool:
    """Whether torch has oneDNN, and the processor is one of AMD with AVX-512."""
    available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if not available or torch.backends.cpu.get_cpu_capability() != "AVX512":
        return False
    return "AuthenticAMD" in (CPU_INFO.read_text() if CPU_INFO.is_file() else platform.processor())


def take_fast_products(model: nn.Module) -> None:
    """Computes the products of a model's linear layers by this file where it is faster."""
    for module in model.modules() if is_faster_by_onednn() else ():
        if type(module) is nn.Linear:
            setattr(module, "forward", partial(_linear, module))  # noqa: B010 - which can be pickled


def product(left: Tensor, right: Tensor, *, bias: Tensor | None = None, added: Tensor | None = None) -> Tensor:
    """`(m, k)` times `(k, n)`, with a bias `(n,)` or a matrix `(m, n)` added."""
    if not _is_taken(left, columns=right.shape[1]):
        more = bias if added is None else added
        return torch.mm(left, right) if more is None else torch.addmm(more, left, right)
    if added is None:
        return torch.ops.mkldnn._linear_pointwise(left, right.t(), bias, "none", [], "")  # type: ignore[no-any-return]
    return torch.ops.mkldnn._linear_pointwise.binary(left, added, right.t(), bias, "add")  # type: ignore[no-any-return]


def gradients_of_product(
    gradient: Tensor, given: Tensor, weight: Tensor, added: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of a product's matrix `(n, k)`, bias `(n,)` and input `(m, k)`, to which `added` is added."""
    return product(gradient.t(), given), _over_rows(gradient), product(gradient, weight, added=added)


def _is_taken(left: Tensor, *, columns: int) -> bool:
    """Whether oneDNN is to compute a product; neither graphs that are exported nor torch.func know its operator."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False  # before a size is asked, which would be a guard of the graph
    of_cpu = left.dtype == torch.float32 and left.device.type == "cpu" and is_faster_by_onednn()
    return of_cpu and left.numel() * columns >= LEAST_WORK


def _over_rows(gradient: Tensor) -> Tensor:
    return torch.mm(gradient.new_ones(1, len(gradient)), gradient)[0]  # a sum over rows is slower, above all in bf16


def _linear(layer: nn.Linear, given: Tensor) -> Tensor:
    """A linear layer's output; in half precision as torch computes it."""
    if torch.is_autocast_enabled("cpu") or not _is_taken(given, columns=layer.out_features):
        return nn.Linear.forward(layer, given)
    return _Linear.apply(given, layer.weight, layer.bias)  # type: ignore[no-any-return, no-untyped-call]


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = given.reshape(-1, given.shape[-1]).contiguous()  # oneDNN has no strides that overlap
        ctx.save_for_backward(rows if ctx.needs_input_grad[1] else None, weight)
        shape = [*given.shape[:-1], len(weight)]
        found: Tensor = torch.ops.aten._unsafe_view(product(rows, weight.t(), bias=bias), shape)
        return found  # no view: it may be changed in place

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        each = gradient.reshape(-1, gradient.shape[-1])
        of_given, of_weight, of_bias = ctx.needs_input_grad
        return (
            product(each, weight).view(*gradient.shape[:-1], -1) if of_given else None,
            product(each.t(), rows) if of_weight else None,
            _over_rows(each) if of_bias else None,
        )


COMPILED = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32", "LRU_CACHE_CAPACITY": "16"}
"""How many matrix products, by shape, oneDNN and torch's layer above it keep the compiled code and buffers
of. They read it at their first use; their default, 1,024 each, takes several hundred MB in half precision.
"""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
DEFAULT = 128 * 1024  # bytes, of both


def speed_up(model: nn.Module, encoder: Any) -> None:
    """Replaces a model's dropout, linear layers and, in supported families, attention by those of this folder."""
    keep_memory()
    for name, count in COMPILED.items():
        os.environ.setdefault(name, count)
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Dropout:
                setattr(parent, name, FastDropout(child.p))
    take_fast_products(model)
    if FAMILIES[encoder.config.model_type].fast_attention:
        register_attention()
        encoder.set_attn_implementation(ON_CPU)


def keep_memory() -> None:
    """Makes glibc keep freed memory: else each step returns its large tensors and page-faults them in again."""
    _set_thresholds(trim_from=(1 << 31) - 1, map_from=1 << 30)


def release_memory() -> None:
    """Returns what glibc has kept to the system, and from now on what is freed."""
    _set_thresholds(trim_from=DEFAULT, map_from=DEFAULT)
    trim_memory()


def trim_memory() -> None:
    """Returns free memory to the system; otherwise blocks that live long leave holes, and memory grows."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _set_thresholds(*, trim_from: int, map_from: int) -> None:
    if (libc := _glibc()) is not None:
        libc.mallopt(M_MMAP_THRESHOLD, map_from)
        libc.mallopt(M_TRIM_THRESHOLD, trim_from)


def _glibc() -> ctypes.CDLL | None:
    """The C library, unless it is another, such as musl."""
    return libc if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt") else None
