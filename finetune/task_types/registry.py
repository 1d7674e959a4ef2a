"""Tasks by name: those of the package, of plugins, and of a file that a user names."""

import hashlib
import importlib
import importlib.util
import json
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from finetune.data.atomic import write_atomically
from finetune.data.outputs import cache_root
from finetune.data.paths import is_file
from finetune.errors import UserError, first_line, nearest
from finetune.metrics.metric import plain_metrics

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from finetune.task_types.task import Task

PACKAGE = Path(__file__).parents[1]


def find(name: str) -> "Task":
    """The task of a name, or NAME in `FILE.py:NAME`, which runs the file: only for names from the user.

    Raises UserError with the nearest name.
    """
    if not in_file(name):
        return installed_task(name)
    file, _, attribute = name.rpartition(":")
    return _named(_load_file(Path(file)), attribute, origin=file)


def in_file(name: str) -> bool:
    """Whether a task's name is `FILE.py:NAME`."""
    return name.rpartition(":")[0].endswith(".py")


def installed_task(name: str) -> "Task":
    """The task of that name in the package or a plugin. Raises UserError with the nearest name.

    Of the package's files those alone are imported that have the name in them, where one has the task.
    """
    files = [file for file in _files() if f'"{name}"' in file.read_text(encoding="utf-8")]
    modules = [*map(_own_module, files), *_plugin_modules()]
    found = [task for module in modules for task in _tasks_of(module) if task.name == name]
    if len(found) == 1:
        return found[0]
    tasks = available()
    if name not in tasks:
        raise UserError(
            f"unknown task '{name}'", f"{nearest(name, list(tasks))}The tasks are {', '.join(sorted(tasks))}"
        )
    return tasks[name]


def file_hash(name: str) -> str | None:
    """A hash of the file of `FILE.py:NAME`; None for a task of the package or a plugin, which has a version."""
    return hashlib.sha256(Path(name.rpartition(":")[0]).read_bytes()).hexdigest() if in_file(name) else None


def available() -> dict[str, "Task"]:
    """All tasks of the package and of installed plugins (entry points of the group `finetune.tasks`), by name."""
    origins: dict[str, str] = {}
    tasks: dict[str, Task] = {}
    for module in [*map(_own_module, _files()), *_plugin_modules()]:
        for task in _tasks_of(module):
            origin = module.__file__ or module.__name__
            if task.name in tasks:
                raise UserError(
                    f"two tasks are called '{task.name}': in {origins[task.name]} and in {origin}", "Rename one"
                )
            tasks[task.name], origins[task.name] = task, origin
    return tasks


def metric_names() -> dict[str, list[str]]:
    """The names of the metrics of each task, by the task's name, as `available` has them.

    They are saved in the cache, since importing all task types takes longer than any list of runs, until a file of the
    package or what is installed changes; with a plugin they are not.
    """
    file, state = cache_root() / "tasks.json", _state()
    with suppress(OSError, ValueError, LookupError, TypeError):
        saved = json.loads(file.read_text(encoding="utf-8"))
        if saved["state"] == state:
            return dict(saved["metrics"])
    metrics = {name: plain_metrics(task.metric_names) for name, task in sorted(available().items())}
    if not _plugin_modules():
        with suppress(OSError, UserError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, json.dumps({"state": state, "metrics": metrics}) + "\n")
    return metrics


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


def _own_module(file: Path) -> ModuleType:
    return _imported(f"finetune.tasks.{file.stem}", where=str(file))


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


def _load_file(path: Path) -> ModuleType:
    if not is_file(path):
        raise UserError(f"{path}: no such task file", "Give `task` as FILE.py:NAME, the path seen from here")
    name = f"finetune_task_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # never None for a .py file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"{path}: cannot be imported ({first_line(error)})", "Fix the file") from error
    return module


def _tasks_of(module: ModuleType) -> list["Task"]:
    from finetune.task_types.task import Task

    tasks = getattr(module, "TASKS", None)
    if not isinstance(tasks, list) or not all(isinstance(task, Task) for task in tasks):
        raise UserError(f"{module.__file__}: has no list of tasks", "End the file with `TASKS = [...]`")
    return tasks


def _named(module: ModuleType, name: str, *, origin: str) -> "Task":
    tasks = {task.name: task for task in _tasks_of(module)}
    if name not in tasks:
        raise UserError(f"{origin}: has no task '{name}'", f"{nearest(name, list(tasks))}It has {', '.join(tasks)}")
    return tasks[name]
