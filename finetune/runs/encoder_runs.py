"""Resolves `model=` to a parent run, and its lineage."""

import os
from pathlib import Path

from finetune.data.checksums import CHECKSUMS, sha256_of
from finetune.data.paths import exists, is_file, is_folder
from finetune.errors import UserError
from finetune.runs.folder import RECORD, RunFolder, folder_name
from finetune.runs.lineage import SEEDS, Lineage
from finetune.runs.lookup import find_run, named_run, no_run
from finetune.runs.recipe_diff import settings_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record, readable_records

NOT_SETTINGS = ("task", "model", "seed")  # a lineage has fields of them


def has_model(folder: str | Path) -> bool:
    """Whether it is a folder with a model's config."""
    return is_file(Path(folder) / "config.json")


def encoder_run(name: str, out: Path) -> RunFolder | None:
    """The finished run that a model's name means: its folder, a prefix of its id, or the latest of a task or of data;
    None for a folder with a model, and for the name of an encoder.

    Raises UserError for a run that is not finished or has no model, and for a prefix of several ids.
    """
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises RuntimeError for an unknown user
    if has_model(path):
        return None
    on_hub = "/" in name and not exists(path)  # unless it is a task of a run of several
    found = RunFolder(path) if is_file(path / RECORD) else (find_run if on_hub else named_run)(name, out)
    if found is not None:
        found.require_model()
        return found
    if on_hub:
        return None
    if unfinished := _unfinished(path, name, out):
        raise UserError(
            f"model={name}: the run {unfinished[0]} is not finished",
            "Repeat the command that began it, which resumes it, and then this one",
        )
    if is_file(path):
        raise no_run(name, out)
    return None


def lineage_at(model: Path) -> Lineage | None:
    """The lineage of the run that saved an encoder in this folder; None for an encoder of no run."""
    folder = RunFolder(model.parent)
    if model.name != folder.model.name or not folder.record_file.is_file():
        return None
    for _, record in readable_records([folder.record_file], load_record):
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


def _unfinished(path: Path, name: str, out: Path) -> list[Path]:
    """The folders of unfinished runs that a name means: one itself, those of a prefix of an id, those of a task."""
    of_task = out / folder_name(name)
    found = [path, *(sorted(of_task.iterdir()) if is_folder(of_task) else [])]
    found += sorted(out.glob(f"*/{name}*")) if name.isalnum() else []
    return [folder for folder in found if _is_begun(RunFolder(folder))]


def _is_begun(folder: RunFolder) -> bool:
    return not folder.record_file.is_file() and (folder.events.is_file() or folder.checkpoints.is_dir())
