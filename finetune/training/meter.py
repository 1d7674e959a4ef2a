"""Measures what a run costs, in all its processes."""

import time

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from finetune.models.device import main_memory, peak_memory
from finetune.runs.record_parts import Cost


class Meter:
    """Starts with the run, in each of its processes."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.started = time.perf_counter()
        self.earlier = 0.0  # seconds of each process in interrupted attempts, which the first one knows

    def cost(self, accelerator: Accelerator) -> Cost:
        """The cost so far of all processes, each of which must call it."""
        earlier = self.earlier * accelerator.num_processes
        mine = Cost(
            device_seconds=time.perf_counter() - self.started + earlier,
            peak_memory_bytes=main_memory(),
            peak_device_bytes=peak_memory(self.device) if self.device.type == "cuda" else None,
        )
        return total(gather_object([mine]) if accelerator.num_processes > 1 else [mine])


def total(costs: list[Cost]) -> Cost:
    """The cost of processes that ran at the same time; what one of them does not know is not known."""
    memory = [each.peak_device_bytes for each in costs]
    return Cost(
        device_seconds=sum(each.device_seconds for each in costs),
        peak_memory_bytes=sum(each.peak_memory_bytes for each in costs),
        peak_device_bytes=None if None in memory else sum(filter(None, memory)),
    )
