"""`finetune.compare`: whether runs, or groups of seeds, differ by more than chance."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, overload

from finetune.analysis import comparison, several_comparison
from finetune.analysis.compare import compare_runs
from finetune.analysis.several_comparison import compare_several
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run, open_run
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.inference.exported.export_facts import is_export
from finetune.runs.folder import RunFolder
from finetune.runs.seeds import groups
from finetune.task_types import registry

if TYPE_CHECKING:
    import pandas as pd


class Comparison(comparison.SplitComparison):
    """What `finetune.compare` returns.

    Example: `finetune.compare(run, other).frame`

    Attributes:
        a: The ids of the first side's runs.
        b: The ids of the second side's runs.
        task: The task of all runs.
        split: The split that was compared.
        rows: The number of its rows.
        differences: For each metric the scores of both sides, their difference, its 95 % interval and p.
        holm: For each metric p adjusted for the number of metrics.
        by_seed: For each metric the difference over pairs of runs with the same seed, with its 95 % interval (Student's
            t), spread and number; empty where the sides share fewer than two seeds.
        mcnemar: p of McNemar's exact test, where rows are right or wrong.
        changed: The rows that only one side has right.
        notes: What to take into account.
    """

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


class Comparisons(several_comparison.SeveralComparisons):
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

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each other side and metric; scores as computed, 0.843 for 84.3 points."""
        import pandas as pd

        rows = [
            (side, name, one.a, one.b, one.value, *(one.interval or (None, None)), one.p, adjusted[name])
            for side, pair, adjusted in zip(list(self.runs)[1:], self.pairs, self.holm, strict=True)
            for name, one in pair.differences.items()
        ]
        columns = ["side", "metric", "first", "score", "difference", "low", "high", "p", "p_holm"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self.runs)} sides on {so_many(self.rows)} of {self.split} of {self.task}>"


@overload
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparison: ...


@overload
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    c: Run | str | Path,
    /,
    *others: Run | str | Path,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparisons: ...


@plainly
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *others: Run | str | Path,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparison | Comparisons:
    """Tests whether two runs of a task differ, on the rows that both predicted; of more, each of the others against
    the first.

    Example: `finetune.compare(run, other)`, `finetune.compare(baseline, one, two)`

    Args:
        a: A run, or its folder, id or task, or the folder of an export, which then answers the rows of its run; several
            seeds, as from `train(seeds=3)`, are one side.
        b: The other.
        *others: Further ones, which are compared with `a` too.
        split: Default: the first dev split.
        seeds: For runs that are named: use all that differ from each only in their seeds.
        task: The task, if it is in a file (`FILE.py:NAME`).
        out: The folder of the runs that are named.

    Returns:
        The comparison; `B - A` is positive where the second is better. Of three or more, `Comparisons`, whose p is
        adjusted for all tests.

    Raises:
        UserError: For runs of different tasks or rows, and without predictions.
    """
    given = (a, b, *others)
    names = [one.folder.name if isinstance(one, Run) else str(one) for one in given]
    named = None if task is None else registry.find(task)
    _require_different_exports(names)
    with TemporaryDirectory() as scratch:

        def side(given: Run | str | Path, name: str) -> Sequence[RunFolder]:
            if isinstance(given, Run) or not is_export(given):
                return _folders(given if isinstance(given, Run) else open_run(given, seeds=seeds, out=out))
            from finetune.commands.compare.exported import answered_by_export

            with quiet():
                return [answered_by_export(Path(given), Path(scratch, name), split=split, task=named, out=Path(out))]

        sides = [side(one, str(number)) for number, one in enumerate(given)]
        if others:
            several = compare_several(sides, split=split, task=named, names=names)
            return Comparisons(**{field.name: getattr(several, field.name) for field in fields(several)})
        found = compare_runs(*sides, split=split, task=named, names=(names[0], names[1]))
    return Comparison(**{field.name: getattr(found, field.name) for field in fields(found)})


def _require_different_exports(names: Sequence[str]) -> None:
    seen: dict[Path, str] = {}
    for name in filter(is_export, names):
        if (first := seen.setdefault(Path(name).resolve(), name)) is not name:
            raise UserError(f"{first} and {name} are the same export", "Name another, or its run")


def _folders(run: Run) -> Sequence[RunFolder]:
    if len(found := groups(run.records)) > 1:
        raise UserError(
            f"one side has runs with {len(found)} different settings", "Compare two of run.runs, or runs of one setting"
        )
    return [RunFolder(one.folder) for one in run.runs]
