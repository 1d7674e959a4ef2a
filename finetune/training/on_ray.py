"""Trains each run as a Ray task, on the cluster that `ray.init` finds: at $RAY_ADDRESS, else this machine alone.

Ray starts a task again whose process died; its run resumes from its checkpoint. That a finished run is not trained
again is the run folder's doing, which all machines of a cluster have to see.
"""

import logging
import os
import platform
import signal
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.errors import UserError, first_line
from finetune.runs import interrupts
from finetune.runs.events import Note, Watcher, Working, unwatched
from finetune.runs.recipe import Recipe
from finetune.task_types.resolved_run import ResolvedRun, resolved_run
from finetune.training.run_many import Outcome, train_run
from finetune.training.run_options import RunOptions

RETRIES = 3  # times that a run is resumed whose process died
SECONDS_BETWEEN_LOOKS = 1.0  # at what has ended
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on every system: a local cluster listens on loopback alone
}


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """The module `ray`, connected. A connection that the caller has already is used, and stays.

    Raises UserError where Ray is not installed, does not start, or finds no cluster at $RAY_ADDRESS.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise UserError("Ray is not installed", "pip install 'bert-finetune[ray]'") from error
    if ray.is_initialized():
        yield ray
        return
    handler = signal.getsignal(signal.SIGTERM)  # which Ray replaces
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        ray.init(configure_logging=False, log_to_driver=False, include_dashboard=False)
    except Exception as error:  # Ray raises its own and built-in ones, such as ConnectionError and RuntimeError
        raise UserError(f"Ray did not start ({first_line(error)})", "Check RAY_ADDRESS, or leave `on` out") from error
    try:
        with suppress(ValueError):  # outside the main thread
            signal.signal(signal.SIGTERM, handler)
        yield ray
    finally:
        ray.shutdown()


@dataclass(frozen=True, kw_only=True)
class SentRun:
    """A run without its task, which is read again there: a task may come from a file that cannot be imported.

    `fields` are further ones of the ResolvedRun, `folder` is where the command was started, and `marker` a file in
    the results folder by which another machine knows it.
    """

    recipe: Recipe
    name: str
    task: str
    fields: dict[str, Any]
    options: RunOptions
    folder: Path
    marker: Path


def train_on_ray(runs: Sequence[ResolvedRun], options: RunOptions, watch: Watcher) -> list[Outcome]:
    """The outcome of each run, in order, within `ray_cluster`; a failed one does not stop the rest.

    A task takes a CPU core, and a GPU where the cluster has one, unless the runs are on the CPU. Raises what is not
    the user's to fix, and Interrupted after a signal, once the runs under way have written their checkpoints.
    """
    import ray

    found: dict[int, Outcome] = {}
    gpus = int(options.device != "cpu" and ray.cluster_resources().get("GPU", 0) > 0)
    task = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_train)
    with _marker(options.out) as marker, interrupts.deferred():
        under_way = {task.remote(_sent(one, options, marker)): number for number, one in enumerate(runs)}
        while under_way:
            watch(Working(what="runs", done=len(found), total=len(runs)))
            for ended in ray.wait(list(under_way), timeout=SECONDS_BETWEEN_LOOKS)[0]:
                number = under_way.pop(ended)
                outcome = found[number] = _outcome(ray, ended)
                words = f"failed: {outcome.what}" if isinstance(outcome, UserError) else "is done"
                watch(Note(f"{runs[number].name}, seed {runs[number].recipe.seed}: {words}"))
            if interrupts.asked():
                _stop(ray, list(under_way))
                where = f"with {len(found)} of {len(runs)} runs ended"
                raise interrupts.Interrupted(interrupts.Stopping().number, where)
    return [found[number] for number in range(len(runs))]


@contextmanager
def _marker(out: Path) -> Iterator[Path]:
    marker = out.resolve() / f".seen-{uuid.uuid4().hex}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        marker.touch()
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror})", "Give another folder with `out`") from error
    try:
        yield marker
    finally:
        marker.unlink(missing_ok=True)


def _sent(run: ResolvedRun, options: RunOptions, marker: Path) -> SentRun:
    return SentRun(
        recipe=run.recipe, name=run.name, task=run.task.name,
        fields={name: getattr(run, name) for name in ("encoder", "typed", "notes", "findings")},
        options=replace(options, out=options.out.resolve()), folder=Path.cwd(), marker=marker,
    )  # fmt: skip


def _train(sent: SentRun) -> Outcome:
    """The task: trains a run in the folder where the command was started."""
    interrupts.repeat_is_one()  # Ray repeats a request to stop every two seconds
    with suppress(OSError):  # paths may be absolute; one that is not is an error of its own
        os.chdir(sent.folder)
    if not sent.marker.is_file():
        return UserError(
            f"{sent.options.out}: the machine {platform.node()} does not see this folder",
            "Name a folder of a disk that all machines of the cluster share (`out`)",
        )
    try:
        planned = resolved_run(sent.recipe, name=sent.name).renamed(sent.task)
        return train_run(replace(planned, **sent.fields), sent.options, unwatched)
    except UserError as error:  # from reading the task again
        return error
    except interrupts.Interrupted as stopped:
        raise KeyboardInterrupt(str(stopped)) from None


def _outcome(ray: Any, ended: Any) -> Outcome:
    """The outcome of a task that ended. Raises what it raised."""
    try:
        found: Outcome = ray.get(ended)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None)
        if cause is not None and not isinstance(cause, ray.exceptions.RayError):
            raise cause from error
        return UserError(f"no result after {RETRIES} retries ({first_line(error)})", "The same command resumes it")
    return found


def _stop(ray: Any, under_way: Sequence[Any]) -> None:
    """Asks tasks to stop, and waits until their runs have written checkpoints."""
    for reference in under_way:
        ray.cancel(reference, recursive=False)
    for reference in under_way:
        with suppress(Exception, KeyboardInterrupt):
            ray.get(reference)
