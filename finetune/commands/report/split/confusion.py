"""Confusion matrix: labels down, predictions across."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from finetune.analysis.pages.svg import text_width
from finetune.commands.report.blocks import Block, Matrix
from finetune.commands.report.filters import names_of
from finetune.commands.report.split.by_class import by_support
from finetune.commands.report.split_view import SplitView
from finetune.commands.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut

ORDER = 20
MOST_CLASSES = 25
OTHERS = "(others)"
CORNER = "label \\ prediction"
FONT, PADDING, LEAST_CELL = 14.0, 13.0, 48.0  # pixels, as in the style sheet
CARD = 330.0  # pixels within the narrowest card


def blocks(split: SplitView) -> Iterator[Block]:
    """A matrix, where there are two classes or more; of many the most frequent, the others merged."""
    counted = Counter(split.view.pairs())
    seen = Counter[str]()
    for (label, prediction), count in counted.items():
        seen.update({label: count})
        seen.update({prediction: count})
    if len(seen) < 2:
        return
    kept = {name for name, _ in seen.most_common(MOST_CLASSES - (len(seen) > MOST_CLASSES))}
    merged = Counter[tuple[str, str]]()
    for (label, prediction), count in counted.items():
        merged[label if label in kept else OTHERS, prediction if prediction in kept else OTHERS] += count
    matrix = _matrix(merged, split, [one.name for one in by_support(split.view)])
    shown = shown_of(len(kept), len(seen), "classes, the most frequent")
    yield Block(
        title="Confusion",
        note=f"Down: label, across: prediction. A cell has its count and its share of the label's row. {shown}",
        hint="A click on a count shows its rows.",
        matrix=matrix,
        wide=_width(matrix) > CARD,
    )


def _matrix(counted: Mapping[tuple[str, str], int], split: SplitView, classes: Sequence[str]) -> Matrix:
    """`classes` are in the order of the block by class."""
    names = names_of(split.view)
    down, across = (_ordered({pair[side] for pair in counted}, classes) for side in (0, 1))
    if split.view.square:
        down = across = _ordered({*down, *across}, classes)
    counts = [[counted.get((label, prediction), 0) for prediction in across] for label in down]
    return Matrix(
        down=[cut(name, NAME) for name in down],
        across=[cut(name, NAME) for name in across],
        counts=counts,
        shares=[[count / max(1, sum(row)) for count in row] for row in counts],
        rows=split.rows_id,
        links=[[_link(names, label, prediction) for prediction in across] for label in down],
    )


def _link(names: Mapping[str, int], label: str, prediction: str) -> tuple[int, int] | None:
    return (names[label], names[prediction]) if label in names and prediction in names else None


def _ordered(names: set[str], classes: Sequence[str]) -> Sequence[str]:
    """The classes in their order, then others alphabetically, with names that are not classes last."""
    places = {name: place for place, name in enumerate(classes)}
    return sorted(names, key=lambda name: (name in (OTHERS, "O", "no answer"), places.get(name, len(places)), name))


def _width(matrix: Matrix) -> float:
    """The pixels that a matrix takes on a screen."""
    names = [CORNER, *matrix.down]
    cells = (max(LEAST_CELL, text_width(name, FONT) + PADDING) for name in matrix.across)
    return max(text_width(name, FONT) for name in names) + PADDING + sum(cells)
