"""The lines of `finetune table`: scores from the records of runs, next to published ones; nothing is trained."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from finetune.analysis.published import DEFAULTS, Anchor, anchors, structure
from finetune.commands.table.declaration import PaperTable, TableRow
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.recipe_diff import applied
from finetune.runs.record import RunRecord
from finetune.runs.seeds import Summary, failed, groups, summarised


@dataclass(frozen=True, kw_only=True)
class TableLine:
    """One model, or one system of a recipe, on one row: our runs, if there are any, and published scores.

    `split` is the one that settings were selected on; a row without runs and published scores has no model.
    `choices` is the number of settings, `runs` are those of the selected one, of which `failed` failed. A published
    score within `margin` points of ours counts as equal.

    Of a table of a recipe: `names` are cells shown in place of the system's name, by heading; `planned` is the number
    of the recipe's runs; `difference` and `from_control` are those to the first system and to the table's control over
    pairs of runs; `paper` is the paper's score of the system, and `paper_difference` that to the paper's first.
    """

    name: str
    metric: Metric
    split: str
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
    def key(self) -> tuple[str, str]:
        """What its row is about: the names of row and metric."""
        return self.name, self.metric.name

    @property
    def dev(self) -> Summary | None:
        """Our scores on the row's split; None without runs."""
        return self._scores(self.split)

    @property
    def test(self) -> Summary | None:
        """Our scores on test, of the runs that have them."""
        return self._scores("test")

    @property
    def verdicts(self) -> list[str]:
        """How our scores compare with each published one on dev; none without runs."""
        return [self._verdict(anchor) for anchor in self.published_dev if self.runs]

    def _scores(self, split: str) -> Summary | None:
        scores = [run.scores[split][self.metric.name] for run in self.runs if split in run.scores]
        return summarised(scores, self.metric) if scores else None

    def _verdict(self, anchor: Anchor) -> str:
        if not anchor.is_of(anchor.split, self.runs[0].rows[self.split]):
            return "other rows"
        if self.dev is None or self.dev.interval is None:
            return "undecided"
        low, high = (self.metric.scaled(edge - anchor.score) for edge in self.dev.interval)
        if -self.margin <= low and high <= self.margin:
            return "equal"
        return "lower" if high < -self.margin else "higher" if low > self.margin else "undecided"


def lines_of(table: PaperTable, records: Sequence[RunRecord], limit: int | None = None) -> list[TableLine]:
    """For each row, a line per model that has a run or a published score; models with runs first.

    If a model was run with several settings, the best on dev are shown. `limit` is that of the runs of rows that name
    none; default: runs on all rows.
    """
    return [line for row in table.row for line in _lines(row, records, table, limit)]


def shared_limit(table: PaperTable, records: Sequence[RunRecord]) -> int | None:
    """The `limit` of all runs of the table's tasks; None where they differ, or use all rows."""
    tasks = {row.task for row in table.row}
    limits = {record.recipe.get("limit") for record in records if record.task in tasks}
    return limits.pop() if len(limits) == 1 else None


def left_out(table: PaperTable, records: Sequence[RunRecord], limit: int | None = None) -> list[str]:
    """For each task whose runs fit no row, how many they are and why: `1 run of rte left out: limit=200`.

    `limit` is as in `lines_of`.
    """
    notes = []
    for task in dict.fromkeys(row.task for row in table.row):
        rows = [_with_limit(row, limit) for row in table.row if row.task == task]
        mine = [record for record in records if record.task == task]
        why = [min((_unlike(*pair, row) for row in rows), key=len) for pair in zip(mine, applied(mine), strict=True)]
        if why and all(why):
            reasons = ", ".join(dict.fromkeys(reason for some in why for reason in some))
            notes.append(f"{so_many(len(mine), 'run')} of {task} left out: {reasons}")
    return notes


def _unlike(record: RunRecord, given: Mapping[str, Any], row: TableRow) -> list[str]:
    """Why a run of the row's task does not fit the row; nothing where it does."""
    if row.split not in record.scores:
        return [f"no scores on {row.split}"]
    if _fits(record, given, row):
        return []
    limit, mine = record.recipe.get("limit"), structure(record.recipe)
    reasons = [] if limit == row.limit else [f"limit={limit}"]
    reasons += [] if row.metric in record.scores[row.split] else [f"no {row.metric}"]
    for key in dict.fromkeys([*DEFAULTS, *row.settings]):
        value = mine.get(key, DEFAULTS[key]) if key in DEFAULTS else given.get(key)
        reasons += [] if value == row.settings.get(key, DEFAULTS.get(key)) else [f"{key}={value}"]
    return reasons


def _lines(row: TableRow, records: Sequence[RunRecord], table: PaperTable, limit: int | None) -> Iterator[TableLine]:
    mine = _fitting(_with_limit(row, limit), records)
    metric = mine[0].metric(row.metric) if mine else Metric(row.metric)
    shown = _published(row, table.source)
    models = dict.fromkeys([*(record.model for record in mine), *(anchor.model for anchor in shown)])

    def mean(runs: Sequence[RunRecord]) -> float:
        return metric.spacing.mean([record.scores[row.split][row.metric] for record in runs])

    for model in models or [""]:
        choices = groups((record for record in mine if record.model == model), over=row.over)
        best = max(choices, key=lambda runs: metric.rank(mean(runs)), default=[])
        theirs = [anchor for anchor in shown if anchor.model == model]
        yield TableLine(
            name=row.name, metric=metric, split=row.split, model=model, choices=len(choices), runs=best,
            failed=_failed(best, row.split), margin=table.margin,
            published_dev=[anchor for anchor in theirs if anchor.split == row.split],
            published_test=[anchor for anchor in theirs if anchor.split != row.split],
        )  # fmt: skip


def _with_limit(row: TableRow, limit: int | None) -> TableRow:
    """The row, with this limit if it names none."""
    return row.model_copy(update={"limit": row.limit or limit})


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
    """The runs of a row's task, settings and limit."""
    mine = [record for record in records if record.task == row.task and row.split in record.scores]
    theirs = dict.fromkeys(name for record in mine for name in plain_metrics(record.scores[row.split]))
    if mine and row.metric not in theirs:
        raise UserError(f"row '{row.name}': {row.task} has no metric '{row.metric}'", f"It has {', '.join(theirs)}")
    return [record for record, given in zip(mine, applied(mine), strict=True) if _fits(record, given, row)]


def _fits(record: RunRecord, given: Mapping[str, Any], row: TableRow) -> bool:
    """Whether a run of the row's task and split has the row's limit, metric and settings."""
    if record.recipe.get("limit") != row.limit or row.metric not in record.scores[row.split]:
        return False
    wanted = {key: value for key, value in row.settings.items() if key not in structure(row.settings)}
    same = structure(record.recipe) == structure(row.settings)
    return same and all(given.get(key) == value for key, value in wanted.items())


def _failed(runs: Sequence[RunRecord], split: str) -> int | None:
    """Number of runs no better than the majority class; None without runs or without that baseline."""
    found = [failed(record, split) for record in runs]
    return None if not found or None in found else sum(map(bool, found))
