"""Finds runs: by a folder, an id, a task or a data file; and the run whose encoder `model=` means."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.data.checksums import CHECKSUMS, content_hash, sha256_of
from finetune.data.paths import STORE, is_data, is_file, is_folder
from finetune.errors import UserError, nearest
from finetune.runs.folder import EXPORT, RECORD, RunFolder, data_name, folder_name, with_results
from finetune.runs.lineage import SEEDS, Lineage
from finetune.runs.listing import ListedRun, listed_runs
from finetune.runs.record_files import load_record, readable_records, record_files
from finetune.runs.seeds import settings_of

if TYPE_CHECKING:
    from finetune.runs.record import RunRecord

RUNS_SHOWN = 3


def find_run(target: str, out: Path) -> RunFolder | None:
    """The finished run of a folder, or of a prefix of an id; None where there is none."""
    if is_file(Path(target) / RECORD):
        return RunFolder(Path(target))
    files = sorted(out.glob(f"*/{target}*/{RECORD}")) if target.isalnum() and not is_data(target) else []
    if len(files) > 1:
        raise UserError(f"'{target}' is a prefix of {len(files)} run ids", "Give more of the id")
    return RunFolder(files[0].parent) if files else None


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
    if is_file(name) and is_data(name):
        return UserError(
            f"no finished run in {out} was trained on {name}", f"Train one: {with_results('run', name, out=out)}"
        )
    runs = [part for file in out.glob(f"*/*/{RECORD}") for part in (file.parent.name, file.parents[1].name)]
    near = nearest(name, [*dict.fromkeys([*near_files(name), *runs, *also])])
    return UserError(f"'{name}' names no finished run in {out}", f"{near}`finetune ls` lists the runs of `out`")


def near_files(name: str) -> list[str]:
    """The files and folders next to a path, as it would name them: those that a misspelled one may mean."""
    folder = Path(name).parent
    try:
        return [str(file) for file in sorted(folder.iterdir()) if file.name[0] != "."] if is_folder(folder) else []
    except OSError:
        return []


def latest_run(name: str, out: Path) -> RunFolder | None:
    """The first of the runs that `runs_of` finds; None where there is none."""
    return next(iter(runs_of(name, out)), None)


def runs_of(name: str, out: Path) -> list[RunFolder]:
    """The finished runs of a task, or of a file or folder of data that exists, the latest first; those on a share of
    the training rows (`train_share`) after all others.

    For data these are runs trained on the same content, or if there are none, on the same path, or if there are none,
    on rows in memory that were given its name. Raises UserError where there are only runs on other data of that name.
    """
    runs = _finished(data_name(name), out) if is_data(name) else []
    if not runs:
        return [run.folder for run in _finished(name, out)]  # a folder may have the name of a task
    from finetune.data.files import split_files

    data = split_files(Path(name))["train"] if is_folder(name) else Path(name)
    content = content_hash(data) if any(run.data_files for run in runs) else None
    is_of_data: tuple[Callable[[ListedRun], bool], ...] = (
        lambda run: content is not None and run.data_files.get("train") == content,
        lambda run: _origin(run).resolve() == data.resolve(),
        lambda run: STORE in _origin(run).parts,
    )
    for test in is_of_data:
        if mine := [run.folder for run in runs if test(run)]:
            return mine
    others = _first_of([f"{run.id} of {_origin(run)}, {run.finished}" for run in runs])
    raise UserError(
        f"no finished run in {out} was trained on {name}; runs on other data of that name: {others}",
        f"Name a run by its id, or train one: {with_results('run', name, out=out)}",
    )


def latest_words(name: str, runs: Sequence[RunFolder]) -> str:
    """A note on which of several runs a name was resolved to, with the others."""
    latest, *others = [f"{run.path.name} of {ListedRun.read(run.record_file).finished}" for run in runs]
    return f"{name}: the latest run is used, {latest}" + (f"; others: {_first_of(others)}" if others else "")


def _finished(task: str, out: Path) -> list[ListedRun]:
    """The finished runs of a task, the latest first, those on a share of the training rows after all others."""

    def order(run: ListedRun) -> tuple[bool, str, int, Path]:
        return float(run.recipe.get("train_share", 1.0)) >= 1, run.finished, run.file.stat().st_mtime_ns, run.file

    return sorted(listed_runs(record_files(out, folder_name(task))), key=order, reverse=True)


def _origin(run: ListedRun) -> Path:
    """The path of the training rows, relative to the folder that the run was started in."""
    return Path(run.data_origin.get("train", ""))


def _first_of(texts: Sequence[str]) -> str:
    more = len(texts) - RUNS_SHOWN
    return "; ".join(texts[:RUNS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def lineage_at(model: Path) -> Lineage | None:
    """The lineage of the run that saved an encoder in this folder; None for an encoder of no run."""
    folder, sums = RunFolder(model.parent), model / CHECKSUMS
    if model.name != folder.model.name or not folder.record_file.is_file():
        return None
    for _, record in readable_records([folder.record_file]):
        saved = record.files.get(f"{model.name}/{CHECKSUMS}")
        if saved is None or (sums.is_file() and sha256_of(sums) == saved):  # else it was changed since
            return lineage_of(record)
    return None


def lineage_of(record: "RunRecord") -> Lineage:
    """The lineage of what starts from the encoder of a run."""
    changed = [setting for setting in settings_of([record]) if setting.changed and setting.key not in ("model", "seed")]
    facts = {name: getattr(record, name) for name in ("task", "task_version", "data", "model", "weights", "precision")}
    return Lineage(
        run=record.id, seed=record.recipe[SEEDS[0]], settings={setting.key: setting.values[0] for setting in changed},
        lineage=record.lineage, **facts,
    )  # fmt: skip


def first_checkpoint(run: RunFolder) -> str:
    """The name of the encoder from which a run, and the runs before it, began."""
    return lineage_of(load_record(run.record_file)).checkpoint
