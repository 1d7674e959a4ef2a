"""Faster on a CPU: malloc keeps freed memory, products by the faster library, fast dropout, attention in two products.

Measured with benchmarks/cpu_parts.py. Results are the same except for the random numbers of dropout, and rounding where
another library computes products. torch computes fp32 products by MKL, which uses AVX-512 on processors of Intel alone
(measured on a Zen 5: 210 of 460 GFLOP/s); oneDNN, torch's library for half precision, uses it on all.
"""

import ctypes
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
    """Makes a model's linear layers compute their products by oneDNN where that is faster."""
    for module in model.modules() if is_faster_by_onednn() else ():
        if type(module) is nn.Linear:
            setattr(module, "forward", partial(_linear, module))  # noqa: B010 - which can be pickled


def product(left: Tensor, right: Tensor, *, bias: Tensor | None = None, added: Tensor | None = None) -> Tensor:
    """`(m, k)` times `(k, n)`, with a bias `(n,)` or a matrix `(m, n)` added."""
    if not _is_taken(left, columns=right.shape[1]):
        addend = bias if added is None else added
        return torch.mm(left, right) if addend is None else torch.addmm(addend, left, right)
    if added is None:
        return torch.ops.mkldnn._linear_pointwise(left, right.t(), bias, "none", [], "")  # type: ignore[no-any-return]
    return torch.ops.mkldnn._linear_pointwise.binary(left, added, right.t(), bias, "add")  # type: ignore[no-any-return]


def gradients_of_product(
    gradient: Tensor, inputs: Tensor, weight: Tensor, added: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of a product's matrix `(n, k)`, bias `(n,)` and input `(m, k)`; `added` `(m, k)` to the last."""
    return product(gradient.t(), inputs), _over_rows(gradient), product(gradient, weight, added=added)


def _is_taken(left: Tensor, *, columns: int) -> bool:
    # Graphs that are exported and torch.func lack oneDNN's operator. Asking for a size would put a guard into a graph.
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    on_cpu = left.dtype == torch.float32 and left.device.type == "cpu" and is_faster_by_onednn()
    return on_cpu and left.numel() * columns >= LEAST_WORK


def _over_rows(gradient: Tensor) -> Tensor:
    return torch.mm(gradient.new_ones(1, len(gradient)), gradient)[0]  # a sum over rows is slower, above all in bf16


def _linear(layer: nn.Linear, inputs: Tensor) -> Tensor:
    if torch.is_autocast_enabled("cpu") or not _is_taken(inputs, columns=layer.out_features):
        return nn.Linear.forward(layer, inputs)
    return _Linear.apply(inputs, layer.weight, layer.bias)  # type: ignore[no-any-return, no-untyped-call]


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        rows = inputs.reshape(-1, inputs.shape[-1]).contiguous()  # oneDNN takes no strides that overlap
        ctx.save_for_backward(rows if ctx.needs_input_grad[1] else None, weight)
        # Not `view`: autograd refuses changes in place of a view that a function returns.
        return torch.ops.aten._unsafe_view(product(rows, weight.t(), bias=bias), [*inputs.shape[:-1], len(weight)])  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = ctx.saved_tensors
        grad_rows = gradient.reshape(-1, gradient.shape[-1])
        needs_inputs, needs_weight, needs_bias = ctx.needs_input_grad
        return (
            product(grad_rows, weight).view(*gradient.shape[:-1], -1) if needs_inputs else None,
            product(grad_rows.t(), rows) if needs_weight else None,
            _over_rows(grad_rows) if needs_bias else None,
        )


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
IN_USE = {4: "hblkhd", 7: "uordblks"}  # of its ten numbers: bytes in mapped blocks, and in the others
DEFAULT = 128 * 1024  # bytes, of both


def speed_up(model: nn.Module, encoder: Any) -> None:
    """Replaces a model's dropout, its linear layers and, in supported families, its attention by faster ones."""
    keep_memory()
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Dropout:
                setattr(parent, name, FastDropout(child.p))
    take_fast_products(model)
    if FAMILIES[encoder.config.model_type].fast_attention:
        register_attention()
        encoder.set_attn_implementation(ON_CPU)


def keep_memory() -> None:
    """Makes glibc keep freed memory: else each step returns its large tensors to the system and fetches them again."""
    _set_thresholds(trim_from=(1 << 31) - 1, map_from=1 << 30)


def release_memory() -> None:
    """Returns memory that glibc keeps to the system, now and when more is freed."""
    _set_thresholds(trim_from=DEFAULT, map_from=DEFAULT)
    trim_memory()


def trim_memory() -> None:
    """Returns free memory to the system; else long-lived blocks leave holes, and memory grows."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


class MallocInfo(ctypes.Structure):
    """`struct mallinfo2` of glibc's malloc.h, with the names that are read."""

    _fields_ = [(IN_USE.get(i, f"other{i}"), ctypes.c_size_t) for i in range(10)]


def allocated_memory() -> int:
    """The bytes that the program holds of malloc's memory; 0 where it cannot be asked."""
    libc = _glibc()
    if libc is None or not hasattr(libc, "mallinfo2"):
        return 0
    libc.mallinfo2.restype = MallocInfo
    info = libc.mallinfo2()
    return int(info.uordblks + info.hblkhd)


def _set_thresholds(*, trim_from: int, map_from: int) -> None:
    if (libc := _glibc()) is not None:
        libc.mallopt(M_MMAP_THRESHOLD, map_from)
        libc.mallopt(M_TRIM_THRESHOLD, trim_from)


def _glibc() -> ctypes.CDLL | None:
    return libc if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt") else None
