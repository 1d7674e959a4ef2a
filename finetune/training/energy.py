"""Energy that a device reports: an NVIDIA GPU through NVML, processors through RAPL."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from finetune.runs.events import Event, Watcher

POWERCAP = Path("/sys/class/powercap")
SAMPLE_SECONDS = 30.0  # a processor's counter starts again at 0 after some minutes


@dataclass(frozen=True, kw_only=True)
class Counter:
    """Reads joules; after `size` of them the counter starts again at 0."""

    read: Callable[[], float]
    size: float = 0.0


@dataclass
class Energy:
    """The joules that counters have counted since it was made; None once one could not be read."""

    counters: Sequence[Counter]
    joules: float | None = 0.0
    last: list[float] = field(init=False)
    at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Reads them."""
        self.last = [counter.read() for counter in self.counters]

    def sample(self) -> float | None:
        """Reads them again; the joules so far."""
        self.at = time.monotonic()
        try:
            found = [counter.read() for counter in self.counters]
        except Exception:  # of a file or a driver: a run does not end for it
            self.joules, self.counters = None, []
        if self.joules is not None:
            for counter, before, now in zip(self.counters, self.last, found, strict=True):
                self.joules += now - before + (counter.size if now < before else 0.0)
            self.last = found
        return self.joules

    def watching(self, watch: Watcher) -> Watcher:
        """A watcher that passes events on, and samples often enough."""

        def watched(event: Event) -> None:
            if time.monotonic() - self.at > SAMPLE_SECONDS:
                self.sample()
            watch(event)

        return watched


def energy_of(device: torch.device) -> Energy | None:
    """What counts a device's energy; None where it reports none.

    On the CPU it is that of the machine's processors, other programs included, which only its first process counts.
    """
    if device.type == "cuda":
        counters = _of_gpu(device)
    elif device.type == "cpu":
        counters = _of_processors()
    else:
        return None
    if not counters:
        return None
    if device.type == "cpu" and os.environ.get("LOCAL_RANK", "0") != "0":
        return Energy([])
    return Energy(counters)


def _of_processors() -> list[Counter]:
    """A counter for each processor that this user may read."""
    found = []
    for folder in sorted(POWERCAP.glob("intel-rapl:*")):
        if folder.name.count(":") > 1:  # a part of a processor
            continue
        try:
            size = int((folder / "max_energy_range_uj").read_text()) / 1e6
            (folder / "energy_uj").read_text()
        except (OSError, ValueError):
            continue
        found.append(Counter(read=lambda file=folder / "energy_uj": int(file.read_text()) / 1e6, size=size))  # type: ignore[misc]
    return found


def _of_gpu(device: torch.device) -> list[Counter]:
    """The GPU's counter, if NVML and its Python package are there and the GPU has one."""
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
        handle: Any = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except pynvml.NVMLError:
        return []
    return [Counter(read=lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1e3)]
