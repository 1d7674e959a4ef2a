"""`finetune table`: scores of finished runs next to published ones."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from finetune.analysis.table import Next, NoteLine, Part, TextTable, facts_table, require_table_file
from finetune.api.calls import plainly
from finetune.api.parameters import OutputFile
from finetune.commands.table.declaration import PaperTable, load_table, table_files
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
        asked: The form that was asked for.
        path: The file that was written, if any.
        note: Why runs were left out, or why there are only published scores; empty where every task's runs are shown.
    """

    name: str
    table: PaperTable
    lines: Sequence[TableLine]
    note: str = ""
    cost: bool = False
    asked: Literal["paper", "runs"] | None = None
    path: Path | None = None

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each line, scores in points."""
        import pandas as pd

        return pd.read_csv(io.StringIO(self.form().csv), keep_default_na=True)

    def form(self, form: Literal["paper", "runs"] | None = None) -> TextTable:
        """The cells and notes as `paper` (systems as rows, tasks as columns) or `runs` (a row a model and task).

        The default is what was asked for, else `paper` where the table has it, and `runs` for one with cost; a table of
        a recipe has a form of its own. Raises UserError for `paper` where it has not, or with cost.
        """
        form = form or self.asked
        if form not in (None, "paper", "runs") or (self.cost and form == "paper"):
            raise UserError(f"there is no form '{form}'" + " with cost" * self.cost, "It is paper or runs")
        if self.cost or form == "runs":
            made = runs_form(self.table, self.lines, cost=self.cost)
        elif form == "paper" or self.table.has_columns:
            made = paper_form(self.table, self.lines)
        else:
            made = (paired_form if self.table.system else runs_form)(self.table, self.lines)
        pairs = bool(self.table.system)
        return replace(made, numbers=[numbers_of(line, pairs=pairs, cost=self.cost) for line in self.lines])

    def __repr__(self) -> str:
        runs = sum(bool(line.runs) for line in self.lines)
        return f"<Table {self.name}: {self.table.title}, {len(self.lines)} lines, {runs} with runs>"


@plainly
def table(
    name: str | Path | None = None,
    *,
    form: Literal["paper", "runs"] | None = None,
    cost: bool = False,
    path: OutputFile = None,
    force: bool = False,
    out: str | Path = "results",
) -> ResultTable | dict[str, str]:
    """Compares the scores of finished runs with published ones; nothing is trained.

    Example: `finetune.table("glue")`

    Args:
        name: glue, squad, ner, choice, table-1 to table-7, adaptation, or a file; without one the tables are listed.
        form: paper: systems as rows, tasks as columns (default of glue); runs: spread and verdict.
        cost: Also show what the runs cost: device time and memory.
        path: A file to write: .md, or .csv with the numbers of `runs`.
        force: Replace a file that this command did not write.
        out: The folder of runs.

    Returns:
        The table; without a name the titles of all tables.

    Raises:
        UserError: For an unknown table, and where there are neither runs nor published scores.
    """
    if name is None:
        return {name: load_table(name).title for name in table_files()}
    if path is not None:
        require_table_file(Path(path), reads=str(name), force=force)
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
    shown_table = ResultTable(
        name=str(name), table=declared, lines=lines, note=note, cost=cost, asked=form,
        path=None if path is None else Path(path),
    )  # fmt: skip
    if shown_table.path is not None:
        made = shown_table.form()
        command = f"finetune table {name}{made.option} -o results/tables/{name}.md"
        made.write(shown_table.path, made=command, reads=str(name), force=force)
    return shown_table


def as_json(result: ResultTable | dict[str, str]) -> Iterator[Mapping[str, Any]]:
    """A line of the table: `row`, `metric`, `model`, `runs`, `dev_mean`, `dev_sd`, `test_mean`, `published_dev`,
    `verdict`; or the titles of the tables: `glue` and others.
    """
    yield from [result] if isinstance(result, dict) else result.frame.to_dict("records")


def shown(result: ResultTable | dict[str, str]) -> Iterator[Part]:
    """A table, or the list of the tables."""
    if isinstance(result, dict):
        yield facts_table("tables", result)
        yield Next([["table", "glue"]])
        return
    if result.note:
        yield NoteLine(result.note, aside=True)
    if result.path is not None:
        yield NoteLine(f"{result.path}: {result.table.title}", aside=True)
        return
    made = result.form()
    yield made
    form, cost = ["--form", "runs" if made.grouped else "paper"], ["--cost"] * result.cost
    others = [["table", result.name, *form]] * (result.table.has_columns and not result.cost)
    yield Next([*others, ["table", result.name, *cost, "-o", f"{Path(result.name).stem}.md"]])
