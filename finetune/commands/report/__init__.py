"""`finetune report`: one HTML page about runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from finetune.analysis.pages.templates import require_jinja2, write_page
from finetune.analysis.table import Part
from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import run_names, which_run
from finetune.api.parameters import Cli
from finetune.api.progress import show_page
from finetune.api.run import Run
from finetune.data.atomic import PAGE, require_replaceable_output


@plainly
def report(
    *runs: Annotated[Run | str | Path, Cli(least=1)],
    path: Annotated[str | Path, Cli(names=("-o", "--output"))] = "report.html",
    force: bool = False,
    out: str | Path = "results",
) -> Path:
    """Writes an HTML report of runs, and in a notebook shows it.

    Example: `finetune.report(run, other, path="both.html")`

    Args:
        *runs: Runs, or their folders, ids or tasks (the latest run).
        path: The file to write.
        force: Replace a file that this command did not write.
        out: The folder of the runs that are named.

    Returns:
        The path of the file.

    Raises:
        UserError: Without the extra `report`, for an unknown run, or if the file cannot be written.
    """
    file, names = Path(path), run_names(runs)
    require_replaceable_output(file, endings=PAGE, reads=names, force=force)
    require_jinja2()
    from finetune.commands.report.content import read_runs
    from finetune.commands.report.page import render_report

    here().tell(*which_run(names, Path(out)))
    write_page(render_report(read_runs(names, Path(out))), file)
    show_page(file)
    return file


def shown(file: Path) -> Iterator[Part]:
    """The page's size."""
    yield f"{file}: {file.stat().st_size / 1e6:.1f} MB, a page for a browser"
