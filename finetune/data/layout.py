"""What a table's columns mean: the shape of the task, its inputs, and where its labels stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from finetune.data.kinds import as_number, as_text, is_missing

Shape = Literal["classification", "regression", "multi-label", "tagging", "span", "choice"]
TEXT_SHAPES = ("classification", "regression", "multi-label")  # whose input is a text or a pair


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The shape of the task, and its columns: `text` are the inputs in their order, `label` holds the gold.

    Of a span task the inputs are question and context, of a choice task the context and then the choices (or one
    column with a list of them), that labels count from 0 or 1. Several `label` columns are multi-label's, a 0 or 1
    each. `labels` are the names that were found; `unanswerable` says that some questions have no answer, and `reasons`
    of each guess where it comes from.
    """

    shape: Shape
    text: tuple[str, ...]
    label: tuple[str, ...] = ()
    id: str = ""
    group: str = ""
    labels: tuple[str, ...] = ()
    separator: str = ""
    counted_from: int = 0
    unanswerable: bool = False
    reasons: Mapping[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, str]:
        """As a recipe writes it."""
        given = {"shape": self.shape, "text": ",".join(self.text), "label": ",".join(self.label), "id": self.id}
        return {name: value for name, value in (given | {"group": self.group}).items() if value}


def found_labels(layout: Layout, columns: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """The names of all labels in a table's columns, numbers in their order, other names in the alphabet's."""
    if len(layout.label) > 1:
        return layout.label
    if not layout.label or layout.shape in ("regression", "span", "choice"):
        return ()
    cells = columns.get(layout.label[0], ())
    if layout.shape == "classification":
        names = {as_text(cell).strip() for cell in cells if not is_missing(cell)}
    elif layout.shape == "multi-label":
        names = {name for cell in cells if not is_missing(cell) for name in labels_of(cell, layout.separator)}
    else:
        names = {tag.partition("-")[2] for cell in cells if not is_missing(cell) for tag in tags_of(cell)} - {""}
    numbers = {name: as_number(name) for name in names}
    if all(number is not None for number in numbers.values()):
        return tuple(sorted(names, key=lambda name: (numbers[name], name)))
    return tuple(sorted(names))


def labels_of(cell: Any, separator: str) -> list[str]:
    """The labels in one cell of a multi-label column."""
    parts = cell if isinstance(cell, list) else as_text(cell).split(separator or "\0")
    return list(dict.fromkeys(name for part in parts if (name := as_text(part).strip())))


def tags_of(cell: Any) -> list[str]:
    """The tags in one cell: a list, or a text with spaces between them."""
    return [as_text(tag) for tag in cell] if isinstance(cell, list) else as_text(cell).split()
