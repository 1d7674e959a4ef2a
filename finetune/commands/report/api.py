"""`finetune.report`: one HTML page about some runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from finetune.analysis.pages.templates import require_jinja2, write_page
from finetune.api.inputs import run_names
from finetune.api.progress import show_page
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.commands.report.blocks import WordWeight
from finetune.commands.report.run_files import find_folders, read_run_files
from finetune.data.outputs import PAGE, require_replaceable_output
from finetune.errors import UserError, shown_value
from finetune.runs.record_files import load_record

MOST_EXPLAINED = 50  # errors of a run

Weights = dict[tuple[str, str, str], Sequence[WordWeight]]


@plainly
def report(
    *runs: Run | str | Path,
    path: str | Path = "report.html",
    explain: int = 0,
    out: str | Path = "results",
    force: bool = False,
) -> Path:
    """Writes an HTML report of runs, and in a notebook shows it.

    Example: `finetune.report(run, other, path="both.html")`

    Args:
        *runs: Runs, or their folders, ids or tasks (the latest run).
        path: The file to write.
        explain: Show what words add, for so many confident errors and some right rows of each run; this loads the
            models.
        out: The folder of the runs that are named.
        force: Replace a file that we did not write.

    Returns:
        The path of the file.

    Raises:
        UserError: Without the extra `report` (or `explain`, if asked for), for an unknown run, or if the file cannot
                be written.
    """
    file, names = Path(path), run_names(runs)
    if not 0 <= explain <= MOST_EXPLAINED:
        raise UserError(f"explain is {shown_value(explain)}", f"Give the number of errors, 0 to {MOST_EXPLAINED}")
    require_replaceable_output(file, endings=PAGE, reads=names, force=force)
    folder = Path(out)
    write_report(names, file, out=folder, weights=_weights(names, explain, folder) if explain else None)
    show_page(file)
    return file


def _weights(names: Sequence[str], count: int, out: Path) -> Weights:
    """What words add, by the run's id, the split and the row's id."""
    found: Weights = {}
    with quiet():
        from finetune.commands.report.explained_rows import explained_rows, word_weights
        from finetune.inference.explain.gradients import require_captum
        from finetune.inference.predictor import load_predictor

        require_captum()
        for folder in find_folders(names, out):
            run = load_record(folder.record_file).id
            rows = explained_rows(load_predictor(folder.path, out=out), folder, count)
            found |= {(run, split, name): word_weights(row) for split, name, row in rows}
    return found


def write_report(
    names: Sequence[str],
    output: Path,
    *,
    out: Path,
    weights: Mapping[tuple[str, str, str], Sequence[WordWeight]] | None = None,
) -> int:
    """Writes one HTML file about runs (folders, ids, or task names) and returns its size in bytes.

    `weights` has what each word of a row adds to its prediction, by the run's id, the split and the row's id. Raises
    UserError for a name without a run, for damaged files, and if the page cannot be written.
    """
    require_jinja2()
    from finetune.commands.report.page import render_report

    runs = [read_run_files(folder) for folder in find_folders(names, out)]
    return write_page(render_report(runs, weights), output)
