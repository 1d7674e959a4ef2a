"""The lines of a table: scores from the records of runs, next to published ones; nothing is trained.

A table of a recipe compares the rows of its grid with the first: ours of Tables 5 and 6 (Devlin et al. 2019). A row of
the paper is a *system*, such as an objective of pre-training. Runs of one seed are a pair: those of another system with
the same seed, whose encoders were pre-trained with that seed too.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from finetune.analysis.published import STRUCTURE, Anchor, anchors
from finetune.commands.table.declaration import PaperTable, System, TableRow
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.runs.lookup import lineage_of
from finetune.runs.record import RunRecord
from finetune.runs.seeds import Summary, applied, failures, groups, mean_score, paired, summarised
from finetune.runs.settings import DEFAULTS, SEEDS, Lineage, flat
from finetune.task_types.resolved_run import ResolvedRun

Point = tuple[str, Mapping[str, Any], Any]  # a run without its seeds: task, settings, and encoder or the run of that


@dataclass(frozen=True, kw_only=True)
class TableLine:
    """One model, or one system of a recipe, on one row: our runs, if there are any, and published scores.

    A row without runs and published scores has no model. `choices` is the number of settings; `runs` has the best
    setting's runs on the row's split; `failed` of them failed. A published score within `margin` points of ours is
    equal.

    Of a table of a recipe: `names` are cells shown in place of the system's name, by heading; `planned` is the number
    of the recipe's runs; `difference` and `from_control` are those to the first system and to the table's control over
    pairs of runs; `paper` is the paper's score of the system, and `paper_difference` that to the paper's first.
    """

    row: TableRow
    metric: Metric
    model: str
    runs: Sequence[RunRecord]
    choices: int = 1
    failed: int | None = None
    published_dev: Sequence[Anchor] = ()
    published_test: Sequence[Anchor] = ()
    margin: float = 1.0
    names: Mapping[str, str] = field(default_factory=dict)
    planned: int = 0
    difference: Summary | None = None
    from_control: Summary | None = None
    paper: float | None = None
    paper_difference: float | None = None

    @property
    def published(self) -> list[Anchor]:
        """The published scores, those on hidden labels last."""
        return [*self.published_dev, *self.published_test]

    @property
    def best_of(self) -> str:
        """How many settings there were to choose from, in words; empty of a single one."""
        return f", best of {self.choices} settings on {self.row.split}" * (self.choices > 1)

    @property
    def dev(self) -> Summary | None:
        """Our scores on the row's split; None without runs."""
        return self._scores(self.row.split)

    @property
    def test(self) -> Summary | None:
        """Our scores on test, of the runs that have them."""
        return self._scores("test")

    def _scores(self, split: str) -> Summary | None:
        scores = [run.scores[split][self.metric.name] for run in self.runs if split in run.scores]
        return summarised(scores, self.metric) if scores else None

    @property
    def verdicts(self) -> list[str]:
        """How our scores compare with each published one on dev; none without runs."""
        verdicts, margin = [], self.margin
        for anchor in self.published_dev if self.runs else ():
            ends = (self.dev and self.dev.interval) or (-math.inf, math.inf)
            low, high = (self.metric.scaled(end - anchor.score) for end in ends)
            verdict = "lower" if high < -margin else "higher" if low > margin else "undecided"
            verdict = "equal" if -margin <= low and high <= margin else verdict
            own_rows = anchor.is_of(anchor.split, self.runs[0].rows[self.row.split])
            verdicts.append(verdict if own_rows else "other rows")
        return verdicts


def lines_of(table: PaperTable, records: Sequence[RunRecord]) -> list[TableLine]:
    """For each row, a line per model that has a run or a published score; models with runs first.

    If a model was run with several settings, the best on dev are shown.
    """
    runs, lines = list(zip(records, applied(records), strict=True)), list[TableLine]()
    for row in table.row:
        fitting = [run for run, settings in runs if _fits(run, settings, row)]
        metric = fitting[0].metric(row.metric) if fitting else Metric(row.metric)
        published = [
            anchor
            for anchor in (anchors(task=row.task, settings=row.settings) if row.limit is None else ())
            if anchor.metric == row.metric
            and anchor.split in (row.split, "test", row.server)
            and (anchor.source.startswith(table.source) if table.source else "/" in anchor.model)
        ]
        for model in dict.fromkeys([*(run.model for run in fitting), *(anchor.model for anchor in published)]) or [""]:
            choices = groups((run for run in fitting if run.model == model), over=row.over)
            best = max(choices, key=lambda group: metric.rank(mean_score(group, row.split, row.metric)), default=[])
            theirs = sorted((anchor for anchor in published if anchor.model == model), key=lambda anchor: anchor.hidden)
            lines.append(TableLine(
                row=row, metric=metric, model=model, runs=best, choices=len(choices), margin=table.margin,
                failed=failures(best, row.split),
                published_dev=[anchor for anchor in theirs if anchor.split == row.split],
                published_test=[anchor for anchor in theirs if anchor.split != row.split],
            ))  # fmt: skip
    return lines


def left_out(table: PaperTable, records: Sequence[RunRecord]) -> list[str]:
    """For each task whose runs fit no row, how many: `1 run of rte left out: other rows, settings or metrics`."""
    runs = list(zip(records, applied(records), strict=True))
    counts = Counter(run.task for run, _ in runs)
    fitting = {row.task for row in table.row if any(_fits(run, settings, row) for run, settings in runs)}
    tasks = [task for task in dict.fromkeys(row.task for row in table.row) if counts[task] and task not in fitting]
    return [f"{so_many(counts[task], 'run')} of {task} left out: other rows, settings or metrics" for task in tasks]


def _fits(record: RunRecord, settings: Mapping[str, Any], row: TableRow) -> bool:
    wanted = {"limit": row.limit, **STRUCTURE, **row.settings}
    return (
        record.task == row.task
        and row.metric in record.scores.get(row.split, {})
        and all(settings.get(key) == value for key, value in wanted.items())
    )


def paired_lines(table: PaperTable, records: Sequence[RunRecord], plan: Sequence[ResolvedRun]) -> list[TableLine]:
    """For each row of the table a line a system that has planned runs or a score in the paper."""
    tasks = {row.task for row in table.row}
    latest = sorted((run for run in records if run.task in tasks), key=lambda run: (run.recipe["seed"], run.finished))
    mine = [
        (_point(lineage_of(run)), run) for run in latest if not run.lineage or run.lineage.seed == run.recipe["seed"]
    ]
    return [line for row in table.row for line in _systems(row, table, mine, plan)]


def _systems(
    row: TableRow, table: PaperTable, records: Sequence[tuple[Point, RunRecord]], plan: Sequence[ResolvedRun]
) -> Iterator[TableLine]:
    metric = next((run.metric(row.metric) for _, run in records if run.task == row.task), Metric(row.metric))
    scored = [(point, run) for point, run in records if row.split in run.scores]
    seeds: dict[str, set[int]] = {}
    runs: dict[str, dict[int, RunRecord]] = {}
    for system in table.system:
        planned = _planned(system, row, plan)
        points = [_planned_point(run) for run in planned]
        seeds[system.name] = {run.recipe.seed for run in planned}
        runs[system.name] = {run.recipe["seed"]: run for point, run in scored if point in points}  # the latest of each

    def difference(name: str, other: str) -> Summary | None:
        """Over the seeds of both systems whose runs have the same data and precision."""
        scores = [
            (before.scores[row.split][row.metric], after.scores[row.split][row.metric])
            for seed, after in runs[name].items()
            if (before := runs.get(other, {}).get(seed)) is not None
            and (before.data, before.precision) == (after.data, after.precision)
        ]
        return paired(scores, metric) if scores and name != other else None

    first, first_paper = next((name for name in seeds if seeds[name]), ""), None
    for system in table.system:
        name, paper = system.name, _in_paper(system, row, table)
        if seeds[name] or paper is not None:
            first_paper = first_paper or paper
            yield TableLine(
                row=row, metric=metric, model=name, runs=list(runs[name].values()), planned=len(seeds[name]),
                names=system.columns or {table.heading: name}, difference=difference(name, first),
                from_control=difference(name, table.control),
                paper=paper, paper_difference=(paper - first_paper or None) if paper and first_paper else None,
            )  # fmt: skip


def _planned(system: System, row: TableRow, plan: Sequence[ResolvedRun]) -> list[ResolvedRun]:
    """The runs of a system on the row's task; for a task of pre-training the runs that its other runs start from."""
    runs: list[ResolvedRun] = []
    for run in plan if system.settings else ():
        settings = flat(run.recipe.model_dump())
        wanted = [
            (key, setting if isinstance(setting, list) else [setting]) for key, setting in system.settings.items()
        ]
        if all(settings.get(key) in values for key, values in wanted):
            runs += [tried for tried in (run, run.first) if tried is not None and tried.task.name == row.task]
    return runs


def _in_paper(system: System, row: TableRow, table: PaperTable) -> float | None:
    """The score with the paper's number of digits."""
    if system.paper in row.published:
        return row.published[system.paper]
    for anchor in anchors(task=row.published_as or row.task):
        is_its = (anchor.model, anchor.metric, anchor.split) == (system.paper, row.metric, "dev")
        if is_its and anchor.source.startswith(table.source):
            return 100 * anchor.score
    return None


def _point(run: Lineage) -> Point:
    settings = {key: value for key, value in run.settings.items() if key not in SEEDS}
    return run.task, settings, run.model if run.lineage is None else _point(run.lineage)


def _planned_point(run: ResolvedRun) -> Point:
    flat_settings = flat(run.recipe.model_dump(exclude={"grid", *SEEDS, "task", "model"}))
    settings = {key: value for key, value in flat_settings.items() if value != DEFAULTS.get(key)}
    return run.task.name, settings, run.recipe.model if run.first is None else _planned_point(run.first)
