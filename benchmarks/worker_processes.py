"""Runs side by side, as worker processes that share a GPU: without Ray, which a machine may not have."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import torch

from finetune.errors import UserError
from finetune.runs.events import Watcher, unwatched
from finetune.runs.recipe import Recipe
from finetune.task_types.resolved_run import ResolvedRun, resolved_run
from finetune.training.run_many import Outcome, TrainRuns, train_run
from finetune.training.run_options import RunOptions


@contextmanager
def worker_processes(workers: int) -> Iterator[TrainRuns]:
    """Trains runs in a pool of so many processes, which end with the context."""
    threads = max(1, (os.cpu_count() or 1) // workers)
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (threads,)) as pool:

        def train(runs: Sequence[ResolvedRun], options: RunOptions, _: Watcher) -> list[Outcome]:
            started = [pool.submit(_train, one.recipe, one.name, one.encoder, options) for one in runs]
            return [_outcome(future) for future in started]

        yield train


def _train(recipe: Recipe, name: str, encoder: Path | None, options: RunOptions) -> Outcome:
    return train_run(replace(resolved_run(recipe, name=name), encoder=encoder), options, unwatched)


def _outcome(future: "Future[Outcome]") -> Outcome:
    """The outcome of a run; one whose process dies, of memory or else, failed."""
    try:
        return future.result()
    except Exception as error:  # whatever it was, the other runs are worth keeping
        return UserError(f"{type(error).__name__}: {error}", "Give the same command again")
