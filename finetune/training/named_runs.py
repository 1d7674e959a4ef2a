"""The run that a recipe means by the name of a task or of data, as its model or as its teacher."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from finetune.data.paths import is_folder
from finetune.runs.folder import RunFolder, folder_name
from finetune.runs.interrupted import first_and_last_events
from finetune.runs.lookup import RUNS_SHOWN, find_run, runs_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.toml import flat
from finetune.runs.without_folders import recipe_from_here
from finetune.task_types.resolved_run import ResolvedRun

MODEL, TEACHER = "model", "distil.teacher"  # the settings that may name a run


def meant_run(name: str, one: ResolvedRun, key: str, out: Path) -> tuple[RunFolder | None, str]:
    """The run that a setting of a recipe names, and a note where there was a choice; None where it names none.

    A folder or an id is that run. The name of a task or of data is resolved once: a run with the same settings,
    finished or not, keeps the one that it began with, so that a command can be repeated. Else it is the latest run that
    is better than its baselines, and did not itself begin from, or learn of, another run of that name.

    Raises UserError as `runs_of` does.
    """
    if (run := find_run(name, out)) is not None:
        return run, ""
    runs = {folder.path.name: (folder, load_record(folder.record_file)) for folder in runs_of(name, out)}
    if not runs:
        return None, ""
    begun = {start for settings in _begun_alike(one, key, out) for start in settings}
    earlier = [run for run in runs if run in begun]
    first = [run for run, (_, record) in runs.items() if not {*_starts(record)} & {*runs}]
    better = [run for run in first if runs[run][1].beats_baselines]
    chosen = [*earlier, *better, *first, *runs][0]
    folder, record = runs[chosen]
    score = f"{record.first_split} {record.headline} {record.metric(record.headline).shown(record.score)}"
    why = "" if chosen in earlier else ", no better than its best baseline" if not record.beats_baselines else ""
    note = f"{key}={name} is run {chosen} ({score}){why}"
    note += ", as in the run that began with these settings" if chosen in earlier else ""
    others = [run for run in runs if run != chosen]
    more = f" and {len(others) - RUNS_SHOWN} more" if len(others) > RUNS_SHOWN else ""
    return folder, note + (f"; its other runs: {', '.join(others[:RUNS_SHOWN])}{more}" if others else "")


def with_named(one: ResolvedRun, key: str, name: str, run: RunFolder, note: str) -> ResolvedRun:
    """The run with what was typed for it and its notes, where a name was resolved to an id."""
    if not note:
        return one
    words = tuple(word if not word.startswith(f"{key}=") else word.replace(name, run.path.name) for word in one.typed)
    return replace(one, typed=words, notes=(*one.notes, note))


def _starts(record: RunRecord) -> Iterator[str]:
    """The ids of the runs from which a run began, and of its teachers."""
    lineage = record.lineage
    while lineage is not None:
        yield lineage.run
        lineage = lineage.lineage
    yield from _ids(record.recipe.get("distil", {}).get("teacher", ""))


def _ids(folders: str) -> list[str]:
    return [Path(folder.strip()).name for folder in folders.split(",")]


def _begun_alike(one: ResolvedRun, key: str, out: Path) -> Iterator[list[str]]:
    """What the setting was in each run of the task, finished or not, whose other settings are the same."""
    ours = _settings(json.loads(recipe_from_here(one.recipe).model_dump_json(exclude_defaults=True)), key)
    folder = out / folder_name(one.task.name)
    for log in sorted(folder.glob("*/events.jsonl")) if is_folder(folder) else ():
        for event in first_and_last_events(log):
            recipe = event.get("recipe") if event["event"] == "start" else None
            settings = flat(recipe) if isinstance(recipe, dict) else {}
            if key in settings and _settings(settings, key) == ours:
                yield _ids(str(settings[key]))


def _settings(table: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in flat(table).items() if name != key}
