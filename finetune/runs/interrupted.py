"""Runs that were interrupted: folders with a log or checkpoints, but no record."""

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from finetune.data.paths import is_folder
from finetune.runs.events import logged
from finetune.runs.folder import HOLDER, RECORD, RunFolder, is_locked

ENDS = 65_536  # bytes that are read of each end of a log
RECENT = 5  # groups of updates that a rate is the mean of


@dataclass(frozen=True, kw_only=True)
class InterruptedRun:
    """A run without a record: what it has done, as far as its log says, and the update of its last checkpoint.

    `update` of `updates` and `epoch` of `epochs` are 0 where training had not begun; `checkpoint` is 0 without one.
    `last` is when it last wrote (UTC), `running` whether its process is alive; if so `where` is the machine, `rate` the
    examples a second and `left` the seconds that its updates will take, 0 where unknown.
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
    where: str = ""
    rate: float = 0.0
    left: float = 0.0


def interrupted_runs(out: Path) -> list[InterruptedRun]:
    """The unfinished runs under a results folder, by task and time."""
    tasks = sorted(filter(Path.is_dir, out.iterdir())) if is_folder(out) else []
    # Names are looked at first: 10,000 runs take a fraction of a second, in half the time of Path.
    paths = [run.path for task in tasks for run in os.scandir(task) if run.is_dir()]
    folders = [RunFolder(Path(path)) for path in paths if not os.path.exists(f"{path}/{RECORD}")]  # noqa: PTH110
    return sorted(map(_read, filter(is_unfinished, folders)), key=lambda run: (run.task, run.last))


def is_unfinished(folder: RunFolder) -> bool:
    """Whether a run was begun there, and has no record."""
    return not folder.record_file.is_file() and (folder.events.is_file() or any(_checkpoints(folder)))


def _read(folder: RunFolder) -> InterruptedRun:
    events = first_and_last_events(folder.events) if folder.events.is_file() else []
    plan: dict[str, Any] = ([{}] + [event for event in events if event["event"] == "training"])[-1]
    groups = [event for event in events if event["event"] == "updates"]
    last: dict[str, Any] = groups[-1] if groups else {}
    written = max(file.stat().st_mtime for file in (folder.events, folder.checkpoints, folder.path) if file.exists())
    update, updates = _number(last, "update") or _number(plan, "done"), _number(plan, "updates")
    epochs, where, recent = _number(plan, "epochs"), _holder(folder), groups[-RECENT:]
    count = sum(len(event.get("losses", ())) for event in recent)
    seconds = sum(float(event.get("seconds", 0)) for event in recent) / count if where and count else 0.0
    return InterruptedRun(
        task=folder.path.parent.name, id=folder.path.name, update=update, updates=updates, epochs=epochs,
        epoch=_number(last, "epoch"), checkpoint=max(_checkpoints(folder), default=0),
        last=datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"), running=bool(where), where=where,
        rate=_number(plan, "examples") * epochs / updates / seconds if seconds and updates else 0.0,
        left=(updates - update) * seconds,
    )  # fmt: skip


def _number(event: Mapping[str, Any], name: str) -> int:
    """A whole number of an event; 0 where it has none."""
    value = event.get(name)
    return value if isinstance(value, int) else 0


def _checkpoints(folder: RunFolder) -> Iterator[int]:
    """The updates of the checkpoints, whose names begin with them."""
    numbers = (file.name.partition("-")[0] for file in folder.checkpoints.glob("*.pt"))
    return map(int, filter(str.isdecimal, numbers))


def first_and_last_events(file: Path) -> list[dict[str, Any]]:
    """The events at the beginning and at the end of a log; lines that cannot be parsed are left out."""
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(0)
        lines = opened.read(ENDS).splitlines()
        opened.seek(max(0, size - ENDS))
        lines += opened.read(ENDS).splitlines()
    return [event for line in lines if (event := logged(line)) is not None]


def _holder(folder: RunFolder) -> str:
    """The machine whose process trains the run; empty where no process does, as far as this machine can tell."""
    try:
        words = (folder.path / HOLDER).read_text(encoding="utf-8").split()
        process, machine = int(words[1]), words[-1]
        if machine == platform.node():
            os.kill(process, 0)
        elif not is_locked(folder.path):
            return ""
    except PermissionError:  # another user's
        return platform.node()
    except (OSError, ValueError, IndexError):
        return ""
    return machine
