"""What a table's columns mean: the shape of the task, its inputs, and where its labels stand."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from finetune.data.column_types import NOTHING
from finetune.data.formats.tag_forms import Form, TagForm
from finetune.data.nested_fields import cell_at
from finetune.data.values import as_list, as_number, as_text, is_missing, tags_of
from finetune.task_types.choice.task import LETTERS
from finetune.task_types.tagging.char_spans import types_in

Shape = Literal["classification", "regression", "multi-label", "tagging", "span", "choice"]
NAMED: tuple[Shape, ...] = ("classification", "multi-label", "tagging")  # shapes whose labels have names
TEXT_SHAPES = ("classification", "regression", "multi-label")  # whose input is a text or a pair


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The shape of the task, and its columns: `text` are the inputs in their order, `label` holds the gold.

    Of a span task the inputs are question and context, of a choice task the context and then the choices (or one
    column with a list of them), that labels count from 0 or 1, or name as `choices_by` says. Several `label` columns
    are multi-label's, a 0 or 1 each. `labels` are the names that were found; `unanswerable` says that some questions
    have no answer, and `reasons` of each guess where it comes from.

    `names` are those of labels that are numbers in the data, `decimal` is the decimal sign of numbers. `spans` are the
    keys of start, end and label where entities are spans of characters; `tag_form` and `outside` say how tags are
    written, and `characters` that they are of single characters. `rest` are columns without a name that a text runs on
    into, with `delimiter` between them; `no_label` is a sign that means none. Of choices, the first `contexts`
    columns are their context. `rivals` are other columns that could hold the label.
    """

    shape: Shape
    text: tuple[str, ...]
    label: tuple[str, ...] = ()
    id: str = ""
    group: str = ""
    labels: tuple[str, ...] = ()
    separator: str = ""
    counted_from: int = 0
    choices_by: Literal["", "text", "letter", "number"] = ""
    unanswerable: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    decimal: Literal[".", ","] = "."
    spans: tuple[str, ...] = ()
    tag_form: Form = "prefix"
    outside: str = "O"
    characters: bool = False
    rest: tuple[str, ...] = ()
    delimiter: str = ","
    rivals: tuple[str, ...] = ()
    no_label: str = ""
    contexts: int = 1
    reasons: Mapping[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """As a recipe writes it."""
        given: dict[str, Any] = {"shape": self.shape, "text": ",".join(self.text), "label": ",".join(self.label)}
        given |= {"id": self.id, "group": self.group, "labels": dict(self.names)}
        given |= {"decimal": self.decimal} if self.decimal != "." else {}
        return {name: value for name, value in given.items() if value}

    def tags(self, cell: Any) -> list[str]:
        """The tags in a cell as O, B-X and so on: of a list, or a text with spaces between them."""
        form = TagForm(form=self.tag_form, outside=self.outside)
        return [form.standard(self.names.get(tag, tag)) for tag in tags_of(cell)]

    def lacks(self, cell: Any) -> bool:
        """Whether a cell of the label holds none."""
        return is_missing(cell) or (isinstance(cell, str) and cell.strip() in (*NOTHING, self.no_label))

    def named(self, label: str) -> str:
        """A label by its name, where it is a number that has one."""
        return self.names.get(label, label)

    def text_of(self, values: Mapping[str, Any], name: str) -> str:
        """A text of a row, with what runs on into columns without a name."""
        parts = [cell_at(values, name)]
        if name == self.text[-1]:
            parts += [cell for column in self.rest if not is_missing(cell := values.get(column))]
        return self.delimiter.join(as_text(part) for part in parts)


def inputs_fault(layout: Layout | None, count: int) -> str:
    """What is wrong with so many texts for a model that was trained on one, or on two; nothing for other shapes."""
    if layout is None or layout.shape not in TEXT_SHAPES or count == len(layout.text):
        return ""
    texts = {1: "one text", 2: "two texts"}
    return f"has {texts.get(count, f'{count} texts')} where the model reads {texts[len(layout.text)]}"


def found_labels(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """The names of all labels in a table's columns, numbers in their order, other names in the alphabet's."""
    if len(layout.label) > 1:
        return layout.label
    if not layout.label or layout.shape in ("regression", "span", "choice"):
        return ()
    cells = [cell for cell in columns.get(layout.label[0], ()) if not layout.lacks(cell)]
    if layout.shape == "classification":
        names = {layout.named(as_text(cell).strip()) for cell in cells}
    elif layout.shape == "multi-label":
        names = {layout.named(name) for cell in cells for name in labels_of(cell, layout.separator)}
    elif layout.spans:
        names = {label for cell in cells for label in types_in(cell, layout.spans)}
    else:
        names = {tag.partition("-")[2] for cell in cells for tag in layout.tags(cell)} - {""}
    numbers = {name: as_number(name) for name in names}
    if all(number is not None for number in numbers.values()):
        return tuple(sorted(names, key=lambda name: (numbers[name], name)))
    return tuple(sorted(names))


def numbers_of(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> set[str]:
    """The labels as the cells have them, before they get names."""
    cells = [cell for cell in columns[layout.label[0]] if not is_missing(cell)]
    if layout.shape == "classification":
        return {as_text(cell).strip() for cell in cells}
    split = tags_of if layout.shape == "tagging" else partial(labels_of, separator=layout.separator)
    return {label for cell in cells for label in split(cell)}


def labels_of(cell: Any, separator: str) -> list[str]:
    """The labels in one cell of a multi-label column."""
    found = as_list(cell)
    parts = as_text(cell).split(separator or "\0") if found is None else found
    return list(dict.fromkeys(name for part in parts if (name := as_text(part).strip())))


def answers_of(cell: Any, start: Any) -> list[tuple[str, int | None]]:
    """(text, where it begins) of each answer, in whichever way a cell has them."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):
            cell = json.loads(cell)
    if isinstance(cell, dict) and isinstance(cell.get("text"), list):
        starts = cell.get("answer_start") or [None] * len(cell["text"])
        cell = [{"text": text, "answer_start": place} for text, place in zip(cell["text"], starts, strict=False)]
    if not isinstance(cell, list):
        cell = [] if is_missing(cell) else [{"text": as_text(cell), "answer_start": start}]
    pairs = []
    for answer in cell:
        found = answer if isinstance(answer, dict) else {"text": answer}
        place = as_number(found.get("answer_start"))
        pairs.append((as_text(found.get("text")), None if place is None else int(place)))
    return [(text, place) for text, place in pairs if text.strip()]


def choices_of(cells: Sequence[Any]) -> tuple[str, ...]:
    """The choices of a row, from a list or from columns."""
    found = as_list(cells[0]) if len(cells) == 1 else None
    every = [cell for cell in cells if not is_missing(cell)] if found is None else found
    return tuple(as_text(choice) for choice in every)


def choice_named(cell: Any, choices: Sequence[str], *, counted_from: int) -> dict[str, int | None]:
    """Which choice a label means if it is a text, a letter, or a number; None where it is none."""
    text, number = as_text(cell).strip(), as_number(cell)
    letter = LETTERS[: len(choices)].find(text.upper()) if len(text) == 1 else -1
    place = int(number) - counted_from if number is not None and number.is_integer() else -1
    return {
        "text": choices.index(text) if text in choices else None,
        "letter": letter if letter >= 0 else None,
        "number": place if 0 <= place < len(choices) else None,
    }
