"""Scores of parts of the rows: by other columns of the data, such as a source, and by script."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from finetune.analysis.report.blocks import Block, Table
from finetune.analysis.report.filters import slices_in
from finetune.analysis.report.split_view import SplitView
from finetune.analysis.report.text import NAME
from finetune.metrics.mean_interval import mean_interval
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
        mean, margin = mean_interval(scores[inside])
        others, other_margin = mean_interval(scores[~inside])
        apart = " *" * (abs(mean - others) > float(np.hypot(margin, other_margin)))
        shown, low, high, beyond = (
            _shown(each, bounded=bounded) for each in (mean, max(mean - margin, 0), mean + margin, others)
        )
        yield [name, cut(value or "(empty)", NAME), f"{count:,}", f"{shown}{apart}", f"{low} to {high}", beyond]


def _shown(score: float, *, bounded: bool) -> str:
    """A score between 0 and 1 in percent, at most 100; an error as it is."""
    return f"{100 * min(score, 1):.1f}" if bounded else f"{score:.3f}"
