"""Scores of parts of the rows: by other columns of the data, such as a source, and by script."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.filters import slices_in
from finetune.commands.report.split_view import SplitView
from finetune.commands.report.text import NAME
from finetune.metrics.row_means import difference_p, mean_interval
from finetune.metrics.significance import holm
from finetune.task_types.marked_text import cut

ORDER = 155
FEWEST_ROWS = 10  # rows of a part whose score is worth a line
LEVEL = 0.05
STAR = "\u00a0*"  # on the line of its score


@dataclass(frozen=True, kw_only=True)
class PartScore:
    """The mean score of the rows with one value of a column, and of all other rows; `p` of the difference."""

    column: str
    value: str
    rows: int
    score: float
    interval: tuple[float, float] | None
    others: float
    p: float


def blocks(split: SplitView) -> Iterator[Block]:
    """A line per part with enough rows: its score with 95 % interval, next to that of all other rows."""
    scores, view = split.view.scores(), split.view
    parts = [one for name, some in slices_in(view) for one in part_scores(name, some, scores, bounded=view.bounded)]
    if not parts:
        return
    adjusted = holm([one.p for one in parts])
    yield Block(
        title="Parts of the data",
        note=f"{view.measure[0].upper()}{view.measure[1:]} of parts with {FEWEST_ROWS} rows or more; * marks a "
        f"difference from the other rows ({_test(scores, view.bounded)}, p under {LEVEL} after Holm's adjustment "
        "for all parts).",
        table=TableBlock(
            columns=["part", "rows", "score", "95 % interval", "other rows"],
            rows=[_line(one, p < LEVEL, view.bounded) for one, p in zip(parts, adjusted, strict=True)],
            sorts=True,
        ),
    )


def part_scores(name: str, values: Sequence[str], scores: np.ndarray, *, bounded: bool) -> Iterator[PartScore]:
    """The parts with enough rows, the largest first; `scores` are `(rows,)`, at most 1 if `bounded`."""
    counts, found = Counter(values), np.array(values, object)
    if len(counts) < 2 or counts.most_common(2)[1][1] < FEWEST_ROWS:
        return
    for value, count in counts.most_common():
        inside = found == value
        if count < FEWEST_ROWS or (~inside).sum() < 2:
            continue
        yield PartScore(
            column=name,
            value=value,
            rows=count,
            score=float(scores[inside].mean()),
            interval=mean_interval(scores[inside], bounded=bounded),
            others=float(scores[~inside].mean()),
            p=difference_p(scores[inside], scores[~inside], bounded=bounded),
        )


def _test(scores: np.ndarray, bounded: bool) -> str:
    return "Fisher's exact test" if bounded and np.isin(scores, (0, 1)).all() else "Welch's t-test"


def _line(one: PartScore, differs: bool, bounded: bool) -> list[str]:
    def shown(score: float) -> str:
        return f"{100 * score:.1f}" if bounded else f"{score:.3f}"

    return [
        f"{one.column} {cut(one.value or '(empty)', NAME)}", f"{one.rows:,}", shown(one.score) + STAR * differs,
        "–".join(map(shown, one.interval or ())), shown(one.others),
    ]  # fmt: skip
