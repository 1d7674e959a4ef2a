"""What callers pass: rows in memory as a file, columns and tables of settings as a recipe's settings, runs by name."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from finetune.analysis.table import NoteLine
from finetune.api.model import Model
from finetune.api.run import Run
from finetune.data.in_memory import splits_in, stored
from finetune.errors import UserError
from finetune.inference.export_facts import is_export
from finetune.runs.lookup import find_run, latest_words, runs_of

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
    tuples = [row if isinstance(row, tuple) else (row,) for row in rows]
    if not any(isinstance(text, str) for row in tuples for text in row):
        return rows, []
    count = max(map(len, tuples))
    names = ["text", "pair"][:count] if count <= 2 else [f"text {number}" for number in range(1, count + 1)]
    if short := next((row for row in tuples if len(row) < count), None):
        raise UserError(f"a row has {count} texts and another {len(short)}", "Give each row the same number")
    return [dict(zip(names, row, strict=True)) for row in tuples], names


def recipe_settings(
    settings: Mapping[str, Any],
    *,
    text: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    model: str | Path | None = None,
) -> dict[str, Any]:
    """What a call says of its recipe, with dotted keys: the columns, the model and the settings."""
    chosen = named_options(text=text, label=label) | ({} if model is None else {"model": str(model)})
    for key, value in settings.items():
        if key in TABLES and isinstance(value, Mapping):  # train={"epochs": 5}
            chosen |= {f"{key}.{inner}": setting for inner, setting in value.items()}
        else:
            chosen[key] = _names(value) if key == "labels" else value
    return chosen


def _names(labels: Any) -> Any:
    """Names of classes as a setting has them: those of a `ClassLabel`, a sequence, or a table by number."""
    names = getattr(labels, "names", labels)
    if isinstance(names, Mapping):
        if [*map(str, names)] == [*map(str, range(len(names)))]:
            return list(names.values())
        return ",".join(f"{number}={name}" for number, name in names.items())
    return names if isinstance(names, str | os.PathLike) else [str(name) for name in names]


def named_options(**columns: str | Sequence[str] | None) -> dict[str, Any]:
    """The columns, encoding and sheet that were named, as settings: `text=["a", "b"]` is `text=a,b`."""
    return {
        name: ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for name, value in columns.items()
        if value not in (None, "")
    }


def model_name(model: Run | Model | str | Path) -> str:
    """The name by which a model is found: of a run, its folder."""
    if isinstance(model, Run):
        return str(model.folder)
    return model.name if isinstance(model, Model) else str(model)


def run_names(runs: tuple[Run | str | Path, ...]) -> list[str]:
    """The folder of each run, or the name that was given. Raises UserError where there is none."""
    if not runs:
        raise UserError("no run was named", "`finetune ls` lists them")
    return [name for run in runs for name in (run.folders if isinstance(run, Run) else [str(run)])]


def which_run(names: Sequence[str], out: Path) -> Iterator[NoteLine]:
    """Which run is used for each name that several have."""
    for name in names:
        if not is_export(name) and find_run(name, out) is None and len(runs := runs_of(name, out)) > 1:
            yield NoteLine(latest_words(name, runs))
