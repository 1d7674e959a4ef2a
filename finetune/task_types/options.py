"""Looks up, sets and compares a task's options, which it and its reader declare and a recipe may set (`fold = 1`).

User data has additional ones, which describe the data: its columns and files.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from finetune.data.paths import is_data
from finetune.errors import UserError, nearest, shown_value
from finetune.gone import gone
from finetune.task_types import registry
from finetune.task_types.declared import declared_names, declared_options, metric_names

if TYPE_CHECKING:
    from finetune.task_types.task import Task


def resolved(name: str, options: Mapping[str, Any], *, default: "Task | None" = None) -> tuple["Task", "Task"]:
    """(the task of that name or of that data with default options, the task with the options of a recipe).

    `default` is the first of them if known, so that user data is not read again. Raises UserError as `registry.find`
    and `configured` do, and for data that cannot be read.
    """
    if not _is_own(name):
        default = default or registry.find(name)
        return default, configured(default, options)
    from finetune.task_types.own_data import own_task  # with all types and formats

    of_data = data_options(options)
    default = default or own_task(name, of_data)
    return default, configured(default, {key: value for key, value in options.items() if key not in of_data})


def data_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that describe user data: its columns and files."""
    from finetune.task_types.columns import OPTIONS

    return {key: value for key, value in options.items() if key in OPTIONS}


def option_names(name: str) -> tuple[str, ...]:
    """The options that a recipe for this task may set; for user data, of any task type."""
    if not _is_own(name):
        return tuple(task_options(registry.find(name)))
    from finetune.task_types.own_data import every_option

    return every_option()


def _is_own(name: str) -> bool:
    return is_data(name) and name not in metric_names()


def configured(task: "Task", options: Mapping[str, Any]) -> "Task":
    """The task with options set. Raises UserError for an unknown one, and for a wrong value."""
    for name, value in options.items():
        if name not in (names := task_options(task)):
            listed = f"It has {', '.join(names)}" if names else "It has none"
            raise UserError(f"the task {task.name} has no option '{name}'", nearest(name, names) + listed)
        owner = _owner(task, name)
        changed = replace(owner, **{name: _checked(owner, name, value)})
        task = changed if owner is task else replace(task, read=changed)
    return task


def task_options(task: "Task") -> list[str]:
    """What a recipe may set: the declared options that the task uses, and its reader's."""
    declared = [name for name in declared_names(task) if name not in task.unused_options()]
    return [*declared, *declared_names(task.read)]


def option_values(task: "Task") -> dict[str, Any]:
    """The task's options and their values."""
    return {name: getattr(_owner(task, name), name) for name in task_options(task)}


def changed_options(default: "Task", task: "Task") -> dict[str, Any]:
    """The task's options that are not at their default."""
    before = option_values(default)
    return {name: value for name, value in option_values(task).items() if value != before[name]}


def _owner(task: "Task", name: str) -> Any:
    """The object that declares the option: the task, or its reader."""
    return task if name in declared_names(task) else task.read


def _checked(owner: Any, name: str, value: Any) -> Any:
    from pydantic import TypeAdapter, ValidationError

    try:
        (declared,) = (option for option in declared_options(owner) if option.name == name)
        return TypeAdapter(declared.type).validate_json(json.dumps(value, default=str), strict=True)  # lists as in TOML
    except ValidationError as error:
        if taken_out := gone(f"{name}={value}"):
            raise taken_out from None
        reasons = "; ".join(fault["msg"].lower() for fault in error.errors(include_url=False))
        raise UserError(f"'{name}' is {shown_value(value)}: {reasons}", "Give another value") from None
