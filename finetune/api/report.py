"""`finetune.report`: one HTML page about some runs."""

from pathlib import Path

from finetune.api.page import write_page
from finetune.api.quiet import plainly
from finetune.api.run import Run


@plainly
def report(*runs: Run | str | Path, path: str | Path = "report.html", out: str | Path = "results") -> Path:
    """Writes an HTML report of runs, and in a notebook shows it.

    Example: `finetune.report(run, other, path="both.html")`

    Args:
        *runs: Runs, or their folders, ids or tasks (the latest run).
        path: The file to write.
        out: The folder of the runs that are named.

    Returns:
        The path of the file.

    Raises:
        UserError: Without the extra `report`, for an unknown run, or if the file cannot be written.
    """
    names = [name for run in runs for name in _names(run)]
    return write_page(names, Path(path), out=Path(out))


def _names(run: Run | str | Path) -> list[str]:
    """The folder of each run, or the name that was given."""
    return [str(one.folder) for one in run.runs] if isinstance(run, Run) else [str(run)]
