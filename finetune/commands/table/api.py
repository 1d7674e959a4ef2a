"""`finetune.table`: scores of finished runs next to published ones."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.analysis.form import Form
from finetune.api.quiet import plainly
from finetune.commands.table.declaration import PaperTable, load_table
from finetune.commands.table.forms import numbers_of, paired_form, paper_form, runs_form
from finetune.commands.table.lines import TableLine, left_out, lines_of, paired_lines
from finetune.data.messages import noun, so_many
from finetune.errors import UserError
from finetune.runs.record_files import all_records
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

        return pd.read_csv(io.StringIO(self.form().csv), keep_default_na=True)

    def form(self, form: str | None = None) -> Form:
        """The cells and notes as `paper` (systems as rows, tasks as columns) or `runs` (a row a model and task).

        The default is `paper` where the table has it, and `runs` for one with cost; a table of a recipe has a form of
        its own. Raises UserError for `paper` where it has not, or with cost.
        """
        if form not in (None, "paper", "runs"):
            raise UserError(f"the form of a table is '{form}'", "It is paper or runs")
        if self.cost and form == "paper":
            raise UserError("the form paper has no columns for the cost of runs", "Leave out `form` or `cost`")
        if self.cost or form == "runs":
            made = runs_form(self.table, self.lines, cost=self.cost)
        elif form == "paper" or self.table.has_columns:
            made = paper_form(self.table, self.lines)
        else:
            made = (paired_form if self.table.system else runs_form)(self.table, self.lines)
        pairs = bool(self.table.system)
        return replace(made, numbers=[numbers_of(line, pairs=pairs, cost=self.cost) for line in self.lines])

    @plainly
    def write(self, file: str | Path, *, form: str | None = None, force: bool = False) -> Path:
        """Writes a .md or .csv file, and returns its path; CSV has the numbers of `runs`.

        With `force` it replaces a file that we did not write. Raises UserError for another suffix.
        """
        made = self.form(form)
        command = f"finetune table {self.name}{made.option} -o results/tables/{self.name}.md"
        return made.write(Path(file), made=command, reads=self.name, force=force)

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
    declared, records = load_table(str(name)), all_records(Path(out))
    if declared.recipe:
        plan = with_first_runs(targets.expand_targets([declared.recipe], {}), Path(out))
        lines, recipe = paired_lines(declared, records, plan), declared.recipe
        planned = sum(line.planned for line in lines)
        left = sum(max(0, line.planned - len(line.runs)) for line in lines)
        of = f"{left} of {so_many(planned, 'run')} {noun(left, 'is', 'are')} missing"
        note = f"{of}: finetune run {recipe}" * bool(left)
    else:
        lines, note = lines_of(declared, records), "; ".join(left_out(declared, records))
        if not any(line.runs for line in lines):
            nothing = UserError(
                f"no finished run in {out} fits this table{note and f' ({note})'}",
                "Name the folder of runs with `out`",
            )
            if not any(line.published for line in lines):
                raise nothing
            note = str(nothing)
    return ResultTable(name=str(name), table=declared, lines=lines, note=note, cost=cost)
