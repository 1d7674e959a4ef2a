"""All runs of a page as its blocks see them."""

from collections.abc import Sequence
from dataclasses import dataclass

from finetune.analysis.comparison import Comparison
from finetune.analysis.data_sizes import LearningCurve, learning_curves
from finetune.commands.report.comparison import compared
from finetune.commands.report.run_files import RunFiles
from finetune.runs.seeds import groups as groups_of

Group = Sequence[RunFiles]  # runs that differ only in seeds


@dataclass(frozen=True, kw_only=True)
class PageRuns:
    """The runs in order, those together that differ only in seeds, the learning curves, and the comparison of A and B.

    A learning curve's sizes are not compared as A and B.
    """

    runs: Sequence[RunFiles]
    groups: Sequence[Group]
    curves: Sequence[LearningCurve]
    comparison: Comparison | None


def page_runs(runs: Sequence[RunFiles]) -> PageRuns:
    """Groups, curves and comparison of some runs."""
    by_record = {id(one.record): one for one in runs}
    groups = [[by_record[id(record)] for record in group] for group in groups_of(one.record for one in runs)]
    curves = learning_curves([one.record for one in runs], {one.record.id: one.folder for one in runs})
    return PageRuns(runs=runs, groups=groups, curves=curves, comparison=None if curves else compared(groups))
