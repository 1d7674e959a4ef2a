"""The runs that settings name: `model=` a finished run, which gives its encoder, or a recipe, which is run first;
`distil.teacher=` finished runs.

Settings may follow the name of a recipe, as in a command: `model = "pretrain objective=ltr"`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from finetune.data.messages import first_of
from finetune.data.paths import exists, is_file, is_folder
from finetune.errors import UserError
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run, first_checkpoint, no_run, runs_of
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.runs.resolve import load_recipe
from finetune.runs.settings import recipe_files
from finetune.task_types import registry
from finetune.task_types.options import option_names
from finetune.task_types.parts import taught_classes
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Task
from finetune.task_types.types import type_of
from finetune.training.targets import expand_targets, find_recipes, split_arguments

MODEL, TEACHER = "model", "distil.teacher"  # settings that may name a run
LABELS_SHOWN = 6  # in a message
FirstRuns = dict[tuple[str, int], ResolvedRun]  # by the name of the model and the seed


def with_first_runs(planned: Sequence[ResolvedRun], out: Path) -> list[ResolvedRun]:
    """The runs; where `model` names a recipe, its run of the same seed is `first`; where `model` or a teacher is a
    finished run under `out`, its folder takes the place of its name.

    Raises UserError for a run without a model, for a recipe of several runs or whose model is itself, and for a teacher
    that does not fit.
    """
    first_runs: FirstRuns = {}
    distilled = [with_teachers(run, out) if run.recipe.distil.teachers else run for run in planned]
    return [_with_first(run, out, (), first_runs) for run in distilled]


def checkpoint_of(settings: Mapping[str, Any], out: Path) -> str:
    """The encoder from which the model that these settings name began; empty where they name none."""
    name, files = str(settings.get("model", "")), set[Path]()
    while (file_and_settings := recipe_named(name)) is not None:
        file, recipe_settings = file_and_settings
        if file in files:  # with_first_runs raises the error
            return ""
        files.add(file)
        name = str(recipe_settings.get("model", load_recipe(file, options=option_names).model))
    run = meant_run(name, MODEL, out)[0] if name else None
    return name if run is None else first_checkpoint(run)


def with_run(settings: dict[str, Any], out: Path) -> dict[str, Any]:
    """The settings with `model` as a folder or an encoder: of a run its folder, of a recipe the encoder from which it
    begins. For callers that need the vocabulary alone.
    """
    if not (name := str(settings.get("model") or "")):
        return settings
    run = meant_run(name, MODEL, out)[0] if recipe_named(name) is None else None
    return settings | {"model": checkpoint_of(settings, out) if run is None else str(run.path)}


def with_parents(planned: Sequence[ResolvedRun]) -> list[ResolvedRun]:
    """The runs and their first runs, each once, the first runs first."""
    return list({id(run): run for last in planned for run in [*last.before, last]}.values())


def meant_run(name: str, key: str, out: Path) -> tuple[RunFolder | None, str]:
    """The finished run that a setting names, and a note where there was a choice; None for the name of an encoder.

    A folder or an id names that run. A task or data names its latest run that is better than its baselines and began
    from no other run of that name. Raises UserError for a run without a model, and as `find_run` and `runs_of` do.
    """
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises RuntimeError for an unknown user
    if has_model(path) or (key == MODEL and "/" in name and not exists(path)):  # an encoder here, or on the Hub
        return None, ""
    run, note = find_run(str(path), out), ""
    if run is None and (runs := runs_of(name, out)):
        run, note = _latest(name, key, runs)
    if run is not None:
        run.require_model()
    elif is_file(path):
        raise no_run(name, out)
    return run, note


def has_model(folder: str | Path) -> bool:
    """Whether a folder has a model's config."""
    return is_file(Path(folder) / "config.json")


def _latest(name: str, key: str, folders: Sequence[RunFolder]) -> tuple[RunFolder, str]:
    """The run to take of `folders`, the latest first, and a note on it."""
    records = {folder.path.name: load_record(folder.record_file) for folder in folders}

    def rank(run: RunFolder) -> int:
        record = records[run.path.name]
        return 2 if {*_starts(record)} & {*records} else int(not record.beats_baselines)

    folder = min(folders, key=rank)
    chosen, record = folder.path.name, records[folder.path.name]
    score = f"{record.first_split} {record.headline} {record.metric(record.headline).shown(record.score)}"
    why = "" if record.beats_baselines else ", no better than its best baseline"
    others = f", of {len(records)} runs" if len(records) > 1 else ""
    return folder, f"{key}={name} is run {chosen} ({score}){why}{others}"


def _starts(record: RunRecord) -> Iterator[str]:
    """The ids of the runs from which a run began, and of its teachers."""
    lineage = record.lineage
    while lineage is not None:
        yield lineage.run
        lineage = lineage.lineage
    for folder in record.recipe.get("distil", {}).get("teacher", "").split(","):
        yield Path(folder.strip()).name


def with_named(planned: ResolvedRun, key: str, name: str, run: RunFolder, note: str) -> ResolvedRun:
    """The run; where a name was resolved to an id, with the id in its command, and the note."""
    if not note:
        return planned
    words = (word.replace(name, run.path.name) if word.startswith(f"{key}=") else word for word in planned.typed)
    return replace(planned, typed=tuple(words), notes=(*planned.notes, note))


def recipe_named(model: str) -> tuple[Path, dict[str, Any]] | None:
    """The recipe's file and the settings after it, in a `model` that names a recipe; None for any other `model`.

    Raises UserError for a .toml file that does not exist, and for words after a recipe that are no settings.
    """
    name, *words = [model] if _recipe_file(model) else model.split() or [""]
    if (file := _recipe_file(name)) is None:
        return None
    others, settings = split_arguments(words)
    if others or "seed" in settings:
        wrong, why = (others[0], "is not a setting") if others else ("seed", "is that of the run that starts from it")
        raise UserError(f"model={model}: '{wrong}' {why}", f"Give settings as in a command: {name} train.updates=500")
    return file, settings


def _recipe_file(name: str) -> Path | None:
    named = recipe_files().get(name)
    if (named is None and not name.endswith(".toml")) or has_model(name):
        return None
    return named if named is not None and not is_file(name) else find_recipes(name)[0].resolve()


def _with_first(planned: ResolvedRun, out: Path, chain: tuple[Path, ...], first_runs: FirstRuns) -> ResolvedRun:
    recipe = planned.recipe
    name, seed = recipe.model, recipe.seed
    file_and_settings = recipe_named(name)
    if file_and_settings is None:
        run, note = meant_run(name, MODEL, out)
        if run is None:
            return planned
        recipe = recipe.model_copy(update={"model": str(run.path)})
        return replace(with_named(planned, MODEL, name, run, note), recipe=recipe)
    if recipe.tokenizer:
        raise UserError(
            f"tokenizer={recipe.tokenizer} with model={name}, whose encoder has its own vocabulary",
            f'Leave it out, or give it to that recipe: model="{name} tokenizer={recipe.tokenizer}"',
        )
    file, settings = file_and_settings
    if file in chain:
        raise UserError(
            f"{file}: its model is {' -> '.join(step.name for step in (*chain[chain.index(file) :], file))}, itself",
            "Name an encoder as the model of one of them",
        )
    if (name, seed) not in first_runs:
        first, *others = expand_targets([str(file)], {**settings, "seed": seed})
        if others:
            raise UserError(
                f"{file}: is to be a model, and its [grid] makes {len(others) + 1} runs of a seed",
                "Name a recipe of one run, or run it and name one of its runs",
            )
        first_runs[name, seed] = _with_first(first, out, (*chain, file), first_runs)
    return replace(planned, first=first_runs[name, seed])


def with_teachers(student: ResolvedRun, out: Path) -> ResolvedRun:
    """The run with folders in place of the names in `distil.teacher`.

    Raises UserError for a task without classes, and for a teacher that is not a run, has other labels, or is no better
    than its own baselines.
    """
    distil = student.recipe.distil
    if not taught_classes(student.task):
        raise UserError(f"{student.task.name}: a teacher's classes are learned, and it has none", "Leave distil out")
    if distil.text and not is_file(Path(distil.text)):
        raise UserError(f"distil.text={distil.text}: there is no such file", "Name a file of rows without labels")
    folders = list[str]()
    for name in distil.teachers:
        run, note = meant_run(name, TEACHER, out)
        if run is None:
            error = no_run(name, out)
            what = "that folder is not a finished run" if is_folder(Path(name)) else error.what
            raise UserError(f"distil.teacher={name}: {what}", error.way_out)
        if "," in str(run.path):
            raise UserError(f"{run.path}: a comma separates teachers", "Keep results in a folder without one (`out`)")
        _require_fit(name, run, student)
        folders.append(str(run.path))
        student = with_named(student, TEACHER, name, run, note)
    distil = distil.model_copy(update={"teacher": ",".join(folders)})
    return replace(student, recipe=student.recipe.model_copy(update={"distil": distil}))


def _require_fit(name: str, run: RunFolder, student: ResolvedRun) -> None:
    """Raises UserError for a teacher of another task type, with other labels, or no better than its baselines."""
    record, task = load_record(run.record_file), student.task
    same_file = registry.in_file(student.recipe.task) and record.task == task.name
    tasks = (trained_on(run, task=student.default if same_file else None), task)
    kinds, labels = [[describe(each) for each in tasks] for describe in (type_name, taught_classes)]
    metric, split = record.metric(record.headline), record.first_split
    best = record.best_baseline(split, record.headline)
    if not labels[0] or kinds[0] != kinds[1]:
        what, remedy = f"is a {kinds[0]} model, and {task.name} is a {kinds[1]} task", "a teacher of the same task type"
    elif {*labels[0]} != {*labels[1]}:
        names = [first_of(each.label_names, LABELS_SHOWN) for each in tasks]
        what, remedy = f"has the labels {names[0]}, and {task.name} has {names[1]}", "a teacher with the same labels"
    elif best is not None and not record.beats_baselines and not student.recipe.distil.weak:
        raise UserError(
            f"distil.teacher={name}: its {split} {record.headline} is {metric.shown(record.score)}, and the best of "
            f"its own baselines has {metric.shown(best)}",
            "Train a better teacher; or set distil.weak=true to take this one",
        )
    else:
        return
    raise UserError(f"distil.teacher={name}: it {what}", f"Name {remedy}")


def type_name(task: Task) -> str:
    """The name of a task's type, such as `regression`; of one without, its class."""
    kind = type_of(task)
    return type(task).__name__ if kind is None else kind.name
