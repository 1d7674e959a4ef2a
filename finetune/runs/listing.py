"""Lists of runs: those that are finished, by the few fields of a record that a list shows, and those interrupted."""

import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from finetune.data.paths import is_folder
from finetune.errors import UserError
from finetune.metrics.metric import Metric, find_metric
from finetune.runs.events import first_and_last_events
from finetune.runs.folder import HOLDER, RECORD, RunFolder, is_locked
from finetune.runs.lineage import Lineage
from finetune.runs.record_files import load_record, plain_record, record_files, warn_of_damage


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A finished run. Its fields are those of its record, and `score` is the headline score on the first split."""

    file: Path
    task: str
    id: str
    task_version: int
    model: str
    recipe: Mapping[str, Any]
    options: Mapping[str, Any]
    chosen: list[str]
    data_origin: Mapping[str, str]
    data_files: Mapping[str, str]
    lineage: Lineage | None
    metrics: Mapping[str, Mapping[str, Any]]
    headline: str
    score: float
    finished: str

    @classmethod
    def read(cls, file: Path) -> Self:
        """The run of a record. Raises UserError for one that is damaged."""
        try:
            return cls._of(file, plain_record(file))
        except (ValueError, LookupError, TypeError, AttributeError):  # not of the form that its checksum promises
            return cls._of(file, load_record(file).model_dump())

    @classmethod
    def _of(cls, file: Path, record: Mapping[str, Any]) -> Self:
        score = next(iter(record["scores"].values()))[record["headline"]]
        lineage, texts = record.get("lineage"), ("task", "id", "model", "headline", "finished")
        if not all(isinstance(record[name], str) for name in texts) or "seed" not in record["recipe"]:
            raise TypeError
        return cls(
            file=file, score=math.nan if score is None else float(score),
            lineage=None if lineage is None else Lineage.of(lineage),
            recipe=record["recipe"], task_version=record["task_version"], chosen=record.get("chosen", []),
            **{name: record.get(name, {}) for name in ("options", "data_origin", "data_files", "metrics")},
            **{name: record[name] for name in texts},
        )  # fmt: skip

    @property
    def folder(self) -> RunFolder:
        """The folder of the run."""
        return RunFolder(self.file.parent)

    def metric(self, name: str) -> Metric:
        """How a score of that name is shown and compared."""
        return find_metric(name, (Metric(key, **saved) for key, saved in self.metrics.items()))


def listed_runs(files: Iterable[Path]) -> list[ListedRun]:
    """The runs of these records, by task and time; a damaged one is left out with a DamagedRecord warning."""
    runs = list[ListedRun]()
    for file in files:
        try:
            runs.append(ListedRun.read(file))
        except UserError as error:
            warn_of_damage(error)
    return sorted(runs, key=lambda run: (run.task, run.finished))


def finished_runs(out: Path) -> list[ListedRun]:
    """All finished runs under a results folder, by task and time."""
    return listed_runs(record_files(out))


@dataclass(frozen=True, kw_only=True)
class InterruptedRun:
    """A run without a record: what it has done, as far as its log says, and the update of its last checkpoint.

    `update` of `updates` and `epoch` of `epochs` are 0 where training had not begun; `checkpoint` is 0 without one.
    `last` is when it last wrote (UTC), `running` whether its process is alive, as far as this machine can tell.
    """

    task: str
    id: str
    update: int
    updates: int
    epoch: int
    epochs: int
    checkpoint: int
    last: str
    running: bool


def interrupted_runs(out: Path) -> list[InterruptedRun]:
    """The unfinished runs under a results folder, by task and time."""
    tasks = sorted(filter(Path.is_dir, out.iterdir())) if is_folder(out) else []
    # Names are looked at first: 10,000 runs take a fraction of a second, in half the time of Path.
    paths = [run.path for task in tasks for run in os.scandir(task) if run.is_dir()]
    folders = [RunFolder(Path(path)) for path in paths if not os.path.exists(f"{path}/{RECORD}")]  # noqa: PTH110
    runs = [run for folder in folders if (run := _interrupted(folder)) is not None]
    return sorted(runs, key=lambda run: (run.task, run.last))


def _interrupted(folder: RunFolder) -> InterruptedRun | None:
    """The run in a folder; None where none was begun."""
    numbers = (file.name.partition("-")[0] for file in folder.checkpoints.glob("*.pt"))
    checkpoints = [*map(int, filter(str.isdecimal, numbers))]
    if not (checkpoints or folder.events.is_file()):
        return None
    events = first_and_last_events(folder.events)
    last: dict[str, dict[str, Any]] = {str(event["event"]): event for event in events}
    plan, group = last.get("training", {}), last.get("updates", {})
    written = max(file.stat().st_mtime for file in (folder.events, folder.checkpoints, folder.path) if file.exists())
    return InterruptedRun(
        task=folder.path.parent.name, id=folder.path.name, update=_number(group, "update") or _number(plan, "done"),
        updates=_number(plan, "updates"), epoch=_number(group, "epoch"), epochs=_number(plan, "epochs"),
        checkpoint=max(checkpoints, default=0), running=_is_running(folder),
        last=datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _number(event: Mapping[str, Any], name: str) -> int:
    value = event.get(name)
    return value if isinstance(value, int) else 0


def _is_running(folder: RunFolder) -> bool:
    try:
        words = (folder.path / HOLDER).read_text(encoding="utf-8").split()
        if words[-1] != platform.node():
            return is_locked(folder.path)
        os.kill(int(words[1]), 0)
    except PermissionError:  # another user's
        return True
    except (OSError, ValueError, IndexError):
        return False
    return True
