"""The tasks that modules declare, each in its list TASKS, with their metrics; and the options of tasks and readers."""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_type_hints

from finetune.data.atomic import cache_root, write_atomically
from finetune.errors import UserError, first_line
from finetune.metrics.metric import Metric, plain_metrics

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

PACKAGE = Path(__file__).parents[1]


DECLARED = "option"  # the key in a field's metadata


class DeclaredTask:
    """What lists show of a task; all of the contract is in `task_types.task`."""

    name: str
    metrics: tuple[Metric, ...]

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics, the headline first."""
        return tuple(metric.name for metric in self.metrics)


def declared_tasks() -> dict[str, Any]:
    """All tasks of the package and of installed plugins (entry points of the group `finetune.tasks`), by name."""
    origins: dict[str, str] = {}
    tasks: dict[str, Any] = {}
    for module in task_modules():
        for task in tasks_of(module):
            origin = module.__file__ or module.__name__
            if task.name in tasks:
                raise UserError(
                    f"two tasks are called '{task.name}': in {origins[task.name]} and in {origin}", "Rename one"
                )
            tasks[task.name], origins[task.name] = task, origin
    return tasks


def metric_names() -> dict[str, list[str]]:
    """The names of the metrics of each task, by the task's name, as `declared_tasks` has them.

    They are saved in the cache, since importing all task types takes longer than any list of runs, until a file of the
    package or what is installed changes; with a plugin they are not.
    """
    file, state = cache_root() / "tasks.json", _state()
    with suppress(OSError, ValueError, LookupError, TypeError):
        saved = json.loads(file.read_text(encoding="utf-8"))
        if saved["state"] == state:
            return dict(saved["metrics"])
    metrics = {name: plain_metrics(task.metric_names) for name, task in sorted(declared_tasks().items())}
    if not _plugin_modules():
        with suppress(OSError, UserError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, json.dumps({"state": state, "metrics": metrics}) + "\n")
    return metrics


def task_modules(name: str = "") -> list[ModuleType]:
    """The modules with tasks; of the package's those alone that have the name in them."""
    files = [file for file in _files() if f'"{name}"' in file.read_text(encoding="utf-8") or not name]
    return [*(_imported(f"finetune.tasks.{file.stem}", where=str(file)) for file in files), *_plugin_modules()]


def _state() -> list[Any]:
    """Times and sizes of the files that declare tasks and metrics, and the names of the installed distributions."""
    files = [file for room in ("tasks", "task_types", "metrics") for file in sorted((PACKAGE / room).rglob("*.py"))]
    stats = [[str(file), file.stat().st_mtime_ns, file.stat().st_size] for file in files]
    installed = [file.name for folder in sys.path for file in Path(folder).glob("*-info")]
    return [stats, sorted(installed)]


def _files() -> list[Path]:
    """The package's files of tasks."""
    folder = PACKAGE / "tasks"
    if not folder.is_dir():
        raise UserError(
            f"{folder} is not a folder: this checkout was made without symbolic links",
            "Clone again with `git -c core.symlinks=true clone`, or install the wheel",
        )
    return sorted(file for file in folder.glob("*.py") if file.stem != "__init__")


def _plugin_modules() -> list[ModuleType]:
    return [_imported(entry.value, where=f"plugin {entry.name}") for entry in _plugins(tuple(sys.path))]


@lru_cache(maxsize=1)
def _plugins(_: tuple[str, ...]) -> "EntryPoints":
    """The entry points, cached until `sys.path`, where plugins are found, changes."""
    from importlib.metadata import entry_points

    return entry_points(group="finetune.tasks")


def _imported(module: str, *, where: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:  # a task author's code may raise anything
        raise UserError(f"{where}: cannot be imported ({first_line(error)})", "Fix or remove it") from error


def tasks_of(module: ModuleType) -> list[Any]:
    """The tasks that a module declares. Raises UserError without a list of them."""
    tasks = getattr(module, "TASKS", None)
    if not isinstance(tasks, list) or not all(isinstance(task, DeclaredTask) for task in tasks):
        raise UserError(f"{module.__file__}: has no list of tasks", "End the file with `TASKS = [...]`")
    return tasks


@dataclass(frozen=True, kw_only=True)
class Option:
    """A declared option: its name in a recipe, its type and default, and one line for the documentation."""

    name: str
    type: Any
    default: Any
    meaning: str


def option(default: Any, meaning: str) -> Any:
    """A dataclass field that a recipe may set: `fold: Literal[0, 1] = option(0, "which fold is dev")`."""
    return field(default=default, metadata={DECLARED: meaning})


def declared_names(owner: Any) -> tuple[str, ...]:
    """The names of the options that a task or a reader, or its class, declares; none if it is not a dataclass."""
    return tuple(declared.name for declared in _fields(owner))


def declared_options(owner: Any) -> tuple[Option, ...]:
    """The declared options with types, defaults and meanings."""
    types = get_type_hints(owner if isinstance(owner, type) else type(owner), include_extras=True)
    return tuple(
        Option(
            name=declared.name, type=types[declared.name], default=declared.default, meaning=declared.metadata[DECLARED]
        )
        for declared in _fields(owner)
    )


def _fields(owner: Any) -> Iterator[Field[Any]]:
    return (declared for declared in (fields(owner) if is_dataclass(owner) else ()) if DECLARED in declared.metadata)
