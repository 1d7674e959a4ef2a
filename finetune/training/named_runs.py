"""The run that a recipe means by a folder, an id, or the name of a task or of data, as its model or as its teacher."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from finetune.data.paths import exists, is_file, is_folder
from finetune.errors import UserError
from finetune.runs.folder import RunFolder, folder_name
from finetune.runs.lookup import RUNS_SHOWN, find_run, first_and_last_events, is_unfinished, no_run, runs_of
from finetune.runs.recipe import recipe_from_here
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.toml import flat
from finetune.task_types.resolved_run import ResolvedRun

MODEL, TEACHER = "model", "distil.teacher"  # the settings that may name a run


def has_model(folder: str | Path) -> bool:
    """Whether it is a folder with a model's config."""
    return is_file(Path(folder) / "config.json")


def meant_run(name: str, key: str, out: Path, one: ResolvedRun | None = None) -> tuple[RunFolder | None, str]:
    """The finished run that a setting names, and a note where there was a choice; None for the name of an encoder.

    A folder or an id is that run. The name of a task or of data is resolved once: a run with the same settings as
    `one`, finished or not, keeps the one that it began with, so that a command can be repeated. Else it is the latest
    run that is better than its baselines, and did not itself begin from, or learn of, another run of that name.

    Raises UserError for a run that is not finished or has no model, and as `find_run` and `runs_of` do.
    """
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises RuntimeError for an unknown user
    if has_model(path) or (key == MODEL and "/" in name and not exists(path)):  # an encoder here, or on the Hub
        return None, ""
    run, note = find_run(str(path), out), ""
    if run is None and (runs := runs_of(name, out)):
        run, note = _choose(name, key, runs, set() if one is None else _begun_alike(one, key, out))
    if run is not None:
        run.require_model()
        return run, note
    of_task = out / folder_name(name)
    folders = [path, *(sorted(of_task.iterdir()) if is_folder(of_task) else [])]
    folders += sorted(out.glob(f"*/{name}*")) if name.isalnum() else []
    if unfinished := next(filter(is_unfinished, map(RunFolder, folders)), None):
        raise UserError(
            f"{key}={name}: the run {unfinished.path} is not finished",
            "Repeat the command that began it, which resumes it, and then this one",
        )
    if is_file(path):
        raise no_run(name, out)
    return None, ""


def with_named(one: ResolvedRun, key: str, name: str, run: RunFolder, note: str) -> ResolvedRun:
    """The run with what was typed for it and its notes, where a name was resolved to an id."""
    if not note:
        return one
    words = tuple(word if not word.startswith(f"{key}=") else word.replace(name, run.path.name) for word in one.typed)
    return replace(one, typed=words, notes=(*one.notes, note))


def _choose(name: str, key: str, folders: list[RunFolder], begun: set[str]) -> tuple[RunFolder, str]:
    """One of the runs of a name, the latest of which comes first; of those in `begun`, where there are any."""
    runs = {folder.path.name: (folder, load_record(folder.record_file)) for folder in folders}
    earlier = [run for run in runs if run in begun]
    first = [run for run, (_, record) in runs.items() if not {*_starts(record)} & {*runs}]
    better = [run for run in first if runs[run][1].beats_baselines]
    chosen = [*earlier, *better, *first, *runs][0]
    folder, record = runs[chosen]
    score = f"{record.first_split} {record.headline} {record.metric(record.headline).shown(record.score)}"
    why = ", as in the run that began with these settings" if chosen in earlier else ""
    why = why or ("" if record.beats_baselines else ", no better than its best baseline")
    others = [run for run in runs if run != chosen]
    more = f" and {len(others) - RUNS_SHOWN} more" if len(others) > RUNS_SHOWN else ""
    also = f"; its other runs: {', '.join(others[:RUNS_SHOWN])}{more}" if others else ""
    return folder, f"{key}={name} is run {chosen} ({score}){why}{also}"


def _starts(record: RunRecord) -> Iterator[str]:
    """The ids of the runs from which a run began, and of its teachers."""
    lineage = record.lineage
    while lineage is not None:
        yield lineage.run
        lineage = lineage.lineage
    yield from _ids(record.recipe.get("distil", {}).get("teacher", ""))


def _begun_alike(one: ResolvedRun, key: str, out: Path) -> set[str]:
    """What the setting was in the runs of the task, finished or not, whose other settings are the same."""
    ours = flat(json.loads(recipe_from_here(one.recipe).model_dump_json(exclude_defaults=True)))
    folder, ids = out / folder_name(one.task.name), set[str]()
    for log in sorted(folder.glob("*/events.jsonl")) if is_folder(folder) else ():
        for event in first_and_last_events(log):
            recipe = event.get("recipe") if event["event"] == "start" else None
            settings: dict[str, Any] = flat(recipe) if isinstance(recipe, dict) else {}
            if key in settings and settings == {**ours, key: settings[key]}:
                ids.update(_ids(str(settings[key])))
    return ids


def _ids(folders: str) -> list[str]:
    return [Path(folder.strip()).name for folder in folders.split(",")]
