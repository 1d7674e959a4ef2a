"""`finetune report`: writes an HTML report of runs."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Out, Quiet, Replace
from finetune.cli.libraries import load_libraries
from finetune.cli.terminal import say
from finetune.cli.which_run import say_which
from finetune.commands.report.api import MOST_EXPLAINED, report
from finetune.data.outputs import PAGE, require_replaceable_output

EXPLAINED = "Show what words add, for N confident errors and some right rows."


def report_command(
    runs: Annotated[list[str], typer.Argument(help="Runs (folder, id, or task: its latest run).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path("report.html"),
    explain: Annotated[int, typer.Option(min=0, max=MOST_EXPLAINED, help=EXPLAINED)] = 0,
    force: Replace = False,
    out: Out = RESULTS,
    quiet: Quiet = False,
) -> None:
    """Writes the page and prints its size."""
    require_replaceable_output(output, endings=PAGE, reads=runs, force=force)
    if not quiet:
        say_which(runs, out)
    if explain:
        load_libraries("" if quiet else "loading the models", "finetune.inference.predictor")
    report(*runs, path=output, explain=explain, out=out, force=force)
    say(f"{output}: {output.stat().st_size / 1e6:.1f} MB, a page for a browser")
