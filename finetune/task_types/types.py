"""The task types for user data, in the order in which they are tried on a table: the last ones accept any text."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any, get_args

from finetune.data.documents import USUAL
from finetune.data.formats.word_lines import FormOfTags
from finetune.errors import UserError, first_line, nearest
from finetune.gone import gone
from finetune.task_types.choice.columns import Choice
from finetune.task_types.classification.own import Classification, MultiLabel, Regression
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.plugins.intents import IntentAndSlots
from finetune.task_types.plugins.overlapping import OverlappingSpans
from finetune.task_types.pretraining.own import Text
from finetune.task_types.ranking.columns import Ranking
from finetune.task_types.span.columns import Span
from finetune.task_types.tagging.own import Tagging
from finetune.task_types.task import Task

OWN: tuple[DataType, ...] = (
    Choice(),
    Span(),
    OverlappingSpans(),
    IntentAndSlots(),
    Tagging(),
    Ranking(),
    Classification(),
    Regression(),
    MultiLabel(),
    Text(),
)
GROUP = "finetune.task_types"  # group of entry points that name subclasses of DataType


def data_types() -> dict[str, DataType]:
    """All types by name, those of plugins first. Raises UserError for a plugin that cannot be used."""
    return _with_plugins(tuple(sys.path))


def named_type(name: str) -> DataType:
    """The type of that name. Raises UserError with the nearest name where there is none."""
    types = data_types()
    if name not in types:
        raise gone(f"shape={name}") or UserError(
            f"shape is '{name}'", f"{nearest(name, list(types))}It is one of {' '.join(types)}"
        )
    return types[name]


def type_of(task: Task) -> DataType | None:
    """The type of the data that a task's model can read; None where it is unknown."""
    return next((each for each in data_types().values() if each.reads_for(task)), None)


def inputs_fault(layout: Layout | None, count: int) -> str:
    """What is wrong with so many inputs for a model, if it was trained on a layout; empty if nothing."""
    return "" if layout is None else named_type(layout.shape).inputs_fault(layout, count)


def trained_task(layout: Layout, *, name: str, read: Any = None) -> Task:
    """The task that a layout describes; without a reader it is for prediction only."""
    return named_type(layout.shape).task(layout, name=name, read=read)


def layout_of(task: Task) -> dict[str, Any] | None:
    """The layout that is saved with a model, as JSON; None for a task that is not of user data."""
    layout = getattr(getattr(task, "read", None), "layout", None)
    if not isinstance(layout, Layout):
        return None
    given = {name: why for name, why in layout.reasons.items() if name == "order" and why == "given" and layout.order}
    saved = {**asdict(layout), "reasons": given, "rivals": ()}
    of_spans = () if layout.markers else ("marked", "markers", "span_ends")
    empty = (name for name in ("file", "order", "levels", "by_position") if not saved[name])
    left_out = ("mistakes", "doubts", *of_spans, *empty)
    return {name: value for name, value in saved.items() if name not in left_out}


def columns_of(task: Task) -> dict[str, Any]:
    """The part of a saved layout that affects predictions; None unless the task is of user data."""
    layout = getattr(getattr(task, "read", None), "layout", None)
    if not isinstance(layout, Layout):
        return {}
    layout = named_type(layout.shape).decisive(layout)
    left_out = ("id", "group", "reasons", "rivals", "signs_apart", "file", "mistakes", "doubts")
    kept = {field.name: field.default for field in fields(Layout) if field.name not in left_out}
    return {name: value for name, default in kept.items() if (value := getattr(layout, name)) not in (default, {})}


def layout_from(saved: Mapping[str, Any]) -> Layout:
    """A layout from the JSON of `layout_of`. Raises UserError for one of another version."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in saved.items()}
    if values.get("text") == ():
        values["text"] = (USUAL,)  # lines of text have no column, and rows to predict have this one
    if values.get("choices_by") == "column":  # before names of columns were read as letters are
        values |= {"choices_by": "letter", "choices_as": values["text"][values.get("contexts", 1) :]}
    try:
        if (form := values.get("tag_form", "plain")) not in get_args(FormOfTags):
            raise ValueError(f"tags in the form '{form}'")
        return replace(Layout(**values), file=dict(saved.get("file", {})))
    except (TypeError, ValueError) as error:
        raise UserError(
            f"the model's layout of columns is from another version of finetune ({first_line(error)})",
            "Use that version, or train it again",
        ) from error


@lru_cache(maxsize=1)
def _with_plugins(_: tuple[str, ...]) -> dict[str, DataType]:
    """All types, cached until `sys.path`, where plugins are found, changes."""
    plugins = [_loaded(entry) for entry in entry_points(group=GROUP)]
    types: dict[str, DataType] = {}
    for each in (*plugins, *OWN):
        if each.name in types:
            raise UserError(f"two task types are called '{each.name}'", "Remove the plugin of one")
        types[each.name] = each
    return types


def _loaded(entry: Any) -> DataType:
    try:
        found = entry.load()
    except Exception as error:  # a plugin author's code may raise anything
        raise UserError(f"plugin {entry.name}: cannot be imported ({first_line(error)})", "Fix or remove it") from error
    if not isinstance(found, type) or not issubclass(found, DataType):
        raise UserError(f"plugin {entry.name}: {entry.value} is not a subclass of DataType", "Fix or remove it")
    return found()
