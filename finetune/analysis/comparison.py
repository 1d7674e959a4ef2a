"""The result of a comparison of runs, or groups of seeds, and how it is written."""

from collections.abc import Iterator, Mapping, Sequence
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
        units: The number of rows, or of groups of rows that are scored together, such as those of a query.
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
    units: int

    @property
    def title(self) -> str:
        """The task, the number of rows and the runs of each side."""
        return f"{self.task}, {self.counted} of {self.split}; {self.sides}"

    @property
    def sides(self) -> str:
        """`A is 5f0c2d6e1a, B is 9a1b77c2d0 and 2 more`."""
        return f"A is {run_words(self.a)}, B is {run_words(self.b)}"

    @property
    def counted(self) -> str:
        """`480 rows`, or `120 groups (480 rows)`."""
        rows = so_many(self.rows)
        return rows if self.units == self.rows else f"{so_many(self.units, 'group')} ({rows})"

    @property
    def drawn(self) -> str:
        """What the bootstrap draws: `rows`, or `groups` of them."""
        return "rows" if self.units == self.rows else "groups"

    @property
    def needed(self) -> str:
        """The heading of how many rows, or groups, a difference needs."""
        return f"{self.drawn} needed (80 % power)"

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`; p adjusted by Holm's method only of several metrics."""
        adjusted = ["p (Holm)"] * (len(self.differences) > 1)
        return ["metric", "A", "B", "B - A", "95 % interval", "p", *adjusted, self.needed]

    @property
    def cells(self) -> list[list[str]]:
        """For each metric both sides, the difference, its interval and p, and the rows needed to detect it."""
        lines = []
        for name, difference in self.differences.items():
            metric = self.metrics[name]
            *tests, adjusted, needed = difference_cells(metric, difference, self.holm[name])
            tests += [adjusted] * (len(self.differences) > 1)
            lines.append([metric.heading, metric.shown(difference.a), metric.shown(difference.b), *tests, needed])
        return lines

    @property
    def tests(self) -> str:
        """How p and intervals were computed, in sentences."""
        exact = "" if self.mcnemar is None else f"McNemar's exact test: p {self.mcnemar:.4f}. "
        count = len(self.differences)
        return exact + self.method(f"p (Holm): adjusted for the {count} metrics. " * (count > 1))

    def method(self, adjusted: str) -> str:
        """How p, intervals and `needed` are computed, in sentences; `adjusted` says for what p is."""
        needed = f"{self.drawn.capitalize()} needed: for 80 % power at a level of 5 %."
        return f"p and interval: paired bootstrap over {self.drawn} and seeds. {adjusted}{needed}"

    @property
    def pairs(self) -> str:
        """The difference over pairs of runs with the same seed, in a sentence; empty without `by_seed`."""
        words, count = [], 0
        for name, summary in self.by_seed.items():
            metric, count = self.metrics[name], summary.n
            ends = metric.signed_ends(summary.interval)
            words.append(f"{name} {metric.signed(summary.mean)}" + f" (95 %: {ends})" * bool(ends))
        return (
            f"B - A over {count} pairs of runs with the same seed, for these rows alone: {', '.join(words)}. An "
            "interval over pairs (Student's t) is narrower where both sides do well with the same seeds."
        ) * bool(words)

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

        rows = [frame_row(name, one, self.holm[name]) for name, one in self.differences.items()]
        return pd.DataFrame(rows, columns=["metric", "a", "b", *TESTED])

    def __repr__(self) -> str:
        name, first = next(iter(self.differences.items()))
        points = self.metrics[name].signed(first.value)
        return f"<Comparison on {so_many(self.rows)} of {self.split} of {self.task}: {name} {points}, p {first.p:.4f}>"


@dataclass(frozen=True, kw_only=True)
class Comparisons:
    """What `finetune.compare` returns for three or more runs: each of the others against the first, which is A.

    Example: `finetune.compare(run, other, third).frame`

    Attributes:
        runs: The ids of each side's runs, by letter.
        settings: The settings in which the sides differ, by letter.
        pairs: The comparison of A with each of the others.
        holm: For each of these, by metric, p adjusted for all tests.
        task: The task of all runs.
        split: The split that was compared.
        rows: The number of its rows.
        notes: What to take into account.
    """

    runs: dict[str, Sequence[str]]
    settings: dict[str, str]
    pairs: Sequence[Comparison]
    holm: Sequence[dict[str, float]]

    @property
    def task(self) -> str:
        """The task of all runs."""
        return self.pairs[0].task

    @property
    def split(self) -> str:
        """The split that was compared."""
        return self.pairs[0].split

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return self.pairs[0].rows

    @property
    def title(self) -> str:
        """The task, the number of rows, and what the others are compared with."""
        return f"{self.task}, {self.pairs[0].counted} of {self.split}; each is compared with A, the first named"

    @property
    def columns(self) -> list[str]:
        """The headings of `cells`."""
        return ["", "runs", "settings", "score", "to A", "95 % interval", "p", "p (Holm)", self.pairs[0].needed]

    @property
    def cells(self) -> list[tuple[str, list[list[str]]]]:
        """For each metric its name, and a line for each side."""
        tested = self._tested()
        return [(metric.heading, list(self._lines(metric, tested))) for metric in self.pairs[0].metrics.values()]

    @property
    def tests(self) -> str:
        """How p and intervals were computed, in sentences."""
        adjusted = f"p (Holm): adjusted for the {len(self._tested())} tests of this table. "
        return f"to A: the side minus A. {self.pairs[0].method(adjusted)}"

    @property
    def notes(self) -> list[str]:
        """What to take into account, of all pairs."""
        return list(dict.fromkeys(note for pair in self.pairs for note in pair.notes))

    def as_json(self) -> dict[str, Any]:
        """The comparisons as JSON values."""
        differences = [
            {"side": side, "metric": name, **asdict(one), "difference": one.value, "holm": adjusted}
            for (side, name), (one, adjusted) in self._tested().items()
        ]
        facts = {"task": self.task, "split": self.split, "rows": self.rows, "against": "A"}
        return facts | {"runs": self.runs, "settings": self.settings, "differences": differences, "notes": self.notes}

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each other side and metric; scores as computed, 0.843 for 84.3 points."""
        import pandas as pd

        rows = [(side, *frame_row(name, *tested)) for (side, name), tested in self._tested().items()]
        return pd.DataFrame(rows, columns=["side", "metric", "first", "score", *TESTED])

    def _tested(self) -> dict[tuple[str, str], tuple[Difference, float]]:
        """For each other side and metric the difference to A, and p adjusted for all tests."""
        return {
            (side, name): (difference, adjusted[name])
            for side, pair, adjusted in zip(list(self.runs)[1:], self.pairs, self.holm, strict=True)
            for name, difference in pair.differences.items()
        }

    def _lines(self, metric: Metric, tested: Mapping[tuple[str, str], tuple[Difference, float]]) -> Iterator[list[str]]:
        for letter, ids in self.runs.items():
            difference, adjusted = tested.get((letter, metric.name), (None, 0.0))
            if difference is None:
                score, tests = self.pairs[0].differences[metric.name].a, [""] * 5
            else:
                score, tests = difference.b, difference_cells(metric, difference, adjusted)
            yield [letter, run_words(ids), self.settings[letter], metric.shown(score), *tests]

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self.runs)} sides on {so_many(self.rows)} of {self.split} of {self.task}>"


TESTED = ("difference", "low", "high", "p", "p_holm")  # columns


def frame_row(name: str, tested: Difference, adjusted: float) -> tuple[Any, ...]:
    """A metric, both scores, and TESTED."""
    return name, tested.a, tested.b, tested.value, *(tested.interval or (None, None)), tested.p, adjusted


def difference_cells(metric: Metric, tested: Difference, adjusted: float) -> list[str]:
    """A difference, its interval, p, p adjusted, and the rows needed to detect it."""
    needed = f"{tested.rows_needed:,}" if tested.rows_needed is not None else "more seeds" * bool(tested.value)
    ends = metric.signed_ends(tested.interval)
    return [metric.signed(tested.value), ends, f"{tested.p:.4f}", f"{adjusted:.4f}", needed]


def run_words(ids: Sequence[str]) -> str:
    """`5f0c2d6e1a`, or `9a1b77c2d0 and 2 more`."""
    return ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more"
