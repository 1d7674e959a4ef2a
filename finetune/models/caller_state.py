"""What the calling program has set in torch, numpy and Python: as in a fresh process while we work, and then restored.

A run's id does not know them, and its result must not depend on them. torch seeds one generator for the whole process,
so two trainings in threads would draw from each other's: they work one after the other.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import RLock

import numpy as np
import torch

from finetune.models.feature import plain_numpy

ALONE = RLock()  # of the thread that trains or loads


@contextmanager
def plain_mode() -> Iterator[None]:
    """Leaves what the caller's thread is in: autocast, no_grad, inference mode, a default device, numpy's errors.

    Autocast's cache of weights in half precision is emptied by the outermost one alone, so that training within the
    caller's would compute with weights of earlier updates: it is left wholly.
    """
    devices = [kind for kind in ("cpu", "cuda", "mps") if torch.is_autocast_enabled(kind)]
    depth = torch.autocast_increment_nesting() - 1
    while torch.autocast_decrement_nesting() > 0:
        pass
    for kind in devices:
        torch.set_autocast_enabled(kind, False)
    torch.clear_autocast_cache()
    try:
        device = torch.device("cpu") if torch.get_default_device().type != "cpu" else nullcontext()
        with torch.inference_mode(False), torch.enable_grad(), device, plain_numpy():
            yield
    finally:
        for kind in devices:
            torch.set_autocast_enabled(kind, True)
        for _ in range(depth):
            torch.autocast_increment_nesting()


@contextmanager
def own_state() -> Iterator[None]:
    """The same, alone in this process, with torch's defaults; then generators and settings are the caller's again."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    with ALONE, plain_mode(), torch.random.fork_rng(devices=devices), _restored():
        python, numpy = random.getstate(), np.random.get_state()
        torch.set_default_dtype(torch.float32)
        torch.set_float32_matmul_precision("highest")
        use_deterministic(False)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)


def use_deterministic(wanted: bool, *, warn_only: bool = False) -> None:
    """As `torch.use_deterministic_algorithms`, which imports torch's compiler: two seconds, where nothing changes."""
    now = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    if now != (wanted, warn_only):
        torch.use_deterministic_algorithms(wanted, warn_only=warn_only)


@contextmanager
def kept_state() -> Iterator[None]:
    """What a callback sets in torch holds until it returns."""
    with torch.set_grad_enabled(torch.is_grad_enabled()), _restored():
        yield


@contextmanager
def _restored() -> Iterator[None]:
    dtype, products = torch.get_default_dtype(), torch.get_float32_matmul_precision()
    exact, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    cudnn = torch.backends.cudnn.deterministic
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_float32_matmul_precision(products)
        use_deterministic(exact, warn_only=warns)
        torch.backends.cudnn.deterministic = cudnn
