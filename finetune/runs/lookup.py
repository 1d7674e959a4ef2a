"""Finds runs: by a folder, an id, a task or a data file; the run whose encoder `model=` means; those interrupted."""

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from finetune.data.checksums import CHECKSUMS, sha256_of
from finetune.data.files import is_data, split_files
from finetune.data.paths import is_file, is_folder
from finetune.data.source import content_hash
from finetune.errors import UserError, nearest
from finetune.runs.events import logged
from finetune.runs.folder import (
    EXPORT,
    HOLDER,
    RECORD,
    RunFolder,
    data_name,
    folder_name,
    is_locked,
    with_results,
)
from finetune.runs.lineage import SEEDS, Lineage
from finetune.runs.recipe_diff import settings_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record, readable_records
from finetune.storage.stored import STORE

RUNS_SHOWN = 3
ENDS = 65_536  # bytes that are read of each end of a log


def find_run(target: str, out: Path) -> RunFolder | None:
    """The finished run of a folder, or of a prefix of an id; None where there is none."""
    path = Path(target)
    if is_file(path / "record.json"):
        return RunFolder(path)
    found = sorted(out.glob(f"*/{target}*/record.json")) if target.isalnum() and not is_data(target) else []
    if len(found) > 1:
        raise UserError(f"'{target}' is a prefix of {len(found)} run ids", "Give more of the id")
    return RunFolder(found[0].parent) if found else None


def named_run(name: str, out: Path) -> RunFolder | None:
    """The run that a name means: of a folder or of a prefix of an id, else the latest of a task or of data; None
    where there is none.
    """
    return find_run(name, out) or latest_run(name, out)


def require_run(name: str, out: Path) -> RunFolder:
    """The run that a name means. Raises UserError where there is none."""
    if (run := named_run(name, out)) is None:
        raise no_run(name, out)
    return run


def no_run(name: str, out: Path, *, also: Sequence[str] = ()) -> UserError:
    """The error for a name without a run, with the nearest of ids and tasks of runs, files and `also`.

    That of a data file says how it is trained on.
    """
    if is_file(Path(name) / EXPORT):
        return UserError(f"{name} is an export, not a run", f"Name the run that it was made from, as its {EXPORT} does")
    runs = [part for file in out.glob("*/*/record.json") for part in (file.parent.name, file.parents[1].name)]
    if is_file(Path(name)) and is_data(name):
        return UserError(
            f"no finished run in {out} was trained on {name}", f"Train one: {with_results('run', name, out=out)}"
        )
    near = nearest(name, [*dict.fromkeys([*near_files(name), *runs, *also])])
    return UserError(f"'{name}' names no finished run in {out}", f"{near}`finetune ls` lists the runs of `out`")


def near_files(name: str) -> list[str]:
    """The files and folders next to a path, as it would name them: those that a misspelled one may mean."""
    folder = Path(name).parent
    try:
        there = sorted(folder.iterdir()) if is_folder(folder) else []
    except OSError:
        return []
    return [str(file) for file in there if file.name[0] != "."]


def latest_run(name: str, out: Path) -> RunFolder | None:
    """The first of the runs that `runs_of` finds; None where there is none."""
    return next(iter(runs_of(name, out)), None)


def runs_of(name: str, out: Path) -> list[RunFolder]:
    """The finished runs of a task, or of a file or folder of data that exists, the latest first; those on a share of
    the training rows (`train_share`) after all others.

    For data these are runs trained on the same content, or if there are none, on the same path, or if there are none,
    on rows in memory that were given its name. Raises UserError where there are only runs on other data of that name.
    """
    records = _finished(data_name(name), out) if is_data(name) else []
    if not records:
        return [folder for folder, _ in _finished(name, out)]  # a folder may have the name of a task
    data = split_files(Path(name))["train"] if is_folder(Path(name)) else Path(name)
    content = content_hash(data) if any(record.data_files for _, record in records) else ""
    is_of_data: tuple[Callable[[RunRecord], bool], ...] = (
        lambda record: bool(content) and record.data_files.get("train") == content,
        lambda record: _origin(record).resolve() == data.resolve(),
        lambda record: STORE in _origin(record).parts,
    )
    for test in is_of_data:
        if mine := [folder for folder, record in records if test(record)]:
            return mine
    others = _listed([f"{record.id} of {_origin(record)}, {record.finished}" for _, record in records])
    raise UserError(
        f"no finished run in {out} was trained on {name}; runs on other data of that name: {others}",
        f"Name a run by its id, or train one: {with_results('run', name, out=out)}",
    )


def latest_words(name: str, runs: Sequence[RunFolder]) -> str:
    """A note on which of several runs a name was resolved to, with the others."""
    latest, *others = [f"{folder.path.name} of {load_record(folder.record_file).finished}" for folder in runs]
    return f"{name}: the latest run is used, {latest}" + (f"; others: {_listed(others)}" if others else "")


def _finished(task: str, out: Path) -> list[tuple[RunFolder, RunRecord]]:
    """The finished runs of a task, the latest first, those on a share of the training rows after all others."""
    folder = out / folder_name(task)
    files = sorted(folder.glob("*/record.json")) if is_folder(folder) else []
    runs = [
        (float(record.recipe.get("train_share", 1.0)) >= 1, record.finished, file.stat().st_mtime_ns, file, record)
        for file, record in readable_records(files)
    ]
    return [(RunFolder(file.parent), record) for *_, file, record in sorted(runs, key=itemgetter(0, 1, 2, 3))[::-1]]


def _origin(record: RunRecord) -> Path:
    """The path of the training rows, relative to the folder that the run was started in."""
    return Path(record.data_origin.get("train", ""))


def _listed(some: Sequence[str]) -> str:
    more = len(some) - RUNS_SHOWN
    return "; ".join(some[:RUNS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


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
    return sorted(map(_interrupted, filter(is_unfinished, folders)), key=lambda run: (run.task, run.last))


def is_unfinished(folder: RunFolder) -> bool:
    """Whether a run was begun there, and has no record."""
    return not folder.record_file.is_file() and (folder.events.is_file() or any(_checkpoints(folder)))


def _interrupted(folder: RunFolder) -> InterruptedRun:
    events = first_and_last_events(folder.events) if folder.events.is_file() else []
    last: dict[str, dict[str, Any]] = {str(event["event"]): event for event in events}
    plan, group = last.get("training", {}), last.get("updates", {})
    written = max(file.stat().st_mtime for file in (folder.events, folder.checkpoints, folder.path) if file.exists())
    return InterruptedRun(
        task=folder.path.parent.name, id=folder.path.name, update=_number(group, "update") or _number(plan, "done"),
        updates=_number(plan, "updates"), epoch=_number(group, "epoch"), epochs=_number(plan, "epochs"),
        checkpoint=max(_checkpoints(folder), default=0), running=_is_running(folder),
        last=datetime.fromtimestamp(written, UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _number(event: Mapping[str, Any], name: str) -> int:
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


NOT_SETTINGS = ("task", "model", "seed")  # a lineage has fields of them


def lineage_at(model: Path) -> Lineage | None:
    """The lineage of the run that saved an encoder in this folder; None for an encoder of no run."""
    folder = RunFolder(model.parent)
    if model.name != folder.model.name or not folder.record_file.is_file():
        return None
    for _, record in readable_records([folder.record_file]):
        saved, sums = record.files.get(f"{model.name}/{CHECKSUMS}"), model / CHECKSUMS
        if saved is None or (sums.is_file() and sha256_of(sums) == saved):  # else it was changed since
            return lineage_of(record)
    return None


def lineage_of(record: RunRecord) -> Lineage:
    """The lineage of what starts from the encoder of a run."""
    changed = [one for one in settings_of([record]) if one.changed and one.key not in NOT_SETTINGS]
    return Lineage(
        run=record.id, task=record.task, task_version=record.task_version, data=record.data, model=record.model,
        weights=record.weights, precision=record.precision, seed=record.recipe[SEEDS[0]],
        settings={one.key: one.values[0] for one in changed}, lineage=record.lineage,
    )  # fmt: skip


def first_checkpoint(run: RunFolder) -> str:
    """The name of the encoder from which a run, and the runs before it, began."""
    return lineage_of(load_record(run.record_file)).checkpoint
