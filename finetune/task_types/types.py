"""The task types for user data, in the order in which they are tried on a table: the last ones accept any text."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, get_args

from finetune.data.documents import USUAL
from finetune.data.formats.tag_forms import FormOfTags
from finetune.errors import UserError, first_line, nearest
from finetune.gone import gone
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.task import Task

OWN = (  # the class of a type's tasks, and where the type is: imported when it is asked for
    ("ChoiceTask", "choice.columns:Choice"),
    ("SpanTask", "span.columns:Span"),
    ("OverlapTask", "plugins.overlapping:OverlappingSpans"),
    ("IntentTask", "plugins.intents:IntentAndSlots"),
    ("TaggingTask", "tagging.own:Tagging"),
    ("RankingTask", "ranking.columns:Ranking"),
    ("SentenceTask", "classification.own:Classification"),
    ("SentenceTask", "classification.own:Regression"),
    ("MultiLabelTask", "classification.own:MultiLabel"),
    ("TextTask", "pretraining.own:Text"),
)
GROUP = "finetune.task_types"  # group of entry points that name subclasses of DataType


def data_types() -> dict[str, DataType]:
    """All types by name, those of plugins first. Raises UserError for a plugin that cannot be used."""
    types: dict[str, DataType] = {}
    for each in (*_plugins(tuple(sys.path)), *own_types()):
        if each.name in types:
            raise UserError(f"two task types are called '{each.name}'", "Remove the plugin of one")
        types[each.name] = each
    return types


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
    classes = {one.__name__ for one in type(task).__mro__}
    own = (_own(place) for name, place in OWN if name in classes)
    return next((each for each in (*_plugins(tuple(sys.path)), *own) if each.reads_for(task)), None)


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


def own_types() -> list[DataType]:
    """The types of the package."""
    return [_own(place) for _, place in OWN]


@cache
def _own(place: str) -> DataType:
    module, _, name = place.partition(":")
    kind: DataType = getattr(import_module(f"finetune.task_types.{module}"), name)()
    return kind


@lru_cache(maxsize=1)
def _plugins(_: tuple[str, ...]) -> list[DataType]:
    """The types of plugins, cached until `sys.path`, where they are found, changes."""
    return [_loaded(entry) for entry in entry_points(group=GROUP)]


def _loaded(entry: Any) -> DataType:
    try:
        found = entry.load()
    except Exception as error:  # a plugin author's code may raise anything
        raise UserError(f"plugin {entry.name}: cannot be imported ({first_line(error)})", "Fix or remove it") from error
    if not isinstance(found, type) or not issubclass(found, DataType):
        raise UserError(f"plugin {entry.name}: {entry.value} is not a subclass of DataType", "Fix or remove it")
    return found()
