"""`finetune.train`: from a DataFrame, a file or a recipe's name to finished runs."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from finetune.api.callbacks import Callback, watcher_of
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.planning import plan
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run, runs_of_records
from finetune.data.paths import STORE
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.grid import shares_of
from finetune.runs.record_files import records_on
from finetune.runs.run_id import data_fingerprint
from finetune.task_types.columns import OPTIONS
from finetune.task_types.prepare import load_splits
from finetune.task_types.resolved_run import ResolvedRun
from finetune.training.run_options import RunOptions, Saving
from finetune.training.trackers import tracker_names

FILES = ("dev", "test", "split", "encoding", "sheet")  # options of data that a table in memory does not have


class FailedRun(UserWarning):
    """One of several runs failed; the result has the others."""


@plainly
def train(
    data: Any,
    *,
    text: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    model: str | Path | None = None,
    seeds: int = 1,
    data_sizes: str | Sequence[float] | None = None,
    name: str | None = None,
    out: str | Path = "results",
    data_folder: str | Path | None = None,
    device: str | None = None,
    force: bool = False,
    wait: bool = True,
    checkpoint_minutes: float = 2.0,
    checkpoint_updates: int | None = None,
    progress: bool | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    track: str | Sequence[str] = (),
    **settings: Any,
) -> Run:
    """Trains, scores and saves; a run that is finished already is returned at once, an interrupted one is resumed.

    Example: `run = finetune.train(df, text="review", label="stars", model="minilm", seeds=3)`

    Args:
        data: A pandas DataFrame, a `datasets.Dataset` or `DatasetDict`, a list of dictionaries, a dictionary of
            columns, or a dictionary of any of these by split; or the path of a data file or folder, or the name or
            file of a recipe.
        text: The column of the text, or the columns of several (a pair of texts, a question and its context).
        label: The column of the label, or for several labels a row their columns.
        model: A Hub name, a folder, `minilm`, a run or a recipe, whose encoder is taken.
        seeds: The number of runs, which differ in their seeds alone.
        data_sizes: Run with each of these shares of the training rows, such as `[0.1, 0.5, 1]` or `"10%,50%,100%"`;
            then `run.learning_curves` says whether more labels would help.
        name: The name of the task of rows in memory, for example that of the file that they were read from: then
            `finetune run` on the file and this call find each other's runs. Default: the name of an earlier run
            on the same rows, else `data.parquet`.
        out: The folder of runs, in which the command line looks too.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        force: Train again, and replace the finished run when done.
        wait: Wait for a run that another process trains; False: such a run is an error.
        checkpoint_minutes: Minutes between checkpoints, unless writing takes over 3 % of the time.
        checkpoint_updates: Write a checkpoint after every so many updates instead.
        progress: Whether to show a line of progress; default: in a notebook only.
        callbacks: Functions that are called with each event, or objects with methods for some of them, such as
            `on_epoch_done`. A callback that raises an exception is reported by a warning, and not called again.
        track: Names of trackers that the runs are sent to: `tensorboard`, `mlflow` or `wandb`. One that fails is left
            out, and the run continues without it.
        **settings: Settings of a recipe, such as `max_length=256`, `train={"epochs": 5}`, `**{"train.epochs": 5}`.

    Returns:
        The finished run; with several seeds, or a recipe with a grid, all of them as one object.

    Raises:
        UserError: Whatever the caller can fix: data, columns, settings, model, disk, memory.
        KeyboardInterrupt: After Ctrl-C, once a checkpoint is saved: the same call resumes there.
    """
    options = RunOptions(
        source=source_of(data_folder), out=Path(out), device=device,
        force=force, wait=wait, track=tracker_names(track),
        saving=Saving(minutes=checkpoint_minutes, updates=checkpoint_updates),
    )  # fmt: skip
    wanted = recipe_settings(settings, text=text, label=label, model=model)
    watch = watcher_of(progress, callbacks)
    shares = shares_of(data_sizes) if data_sizes is not None else ()
    with quiet():
        planned = _planned(data, wanted, seeds=seeds, shares=shares, name=name, out=Path(out))
        from finetune.training.run_many import run_all  # which imports torch

        records, failures = run_all(planned, options, watch=watch)
    _warn_of(failures, raised=not records)
    return runs_of_records(records, out=Path(out))


def _warn_of(failures: Sequence[UserError], *, raised: bool) -> None:
    """A warning for each run that failed; if no run is finished, the first failure is raised."""
    if failures and raised:
        raise failures[0]
    for failure in failures:
        warnings.warn(str(failure), FailedRun, stacklevel=4)


def _planned(
    data: Any, settings: Mapping[str, Any], *, seeds: int, shares: Sequence[float], name: str | None, out: Path
) -> list[ResolvedRun]:
    """The runs; those on rows in memory have a name of their task."""
    if is_path(data):
        if name is not None:
            raise UserError("name= is for rows in memory: a file has a name", "Leave it out")
        return plan([os.fspath(data)], settings, seeds=seeds, shares=shares, out=out)
    with in_memory(data, out / STORE) as path:
        planned = plan([str(path)], settings, seeds=seeds, shares=shares, out=out)
        found = name or _name_in(out, planned[0])
    return planned if found is None else [one.renamed(found) for one in planned]


def _name_in(out: Path, planned: ResolvedRun) -> str | None:
    """The task's name in the latest run on the same rows, such as that of the CSV that a DataFrame was read from."""
    columns = _columns(planned.recipe.options)
    splits = load_splits(planned.task, source_of(None), limit=planned.recipe.limit)
    data = data_fingerprint({split: loaded.rows for split, loaded in splits.items()})
    same = [one.task for one in records_on(data, out) if _columns(one.recipe.get("options", {})) == columns]
    return same[-1] if same else None


def _columns(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say what the columns mean, without those of files."""
    return {name: value for name, value in options.items() if name in OPTIONS and name not in FILES}
