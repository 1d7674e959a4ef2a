"""The learning curve over the size of the data: runs that differ only in seeds and their share of the training rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finetune.analysis.compare import compare_runs
from finetune.errors import UserError
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
        found = self.verdict
        return None if found.difference is None else found.score - found.difference

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
    interval: tuple[float, float] | None
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
        first = self.sizes[0].verdict
        return f"{first.split} {first.metric.name}"

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        return ["size", "rows", self.score, "95 % interval", "best baseline", *[FAILED] * self.fails]

    @property
    def cells(self) -> list[list[str]]:
        """For each size its rows, the mean score, its interval, the best baseline at that size, and failed runs."""
        return [_cells(size) + [_failed(size)] * self.fails for size in self.sizes]

    @property
    def fails(self) -> bool:
        """Whether a run was no better than a constant prediction."""
        return any(map(_failed, self.sizes))

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each size: `score` is the mean over `runs`, with its 95 % interval, NaN for a single run."""
        import pandas as pd

        names = ["share", "rows", "score", "low", "high", "baseline", "runs"]
        rows = [
            (one.share, one.rows, found.score, *(found.interval or (None, None)), one.baseline, len(one.records))
            for one in self.sizes
            for found in [one.verdict]
        ]
        return pd.DataFrame(rows, columns=names)

    def __repr__(self) -> str:
        return f"<LearningCurve of {self.score}: {self.answer}>"


def learning_curves(records: Sequence[RunRecord], folders: Mapping[str, RunFolder]) -> list[LearningCurve]:
    """The curve of each setting that was run with several sizes; the folders of the runs are by id."""
    return [LearningCurve(sizes=sizes, answer=more_labels(last_gain(sizes, folders))) for sizes in curves_of(records)]


def curves_of(records: Sequence[RunRecord]) -> list[list[ShareOfRows]]:
    """The sizes, smallest first, of each setting that was run with several."""
    return [[_size(share, some) for share, some in sizes.items()] for sizes in by_share(records)]


def last_gain(sizes: Sequence[ShareOfRows], folders: Mapping[str, RunFolder]) -> Gain:
    """The gain of the largest size over the one nearest to half its rows; its interval from the runs' predictions."""
    after = sizes[-1]
    before = min(sizes[:-1], key=lambda size: abs(math.log2(after.rows / size.rows) - 1))
    split, name = after.verdict.split, after.verdict.metric.name
    try:
        sides = [[folders[record.id] for record in size.records] for size in (before, after)]
        found = compare_runs(*sides, split=split).differences[name]
        return Gain(value=found.value, interval=found.interval, before=before, after=after)
    except (UserError, KeyError):  # no predictions, or a task that is unknown here
        return Gain(value=after.verdict.score - before.verdict.score, interval=None, before=before, after=after)


def more_labels(gain: Gain) -> str:
    """Whether more labels would help, or more text, in a sentence."""
    metric, sign = gain.after.verdict.metric, 1 if gain.after.verdict.metric.greater_is_better else -1
    shown, unit = metric.shown, " points" if metric.scale == 100 else ""
    step = "the last doubling" if abs(gain.doublings - 1) < SAME else f"{2**gain.doublings:.1f} times the rows"
    rows = f"{step} ({gain.before.rows:,} to {gain.after.rows:,} rows)"
    verb, score = "raised" if gain.value > 0 else "lowered", f"{gain.after.verdict.split} {metric.name}"
    change = (
        f"{rows} {verb} {score} by {shown(abs(gain.value))}{unit}" if gain.value else f"{rows} did not change {score}"
    )
    more = "text" if gain.after.records[0].is_pretraining else "labels"
    if not math.isfinite(gain.value) or gain.interval is None:
        return f"Would more {more} help? {change}; without an interval, as predictions or spread are missing."
    low, high = sorted(sign * end for end in gain.interval)
    turn = 1 if gain.value > 0 else -1
    between = " to ".join(shown(end) for end in sorted(turn * end for end in gain.interval))
    return f"{_answer(low, high, more)}: {change} (95 % {between})."


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What so many more training rows are expected to add to the score, with a 95 % interval; less may be better."""

    value: float
    interval: tuple[float, float]


def forecast(sizes: Sequence[ShareOfRows], more: int) -> Forecast | None:
    """The gain of `more` rows over the largest size, if the error falls as a power of the rows (Hestness 2017).

    The power is fitted to the logarithms of all runs, and its interval (Student's t) is that of the gain. None for
    fewer than three runs, and for scores that have no error between 0 and 1.
    """
    metric, split = sizes[0].verdict.metric, sizes[0].verdict.split
    points = [(size.rows, 1 - one.scores[split][metric.name]) for size in sizes for one in size.records]
    if len(points) < FEWEST_POINTS or metric.scale != 100 or not metric.greater_is_better:
        return None
    if any(not 0 < error <= 1 for _, error in points):
        return None
    from scipy.stats import linregress, t

    fitted = linregress(*zip(*((math.log(rows), math.log(error)) for rows, error in points), strict=True))
    now = math.exp(fitted.intercept + fitted.slope * math.log(sizes[-1].rows))
    half = float(t.ppf(0.975, len(points) - 2)) * fitted.stderr
    value, low, high = (
        now * (1 - (1 + more / sizes[-1].rows) ** power)
        for power in (fitted.slope, fitted.slope + half, fitted.slope - half)
    )
    return Forecast(value=value, interval=(low, high))


def worth_words(sizes: Sequence[ShareOfRows], more: int) -> str:
    """What so many more rows are worth, in a sentence; that it cannot be told, where it cannot; empty for text."""
    if sizes[0].records[0].is_pretraining:
        return ""
    found, metric, runs = forecast(sizes, more), sizes[0].verdict.metric, sum(len(size.records) for size in sizes)
    score, rows = f"{sizes[0].verdict.split} {metric.name}", f"{more:,} more rows"
    if found is None or not all(map(math.isfinite, found.interval)):
        return f"{runs} runs do not tell what {rows} would add to {score}."
    between = " to ".join(map(metric.signed, found.interval))
    by = f"by a power of the rows, fitted to {runs} runs"
    if found.interval[0] <= 0 <= found.interval[1]:
        return f"What {rows} would add to {score} cannot be told ({by}: 95 % {between})."
    return f"{rows} would add {metric.signed(found.value)} to {score} (95 % {between}; {by})."


def _answer(low: float, high: float, more: str) -> str:
    """`low` and `high` are the ends of the interval of the gain, positive for better."""
    if low > 0:
        return f"More {more} would probably help"
    if high < 0:
        return f"More {more} of this kind would probably not help"
    if high < SMALL_GAIN:
        return f"More {more} would hardly help"
    return f"Whether more {more} would help is unclear, and more seeds may tell"


def _cells(size: ShareOfRows) -> list[str]:
    shown, found = size.verdict.metric.shown, size.verdict
    interval = "" if found.interval is None else " to ".join(map(shown, found.interval))
    base = "" if size.baseline is None else shown(size.baseline)
    return [exact_percent(size.share), f"{size.rows:,}", shown(found.score), interval, base]


def _failed(size: ShareOfRows) -> str:
    """How many runs of a size failed: `2 of 3`; empty for none."""
    return f"{len(size.failed)} of {len(size.records)}" if size.failed else ""


def _size(share: float, records: Sequence[RunRecord]) -> ShareOfRows:
    rows = records[0].rows.get("train", 0)
    return ShareOfRows(share=share, rows=max(1, rows), records=records, verdict=verdict_of(records))
