"""The commands of a diagnosis: what was typed for a run, with one thing changed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.analysis.diagnosis.cause import Words
from finetune.data.files import is_data
from finetune.runs.folder import RunFolder
from finetune.runs.recipe import load_recipe
from finetune.runs.recipe_diff import DEFAULTS, settings_of
from finetune.runs.record import RunRecord
from finetune.runs.toml import flat, typed_settings
from finetune.task_types.own_data import OPTIONS

OPTION, DATA = "options.", "--data"
RECIPES = Path(__file__).parents[2] / "recipes"


def run_again(
    record: RunRecord, folder: RunFolder | None, changes: Mapping[str, Any], *, without: Sequence[str] = ()
) -> Words:
    """The words that give the run again with these settings changed, and `without` others, `train.` all of a table's;
    empty where its recipe cannot be named.

    They are what was typed for it; where a grid gave it, or it is older, its own recipe file or its data with all
    settings that differ from their defaults.
    """
    words, dropped = _typed(record, folder), (*changes, *without)
    kept = [word for word in words[1:] if not any(_is_named(_key(word), name) for name in dropped)]
    return ("run", words[0], *kept, *typed_settings(changes), *_data_folder(record)) if words else ()


def checked(record: RunRecord) -> Words:
    """The words that list what is wrong with the rows: of the user's data `check`, else the report, which has the rows
    of dev whose labels may be wrong.
    """
    task = str(record.recipe["task"])
    own = is_data(task) or given_option(record, "shape")  # from another folder its file is not seen
    if not own:
        return ("report", record.id)
    return ("check", task, *typed_settings(_data_options(record)))


def given_option(record: RunRecord, name: str) -> bool:
    """Whether an option of the data was given."""
    return bool((record.recipe.get("options") or {}).get(name))


def typed_words(record: RunRecord) -> Words:
    """What was typed for a run, if its record has that."""
    return () if record.observed is None else tuple(record.observed.typed)


def _typed(record: RunRecord, folder: RunFolder | None) -> Words:
    if words := typed_words(record):
        return words
    file = None if folder is None else folder.path / "recipe.toml"
    if file is not None and file.is_file():
        return (str(file),)
    task, settings = str(record.recipe["task"]), {one.key: one.values[0] for one in settings_of([record])}
    target, base = (task, DEFAULTS) if is_data(task) else _shipped(task)
    changed = {key: value for key, value in settings.items() if value not in (None, base.get(key, DEFAULTS.get(key)))}
    return (target, *typed_settings(changed)) if target else ()


def _shipped(task: str) -> tuple[str, dict[str, Any]]:
    """A built-in recipe for a task, by its name and with its settings; nothing where there is none."""
    for file in sorted(RECIPES.glob("*.toml")):
        recipe = load_recipe(file)
        if recipe.task == task and not recipe.grid:
            return file.stem, flat(recipe.model_dump(exclude={"grid", "task"}))
    return "", {}


def _data_folder(record: RunRecord) -> Words:
    """The option that named the folder of the data."""
    folder = record.observed.data_folder if record.observed is not None else ""
    return (DATA, folder) if folder else ()


def _data_options(record: RunRecord) -> dict[str, Any]:
    """The options that describe the data: those that were typed, of an older run all."""
    options = {name: value for name, value in (record.recipe.get("options") or {}).items() if name in OPTIONS}
    typed = record.observed.typed if record.observed is not None else []
    if not typed:
        return options
    if typed[0] != str(record.recipe["task"]):  # a recipe's file, which has some of them
        return options
    given = {_key(word) for word in typed[1:]}
    return {name: value for name, value in options.items() if name in given}


def _is_named(key: str, name: str) -> bool:
    return key == name or (name.endswith(".") and key.startswith(name))


def _key(word: str) -> str:
    return word.partition("=")[0].removeprefix(OPTION)
