"""Predicts the shards of a plan with Ray tasks, which share the work by the shards' locks, as processes do.

Each task loads the model once and takes shards as long as any are left. A task whose worker dies is repeated by Ray,
and its shard resumes from its journal; until then other tasks may take it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from finetune.errors import UserError
from finetune.inference.model_source import ModelSource
from finetune.inference.shards.plan import Plan
from finetune.inference.shards.work import Failures, Reporter, predict_all
from finetune.machines.place import Place
from finetune.machines.ray_tasks import RayTasks, ended

SECONDS_BETWEEN_LOOKS = 1.0  # seconds between looks at what has ended
NOT_SHARED = "Name another folder for the output, which all see"
Found = Failures | UserError  # of a task: what is wrong by shard, or why it cannot predict at all


@dataclass(frozen=True, kw_only=True)
class ShardsOnRay(RayTasks):
    """An executor: tasks that predict with a model."""

    model: ModelSource

    def __post_init__(self) -> None:
        """Raises UserError for numbers below 1, for parts of several GPUs, and for a model on a GPU that tasks lack."""
        super().__post_init__()
        if self.gpus_each == 0 and self.model.device not in (None, "cpu"):
            raise UserError(
                f"`gpus_each` is 0, and the model is on {self.model.device}",
                "Give `device` cpu, or leave `gpus_each` out",
            )

    @contextmanager
    def held(self, output: Path) -> Iterator[None]:
        """A cluster, whose machines and size are checked before the model is loaded. Raises UserError where none can
        be used.
        """
        with self.cluster(output, remedy=NOT_SHARED) as ray:
            self.size(ray)
            yield

    def __call__(self, plan: Plan, report: Reporter) -> Failures:
        """Predicts all shards. Raises UserError where no cluster can be used, and where tasks end before all is done.

        When it is interrupted its tasks are killed, which loses nothing: their journals are on the disk.
        """
        with self.cluster(plan.folder, remedy=NOT_SHARED) as ray:
            size = self.size(ray)
            board = ray.remote(num_cpus=0)(_Board).remote()
            count = min(self.workers or max(1, sum(size.rooms(ray))), len(plan.left()))
            task = size.task(ray, _predict)
            sent = replace(plan, folder=plan.folder.resolve())
            under_way = [task.remote(self.model, sent, size.place(), board) for _ in range(count)]
            try:
                found = _followed(ray, list(under_way), board, report)
            finally:
                for reference in under_way:
                    ray.cancel(reference, force=True)
                ray.kill(board)
        return _failures(plan, found)


def _followed(ray: Any, under_way: list[Any], board: Any, report: Reporter) -> list[Found]:
    """What each task found. Reports the rows that all predict, until they end."""
    found: list[Found] = []
    while under_way:
        done, under_way = ray.wait(under_way, num_returns=1, timeout=SECONDS_BETWEEN_LOOKS)
        with suppress(ray.exceptions.RayError):  # its machine went away: rows are not shown then
            for key, rows in ray.get(board.taken.remote(), timeout=SECONDS_BETWEEN_LOOKS):
                report(key, rows)
        found += [ended(ray, reference, "a worker") for reference in done]
    return found


def _failures(plan: Plan, found: Sequence[Found]) -> Failures:
    """What is wrong by shard. Raises the UserError of a task where shards are left that nothing is wrong with."""
    failures = {key: why for one in found if not isinstance(one, UserError) for key, why in one.items()}
    error = next((one for one in found if isinstance(one, UserError)), None)
    if error is not None and any(shard.key not in failures for shard in plan.left()):
        raise error
    return failures


class _Board:
    """An actor that tasks tell how many rows of a shard are predicted."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def tell(self, key: str, rows: int) -> None:
        """Adds a report."""
        self.told.append((key, rows))

    def taken(self) -> list[tuple[str, int]]:
        """The reports since the last call."""
        told, self.told = self.told, []
        return told


def _predict(model: ModelSource, plan: Plan, place: Place, board: Any) -> Found:
    """A task of Ray: predicts the shards that are left, as long as there are any."""
    place.enter()
    if not plan.left():
        return {}
    try:
        return predict_all(model.load(), plan, lambda key, rows: board.tell.remote(key, rows) and None)
    except UserError as error:
        return error
