"""`finetune.report`: one HTML page about runs."""

from collections.abc import Sequence
from pathlib import Path

from finetune.analysis.pages.templates import require_jinja2, write_page
from finetune.api.inputs import run_names
from finetune.api.progress import show_page
from finetune.api.quiet import plainly
from finetune.api.run import Run
from finetune.data.outputs import PAGE, require_replaceable_output


@plainly
def report(
    *runs: Run | str | Path, path: str | Path = "report.html", out: str | Path = "results", force: bool = False
) -> Path:
    """Writes an HTML report of runs, and in a notebook shows it.

    Example: `finetune.report(run, other, path="both.html")`

    Args:
        *runs: Runs, or their folders, ids or tasks (the latest run).
        path: The file to write.
        out: The folder of the runs that are named.
        force: Replace a file that we did not write.

    Returns:
        The path of the file.

    Raises:
        UserError: Without the extra `report`, for an unknown run, or if the file cannot be written.
    """
    file, names = Path(path), run_names(runs)
    require_replaceable_output(file, endings=PAGE, reads=names, force=force)
    write_report(names, file, out=Path(out))
    show_page(file)
    return file


def write_report(names: Sequence[str], output: Path, *, out: Path) -> int:
    """Writes one HTML file about runs (folders, ids, or task names) and returns its size in bytes.

    Raises UserError for a name without a run, for damaged files, and if the page cannot be written.
    """
    require_jinja2()
    from finetune.commands.report.content import read_runs
    from finetune.commands.report.page import render_report

    return write_page(render_report(read_runs(names, out)), output)
