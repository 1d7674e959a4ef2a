"""`finetune.report`: one HTML page about some runs."""

from pathlib import Path

from finetune.api.names import run_names
from finetune.api.page import write_page
from finetune.api.quiet import plainly
from finetune.api.run import Run


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
    return write_page(run_names(runs), Path(path), out=Path(out), explain=explain, force=force)
