"""Tasks by name: of the package, of plugins, and of a file that a user names."""

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from finetune.data.paths import is_file
from finetune.errors import UserError, first_line, nearest
from finetune.task_types.declared import declared_tasks, task_modules, tasks_of

if TYPE_CHECKING:
    from finetune.task_types.task import Task


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
    named_tasks: list[Task] = [task for module in task_modules(name) for task in tasks_of(module) if task.name == name]
    if len(named_tasks) == 1:
        return named_tasks[0]
    tasks = available()
    if name not in tasks:
        raise UserError(
            f"unknown task '{name}'", f"{nearest(name, list(tasks))}The tasks are {', '.join(sorted(tasks))}"
        )
    return tasks[name]


def available() -> dict[str, "Task"]:
    """All tasks of the package and of installed plugins (entry points of the group `finetune.tasks`), by name."""
    return declared_tasks()


def file_hash(name: str) -> str | None:
    """A hash of the file of `FILE.py:NAME`; None for a task of the package or a plugin, which has a version."""
    return hashlib.sha256(Path(name.rpartition(":")[0]).read_bytes()).hexdigest() if in_file(name) else None


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


def _named(module: ModuleType, name: str, *, origin: str) -> "Task":
    tasks: dict[str, Task] = {task.name: task for task in tasks_of(module)}
    if name not in tasks:
        raise UserError(f"{origin}: has no task '{name}'", f"{nearest(name, list(tasks))}It has {', '.join(tasks)}")
    return tasks[name]
