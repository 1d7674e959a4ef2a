"""`finetune submission`: writes the zip for the GLUE server."""

from pathlib import Path
from typing import Annotated

import typer

from finetune.api.submission import submitted
from finetune.cli.arguments import RESULTS, Data, Device, Out, Replace
from finetune.cli.console import facts_table, standard_error, standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.progress import ProgressDisplay
from finetune.data.outputs import require_replaceable_output


def submission(
    runs: Annotated[list[str], typer.Argument(help="Trained runs, one per task (folder, id, or task name).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The zip to write.")],
    fill_missing: Annotated[
        bool, typer.Option("--fill-missing", help="Fill in constants for tasks without a run.")
    ] = False,
    force: Replace = False,
    data: Data = None,
    out: Out = RESULTS,
    device: Device = None,
) -> None:
    """Writes the zip and prints the run that predicted each file."""
    require_replaceable_output(output, endings=[".zip"], reads=runs, force=force)
    load_libraries(f"{output}: loading {len(runs)} models" if len(runs) > 1 else f"{output}: loading {runs[0]}")
    with ProgressDisplay(standard_error()) as watch:
        predicted = submitted(
            runs, output, fill_missing=fill_missing, data=data, out=out, device=device, watch=watch, force=force
        )
    facts = {
        name: f"predicted by {run}" if run else "constant baseline (no run given)" for name, run in predicted.items()
    }
    standard_output().print(facts_table(str(output), facts))
