"""`finetune.compare`: whether runs, or groups of seeds, differ by more than chance."""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

from finetune.analysis.compare import Comparison, compare_runs, compare_several
from finetune.api.quiet import plainly
from finetune.api.run import Run, open_run
from finetune.errors import UserError
from finetune.runs.folder import RunFolder
from finetune.runs.seeds import groups
from finetune.task_types import registry


@overload
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparison: ...


@overload
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *others: Run | str | Path,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparison | list[Comparison]: ...


@plainly
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *others: Run | str | Path,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparison | list[Comparison]:
    """Tests whether two runs of a task differ, on the rows that both predicted; of more, each of the others against
    the first.

    Example: `finetune.compare(run, other)`, `finetune.compare(baseline, one, two)`

    Args:
        a: A run, or its folder, id or task; several seeds, as from `train(seeds=3)`, are one side.
        b: The other.
        *others: Further ones, which are compared with `a` too.
        split: Default: the first dev split.
        seeds: For runs that are named: use all that differ from each only in their seeds.
        task: The task, if it is in a file (`FILE.py:NAME`).
        out: The folder of the runs that are named.

    Returns:
        The comparison; `B - A` is positive where the second is better. Of three or more a list, of each other with the
        first, whose p is adjusted for all tests.

    Raises:
        UserError: For runs of different tasks or rows, and without predictions.
    """
    given = (a, b, *others)
    names = [run.folder.name if isinstance(run, Run) else str(run) for run in given]
    named = None if task is None else registry.find(task)
    runs = [run if isinstance(run, Run) else open_run(run, seeds=seeds, out=out) for run in given]
    sides = list(map(_folders, runs))
    if others:
        return compare_several(sides, split=split, task=named, names=names)
    return compare_runs(*sides, split=split, task=named, names=(names[0], names[1]))


def _folders(run: Run) -> Sequence[RunFolder]:
    if (settings := len(groups(run.records))) > 1:
        raise UserError(
            f"one side has runs with {settings} different settings", "Compare two of run.runs, or runs of one setting"
        )
    return [RunFolder(one.folder) for one in run.runs]
