"""Faster on a CPU: malloc keeps freed memory, products by the faster library, fast dropout, attention in two products.

Measured with benchmarks/cpu_parts.py. The results are the same except for the random numbers of dropout, and for
rounding where another library computes products.
"""

import ctypes
import os
import sys
from typing import Any

from torch import nn

from finetune.models.families import FAMILIES
from finetune.models.kernels.attention import ON_CPU, register_attention
from finetune.models.kernels.dropout import FastDropout
from finetune.models.kernels.products import take_fast_products

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
    if FAMILIES[encoder.config.model_type].kernels:
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
