"""`finetune table`: scores of runs next to published ones."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.analysis.paper_table import lines_of, load_table, table_files
from finetune.analysis.paper_table_formats import as_grid, write_table
from finetune.cli.arguments import RESULTS, Out
from finetune.cli.console import facts_table, standard_output
from finetune.cli.terminal import echo, one_line
from finetune.errors import UserError
from finetune.runs.record import all_records


def table(
    name: Annotated[str | None, typer.Argument(help="glue, squad, ner, choice, table-1 to table-7, or a file.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write: .md, .csv or .html.")] = None,
    out: Out = RESULTS,
) -> None:
    """Prints or writes a table, or lists the tables."""
    console = standard_output()
    if name is None:
        console.print(facts_table("tables", {name: load_table(name).title for name in table_files()}))
        return
    found = load_table(name)
    lines = lines_of(found, all_records(out))
    if not any(line.runs for line in lines):
        nothing = UserError(f"no finished run in {out} fits this table", "--out names the folder of runs")
        if not any(line.published_dev or line.published_test for line in lines):
            raise nothing
        echo(one_line(f"note: {nothing}"), err=True)
    if output is None:
        console.print(as_grid(found, lines))
    else:
        write_table(output, name, found, lines)
        echo(f"{output}: {found.title}", err=True)
