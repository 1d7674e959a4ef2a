"""`finetune submission`: writes the zip for the GLUE server."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.cli.arguments import RESULTS, Data, Device, Out, Quiet, Replace
from finetune.cli.console import facts_table, standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import watching
from finetune.data.outputs import require_replaceable_output
from finetune.data.source import source_of


def submission_command(
    runs: Annotated[list[str], typer.Argument(help="Trained runs, one per task (folder, id, or task name).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The zip to write.")],
    fill_missing: Annotated[
        bool, typer.Option("--fill-missing", help="Fill in constants for tasks without a run.")
    ] = False,
    force: Replace = False,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Writes the zip and prints the run that predicted each file."""
    require_replaceable_output(output, endings=[".zip"], reads=runs, force=force)
    models = f"{len(runs)} models" if len(runs) > 1 else runs[0]
    load_libraries("" if quiet else f"{output}: loading {models}")
    from finetune.commands.submission.glue import submit

    with watching(quiet=quiet) as watch:
        predicted = submit(
            runs, output, source=source_of(data), out=out, watch=watch, device=device, fill_missing=fill_missing,
            force=force,
        )  # fmt: skip
    facts = {
        name: f"predicted by {run}" if run else "constant baseline (no run given)" for name, run in predicted.items()
    }
    standard_output().print(facts_table(str(output), facts))
