"""`finetune table`: scores from the records of runs, next to published ones; nothing is trained."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from finetune.analysis.published import DEFAULTS, Anchor, anchors, structure
from finetune.data.messages import noun, so_many
from finetune.data.paths import is_file
from finetune.errors import UserError, nearest
from finetune.metrics.metric import Metric
from finetune.metrics.scores import plain_metrics
from finetune.runs.recipe import Settings
from finetune.runs.recipe_diff import applied
from finetune.runs.record import RunRecord
from finetune.runs.seeds import Summary, failed, groups, summarised
from finetune.runs.toml import read_toml

TABLES = Path(__file__).parents[2] / "recipes" / "tables"
UNREAD_OF_A_ROW = ("server", "limit", "settings", "column", "over")  # in a table of a recipe, which says which runs


class TableRow(Settings):
    """A row of the table: a task, a metric and settings; it gives one line per model."""

    name: str
    task: str
    metric: str
    split: str = Field("dev", description="split of our runs, on which settings are selected")
    server: str = Field("server", description="split of published scores on hidden labels")
    limit: int | None = Field(None, description="rows of each split that a run used; default: all")
    settings: dict[str, Any] = Field({}, description="dotted keys that a run must have")
    column: str = Field("", description="heading in the paper's form, where rows of one heading share a column")
    over: list[str] = Field([], description="dotted keys that are averaged over like seeds, such as options.fold")
    published_as: str = Field("", description="the task of the published scores, where it has another name")
    published: dict[str, float] = Field({}, description="published scores of models, where they are of no task here")


class System(Settings):
    """A row of the paper in a table of a recipe; the others are compared with the first."""

    name: str
    settings: dict[str, Any] = Field(
        {}, description="dotted keys that select runs of the recipe, with a value or a list of them; default: none"
    )
    paper: str = Field("", description="its name among the published scores")
    columns: dict[str, str] = Field({}, description="cells shown in place of the name, by heading")


class PaperTable(Settings):
    """A file of recipes/tables. `margin`, in points, is the difference from a published score that counts as equal.
    `source` is a prefix of the sources to show; without it, all sources of loadable models are shown.

    One with a `recipe` shows its runs, for each row a line a `system`, compared with the first and with the `control`.
    """

    title: str
    source: str = ""
    margin: float = Field(1.0, gt=0)
    recipe: str = ""
    heading: str = Field("system", description="heading of the systems' names")
    system: list[System] = Field([])
    control: str = Field("", description="a system that the others are compared with too")
    row: list[TableRow]

    @model_validator(mode="after")
    def _reads_all(self) -> Self:
        """Refuses settings that the other kind of table has."""
        ours = {"margin", *UNREAD_OF_A_ROW} if self.recipe else {"system", "heading", "control"}
        given = self.model_fields_set.union(*(row.model_fields_set for row in self.row)) & ours
        if given:
            kind = "with" if self.recipe else "without"
            raise ValueError(f"{', '.join(sorted(given))}: not for a table {kind} a recipe")
        names = [one.name for one in self.system]
        if self.control and self.control not in names:
            raise ValueError(f"control '{self.control}' is not a system: {', '.join(names)}")
        return self


@dataclass(frozen=True, kw_only=True)
class TableLine:
    """One model on one row: our dev and test scores, if there are runs, and published scores of the same model.

    `split` is the one that settings were selected on; a row without runs and published scores has no model.
    `choices` is the number of settings, `runs` are those of the selected one, of which `failed` failed.
    """

    name: str
    metric: Metric
    split: str
    model: str
    choices: int
    runs: Sequence[RunRecord]
    failed: int | None
    dev: Summary | None
    test: Summary | None
    published_dev: Sequence[Anchor]
    published_test: Sequence[Anchor]
    verdicts: Sequence[str]


def table_files() -> dict[str, Path]:
    """The built-in tables by name."""
    return {file.stem: file for file in sorted(TABLES.glob("*.toml"))}


def load_table(name: str) -> PaperTable:
    """A table by its name, or from a file. Raises UserError for an unknown or invalid one."""
    file = Path(name) if is_file(name) else table_files().get(name)
    if file is None:
        known = list(table_files())
        raise UserError(f"no table or file is called '{name}'", f"{nearest(name, known)}There are {', '.join(known)}")
    try:
        return PaperTable.model_validate(read_toml(file))
    except ValidationError as error:
        faults = "; ".join(
            ": ".join(
                filter(None, [".".join(map(str, fault["loc"])), fault["msg"].lower().removeprefix("value error, ")])
            )
            for fault in error.errors(include_url=False)
        )
        raise UserError(f"{file}: {faults}", "Compare with the files of recipes/tables") from None


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


def rule(table: PaperTable) -> str:
    """The rule of the verdict, in words."""
    over = "folds" if any(row.over for row in table.row) else "seeds"
    within = f"{table.margin:g} {noun(table.margin, 'point')}"
    return (
        f"Verdict: equal if the whole 95 % interval of our mean (Student's t over {over}) is within {within} of the "
        f"published score, lower or higher if it is entirely outside, else undecided (always so for one run). "
        f"The published score is taken as exact."
    )


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


def _lines(row: TableRow, records: Sequence[RunRecord], table: PaperTable, limit: int | None) -> Iterable[TableLine]:
    mine = _fitting(_with_limit(row, limit), records)
    metric = mine[0].metric(row.metric) if mine else Metric(row.metric)
    shown = _published(row, table.source)
    models = dict.fromkeys([*(record.model for record in mine), *(anchor.model for anchor in shown)])
    for model in models or [""]:
        choices = groups((record for record in mine if record.model == model), over=row.over)
        best = max(choices, key=lambda runs: metric.rank(_mean(runs, row)), default=[])
        theirs = [anchor for anchor in shown if anchor.model == model]
        dev = [record.scores[row.split][row.metric] for record in best]
        test = [record.scores["test"][row.metric] for record in best if "test" in record.scores]
        same_split = [anchor for anchor in theirs if anchor.split == row.split]
        ours = summarised(dev, metric) if dev else None
        yield TableLine(
            name=row.name,
            metric=metric,
            split=row.split,
            model=model,
            choices=len(choices),
            runs=best,
            failed=_failed(best, row.split),
            dev=ours,
            test=summarised(test, metric) if test else None,
            published_dev=same_split,
            published_test=[anchor for anchor in theirs if anchor.split != row.split],
            verdicts=[_verdict(ours, a, metric, best[0].rows[row.split], table) for a in same_split] if ours else [],
        )


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


def _mean(runs: Sequence[RunRecord], row: TableRow) -> float:
    return runs[0].metric(row.metric).spacing.mean([record.scores[row.split][row.metric] for record in runs])


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


def _verdict(ours: Summary, anchor: Anchor, metric: Metric, rows: int, table: PaperTable) -> str:
    if not anchor.is_of(anchor.split, rows):
        return "other rows"
    if ours.interval is None:
        return "undecided"
    low, high = (metric.scaled(edge - anchor.score) for edge in ours.interval)
    if -table.margin <= low and high <= table.margin:
        return "equal"
    return "lower" if high < -table.margin else "higher" if low > table.margin else "undecided"
