"""`finetune report`: writes an HTML report of runs."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Out
from finetune.cli.console import standard_output
from finetune.cli.terminal import echo


def report(
    runs: Annotated[list[str], typer.Argument(help="Runs (folder, id, or task: its latest run).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path("report.html"),
    out: Out = RESULTS,
) -> None:
    """Writes the page and prints its size."""
    from finetune.analysis.report.write import write_report

    size = write_report(runs, output, out=out)
    echo(f"{output}: {size / 1e6:.1f} MB")
    standard_output().print_next(f"open {output} in a browser")
