"""The scores of each class, of runs that differ only in their seeds."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from finetune.commands.report.page_runs import Group
from finetune.commands.report.run_files import view_of_run
from finetune.task_types.view import ClassScore


@dataclass(frozen=True, kw_only=True)
class ClassOfSeeds:
    """One class or label, with the scores of each run; `support` is its number of labels."""

    name: str
    support: int
    scores: Sequence[ClassScore]

    def mean(self, part: str) -> float:
        """The mean of precision, recall or f1 over the runs."""
        return statistics.fmean(getattr(one, part) for one in self.scores)

    def sd(self, part: str) -> float:
        """Its sample standard deviation, of at least two runs."""
        return float(statistics.stdev(getattr(one, part) for one in self.scores))


def classes_of(group: Group, split: str) -> list[ClassOfSeeds]:
    """The classes that every run with predictions of the split knows, the most frequent first."""
    found = [
        {one.name: one for one in view.classes()} for run in group if (view := view_of_run(run, split)) is not None
    ]
    if not found:
        return []
    shared = [name for name in found[0] if all(name in scores for scores in found)]
    every = [
        ClassOfSeeds(name=name, support=found[0][name].gold, scores=[scores[name] for scores in found])
        for name in shared
    ]
    return sorted(every, key=lambda one: -one.support)
