"""The lines of a table of a recipe, which compares the rows of its grid with the first: ours of Tables 5 and 6 (Devlin
et al. 2019).

A row of the paper is a *system*, such as an objective of pre-training. Runs of one seed are a pair: those of another
system with the same seed, whose encoders were pre-trained with that seed too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from finetune.analysis.published import anchors
from finetune.commands.table.declaration import PaperTable, System, TableRow
from finetune.commands.table.lines import TableLine
from finetune.data.messages import noun, so_many
from finetune.metrics.metric import Metric
from finetune.runs.lineage import SEEDS, Lineage
from finetune.runs.lookup import NOT_SETTINGS
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_diff import DEFAULTS
from finetune.runs.record import RunRecord
from finetune.runs.seeds import Summary, paired
from finetune.runs.toml import flat


@dataclass(frozen=True, kw_only=True)
class Point:
    """What a run is but for its seeds: a task and the settings (dotted keys) that are not at their defaults.

    `first` is that of the run whose encoder it starts from; without one it starts from the encoder `model`.
    """

    task: str
    settings: Mapping[str, Any]
    model: str = ""
    first: "Point | None" = None


@dataclass(frozen=True, kw_only=True)
class PlannedPoint:
    """A run of the table's recipe: its settings (dotted keys), its seed, and what it is but for the seed."""

    settings: Mapping[str, Any]
    seed: int
    point: Point


def paired_lines(table: PaperTable, records: Sequence[RunRecord], plan: Sequence[PlannedPoint]) -> list[TableLine]:
    """For each row of the table a line a system that has planned runs or a score in the paper."""
    found = _by_point(records)
    return [line for row in table.row for line in _of_row(row, table, found, plan)]


def missing(lines: Sequence[TableLine], recipe: str) -> str:
    """How many runs of the recipe are not finished; empty where all are."""
    planned = sum(line.planned for line in lines)
    left = sum(max(0, line.planned - len(line.runs)) for line in lines)
    return f"{left} of {so_many(planned, 'run')} {noun(left, 'is', 'are')} missing: finetune run {recipe}" * bool(left)


def point_of_recipe(recipe: Recipe, task: str, first: Point | None) -> Point:
    """The point of a recipe of one run, for the task of this name."""
    return _point(task, _changed(recipe.model_dump(exclude={"grid"})), recipe.model, first)


def _by_point(records: Sequence[RunRecord]) -> list[tuple[Point, RunRecord]]:
    """The records whose encoder, if it is of a run, is of one with the same seed; the latest last."""
    latest = sorted(records, key=lambda record: record.finished)
    mine = [one for one in latest if one.lineage is None or one.lineage.seed == _seed(one)]
    return [(_point(one.task, _changed(one.recipe), one.model, _point_of_lineage(one.lineage)), one) for one in mine]


def _of_row(
    row: TableRow, table: PaperTable, found: Sequence[tuple[Point, RunRecord]], plan: Sequence[PlannedPoint]
) -> Iterator[TableLine]:
    metric = next((one.metric(row.metric) for _, one in found if one.task == row.task), Metric(row.metric))
    planned = [(system, _planned(system, row, plan)) for system in table.system]
    every = [(system, mine, _runs(mine, row, found), _in_paper(system, row, table)) for system, mine in planned]
    first = next((runs for _, mine, runs, _ in every if mine), {})
    control = next((runs for system, _, runs, _ in every if system.name == table.control), {})
    first_paper = next((paper for *_, paper in every if paper is not None), 0.0)
    for system, mine, runs, paper in every:
        if mine or paper is not None:
            yield TableLine(
                name=row.name, metric=metric, split=row.split, model=system.name, runs=list(runs.values()),
                names=system.columns or {table.heading: system.name}, planned=len({one.seed for one in mine}),
                difference=_difference(first, runs, row, metric),
                from_control=_difference(control, runs, row, metric), paper=paper,
                paper_difference=None if paper is None or paper == first_paper else paper - first_paper,
            )  # fmt: skip


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


def _in_paper(system: System, row: TableRow, table: PaperTable) -> float | None:
    """The paper's score as it is shown there."""
    if system.paper in row.published:
        return row.published[system.paper]
    for one in anchors(task=row.published_as or row.task):
        given = (one.model, one.metric, one.split)
        if given == (system.paper, row.metric, "dev") and one.source.startswith(table.source):
            return 100 * one.score
    return None


def _point_of_lineage(lineage: Lineage | None) -> Point | None:
    if lineage is None:
        return None
    return _point(lineage.task, _but_seeds(lineage.settings), lineage.model, _point_of_lineage(lineage.lineage))


def _point(task: str, settings: Mapping[str, Any], model: str, first: Point | None) -> Point:
    return Point(task=task, settings=settings, model="" if first else model, first=first)


def _changed(recipe: Mapping[str, Any]) -> dict[str, Any]:
    every = flat({**recipe, "options": recipe.get("options") or {}})
    return _but_seeds({key: value for key, value in every.items() if value != DEFAULTS.get(key)})


def _but_seeds(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in (*SEEDS, *NOT_SETTINGS)}
