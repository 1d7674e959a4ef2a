"""Finds runs: by a folder, an id, a task or a data file; the run whose encoder `model=` means; interrupted runs."""

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.checksums import CHECKSUMS, content_hash, sha256_of
from finetune.data.paths import STORE, is_data, is_file, is_folder
from finetune.errors import UserError, nearest
from finetune.runs.events import first_and_last_events
from finetune.runs.folder import EXPORT, HOLDER, RECORD, RunFolder, data_name, folder_name, is_locked, with_results
from finetune.runs.record_files import ListedRun, listed_runs, load_record, readable_records, record_files
from finetune.runs.seeds import changed_settings
from finetune.runs.settings import Lineage

if TYPE_CHECKING:
    from finetune.runs.record import RunRecord

RUNS_SHOWN = 3


def find_run(target: str, out: Path) -> RunFolder | None:
    """The finished run of a folder, or of a prefix of an id; None without one."""
    if is_file(Path(target) / RECORD):
        return RunFolder(Path(target))
    files = sorted(out.glob(f"*/{target}*/{RECORD}")) if target.isalnum() and not is_data(target) else []
    if len(files) > 1:
        raise UserError(f"'{target}' is a prefix of {len(files)} run ids", "Give more of the id")
    return RunFolder(files[0].parent) if files else None


def named_run(name: str, out: Path) -> RunFolder | None:
    """The run of a folder or of a prefix of an id, else the latest of a task or of data; None without one."""
    return find_run(name, out) or latest_run(name, out)


def require_run(name: str, out: Path) -> RunFolder:
    """The run of `named_run`. Raises UserError without one."""
    if (run := named_run(name, out)) is None:
        raise no_run(name, out)
    return run


def no_run(name: str, out: Path, *, also: Sequence[str] = ()) -> UserError:
    """The error for a name without a run, with the nearest of ids and tasks of runs, files and `also`.

    For a data file it has the command that trains on it.
    """
    if is_file(Path(name) / EXPORT):
        return UserError(f"{name} is an export, not a run", f"Name the run that it was made from, as its {EXPORT} does")
    if is_file(name) and is_data(name):
        return UserError(
            f"no finished run in {out} was trained on {name}", f"Train one: {with_results('run', name, out=out)}"
        )
    runs = [part for file in out.glob(f"*/*/{RECORD}") for part in (file.parent.name, file.parents[1].name)]
    near = nearest(name, [*dict.fromkeys([*near_files(name), *runs, *also])])
    return UserError(f"'{name}' names no finished run in {out}", f"{near}`finetune ls` lists the runs of `out`")


def near_files(name: str) -> list[str]:
    """The files and folders next to a path, one of which a misspelled path may mean."""
    folder = Path(name).parent
    try:
        return [str(file) for file in sorted(folder.iterdir()) if file.name[0] != "."] if is_folder(folder) else []
    except OSError:
        return []


def latest_run(name: str, out: Path) -> RunFolder | None:
    """The first run of `runs_of`; None without one."""
    return next(iter(runs_of(name, out)), None)


def runs_of(name: str, out: Path) -> list[RunFolder]:
    """The finished runs of a task, or of a file or folder of data that exists, the latest first.

    Runs on a share of the training rows (`train_share`) come last. For data the runs were trained on the same content;
    else on the same path; else on rows in memory with its name. Raises UserError for runs on other data of that name.
    """
    runs = _finished(data_name(name), out) if is_data(name) else []
    if not runs:
        return _folders(_finished(name, out))  # a folder may have the name of a task
    from finetune.data.files import split_files

    data = split_files(Path(name))["train"] if is_folder(name) else Path(name)
    content = content_hash(data) if any(run.data_files for run in runs) else None
    is_of_data: tuple[Callable[[ListedRun], bool], ...] = (
        lambda run: content is not None and run.data_files.get("train") == content,
        lambda run: _origin(run).resolve() == data.resolve(),
        lambda run: STORE in _origin(run).parts,
    )
    for test in is_of_data:
        if matching := _folders(filter(test, runs)):
            return matching
    others = _first_of([f"{run.id} of {_origin(run)}, {run.finished}" for run in runs])
    raise UserError(
        f"no finished run in {out} was trained on {name}; runs on other data of that name: {others}",
        f"Name a run by its id, or train one: {with_results('run', name, out=out)}",
    )


def latest_words(name: str, runs: Sequence[RunFolder]) -> str:
    """A note: the run that a name was resolved to, and the other runs of that name."""
    latest, *others = [f"{run.path.name} of {ListedRun.read(run.record_file).finished}" for run in runs]
    return f"{name}: the latest run is used, {latest}" + (f"; others: {_first_of(others)}" if others else "")


def _finished(task: str, out: Path) -> list[ListedRun]:
    def order(run: ListedRun) -> tuple[bool, str, int, Path]:
        return float(run.recipe.get("train_share", 1.0)) >= 1, run.finished, run.file.stat().st_mtime_ns, run.file

    return sorted(listed_runs(record_files(out, folder_name(task))), key=order, reverse=True)


def _folders(runs: Iterable[ListedRun]) -> list[RunFolder]:
    return [RunFolder(run.file.parent) for run in runs]


def _origin(run: ListedRun) -> Path:
    """The path of the training rows, relative to the folder that the run was started in."""
    return Path(run.data_origin.get("train", ""))


def _first_of(texts: Sequence[str]) -> str:
    more = len(texts) - RUNS_SHOWN
    return "; ".join(texts[:RUNS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def lineage_at(model: Path) -> Lineage | None:
    """The lineage of the run that saved an encoder in this folder; None for another encoder."""
    folder, sums = RunFolder(model.parent), model / CHECKSUMS
    if model.name != folder.model.name or not folder.record_file.is_file():
        return None
    for _, record in readable_records([folder.record_file]):
        saved = record.files.get(f"{model.name}/{CHECKSUMS}")
        if saved is None or (sums.is_file() and sha256_of(sums) == saved):  # else it was changed since
            return lineage_of(record)
    return None


def lineage_of(record: "RunRecord") -> Lineage:
    """The lineage of a run that starts from the encoder of this record's run."""
    changed = changed_settings([record]).items()
    settings = {key: value for key, (value,) in changed if key not in ("model", "seed")}
    facts = {name: getattr(record, name) for name in ("task", "task_version", "data", "model", "weights", "precision")}
    return Lineage(run=record.id, seed=record.recipe["seed"], settings=settings, lineage=record.lineage, **facts)


def first_checkpoint(run: RunFolder) -> str:
    """The name of the encoder from which the first run of a run's lineage started."""
    return lineage_of(load_record(run.record_file)).checkpoint


@dataclass(frozen=True, kw_only=True)
class InterruptedRun:
    """A run without a record: its progress by its log, and the update of its last checkpoint.

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
    """The run in a folder; None if none was begun."""
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
