"""The learning curve over the size of the data: runs that differ only in seeds and their share of the training rows."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finetune.analysis.compare import compare_runs
from finetune.errors import UserError
from finetune.metrics.spacing import Interval
from finetune.runs.data_sizes import by_share, exact_percent
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord
from finetune.runs.seeds import failed
from finetune.runs.verdict import Verdict, verdict_of

if TYPE_CHECKING:
    import pandas as pd

FAILED = "no better than constant"  # the heading of the runs that `failed` finds
SMALL_GAIN = 0.01  # a gain, of the scale of a score, that is hardly worth labels
FEWEST_POINTS = 3  # runs to which a power and its spread can be fitted
MORE_ROWS = 200  # whose worth a report says
SAME = 0.1  # of a doubling: a step as near to one is called so


@dataclass(frozen=True, kw_only=True)
class ShareOfRows:
    """The runs with one share of the training rows, and their verdict: score, interval, best baseline."""

    share: float
    rows: int
    records: Sequence[RunRecord]
    verdict: Verdict

    @property
    def baseline(self) -> float | None:
        """The best baseline's score at that size."""
        return self.verdict.baseline_score

    @property
    def failed(self) -> list[RunRecord]:
        """The runs that are no better than a constant prediction."""
        return [record for record in self.records if failed(record, self.verdict.split)]


@dataclass(frozen=True, kw_only=True)
class Gain:
    """What the last doubling of the rows added to the score, with its 95 % interval, if known; less may be better.

    `doublings` is by how much the rows really grew.
    """

    value: float
    interval: Interval | None
    before: ShareOfRows
    after: ShareOfRows

    @property
    def doublings(self) -> float:
        """How many times the rows doubled."""
        return math.log2(self.after.rows / self.before.rows)


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """The runs of one setting with several sizes of the data, as `run.learning_curves` has them.

    Example: `run.learning_curves[0].answer`

    Attributes:
        sizes: For each size its `share` of the training rows, `rows`, `records` and `verdict`, the smallest first.
        answer: Whether more labels would help, in a sentence.
    """

    sizes: Sequence[ShareOfRows]
    answer: str

    @property
    def worth(self) -> str:
        """What MORE_ROWS more labelled rows are worth, in a sentence."""
        return worth_words(self.sizes, MORE_ROWS)

    @property
    def score(self) -> str:
        """`dev macro f1`."""
        return self.sizes[0].verdict.of

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        fails = any(size.failed for size in self.sizes)
        return ["size", "rows", self.score, "95 % interval", "best baseline", *[FAILED] * fails]

    @property
    def cells(self) -> list[list[str]]:
        """For each size its rows, the mean score, its interval, the best baseline at that size, and failed runs."""
        cells, columns = [], len(self.columns)
        for size in self.sizes:
            metric, verdict = size.verdict.metric, size.verdict
            base = "" if size.baseline is None else metric.shown(size.baseline)
            fails = f"{len(size.failed)} of {len(size.records)}" if size.failed else ""
            shown = [metric.shown(verdict.score), metric.ends(verdict.interval), base, fails]
            cells.append([exact_percent(size.share), f"{size.rows:,}", *shown][:columns])
        return cells

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each size: `score` is the mean over `runs`, with its 95 % interval, NaN for a single run."""
        import pandas as pd

        rows = []
        for size in self.sizes:
            ends = size.verdict.interval or (None, None)
            rows.append((size.share, size.rows, size.verdict.score, *ends, size.baseline, len(size.records)))
        return pd.DataFrame(rows, columns=["share", "rows", "score", "low", "high", "baseline", "runs"])

    def __repr__(self) -> str:
        return f"<LearningCurve of {self.score}: {self.answer}>"


def learning_curves(records: Sequence[RunRecord], folders: Mapping[str, RunFolder]) -> list[LearningCurve]:
    """The curve of each setting that was run with several sizes; the folders of the runs are by id."""
    return [LearningCurve(sizes=sizes, answer=more_labels(last_gain(sizes, folders))) for sizes in curves_of(records)]


def curves_of(records: Sequence[RunRecord]) -> list[list[ShareOfRows]]:
    """The sizes, smallest first, of each setting that was run with several."""
    return [
        [
            ShareOfRows(share=share, rows=max(1, runs[0].rows.get("train", 0)), records=runs, verdict=verdict_of(runs))
            for share, runs in sizes.items()
        ]
        for sizes in by_share(records)
    ]


def last_gain(sizes: Sequence[ShareOfRows], folders: Mapping[str, RunFolder]) -> Gain:
    """The gain of the largest size over the one nearest to half its rows; its interval from the runs' predictions."""
    after = sizes[-1]
    before = min(sizes[:-1], key=lambda size: abs(math.log2(after.rows / size.rows) - 1))
    value, interval = after.verdict.score - before.verdict.score, None
    with suppress(UserError, KeyError):  # no predictions, or a task that is unknown here
        sides = [[folders[record.id] for record in size.records] for size in (before, after)]
        difference = compare_runs(*sides, split=after.verdict.split).differences[after.verdict.metric.name]
        value, interval = difference.value, difference.interval
    return Gain(value=value, interval=interval, before=before, after=after)


def more_labels(gain: Gain) -> str:
    """Whether more labels would help, or more text, in a sentence."""
    verdict, metric = gain.after.verdict, gain.after.verdict.metric
    unit, turn = " points" if metric.scale == 100 else "", 1 if gain.value > 0 else -1
    step = "the last doubling" if abs(gain.doublings - 1) < SAME else f"{2**gain.doublings:.1f} times the rows"
    change = f"did not change {verdict.of}"
    if gain.value:
        change = f"{'raised' if turn > 0 else 'lowered'} {verdict.of} by {metric.shown(abs(gain.value))}{unit}"
    change = f"{step} ({gain.before.rows:,} to {gain.after.rows:,} rows) {change}"
    more = "text" if gain.after.records[0].is_pretraining else "labels"
    if not math.isfinite(gain.value) or gain.interval is None:
        return f"Would more {more} help? {change}; without an interval, as predictions or spread are missing."
    low, high = sorted(map(metric.towards_better, gain.interval))
    answer = f"Whether more {more} would help is unclear, and more seeds may tell"
    if low > 0:
        answer = f"More {more} would probably help"
    elif high < 0:
        answer = f"More {more} of this kind would probably not help"
    elif high < SMALL_GAIN:
        answer = f"More {more} would hardly help"
    least, most = sorted(turn * end for end in gain.interval)
    return f"{answer}: {change} (95 % {metric.ends((least, most))})."


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What so many more training rows are expected to add to the score, with a 95 % interval; less may be better."""

    value: float
    interval: Interval


def forecast(sizes: Sequence[ShareOfRows], more: int) -> Forecast | None:
    """The gain of `more` rows over the largest size, if the error falls as a power of the rows (Hestness 2017).

    The power is fitted to the logarithms of all runs, and its interval (Student's t) is that of the gain. None for
    fewer than three runs, and for scores that have no error between 0 and 1.
    """
    metric, split = sizes[0].verdict.metric, sizes[0].verdict.split
    points = [(size.rows, 1 - record.scores[split][metric.name]) for size in sizes for record in size.records]
    if len(points) < FEWEST_POINTS or metric.scale != 100 or not metric.greater_is_better:
        return None
    if any(not 0 < error <= 1 for _, error in points):
        return None
    from scipy.stats import linregress, t

    fitted = linregress(*zip(*((math.log(rows), math.log(error)) for rows, error in points), strict=True))
    now = math.exp(fitted.intercept + fitted.slope * math.log(sizes[-1].rows))
    half = float(t.ppf(0.975, len(points) - 2)) * fitted.stderr
    powers = (fitted.slope, fitted.slope + half, fitted.slope - half)
    value, low, high = (now * (1 - (1 + more / sizes[-1].rows) ** power) for power in powers)
    return Forecast(value=value, interval=(low, high))


def worth_words(sizes: Sequence[ShareOfRows], more: int) -> str:
    """What so many more rows are worth, in a sentence; that it cannot be told, where it cannot; empty for text."""
    if sizes[0].records[0].is_pretraining:
        return ""
    gain, metric, runs = forecast(sizes, more), sizes[0].verdict.metric, sum(len(size.records) for size in sizes)
    would = f"{more:,} more rows would add"
    if gain is None or not all(map(math.isfinite, gain.interval)):
        return f"{runs} runs do not tell what {would} to {sizes[0].verdict.of}."
    by, ends = f"by a power of the rows, fitted to {runs} runs", metric.signed_ends(gain.interval)
    if gain.interval[0] <= 0 <= gain.interval[1]:
        return f"What {would} to {sizes[0].verdict.of} cannot be told ({by}: 95 % {ends})."
    return f"{would} {metric.signed(gain.value)} to {sizes[0].verdict.of} (95 % {ends}; {by})."
