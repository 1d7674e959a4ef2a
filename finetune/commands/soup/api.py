"""`finetune.soup`: a run of the mean weights of several runs."""

from pathlib import Path

from finetune.api.names import run_names
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run, runs_of_records
from finetune.commands.soup.members import TEST, members
from finetune.data.source import source_of
from finetune.runs.events import unwatched
from finetune.training.run_options import RunOptions


@plainly
def soup(
    *runs: Run | str | Path,
    test: str | Path | None = None,
    data_folder: str | Path | None = None,
    device: str | None = None,
    out: str | Path = "results",
) -> Run:
    """Averages the weights of runs that began with the same encoder, and scores and saves the result as a run.

    Example: `finetune.soup(run).record.compared`

    Args:
        *runs: Runs, such as several seeds of `finetune.train`, or their folders or ids; of a task or of data the seeds
            of its latest run.
        test: A file of rows that chose nothing, on which the soup and its runs are scored too.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        out: The folder of the runs that are named, in which the soup is saved.

    Returns:
        The soup; `record.compared` has the mean of the runs, the soup, and the ensemble of the runs.

    Raises:
        UserError: For a single run, for runs that did not start equal, and for rows that have changed since.
    """
    found = members(run_names(runs), {} if test is None else {TEST: str(test)}, Path(out))
    source = source_of(None if data_folder is None else Path(data_folder))
    with quiet():
        from finetune.commands.soup.averaged import souped

        record = souped(found, RunOptions(source=source, out=Path(out), device=device), watch=unwatched)
    return runs_of_records([record], out=Path(out))
