"""`finetune table`: scores of runs next to published ones."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from finetune.analysis.form import require_table_file
from finetune.cli.arguments import RESULTS, Json, Out, Replace
from finetune.cli.console import facts_table, standard_output
from finetune.cli.next_commands import GivenOptions
from finetune.cli.options import note_line
from finetune.cli.tables import as_table
from finetune.cli.terminal import echo_rows, one_line, say
from finetune.commands.table import api as tables
from finetune.commands.table.declaration import load_table, table_files


class TableForm(StrEnum):
    """Form of a table."""

    PAPER = "paper"
    RUNS = "runs"


def table_command(
    name: Annotated[
        str | None, typer.Argument(help="glue, squad, ner, choice, table-1 to table-7, adaptation, or a file.")
    ] = None,
    form: Annotated[
        TableForm | None,
        typer.Option(help="paper: systems as rows, tasks as columns (default of glue); runs: spread and verdict."),
    ] = None,
    cost: Annotated[bool, typer.Option("--cost", help="Also show device time and memory of runs.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write: .md or .csv.")] = None,
    force: Replace = False,
    out: Out = RESULTS,
    as_json: Json = False,
) -> None:
    """Prints or writes a table, or lists the tables."""
    console = standard_output()
    if name is None:
        console.print(facts_table("tables", {name: load_table(name).title for name in table_files()}))
        console.print_next(GivenOptions(out=out).command("table", "glue"))
        return
    if output is not None:
        require_table_file(output, reads=name, force=force)
    found = tables.table(name, out=out, cost=cost)
    if found.note:
        say(one_line(note_line(found.note)), err=True)
    if as_json:
        echo_rows(found.frame)
    elif output is None:
        made = found.form(form)
        console.print(as_table(made))
        other = TableForm.RUNS if made.grouped else TableForm.PAPER
        kept, costs = GivenOptions(out=out), ["--cost"] * cost
        others = [kept.command("table", name, "--form", other)] * (found.table.has_columns and not cost)
        console.print_next(*others, kept.command("table", name, *costs, "-o", f"{Path(name).stem}.md"))
    else:
        found.write(output, form=form, force=force)
        say(f"{output}: {found.table.title}", err=True)
