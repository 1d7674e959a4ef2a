"""Where the shards of a plan are predicted: in this process, in several of this machine, or as tasks of Ray."""

from typing import TYPE_CHECKING

from finetune.errors import UserError, nearest

if TYPE_CHECKING:
    from finetune.inference.model_source import ModelSource
    from finetune.inference.shards.work import ShardExecutor

RAY = "ray"


def require_executor(on: str | None, *, gpus_each: float | None = None, cpus_each: int | None = None) -> None:
    """Raises UserError for an executor that predicts no shards, and for the size of a task without one."""
    if on == "slurm":
        raise UserError(
            "`on` is 'slurm', which is for runs",
            "Start the same command on each machine of an allocation without `on`: they share the shards",
        )
    if on not in (None, RAY):
        raise UserError(f"`on` is '{on}'", f"{nearest(str(on), [RAY])}Give {RAY}")
    if on is None and (gpus_each, cpus_each) != (None, None):
        name = "cpus_each" if gpus_each is None else "gpus_each"
        raise UserError(f"`{name}` is for tasks of Ray", f"Add `on` {RAY}, or leave it out")


def shard_executor_of(
    on: str | None,
    model: "ModelSource",
    *,
    workers: int | None = None,
    gpus_each: float | None = None,
    cpus_each: int | None = None,
) -> "ShardExecutor | None":
    """What predicts with a model: None for this process alone. Needs torch.

    Raises UserError as `require_executor` does, and for numbers that are out of range.
    """
    from finetune.inference.shards.on_ray import ShardsOnRay
    from finetune.inference.shards.workers import Processes
    from finetune.machines.counts import require_numbers

    require_executor(on, gpus_each=gpus_each, cpus_each=cpus_each)
    if on == RAY:
        return ShardsOnRay(model=model, workers=workers, gpus_each=gpus_each, cpus_each=cpus_each)
    require_numbers(workers=workers)
    return Processes(model, workers) if workers is not None and workers > 1 else None
