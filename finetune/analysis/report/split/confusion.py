"""Confusion matrix: labels down, predictions across."""

from collections import Counter
from collections.abc import Iterator, Mapping

from finetune.analysis.report.blocks import Block, Matrix
from finetune.analysis.report.temperature import Temperature
from finetune.analysis.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut
from finetune.task_types.view import View

ORDER = 20
MOST_CLASSES = 25
OTHERS = "(others)"


def blocks(view: View, _: Temperature | None) -> Iterator[Block]:
    """A matrix; of many classes the most frequent, the others merged."""
    counted = Counter(view.pairs())
    if not counted:
        return
    seen = Counter[str]()
    for (label, prediction), count in counted.items():
        seen.update({label: count})
        seen.update({prediction: count})
    kept = {name for name, _ in seen.most_common(MOST_CLASSES - (len(seen) > MOST_CLASSES))}
    merged = Counter[tuple[str, str]]()
    for (label, prediction), count in counted.items():
        merged[label if label in kept else OTHERS, prediction if prediction in kept else OTHERS] += count
    shown = shown_of(len(kept), len(seen), "classes, the most frequent")
    yield Block(
        title="Confusion",
        note=f"Down: label, across: prediction. A cell has its count and its share of the label's row. {shown}",
        matrix=_matrix(merged, square=view.square),
    )


def _matrix(counted: Mapping[tuple[str, str], int], *, square: bool) -> Matrix:
    down, across = (_ordered({pair[side] for pair in counted}) for side in (0, 1))
    if square:
        down = across = _ordered({*down, *across})
    counts = [[counted.get((label, prediction), 0) for prediction in across] for label in down]
    return Matrix(
        down=[cut(name, NAME) for name in down],
        across=[cut(name, NAME) for name in across],
        counts=counts,
        shares=[[count / max(1, sum(row)) for count in row] for row in counts],
    )


def _ordered(names: set[str]) -> list[str]:
    """Alphabetical, with names that are not classes last."""
    return sorted(names, key=lambda name: (name in (OTHERS, "O", "no answer"), name))
