"""Matrix products in single precision on a CPU, by the faster of torch's two libraries.

torch computes them by MKL, which leaves what AVX-512 can do to processors of Intel (measured on a Zen 5: 210 of
460 GFLOP/s). oneDNN, by which torch computes those in half precision, does not.
"""

import platform
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

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
