"""Scores of parts of the rows: by other columns of the data, such as a source, and by script."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.filters import slices_in
from finetune.analysis.report.split_view import SplitView
from finetune.analysis.report.text import NAME
from finetune.task_types.marked_text import cut

ORDER = 55
FEWEST = 10  # rows of a part whose score is worth a line


def blocks(split: SplitView) -> Iterator[Block]:
    """A line per part with enough rows: its score with 95 % interval, next to that of all other rows."""
    scores, view = split.view.scores(), split.view
    rows = [line for name, values in slices_in(view) for line in _lines(name, values, scores, view.bounded)]
    if rows:
        yield Block(
            title="Parts of the data",
            note=f"{view.measure[0].upper()}{view.measure[1:]} of parts with {FEWEST} rows or more; * marks a "
            "difference from the other rows that 95 % intervals do not explain (of many parts, some by chance).",
            table=Table(
                columns=["part", "", "rows", "score", "95 % interval", "other rows"], rows=rows, left=2, sorts=True
            ),
        )


def _lines(name: str, values: Sequence[str], scores: np.ndarray, bounded: bool) -> Iterator[list[str]]:
    counts, found = Counter(values), np.array(values, object)
    if len(counts) < 2 or counts.most_common(2)[1][1] < FEWEST:
        return
    for value, count in counts.most_common():
        inside = found == value
        if count < FEWEST or (~inside).sum() < 2:
            continue
        mean, margin = _mean(scores[inside])
        others, other_margin = _mean(scores[~inside])
        factor = 100 if bounded else 1
        apart = abs(mean - others) > float(np.hypot(margin, other_margin))
        low, high = factor * (mean - margin), factor * (mean + margin)
        yield [
            name, cut(value or "(empty)", NAME), f"{count:,}", f"{factor * mean:.{1 if bounded else 3}f}{' *' * apart}",
            f"{max(low, 0):.{1 if bounded else 3}f} to {min(high, 100) if bounded else high:.{1 if bounded else 3}f}",
            f"{factor * others:.{1 if bounded else 3}f}",
        ]  # fmt: skip


def _mean(scores: np.ndarray) -> tuple[float, float]:
    """The mean, and half its 95 % interval."""
    return float(scores.mean()), 1.96 * float(scores.std(ddof=1)) / len(scores) ** 0.5
