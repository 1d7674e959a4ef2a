"""`finetune report`: writes an HTML report of runs."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Out, Quiet, Replace
from finetune.cli.terminal import say
from finetune.cli.which_run import say_which
from finetune.commands.report.api import report
from finetune.data.outputs import PAGE, require_replaceable_output


def report_command(
    runs: Annotated[list[str], typer.Argument(help="Runs (folder, id, or task: its latest run).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path("report.html"),
    force: Replace = False,
    out: Out = RESULTS,
    quiet: Quiet = False,
) -> None:
    """Writes the page and prints its size."""
    require_replaceable_output(output, endings=PAGE, reads=runs, force=force)
    if not quiet:
        say_which(runs, out)
    report(*runs, path=output, out=out, force=force)
    say(f"{output}: {output.stat().st_size / 1e6:.1f} MB, a page for a browser")
