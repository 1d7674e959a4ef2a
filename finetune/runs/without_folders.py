"""Records and recipes without the folders of the machine that made them, which others should not see."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from finetune.data.paths import from_here
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord

# A path in a sentence: from the root, a drive or the home folder, with at least two names.
IN_TEXT = re.compile(r"(?<![\w.~/\\])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:;,'\"()]+[/\\])+([^\s/\\:;,'\"()]+)")


def without_folders(record: RunRecord) -> RunRecord:
    """The record with only the last name of each absolute path, in its settings, facts and notes."""
    paths = {path for path in _strings([record.recipe, record.options, record.data_origin, record.model])
             if _is_absolute(path)}  # fmt: skip

    def note(text: str) -> str:
        for path in sorted(paths, key=len, reverse=True):
            text = text.replace(path, _name(path))
        return IN_TEXT.sub(r"\1", text)

    changed = {name: names_only(getattr(record, name)) for name in ("model", "recipe", "options", "data_origin")}
    changed["notes"] = [note(text) for text in record.notes]
    if seen := record.observed:
        typed, folder = [without_own_folders(word) for word in seen.typed], without_own_folders(seen.data_folder)
        changed["observed"] = seen.model_copy(update={"typed": typed, "data_folder": folder})
    changed["findings"] = [
        one.model_copy(update={"command": " ".join(map(without_own_folders, one.command.split(" ")))})
        for one in record.findings
    ]
    return record.model_copy(update=changed)


def recipe_from_here(recipe: Recipe) -> Recipe:
    """The recipe with relative paths of data and encoder, as `from_here` gives them: its run's files are passed on."""
    named = {"task": recipe.task, "model": recipe.model, "tokenizer": recipe.tokenizer}
    distil = recipe.distil.model_copy(update=_from_here({"text": recipe.distil.text}))
    return recipe.model_copy(update={**_from_here(named), "options": _from_here(recipe.options), "distil": distil})


def _from_here(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: from_here(value) if isinstance(value, str) else value for key, value in settings.items()}


def names_only(value: Any) -> Any:
    """The value with absolute paths replaced by their last name."""
    if isinstance(value, dict):
        return {key: names_only(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [names_only(inner) for inner in value]
    return _name(value) if isinstance(value, str) and _is_absolute(value) else value


def without_own_folders(word: str) -> str:
    """A word of a command with an absolute path as it is from here, or where that is elsewhere with its last name:
    `model=bert`.
    """
    key, equals, value = word.partition("=")
    start, path = (f"{key}=", value) if equals and _is_absolute(value) else ("", word)
    inside = _is_absolute(path) and Path(path).is_relative_to(Path.cwd())
    return start + (str(Path(path).relative_to(Path.cwd())) if inside else str(names_only(path)))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _strings(each)]


def _is_absolute(text: str) -> bool:
    return text.startswith("~/") or (PurePosixPath(text).is_absolute() or PureWindowsPath(text).is_absolute())


def _name(path: str) -> str:
    """The last name; of a relative path that leads out of the folder too."""
    return (PureWindowsPath(path) if "\\" in path else PurePosixPath(path)).name or path
