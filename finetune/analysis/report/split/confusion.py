"""Confusion matrix: labels down, predictions across."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from finetune.analysis.report.blocks import Block, Matrix
from finetune.analysis.report.filters import names_of
from finetune.analysis.report.split_view import SplitView
from finetune.analysis.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut

ORDER = 20
MOST_CLASSES = 25
OTHERS = "(others)"


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
    shown = shown_of(len(kept), len(seen), "classes, the most frequent")
    yield Block(
        title="Confusion",
        note="Down: label, across: prediction. A cell has its count and its share of the label's row; a click shows "
        f"its rows. {shown}",
        matrix=_matrix(merged, names_of(split.view), rows=split.rows_id, square=split.view.square),
        wide=len(kept) > 8,
    )


def _matrix(counted: Mapping[tuple[str, str], int], names: Mapping[str, int], *, rows: str, square: bool) -> Matrix:
    down, across = (_ordered({pair[side] for pair in counted}) for side in (0, 1))
    if square:
        down = across = _ordered({*down, *across})
    counts = [[counted.get((label, prediction), 0) for prediction in across] for label in down]
    return Matrix(
        down=[cut(name, NAME) for name in down],
        across=[cut(name, NAME) for name in across],
        counts=counts,
        shares=[[count / max(1, sum(row)) for count in row] for row in counts],
        rows=rows,
        links=[[_link(names, label, prediction) for prediction in across] for label in down],
    )


def _link(names: Mapping[str, int], label: str, prediction: str) -> tuple[int, int] | None:
    return (names[label], names[prediction]) if label in names and prediction in names else None


def _ordered(names: set[str]) -> Sequence[str]:
    """Alphabetical, with names that are not classes last."""
    return sorted(names, key=lambda name: (name in (OTHERS, "O", "no answer"), name))
