"""Where a process on any machine works as the command does that sent it the work: its folder, threads and device."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
USE_CPU = "ACCELERATE_USE_CPU"


@dataclass(frozen=True, kw_only=True)
class Place:
    """The folder where the command was started, from which paths are seen, and the threads of each thread pool.

    `on_cpu`: it was given no GPU, though it may see those of the machine; unless a device is named it uses the CPU.
    """

    folder: Path
    threads: int
    on_cpu: bool = False

    def enter(self) -> None:
        """Makes this process work there."""
        set_threads(self.threads)
        if self.on_cpu:
            os.environ[USE_CPU] = "true"
        with suppress(OSError):  # paths may be absolute; one that is not is an error of its own
            os.chdir(self.folder)


def set_threads(count: int) -> None:
    """Sets the sizes of all thread pools: of torch, of the libraries of matrix products, of tokenizers."""
    os.environ.update({name: str(count) for name in POOLS})
    torch.set_num_threads(count)
    threadpool_limits(limits=count)
