"""How people label a row in a labelling tool, and a prediction in the form of such labels: a suggestion."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from finetune.data.rows import Row
from finetune.task_types.parts import Answer

Mark = tuple[int, int, str]  # first character, character after the last, name


@dataclass(frozen=True, kw_only=True)
class Labelling:
    """What is done to a row: `one` or `several` of `names` are chosen, a `number` is given, or `characters` are marked.

    `marks` gives a prediction, or a label as one, in that form: names, numbers, or marks in the column `marked`.
    `texts` are other texts to show than the cells of the columns; `in_cells` says whether it can be typed in a table.
    """

    how: Literal["one", "several", "number", "characters"]
    marks: Callable[[Answer, Row], Sequence[Any]]
    names: tuple[str, ...] = ()
    marked: str = ""
    texts: Callable[[Row], Mapping[str, str]] = lambda _: {}
    in_cells: bool = True
    in_tools: bool = True


def marked_in(
    column: str, names: tuple[str, ...], marks: Callable[[Any, Any], Sequence[Mark]], *, text: Callable[[Any], str]
) -> Labelling:
    """Marks in a column of texts; `text` gives that of a row."""
    return Labelling(
        how="characters", names=names, marks=marks, marked=column, texts=lambda row: {column: text(row)}, in_cells=False
    )
