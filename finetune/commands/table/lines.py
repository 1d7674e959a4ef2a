"""The lines of a table: scores from the records of runs, next to published ones; nothing is trained.

A table of a recipe compares the rows of its grid with the first: ours of Tables 5 and 6 (Devlin et al. 2019). A row of
the paper is a *system*, such as an objective of pre-training. Runs of one seed are a pair: those of another system with
the same seed, whose encoders were pre-trained with that seed too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from finetune.analysis.published import DEFAULTS as STRUCTURE
from finetune.analysis.published import Anchor, anchors
from finetune.commands.table.declaration import PaperTable, System, TableRow
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.lineage import SEEDS, Lineage
from finetune.runs.lookup import NOT_SETTINGS, lineage_of
from finetune.runs.recipe_diff import DEFAULTS, applied
from finetune.runs.record import RunRecord
from finetune.runs.seeds import Summary, failed, groups, paired, summarised
from finetune.runs.toml import flat
from finetune.task_types.resolved_run import ResolvedRun

Point = tuple[str, Mapping[str, Any], Any]  # a run without its seeds: task, settings, and encoder or the run of that


@dataclass(frozen=True, kw_only=True)
class TableLine:
    """One model, or one system of a recipe, on one row: our runs, if there are any, and published scores.

    A row without runs and published scores has no model. `choices` is the number of settings, `runs` are those of the
    best one on the row's split, of which `failed` failed; `dev` is their score on that split. `verdicts` compare it
    with each published one on dev.

    Of a table of a recipe: `names` are cells shown in place of the system's name, by heading; `planned` is the number
    of the recipe's runs; `difference` and `from_control` are those to the first system and to the table's control over
    pairs of runs; `paper` is the paper's score of the system, and `paper_difference` that to the paper's first.
    """

    row: TableRow
    metric: Metric
    model: str
    runs: Sequence[RunRecord]
    dev: Summary | None
    test: Summary | None = None
    choices: int = 1
    failed: int | None = None
    published_dev: Sequence[Anchor] = ()
    published_test: Sequence[Anchor] = ()
    verdicts: Sequence[str] = ()
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


def summary_of(runs: Sequence[RunRecord], split: str, metric: Metric) -> Summary | None:
    """The scores of the runs that have the split; None without any."""
    scores = [run.scores[split][metric.name] for run in runs if split in run.scores]
    return summarised(scores, metric) if scores else None


def lines_of(table: PaperTable, records: Sequence[RunRecord]) -> list[TableLine]:
    """For each row, a line per model that has a run or a published score; models with runs first.

    If a model was run with several settings, the best on dev are shown.
    """
    return [line for row in table.row for line in _lines(row, table, records)]


def left_out(table: PaperTable, records: Sequence[RunRecord]) -> list[str]:
    """For each task whose runs fit no row, how many they are and why: `1 run of rte left out: limit=200`."""
    notes = []
    for task in dict.fromkeys(row.task for row in table.row):
        rows, mine = [row for row in table.row if row.task == task], [run for run in records if run.task == task]
        why = [min((_unlike(*pair, row) for row in rows), key=len) for pair in zip(mine, applied(mine), strict=True)]
        if why and all(why):
            reasons = ", ".join(dict.fromkeys(reason for reasons in why for reason in reasons))
            notes.append(f"{so_many(len(mine), 'run')} of {task} left out: {reasons}")
    return notes


def _lines(row: TableRow, table: PaperTable, records: Sequence[RunRecord]) -> list[TableLine]:
    mine, published = _fitting(row, records), _published(row, table.source)
    metric = mine[0].metric(row.metric) if mine else Metric(row.metric)

    def score(runs: Sequence[RunRecord]) -> float:
        return metric.rank(metric.spacing.mean([run.scores[row.split][row.metric] for run in runs]))

    lines = []
    for model in dict.fromkeys([*(run.model for run in mine), *(anchor.model for anchor in published)]) or [""]:
        choices = groups((run for run in mine if run.model == model), over=row.over)
        runs = max(choices, key=score, default=[])
        failures, dev = [failed(run, row.split) for run in runs], summary_of(runs, row.split, metric)
        theirs = [anchor for anchor in published if anchor.model == model]
        on_dev = [anchor for anchor in theirs if anchor.split == row.split]
        line = TableLine(
            row=row, metric=metric, model=model, runs=runs, choices=len(choices), dev=dev,
            test=summary_of(runs, "test", metric),
            failed=None if not runs or None in failures else sum(map(bool, failures)), published_dev=on_dev,
            published_test=sorted((one for one in theirs if one.split != row.split), key=lambda one: one.hidden),
            verdicts=[
                _verdict(dev, anchor, metric, table.margin) if anchor.is_of(row.split, runs[0].rows[row.split])
                else "other rows"
                for anchor in on_dev if runs
            ],
        )  # fmt: skip
        lines.append(line)
    return lines


def _verdict(dev: Summary | None, anchor: Anchor, metric: Metric, margin: float) -> str:
    if dev is None or dev.interval is None:
        return "undecided"
    low, high = (metric.scaled(edge - anchor.score) for edge in dev.interval)
    if -margin <= low and high <= margin:
        return "equal"
    return "lower" if high < -margin else "higher" if low > margin else "undecided"


def _published(row: TableRow, source: str) -> list[Anchor]:
    if row.limit is not None:
        return []
    return [
        anchor
        for anchor in anchors(task=row.task, settings=row.settings)
        if anchor.metric == row.metric
        and anchor.split in (row.split, "test", row.server)
        and (anchor.source.startswith(source) if source else "/" in anchor.model)
    ]


def _fitting(row: TableRow, records: Sequence[RunRecord]) -> list[RunRecord]:
    mine = [record for record in records if record.task == row.task and row.split in record.scores]
    metrics = dict.fromkeys(name for record in mine for name in plain_metrics(record.scores[row.split]))
    if mine and row.metric not in metrics:
        raise UserError(f"row '{row.name}': {row.task} has no metric '{row.metric}'", f"It has {', '.join(metrics)}")
    return [run for run, settings in zip(mine, applied(mine), strict=True) if not _unlike(run, settings, row)]


def _unlike(record: RunRecord, settings: Mapping[str, Any], row: TableRow) -> list[str]:
    """Why a run of the row's task does not fit the row; nothing where it does."""
    if row.split not in record.scores:
        return [f"no scores on {row.split}"]
    wanted = {"limit": row.limit, **STRUCTURE, **row.settings}
    reasons = [f"{key}={settings.get(key)}" for key, value in wanted.items() if settings.get(key) != value]
    return reasons + [f"no {row.metric}"] * (row.metric not in record.scores[row.split])


def paired_lines(table: PaperTable, records: Sequence[RunRecord], plan: Sequence[ResolvedRun]) -> list[TableLine]:
    """For each row of the table a line a system that has planned runs or a score in the paper."""
    tasks = {row.task for row in table.row}
    latest = sorted((run for run in records if run.task in tasks), key=lambda run: run.finished)
    mine = [run for run in latest if run.lineage is None or run.lineage.seed == run.recipe["seed"]]
    points = [(_point(lineage_of(run)), run) for run in mine]
    return [line for row in table.row for line in _of_row(row, table, points, plan)]


def _of_row(
    row: TableRow, table: PaperTable, records: Sequence[tuple[Point, RunRecord]], plan: Sequence[ResolvedRun]
) -> Iterator[TableLine]:
    metric = next((run.metric(row.metric) for _, run in records if run.task == row.task), Metric(row.metric))
    planned = {system.name: _planned(system, row, plan) for system in table.system}
    runs: dict[str, dict[int, RunRecord]] = {}
    for name, of_system in planned.items():
        wanted = [_planned_point(run) for run in of_system]
        scored = [run for point, run in records if row.split in run.scores and point in wanted]
        runs[name] = dict(sorted({run.recipe["seed"]: run for run in scored}.items()))
    first = next((name for name, of_system in planned.items() if of_system), "")
    papers = {system.name: _in_paper(system, row, table) for system in table.system}
    first_paper = next((paper for paper in papers.values() if paper is not None), 0.0)

    def difference(name: str, other: str) -> Summary | None:
        """Over the seeds of both systems whose runs have the same data and precision."""
        pairs = [(runs[other][seed], run) for seed, run in runs[name].items() if seed in runs.get(other, {})]
        scores = [
            (before.scores[row.split][row.metric], after.scores[row.split][row.metric])
            for before, after in pairs
            if (before.data, before.precision) == (after.data, after.precision)
        ]
        return paired(scores, metric) if scores and name != other else None

    for system in table.system:
        name, paper = system.name, papers[system.name]
        if planned[name] or paper is not None:
            yield TableLine(
                row=row, metric=metric, model=name, runs=list(runs[name].values()),
                dev=summary_of([*runs[name].values()], row.split, metric),
                test=summary_of([*runs[name].values()], "test", metric),
                names=system.columns or {table.heading: name},
                planned=len({run.recipe.seed for run in planned[name]}),
                difference=difference(name, first), from_control=difference(name, table.control), paper=paper,
                paper_difference=None if paper is None or paper == first_paper else paper - first_paper,
            )  # fmt: skip


def _planned(system: System, row: TableRow, plan: Sequence[ResolvedRun]) -> list[ResolvedRun]:
    """The runs of a system on the row's task; for a task of pre-training the runs that its other runs start from."""
    wanted = {key: [*value, value] if isinstance(value, list) else [value] for key, value in system.settings.items()}
    mine = []
    for run in plan if wanted else ():
        settings = flat(run.recipe.model_dump())
        if all(settings.get(key) in values for key, values in wanted.items()):
            mine += [run, *[run.first] * (run.first is not None)]
    return [run for run in mine if run is not None and run.task.name == row.task]


def _in_paper(system: System, row: TableRow, table: PaperTable) -> float | None:
    """The paper's score as it is shown there."""
    if system.paper in row.published:
        return row.published[system.paper]
    scores = [
        100 * anchor.score
        for anchor in anchors(task=row.published_as or row.task)
        if (anchor.model, anchor.metric, anchor.split) == (system.paper, row.metric, "dev")
        and anchor.source.startswith(table.source)
    ]
    return next(iter(scores), None)


def _point(run: Lineage) -> Point:
    settings = {key: value for key, value in run.settings.items() if key not in SEEDS}
    return run.task, settings, run.model if run.lineage is None else _point(run.lineage)


def _planned_point(run: ResolvedRun) -> Point:
    settings = {
        key: value
        for key, value in flat(run.recipe.model_dump(exclude={"grid"})).items()
        if value != DEFAULTS.get(key) and key not in (*SEEDS, *NOT_SETTINGS)
    }
    return run.task.name, settings, run.recipe.model if run.first is None else _planned_point(run.first)
