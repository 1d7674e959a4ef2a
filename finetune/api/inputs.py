"""What callers pass: rows in memory as a file, columns and tables of settings as a recipe's settings, runs by name."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from finetune.analysis.table import Note
from finetune.api.model import Model
from finetune.api.run import Run
from finetune.data.in_memory import splits_in
from finetune.errors import UserError
from finetune.inference.export_facts import is_export
from finetune.runs.lookup import find_run, latest_words, runs_of
from finetune.storage.stored import stored

TABLES = ("train", "options")  # settings that are tables


def is_path(data: Any) -> bool:
    """Whether data is the path of a file, or a recipe's name, and not rows."""
    return isinstance(data, str | os.PathLike)


@contextmanager
def in_memory(data: Any, folder: Path) -> Iterator[Path]:
    """The file of rows in memory, under this folder; an error that names it speaks of the data."""
    path = stored(splits_in(data), folder)
    try:
        yield path
    except UserError as error:
        error.what = error.what.replace(f"{path}{os.sep}", "").replace(str(path), "the data")
        error.args = (f"{error.what}. {error.way_out}" if error.way_out else error.what,)
        raise


def rows_by_column(data: Any) -> tuple[Any, list[str]]:
    """Rows that are texts, or tuples of texts, by names of columns, and these; any other rows as they are."""
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable) or hasattr(data, "columns"):
        return data, []
    rows = list(data)
    each = [row if isinstance(row, tuple) else (row,) for row in rows]
    if not any(isinstance(one, str) for row in each for one in row):
        return rows, []
    count = max(map(len, each))
    names = ["text", "pair"][:count] if count <= 2 else [f"text {number}" for number in range(1, count + 1)]
    if wrong := next((row for row in each if len(row) < count), None):
        raise UserError(f"a row has {count} texts and another {len(wrong)}", "Give each row the same number")
    return [dict(zip(names, row, strict=True)) for row in each], names


def recipe_settings(
    settings: Mapping[str, Any],
    *,
    text: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    model: str | Path | None = None,
) -> dict[str, Any]:
    """What a call says of its recipe, with dotted keys: the columns, the model and the settings."""
    chosen = {} if model is None else {"model": str(model)}
    if "labels" in settings:
        settings = {**settings, "labels": _names(settings["labels"])}
    return column_setting(text=text, label=label) | chosen | dotted(settings)


def _names(labels: Any) -> Any:
    """Names of classes as a setting has them: those of a `ClassLabel`, a sequence, or a table by number."""
    given = getattr(labels, "names", labels)
    if isinstance(given, Mapping):
        numbers = list(map(str, range(len(given))))
        inside = [*map(str, given)] == numbers
        return list(given.values()) if inside else ",".join(f"{number}={name}" for number, name in given.items())
    return given if isinstance(given, str | os.PathLike) else [str(name) for name in given]


def column_setting(**roles: str | Sequence[str] | None) -> dict[str, str]:
    """Names of columns as settings of a recipe: `text=["a", "b"]` is `text=a,b`."""
    return {
        role: ",".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
        for role, given in roles.items()
        if given is not None
    }


def named_options(**given: str | Sequence[str] | None) -> dict[str, str]:
    """The columns, encoding and sheet of a file that were named, as settings."""
    return {name: value if isinstance(value, str) else ",".join(value) for name, value in given.items() if value}


def dotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with dotted keys: `train={"epochs": 5}` is `train.epochs`."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if key in TABLES and isinstance(value, Mapping):
            found |= {f"{key}.{inner}": one for inner, one in value.items()}
        else:
            found[key] = value
    return found


def model_name(model: Run | Model | str | Path) -> str:
    """The name by which a model is found: that of a run is its folder."""
    if isinstance(model, Run):
        return str(model.folder)
    return model.name if isinstance(model, Model) else str(model)


def run_names(runs: tuple[Run | str | Path, ...]) -> list[str]:
    """The folder of each run, or the name that was given."""
    return [name for run in runs for name in (run.folders if isinstance(run, Run) else [str(run)])]


def which_run(names: Sequence[str], out: Path) -> Iterator[Note]:
    """Which run is used for each name that several have."""
    for name in names:
        if not is_export(name) and find_run(name, out) is None and len(runs := runs_of(name, out)) > 1:
            yield Note(latest_words(name, runs))
