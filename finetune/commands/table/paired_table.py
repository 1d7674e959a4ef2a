"""Tables that compare the rows of a recipe's grid with its first row: ours of Tables 5 and 6 (Devlin et al. 2019).

A row of the paper is a *system*, such as an objective of pre-training. Runs of one seed are a pair: those of another
system with the same seed, whose encoders were pre-trained with that seed too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.analysis.published import Anchor, anchors
from finetune.commands.table.paper_table import PaperTable, System, TableLine, TableRow
from finetune.commands.table.points import Point, point_of_record
from finetune.data.messages import noun, so_many
from finetune.metrics.metric import Metric
from finetune.runs.record import RunRecord
from finetune.runs.seeds import Summary, paired, summarised


@dataclass(frozen=True, kw_only=True)
class PlannedPoint:
    """A run of the table's recipe: its settings (dotted keys), its seed, and what it is but for the seed."""

    settings: Mapping[str, Any]
    seed: int
    point: Point


@dataclass(frozen=True, kw_only=True)
class PairedLine:
    """A system on a score: its line, the differences to the first system and to the table's control over pairs of runs,
    and the paper's.

    `planned` is the number of runs of the recipe, of which `line` has those that are finished.
    """

    line: TableLine
    system: System
    planned: int
    difference: Summary | None
    from_control: Summary | None
    paper: float | None
    paper_difference: float | None


def paired_lines(table: PaperTable, records: Sequence[RunRecord], plan: Sequence[PlannedPoint]) -> list[PairedLine]:
    """For each row of the table a line a system that has planned runs or a score in the paper."""
    found = _by_point(records)
    return [line for row in table.row for line in _of_row(row, table, found, plan)]


def missing(lines: Sequence[PairedLine], recipe: str) -> str:
    """How many runs of the recipe are not finished; empty where all are."""
    planned = sum(line.planned for line in lines)
    left = sum(max(0, line.planned - len(line.line.runs)) for line in lines)
    return f"{left} of {so_many(planned, 'run')} {noun(left, 'is', 'are')} missing: finetune run {recipe}" * bool(left)


def _by_point(records: Sequence[RunRecord]) -> list[tuple[Point, RunRecord]]:
    """The records whose encoder, if it is of a run, is of one with the same seed; the latest last."""
    latest = sorted(records, key=lambda record: record.finished)
    return [(point_of_record(one), one) for one in latest if one.lineage is None or one.lineage.seed == _seed(one)]


def _of_row(
    row: TableRow, table: PaperTable, found: Sequence[tuple[Point, RunRecord]], plan: Sequence[PlannedPoint]
) -> Iterator[PairedLine]:
    metric = next((one.metric(row.metric) for _, one in found if one.task == row.task), Metric(row.metric))
    planned = [_planned(system, row, plan) for system in table.system]
    finished = [_runs(mine, row, found) for mine in planned]
    papers = [_in_paper(system, row, table) for system in table.system]
    first = next((runs for mine, runs in zip(planned, finished, strict=True) if mine), {})
    control = next(
        (runs for system, runs in zip(table.system, finished, strict=True) if system.name == table.control), {}
    )
    first_in_paper = next((paper for paper in papers if paper is not None), None)
    for system, mine, runs, paper in zip(table.system, planned, finished, papers, strict=True):
        if not mine and paper is None:
            continue
        line = _line(system, row, metric, list(runs.values()))
        yield PairedLine(
            line=line,
            system=system,
            planned=len({one.seed for one in mine}),
            difference=_difference(first, runs, row, line.metric),
            from_control=_difference(control, runs, row, line.metric),
            paper=paper,
            paper_difference=None if paper is None or paper == first_in_paper else paper - (first_in_paper or 0.0),
        )


def _planned(system: System, row: TableRow, plan: Sequence[PlannedPoint]) -> list[PlannedPoint]:
    """The runs of a system on the row's task; for that of pre-training those that its other runs start from."""
    if not system.settings:
        return []
    wanted = [(key, [*value, value] if isinstance(value, list) else [value]) for key, value in system.settings.items()]
    of_system = [one for one in plan if all(one.settings.get(key) in values for key, values in wanted)]
    firsts = [PlannedPoint(settings={}, seed=one.seed, point=one.point.first) for one in of_system if one.point.first]
    return [one for one in (*of_system, *firsts) if one.point.task == row.task]


def _runs(
    mine: Sequence[PlannedPoint], row: TableRow, found: Sequence[tuple[Point, RunRecord]]
) -> dict[int, RunRecord]:
    """The finished runs by seed, the latest of each; those of more seeds than the recipe's too."""
    points = [one.point for one in mine]
    runs = {_seed(record): record for point, record in found if row.split in record.scores and point in points}
    return dict(sorted(runs.items()))


def _seed(record: RunRecord) -> int:
    return int(record.recipe["seed"])


def _difference(
    others: Mapping[int, RunRecord], runs: Mapping[int, RunRecord], row: TableRow, metric: Metric
) -> Summary | None:
    """From others, over the seeds of both whose runs have the same data and precision; None without any, and of the
    others themselves.
    """
    if others is runs:
        return None
    pairs = [
        (before.scores[row.split][row.metric], after.scores[row.split][row.metric])
        for seed, after in runs.items()
        if (before := others.get(seed)) is not None and (before.data, before.precision) == (after.data, after.precision)
    ]
    return paired(pairs, metric) if pairs else None


def _line(system: System, row: TableRow, metric: Metric, runs: Sequence[RunRecord]) -> TableLine:
    scores = [record.scores[row.split][row.metric] for record in runs]
    test = [record.scores["test"][row.metric] for record in runs if "test" in record.scores]
    return TableLine(
        name=row.name, metric=metric, split=row.split, model=system.name, choices=1, runs=runs, failed=None,
        dev=summarised(scores, metric) if scores else None, test=summarised(test, metric) if test else None,
        published_dev=[], published_test=[], verdicts=[],
    )  # fmt: skip


def _in_paper(system: System, row: TableRow, table: PaperTable) -> float | None:
    """The paper's score as it is shown there."""
    if system.paper in row.published:
        return row.published[system.paper]
    found: list[Anchor] = [
        one
        for one in anchors(task=row.published_as or row.task)
        if (one.model, one.metric, one.split) == (system.paper, row.metric, "dev")
        and one.source.startswith(table.source)
    ]
    return 100 * found[0].score if found else None
