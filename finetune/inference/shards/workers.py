"""Predicts the shards of a plan with several processes of this machine, which share the work by the shards' locks.

The processes are this module, started by the first: a pickle on standard input says what to do, and lines of JSON on
standard output what is done. A process ends with the one that started it, whose end closes its input.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from finetune.errors import UserError, first_line
from finetune.inference.model_source import ModelSource
from finetune.inference.shards.plan import Plan
from finetune.inference.shards.work import Failures, Reporter, predict_all

START = [sys.executable, "-m", "finetune.inference.shards.workers"]


@dataclass(frozen=True)
class Processes:
    """An executor: so many processes, each with its share of the processor's threads."""

    model: ModelSource
    workers: int

    def held(self, output: Path) -> AbstractContextManager[None]:
        """Nothing."""
        return nullcontext()

    def __call__(self, plan: Plan, report: Reporter) -> Failures:
        """Predicts all shards. Raises UserError where a process could not start, or all have been killed."""
        processes = [self._started(plan, number) for number in range(self.workers)]
        try:
            failures, errors = _followed(processes, report)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        if [shard for shard in plan.left() if shard.key not in failures]:
            codes = ", ".join(str(process.returncode) for process in processes)
            why = errors[0] if errors else f"they were killed (exit codes {codes}; is memory short?)"
            raise UserError(f"the workers ended before all was predicted: {why}", "The same command resumes")
        return failures

    def _started(self, plan: Plan, number: int) -> "subprocess.Popen[bytes]":
        threads = max(1, (os.cpu_count() or 1) // self.workers)
        process = subprocess.Popen(START, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # its exit code says why
            process.stdin.write(pickle.dumps((plan, self.model, threads, number)))
            process.stdin.flush()
        return process


def _followed(processes: "list[subprocess.Popen[bytes]]", report: Reporter) -> tuple[Failures, list[str]]:
    """Reports the rows that all processes predict, until they end: what is wrong by shard, and with processes."""
    failures: Failures = {}
    errors: list[str] = []
    for told in _told(processes):
        failures |= told.get("failures", {})
        errors += [told["error"]] if "error" in told else []
        if "rows" in told:
            report(told["shard"], told["rows"])
    return failures, errors


def _told(processes: "list[subprocess.Popen[bytes]]") -> Iterator[dict[str, Any]]:
    """Yields what the processes tell, until all have ended."""
    heard: SimpleQueue[bytes] = SimpleQueue()

    def hear(process: "subprocess.Popen[bytes]") -> None:
        for line in process.stdout or ():
            heard.put(line)
        heard.put(b"")

    for process in processes:
        Thread(target=hear, args=(process,), daemon=True).start()
    running = len(processes)
    while running:
        line = heard.get()
        running -= not line
        with suppress(ValueError):  # a line that a killed process did not finish
            yield json.loads(line or b"{}")


def run_worker() -> None:
    """A worker: predicts all shards of the plan that it is told of."""
    import torch

    plan, model, threads, number = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_input, daemon=True).start()
    torch.set_num_threads(threads)
    model = replace(model, device=device_of(number, model.device, torch.cuda.device_count()))
    try:
        failures = predict_all(model.load(), plan, lambda key, rows: _tell(shard=key, rows=rows))
        _tell(failures=failures)
    except UserError as error:
        _tell(error=str(error))
    except Exception as error:
        _tell(error=first_line(error))


def device_of(number: int, device: str | None, gpus: int) -> str | None:
    """The device of a worker: the next GPU for each of them, unless one device was named."""
    return f"cuda:{number % gpus}" if gpus > 1 and device in (None, "cuda") else device


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _tell(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run_worker()
