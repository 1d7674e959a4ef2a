"""The learning curve over the size of the data: runs that differ only in seeds and their share of the training rows."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finetune.analysis.compare import compare_runs
from finetune.errors import UserError
from finetune.metrics.metric import Interval
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.seeds import by_share, exact_percent
from finetune.runs.verdict import Verdict, verdict_of

if TYPE_CHECKING:
    import pandas as pd

SMALL_GAIN = 0.01  # of a score from 0 to 1, hardly worth labels
SAME = 0.1  # a step within this of a doubling is called a doubling


@dataclass(frozen=True, kw_only=True)
class ShareOfRows:
    """The runs with one share of the training rows, and their verdict: score, interval, best baseline."""

    share: float
    rows: int
    records: Sequence[RunRecord]
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """The runs of one setting with several sizes of the data; `run.learning_curves` is a list of these.

    Example: `run.learning_curves[0].answer`

    Attributes:
        sizes: For each size its `share` of the training rows, `rows`, `records` and `verdict`, the smallest first.
        answer: Whether more labels would help, in a sentence.
    """

    sizes: Sequence[ShareOfRows]
    answer: str

    @property
    def score(self) -> str:
        """`dev macro f1`."""
        return self.sizes[0].verdict.of

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        return ["size", "rows", self.score, "95 % interval", "best baseline"]

    @property
    def cells(self) -> list[list[str]]:
        """For each size its rows, the mean score, its interval, and the best baseline at that size."""
        shown = self.sizes[0].verdict.metric.shown
        cells = []
        for size in self.sizes:
            verdict, base = size.verdict, size.verdict.baseline_score
            scores = [shown(verdict.score), verdict.metric.ends(verdict.interval), "" if base is None else shown(base)]
            cells.append([exact_percent(size.share), f"{size.rows:,}", *scores])
        return cells

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each size: `score` is the mean over `runs`, with its 95 % interval, NaN for a single run."""
        import pandas as pd

        rows = []
        for size in self.sizes:
            verdict, ends = size.verdict, size.verdict.interval or (None, None)
            rows.append((size.share, size.rows, verdict.score, *ends, verdict.baseline_score, len(size.records)))
        return pd.DataFrame(rows, columns=["share", "rows", "score", "low", "high", "baseline", "runs"])

    def __repr__(self) -> str:
        return f"<LearningCurve of {self.score}: {self.answer}>"


def learning_curves(records: Sequence[RunRecord], folders: Mapping[str, RunFolder]) -> list[LearningCurve]:
    """The curve of each setting that was run with several sizes; the `folders` of the runs are by id."""
    curves = []
    for by_size in by_share(records):
        sizes = [
            ShareOfRows(share=share, rows=max(1, runs[0].rows.get("train", 0)), records=runs, verdict=verdict_of(runs))
            for share, runs in by_size.items()
        ]
        after = sizes[-1]
        before = min(sizes[:-1], key=lambda size: abs(math.log2(after.rows / size.rows) - 1))
        gain, interval = after.verdict.score - before.verdict.score, None
        with suppress(UserError, KeyError):  # no predictions, or a task that is unknown here
            sides = [[folders[record.id] for record in size.records] for size in (before, after)]
            difference = compare_runs(*sides, split=after.verdict.split).differences[after.verdict.metric.name]
            gain, interval = difference.value, difference.interval
        curves.append(LearningCurve(sizes=sizes, answer=more_labels(before, after, gain, interval)))
    return curves


def more_labels(before: ShareOfRows, after: ShareOfRows, gain: float, interval: Interval | None) -> str:
    """Whether more labels, or more text, would help: a sentence on the gain of the last doubling of the rows."""
    verdict, metric = after.verdict, after.verdict.metric
    unit, sign = " points" if metric.scale == 100 else "", 1 if gain > 0 else -1
    doublings = math.log2(after.rows / before.rows)
    step = "the last doubling" if abs(doublings - 1) < SAME else f"{2**doublings:.1f} times the rows"
    change = f"did not change {verdict.of}"
    if gain:
        change = f"{'raised' if sign > 0 else 'lowered'} {verdict.of} by {metric.shown(abs(gain))}{unit}"
    change = f"{step} ({before.rows:,} to {after.rows:,} rows) {change}"
    more = "text" if after.records[0].is_pretraining else "labels"
    if not math.isfinite(gain) or interval is None:
        return f"Would more {more} help? {change}; without an interval, as predictions or spread are missing."
    low, high = sorted(map(metric.towards_better, interval))
    answer = f"Whether more {more} would help is unclear, and more seeds may tell"
    if low > 0:
        answer = f"More {more} would probably help"
    elif high < 0:
        answer = f"More {more} of this kind would probably not help"
    elif high < SMALL_GAIN:
        answer = f"More {more} would hardly help"
    least, most = sorted(sign * end for end in interval)
    return f"{answer}: {change} (95 % {metric.ends((least, most))})."
