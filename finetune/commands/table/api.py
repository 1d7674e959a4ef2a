"""`finetune.table`: scores of finished runs next to published ones."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.analysis.form import Form, require_table_file
from finetune.api.quiet import plainly
from finetune.commands.table.columns import Columns
from finetune.commands.table.declaration import PaperTable, load_table
from finetune.commands.table.files import COST_NUMBERS, PAIRED_NUMBERS, as_csv, write_table
from finetune.commands.table.forms import paired_form, runs_form
from finetune.commands.table.lines import TableLine, left_out, lines_of, shared_limit
from finetune.commands.table.pairs import PlannedPoint, Point, missing, paired_lines, point_of_recipe
from finetune.commands.table.paper_form import paper_form
from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.runs.record import RunRecord
from finetune.runs.record_files import all_records
from finetune.runs.toml import flat
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training import targets
from finetune.training.first_runs import with_first_runs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class ResultTable:
    """What `finetune.table` returns.

    Example: `finetune.table("glue").frame`

    Attributes:
        name: The name of the table.
        table: Its declaration: title, rows, margin.
        lines: A line for each row and model: our runs and scores, published scores, and the verdict; in a table of a
            recipe for each row and system, with the difference to the first system.
        cost: Whether forms and files have the cost of runs too.
        note: Why runs were left out, or why there are only published scores; empty where every task's runs are shown.
    """

    name: str
    table: PaperTable
    lines: Sequence[TableLine]
    note: str = ""
    cost: bool = False

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each line, scores in points."""
        import pandas as pd

        return pd.read_csv(io.StringIO(as_csv(self.lines, self._more)), keep_default_na=True)

    @property
    def has_columns(self) -> bool:
        """Whether the table has the form of the paper's Table 1, with tasks as columns."""
        return any(row.column for row in self.table.row)

    def form(self, form: str | None = None) -> Form:
        """The cells and notes as `paper` (systems as rows, tasks as columns) or `runs` (a row a model and task).

        The default is `paper` where the table has it, and `runs` for one with cost; a table of a recipe has a form of
        its own. Raises UserError for `paper` where it has not, or with cost.
        """
        if form not in (None, "paper", "runs"):
            raise UserError(f"the form of a table is '{form}'", "It is paper or runs")
        if self.cost and form == "paper":
            raise UserError("the form paper has no columns for the cost of runs", "Leave out `form` or `cost`")
        if self.cost:
            return runs_form(self.table, self.lines, cost=True)
        if self.table.system and form is None:
            return paired_form(self.table, self.lines)
        as_paper = self.has_columns if form is None else form == "paper"
        return (paper_form if as_paper else runs_form)(self.table, self.lines)

    @plainly
    def write(self, file: str | Path, *, form: str | None = None, force: bool = False) -> Path:
        """Writes a .md or .csv file, and returns its path; CSV has the numbers of `runs`.

        With `force` it replaces a file that we did not write. Raises UserError for another suffix.
        """
        require_table_file(Path(file), reads=[self.name], force=force)
        write_table(Path(file), self.name, self.form(form), self.lines, self._more)
        return Path(file)

    @property
    def _more(self) -> Columns:
        """The columns of a CSV file that not every table has."""
        return {**(PAIRED_NUMBERS if self.table.system else {}), **(COST_NUMBERS if self.cost else {})}

    def __repr__(self) -> str:
        runs = sum(bool(line.runs) for line in self.lines)
        return f"<Table {self.name}: {self.table.title}, {len(self.lines)} lines, {runs} with runs>"


@plainly
def table(name: str | Path, *, out: str | Path = "results", cost: bool = False) -> ResultTable:
    """Compares the scores of finished runs with published ones; nothing is trained.

    Example: `finetune.table("glue")`

    Args:
        name: `glue`, `squad`, `ner`, `choice`, `table-1` to `table-7`, or a file.
        out: The folder of runs.
        cost: Also show what the runs cost: device time and memory.

    Returns:
        The table.

    Raises:
        UserError: For an unknown table, and where there are neither runs nor published scores.
    """
    declared = load_table(str(name))
    records = all_records(Path(out))
    if declared.recipe:
        return _of_recipe(str(name), declared, records, Path(out), cost=cost)
    lines, notes = lines_of(declared, records), left_out(declared, records)
    if not _have_runs(lines) and (limit := shared_limit(declared, records)):
        limited, rows = lines_of(declared, records, limit), so_many(limit, "row")
        if _have_runs(limited):
            of_rows = f"our runs use at most {rows} of each split; published scores are of all rows"
            lines, notes = limited, [of_rows, *left_out(declared, records, limit)]
            declared = declared.model_copy(update={"title": f"{declared.title}, our runs on {rows}"})
    note = "; ".join(notes)
    if not _have_runs(lines):
        nothing = UserError(
            f"no finished run in {out} fits this table{note and f' ({note})'}", "Name the folder of runs with `out`"
        )
        if not any(line.published_dev or line.published_test for line in lines):
            raise nothing
        note = str(nothing)
    return ResultTable(name=str(name), table=declared, lines=lines, note=note, cost=cost)


def _of_recipe(name: str, declared: PaperTable, records: Sequence[RunRecord], out: Path, *, cost: bool) -> ResultTable:
    """The table of a recipe's runs; where there are none yet, the paper's alone."""
    plan = [_planned(one) for one in with_first_runs(targets.expand_targets([declared.recipe], {}), out)]
    lines = paired_lines(declared, records, plan)
    return ResultTable(name=name, table=declared, lines=lines, note=missing(lines, declared.recipe), cost=cost)


def _planned(one: ResolvedRun) -> PlannedPoint:
    return PlannedPoint(settings=flat(one.recipe.model_dump()), seed=one.recipe.seed, point=_point(one))


def _point(one: ResolvedRun) -> Point:
    return point_of_recipe(one.recipe, one.task.name, None if one.first is None else _point(one.first))


def _have_runs(lines: Sequence[TableLine]) -> bool:
    return any(line.runs for line in lines)
