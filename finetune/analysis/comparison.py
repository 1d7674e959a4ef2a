"""The result of a comparison of two runs, or two groups of seeds, and how it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Difference
from finetune.runs.seeds import Summary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A row that only one side has right: its fields, its label, and both predictions."""

    better: str
    row: dict[str, Any]
    gold: Any
    a: Any
    b: Any


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What `finetune.compare` returns.

    Example: `finetune.compare(run, other).frame`

    Attributes:
        a: The ids of the first side's runs.
        b: The ids of the second side's runs.
        task: The task of all runs.
        split: The split that was compared.
        shape: The name of the task's type, empty where it is unknown.
        rows: The number of its rows.
        metrics: How the scores of each are shown and compared.
        differences: For each metric the scores of both sides, their difference, its 95 % interval and p.
        holm: For each metric p adjusted for the number of metrics.
        by_seed: For each metric the difference over pairs of runs with the same seed, with its 95 % interval (Student's
            t), spread and number; empty where the sides share fewer than two seeds.
        mcnemar: p of McNemar's exact test, where rows are right or wrong.
        changed: The rows that only one side has right.
        notes: What to take into account.
        queries: The number of queries of a ranking, which are compared in place of rows; 0 for other tasks.
    """

    a: Sequence[str]
    b: Sequence[str]
    task: str
    shape: str
    split: str
    rows: int
    metrics: Mapping[str, Metric]
    differences: dict[str, Difference]
    holm: dict[str, float]
    mcnemar: float | None
    by_seed: Mapping[str, Summary]
    changed: Sequence[Changed]
    notes: Sequence[str]
    queries: int = 0

    @property
    def title(self) -> str:
        """The task, the number of rows and the runs of each side."""
        return f"{self.task}, {self.counted} of {self.split}; {self.sides}"

    @property
    def counted(self) -> str:
        """`480 rows`, or of a ranking `120 queries (480 rows)`."""
        rows = so_many(self.rows)
        return f"{so_many(self.queries, 'query')} ({rows})" if self.queries else rows

    @property
    def needed(self) -> str:
        """The heading of how many rows, or queries of a ranking, a difference needs."""
        return "queries needed (80 % power)" if self.queries else "rows needed (80 % power)"

    @property
    def method(self) -> tuple[str, str]:
        """How p and intervals were computed, and what `needed` means, in sentences."""
        if self.queries:
            drawn = "p and interval: paired bootstrap over queries and seeds."
            return drawn, "Queries needed: for 80 % power at a level of 5 %."
        drawn = "p and interval: paired bootstrap over rows and seeds."
        return drawn, "Rows needed: for 80 % power at a level of 5 %."

    @property
    def sides(self) -> str:
        """`A is 5f0c2d6e1a, B is 9a1b77c2d0 and 2 more`."""
        a, b = (ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more" for ids in (self.a, self.b))
        return f"A is {a}, B is {b}"

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`; p adjusted by Holm's method only of several metrics."""
        adjusted = ["p (Holm)"] * (len(self.differences) > 1)
        return ["metric", "A", "B", "B - A", "95 % interval", "p", *adjusted, self.needed]

    @property
    def cells(self) -> list[list[str]]:
        """For each metric both sides, the difference, its interval and p, and the rows needed to detect it."""
        return [self._cells(name) for name in self.differences]

    @property
    def tests(self) -> str:
        """How p and intervals were computed, in sentences."""
        count = len(self.differences)
        exact = "" if self.mcnemar is None else f"McNemar's exact test: p {self.mcnemar:.4f}. "
        adjusted = f"p (Holm): adjusted for the {count} metrics. " * (count > 1)
        how, needed = self.method
        return f"{exact}{how} {adjusted}{needed}"

    @property
    def pairs(self) -> str:
        """The difference over pairs of runs with the same seed, in a sentence; empty without `by_seed`."""
        if not self.by_seed:
            return ""
        count = next(iter(self.by_seed.values())).n
        each = ", ".join(f"{name} {self._pair(name)}" for name in self.by_seed)
        return (
            f"B - A over {count} pairs of runs with the same seed, for these rows alone: {each}. An interval over "
            "pairs (Student's t) is narrower where both sides do well with the same seeds."
        )

    def _pair(self, name: str) -> str:
        """`+2.9 (95 %: +0.7 to +5.1)`."""
        metric, found = self.metrics[name], self.by_seed[name]
        interval = " to ".join(map(metric.signed, found.interval or ()))
        return metric.signed(found.mean) + (f" (95 %: {interval})" if interval else "")

    def _cells(self, name: str) -> list[str]:
        metric, each = self.metrics[name], self.differences[name]
        return [
            name if metric.greater_is_better else f"{name} (lower is better)",
            metric.shown(each.a),
            metric.shown(each.b),
            metric.signed(each.value),
            " to ".join(map(metric.signed, each.interval or ())),
            f"{each.p:.4f}",
            *[f"{self.holm[name]:.4f}"] * (len(self.differences) > 1),
            f"{each.rows_needed:,}" if each.rows_needed is not None else "more seeds" * bool(each.value),
        ]

    def as_json(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        plain = asdict(replace(self, metrics={}))
        del plain["metrics"], plain["shape"]
        for name, difference in self.differences.items():
            plain["differences"][name]["difference"] = difference.value
        return plain

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each metric; scores as computed, 0.843 for 84.3 points."""
        import pandas as pd

        rows = [
            (name, one.a, one.b, one.value, *(one.interval or (None, None)), one.p, self.holm[name])
            for name, one in self.differences.items()
        ]
        return pd.DataFrame(rows, columns=["metric", "a", "b", "difference", "low", "high", "p", "p_holm"])

    def __repr__(self) -> str:
        name, first = next(iter(self.differences.items()))
        metric = self.metrics[name]
        points = metric.signed(first.value)
        return f"<Comparison on {so_many(self.rows)} of {self.split} of {self.task}: {name} {points}, p {first.p:.4f}>"
