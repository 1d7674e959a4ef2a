"""`finetune.submission`: the zip for the GLUE server."""

from pathlib import Path

from finetune.api.inputs import run_names
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run
from finetune.data.source import source_of
from finetune.runs.events import unwatched


@plainly
def submission(
    *runs: Run | str | Path,
    path: str | Path = "submission.zip",
    fill_missing: bool = False,
    data_folder: str | Path | None = None,
    out: str | Path = "results",
    device: str | None = None,
    force: bool = False,
) -> dict[str, str | None]:
    """Predicts GLUE's test sets and writes the zip for its server.

    Example: `finetune.submission(cola, sst, path="glue.zip", fill_missing=True)`

    Args:
        *runs: Trained runs, one for each task, or their folders, ids or tasks.
        path: The zip to write.
        fill_missing: Fill in constants for tasks without a run.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        out: The folder of the runs that are named.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        force: Replace a file that we did not write.

    Returns:
        For each file of the zip the run that predicted it; None for a constant.

    Raises:
        UserError: For a task without a run, two runs of one, and test files without exactly the official rows.
    """
    with quiet():
        from finetune.commands.submission.glue import submit

        return submit(
            run_names(runs), Path(path), source=source_of(data_folder), out=Path(out), watch=unwatched, device=device,
            fill_missing=fill_missing, force=force,
        )  # fmt: skip
