"""`finetune table`: scores of runs next to published ones."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.analysis.paper_table import load_table, table_files
from finetune.analysis.paper_table_formats import as_grid
from finetune.api import table as tables
from finetune.cli.arguments import RESULTS, Out
from finetune.cli.console import facts_table, standard_output
from finetune.cli.terminal import echo, one_line


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
    found = tables.table(name, out=out)
    if found.note:
        echo(one_line(f"note: {found.note}"), err=True)
    if output is None:
        console.print(as_grid(found.table, found.lines))
    else:
        found.write(output)
        echo(f"{output}: {found.table.title}", err=True)
