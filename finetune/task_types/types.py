"""The task types for user data, in the order in which they are tried on a table, and the rows that they make of it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, get_args

from finetune.data.documents import USUAL
from finetune.data.formats.word_lines import FormOfTags
from finetune.data.messages import noun, places, shown, so_many
from finetune.data.records import Record
from finetune.data.rows import OwnRow, Row
from finetune.data.table import Table
from finetune.data.values import as_text
from finetune.errors import UserError, first_line, nearest
from finetune.gone import gone
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.own_type import OwnType
from finetune.task_types.task import Task

OWN = {  # by its name the class of a type's tasks, and where the type is: imported when it is asked for
    "choice": ("ChoiceTask", "choice.columns:Choice"),
    "span": ("SpanTask", "span.columns:Span"),
    "overlapping-spans": ("OverlapTask", "plugins.overlapping:OverlappingSpans"),
    "intent-and-slots": ("IntentTask", "plugins.intents:IntentAndSlots"),
    "tagging": ("TaggingTask", "tagging.own:Tagging"),
    "ranking": ("RankingTask", "plugins.ranking:Ranking"),
    "classification": ("SentenceTask", "classification.own:Classification"),
    "regression": ("SentenceTask", "classification.own:Regression"),
    "multi-label": ("MultiLabelTask", "classification.own:MultiLabel"),
    "text": ("TextTask", "pretraining.own:Text"),
}
GROUP = "finetune.task_types"  # group of entry points that name subclasses of OwnType


def own_types() -> dict[str, OwnType]:
    """All types by name, plugins first. Raises UserError for a plugin that cannot be used."""
    types: dict[str, OwnType] = {}
    for kind in (*_plugins(tuple(sys.path)), *(_own(place) for _, place in OWN.values())):
        if kind.name in types:
            raise UserError(f"two task types are called '{kind.name}'", "Remove the plugin of one")
        types[kind.name] = kind
    return types


def named_type(name: str) -> OwnType:
    """The type of that name. Raises UserError with the nearest name where there is none."""
    if name in OWN:
        return _own(OWN[name][1])
    types = own_types()
    if name not in types:
        raise gone(f"shape={name}") or UserError(
            f"shape is '{name}'", f"{nearest(name, list(types))}It is one of {' '.join(types)}"
        )
    return types[name]


def type_of(task: Task) -> OwnType | None:
    """The type of the data that a task's model can read; None where it is unknown."""
    names = {base.__name__ for base in type(task).__mro__}
    kinds = [_own(place) for name, place in OWN.values() if name in names]
    fitting = [kind for kind in (*_plugins(tuple(sys.path)), *kinds) if isinstance(task, kind.task_class)]
    classes = bool(getattr(task, "labels", ()))  # what classification and regression differ in
    return next((kind for kind in fitting if len(fitting) == 1 or kind.closed_labels == classes), None)


def inputs_fault(layout: Layout | None, count: int) -> str:
    """What is wrong with so many inputs for a model, if it was trained on a layout; empty if nothing."""
    if layout is None or count == len(layout.text) or named_type(layout.shape).list_last:
        return ""
    return f"has {so_many(count, 'text')}, and the model reads {so_many(len(layout.text), 'text')}"


def trained_task(layout: Layout, *, name: str, read: Any = None) -> Task:
    """The task that a layout describes; without a reader it is for prediction only."""
    return named_type(layout.shape).task(layout, name=name, read=read)


def layout_of(task: Task) -> dict[str, Any] | None:
    """The layout that is saved with a model, as JSON; None for a task that is not of user data."""
    layout = getattr(getattr(task, "read", None), "layout", None)
    if not isinstance(layout, Layout):
        return None
    named = {name: why for name, why in layout.reasons.items() if name == "order" and why == "given" and layout.order}
    saved = {**asdict(layout), "reasons": named, "rivals": ()}
    of_spans = () if layout.markers else ("marked", "markers", "span_ends")
    empty = (name for name in ("file", "order", "by_position") if not saved[name])
    left_out = ("mistakes", *of_spans, *empty)
    return {name: value for name, value in saved.items() if name not in left_out}


def columns_of(task: Task) -> dict[str, Any]:
    """The part of a saved layout that decides the result of a run, as the rows do; empty for other tasks.

    An order that was recognised adds scores, and of texts without labels it is the texts themselves that decide.
    """
    layout = getattr(getattr(task, "read", None), "layout", None)
    if not isinstance(layout, Layout):
        return {}
    if layout.reasons.get("order") != "given":
        layout = replace(layout, order=())
    if not layout.label and layout.reasons.get("text") != "given":
        layout = replace(layout, text=())
    left_out = ("id", "group", "reasons", "rivals", "signs_apart", "file", "mistakes")
    defaults = {field.name: field.default for field in fields(Layout) if field.name not in left_out}
    return {name: value for name, default in defaults.items() if (value := getattr(layout, name)) not in (default, {})}


def layout_from(saved: Mapping[str, Any]) -> Layout:
    """A layout from the JSON of `layout_of`. Raises UserError for one of another version."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in saved.items()}
    if values.get("text") == ():
        values["text"] = (USUAL,)  # lines of text have no column, and rows to predict have this one
    if values.get("choices_by") == "column":  # before names of columns were read as letters are
        values["choices_by"] = "letter"
    for name in ("levels", "choices_as"):  # of earlier versions; no prediction depends on them
        values.pop(name, None)
    try:
        if (form := values.get("tag_form", "plain")) not in get_args(FormOfTags):
            raise ValueError(f"tags in the form '{form}'")
        return replace(Layout(**values), file=dict(saved.get("file", {})))
    except (TypeError, ValueError) as error:
        raise UserError(
            f"the model's layout of columns is from another version of finetune ({first_line(error)})",
            "Use that version, or train it again",
        ) from error


@cache
def _own(place: str) -> OwnType:
    module, _, name = place.partition(":")
    kind: OwnType = getattr(import_module(f"finetune.task_types.{module}"), name)()
    return kind


@lru_cache(maxsize=1)
def _plugins(_: tuple[str, ...]) -> list[OwnType]:
    """The types of plugins, cached until `sys.path`, where they are found, changes."""
    return [_loaded(entry) for entry in entry_points(group=GROUP)]


def _loaded(entry: Any) -> OwnType:
    try:
        kind = entry.load()
    except Exception as error:  # a plugin author's code may raise anything
        raise UserError(f"plugin {entry.name}: cannot be imported ({first_line(error)})", "Fix or remove it") from error
    if not isinstance(kind, type) or not issubclass(kind, OwnType):
        raise UserError(f"plugin {entry.name}: {entry.value} is not a subclass of OwnType", "Fix or remove it")
    return kind()


LABELS_SHOWN = 3  # labels and rows in a note


def rows_of(layout: Layout, table: Table) -> Iterator[tuple[int, OwnRow | NoRow]]:
    """Yields each row of a table with its index, or why there is none."""
    kind, names = named_type(layout.shape), list(table.columns)
    values: dict[str, Any] = {}  # one for all rows: creating one takes longer than using it
    for index, cells in enumerate(zip(*table.columns.values(), strict=True)):
        values.update(zip(names, cells, strict=True))
        row: OwnRow | NoRow
        try:
            row = kind.row(layout, values, _name(layout, values, table.rows[index]))
        except NoRow as why:
            row = why
        yield index, row


def row_of(layout: Layout, record: Record) -> OwnRow:
    """The row from a record; its `gold` is None where the label is missing. Raises NoRow."""
    if record.fault:
        raise NoRow(record.fault.what, record.fault.issue)
    return named_type(layout.shape).row(layout, record.values, _name(layout, record.values, record.row))


def _name(layout: Layout, values: dict[str, Any], number: int) -> str:
    """The row's id, or its number."""
    text = as_text(values.get(layout.id)).strip() if layout.id else ""
    return text or str(number)


@dataclass(kw_only=True)
class UnknownLabels:
    """Collects the rows whose label the model does not know."""

    task: Task
    layout: Layout
    names: dict[str, None] = field(default_factory=dict)
    rows: list[tuple[int, int]] = field(default_factory=list)

    def adds(self, row: Row, place: tuple[int, int]) -> bool:
        """Whether the row has such a label; then it is collected with its place, (row, line)."""
        label = self.task.labels_of([row])[0].value
        if label is None or (self.task.fits(label, row) and not self.task.fault(row)):
            return False
        self.rows.append(place)
        labels = named_type(self.layout.shape).labels_in(row.gold)
        self.names.update(dict.fromkeys(name for name in labels if name not in self.layout.labels))
        return True

    def notes(self) -> Sequence[str]:
        """`1 row with the label 'goood', unknown to the model (row 41)`; none without such rows."""
        if not self.rows:
            return []
        names, more = list(self.names), len(self.names) - LABELS_SHOWN
        listed = " ".join([", ".join(map(shown, names[:LABELS_SHOWN])), f"and {more:,} more"][: 1 + (more > 0)])
        labels = f"the {noun(len(names), 'label')} {listed}," if names else "a label"
        return [
            f"{so_many(len(self.rows))} with {labels} unknown to the model ({places(self.rows, most=LABELS_SHOWN)})"
        ]
