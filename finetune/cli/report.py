"""`finetune report`: writes an HTML report of runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from finetune.analysis.report.blocks import WordWeight
from finetune.cli.arguments import RESULTS, Out
from finetune.cli.console import standard_output
from finetune.cli.libraries import load_libraries
from finetune.cli.terminal import echo
from finetune.data.paths import require_output
from finetune.runs.record_files import load_record


def report(
    runs: Annotated[list[str], typer.Argument(help="Runs (folder, id, or task: its latest run).")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path("report.html"),
    explain: Annotated[
        int, typer.Option(min=0, max=50, help="Show what words add, for N confident errors and some right rows.")
    ] = 0,
    out: Out = RESULTS,
) -> None:
    """Writes the page and prints its size."""
    from finetune.analysis.report.write import write_report

    require_output(output)
    size = write_report(runs, output, out=out, weights=_weights(runs, explain, out) if explain else None)
    echo(f"{output}: {size / 1e6:.1f} MB")
    standard_output().print_next(f"open {output} in a browser")


def _weights(runs: Sequence[str], count: int, out: Path) -> dict[tuple[str, str, str], Sequence[WordWeight]]:
    """What words add, by the run's id, the split and the row's id."""
    from finetune.analysis.explain.word_weights import word_weights
    from finetune.analysis.report.run_files import find_folders

    load_libraries("loading the models", "finetune.inference.explain.of_run")
    from finetune.inference.explain.gradients import require_captum
    from finetune.inference.explain.of_run import explained_rows
    from finetune.inference.predictor import load

    require_captum()
    found: dict[tuple[str, str, str], Sequence[WordWeight]] = {}
    for folder in find_folders(runs, out):
        run = load_record(folder.record_file).id
        rows = explained_rows(load(folder.path, out=out), folder, count)
        found |= {(run, split, name): word_weights(row) for split, name, row in rows}
    return found
