"""The calling program's state of torch, numpy and Python: defaults while we work, then restored.

A run's id does not know this state, so its result must not depend on it. torch has one generator for the whole
process: two trainings in threads would share it, so they run one after the other.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import RLock

import numpy as np
import torch

from finetune.models.feature import default_numpy_errors

ALONE = RLock()  # held by the thread that trains or loads


@contextmanager
def default_torch_modes() -> Iterator[None]:
    """Leaves the caller's autocast, no_grad, inference mode, default device and numpy's handling of errors.

    Only the outermost autocast empties the cache of weights in half precision. Training within the caller's would
    compute with weights of earlier updates, so all levels are left.
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
        with torch.inference_mode(False), torch.enable_grad(), device, default_numpy_errors():
            yield
    finally:
        for kind in devices:
            torch.set_autocast_enabled(kind, True)
        for _ in range(depth):
            torch.autocast_increment_nesting()


@contextmanager
def isolated_torch_state() -> Iterator[None]:
    """As `default_torch_modes`, with torch's default settings, and one thread at a time; then restores settings and
    generators.
    """
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    with ALONE, default_torch_modes(), torch.random.fork_rng(devices=devices), _restored():
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
    """`torch.use_deterministic_algorithms` where it changes something: it imports torch's compiler, two seconds."""
    now = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    if now != (wanted, warn_only):
        torch.use_deterministic_algorithms(wanted, warn_only=warn_only)


@contextmanager
def state_restored_after() -> Iterator[None]:
    """Restores torch's settings after a callback, which may change them."""
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
