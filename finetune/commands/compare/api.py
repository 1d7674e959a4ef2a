"""`finetune.compare`: whether runs, or groups of seeds, differ by more than chance."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import overload

from finetune.analysis.compare import compare_runs, compare_several
from finetune.analysis.comparison import Comparison, Comparisons
from finetune.api.quiet import plainly, quiet
from finetune.api.run import Run, open_run
from finetune.errors import UserError
from finetune.inference.exported.export_facts import is_export, read_export_facts
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run
from finetune.runs.predictions import read_predictions, write_predictions
from finetune.runs.record_files import load_record, write_record
from finetune.runs.seeds import groups
from finetune.task_types import registry
from finetune.task_types.parts import Answer
from finetune.task_types.prediction_lines import prediction_lines, row_of_line
from finetune.task_types.task import Task


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
    c: Run | str | Path,
    /,
    *others: Run | str | Path,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparisons: ...


@plainly
def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *others: Run | str | Path,
    split: str | None = None,
    seeds: bool = False,
    task: str | None = None,
    out: str | Path = "results",
) -> Comparison | Comparisons:
    """Tests whether two runs of a task differ, on the rows that both predicted; of more, each of the others against
    the first.

    Example: `finetune.compare(run, other)`, `finetune.compare(baseline, one, two)`

    Args:
        a: A run, or its folder, id or task, or the folder of an export, which then answers the rows of its run; several
            seeds, as from `train(seeds=3)`, are one side.
        b: The other.
        *others: Further ones, which are compared with `a` too.
        split: Default: the first dev split.
        seeds: For runs that are named: use all that differ from each only in their seeds.
        task: The task, if it is in a file (`FILE.py:NAME`).
        out: The folder of the runs that are named.

    Returns:
        The comparison; `B - A` is positive where the second is better. Of three or more, `Comparisons`, whose p is
        adjusted for all tests.

    Raises:
        UserError: For runs of different tasks or rows, and without predictions.
    """
    given = (a, b, *others)
    names = [one.folder.name if isinstance(one, Run) else str(one) for one in given]
    named = None if task is None else registry.find(task)
    _require_different_exports(names)
    with TemporaryDirectory() as scratch:

        def side(given: Run | str | Path, name: str) -> Sequence[RunFolder]:
            if isinstance(given, Run) or not is_export(given):
                return _folders(given if isinstance(given, Run) else open_run(given, seeds=seeds, out=out))
            with quiet():
                return [_answered_by_export(Path(given), Path(scratch, name), split=split, task=named, out=Path(out))]

        sides = [side(one, str(number)) for number, one in enumerate(given)]
        if others:
            return compare_several(sides, split=split, task=named, names=names)
        return compare_runs(*sides, split=split, task=named, names=(names[0], names[1]))


def _answered_by_export(export: Path, scratch: Path, *, split: str | None, task: Task | None, out: Path) -> RunFolder:
    """A run in `scratch` with the record of an export's run and the predictions of the export, by its folder's name.

    Raises UserError where the run is not in `out`, or was not scored on the split.
    """
    from finetune.inference.predictor import load_predictor
    from finetune.training.evaluation import decided_as_dev

    source = read_export_facts(export).source
    run = find_run(source.run, out)
    if run is None:
        way = "Name the folder of runs that it is in, as `out`"
        raise UserError(f"{export}: it answers the rows of its run {source.run}, which is not in {out}", way)
    record = load_record(run.record_file)
    split = split or record.first_split
    predictor = load_predictor(export, task=task, out=out)
    rows = [row_of_line(predictor.task, line, run.path) for line in read_predictions(run.predictions(split))]
    name = re.sub(r"[^\w.-]|^[^\w]+", "_", export.absolute().name)[:100]
    found = RunFolder(scratch / name)
    found.model.mkdir(parents=True)
    shutil.copy(export / "config.json", found.model)
    answers: Sequence[Answer] = predictor.answers(rows)
    if split == record.first_split:
        answers = decided_as_dev(predictor.task, record, answers, rows)
    lines = prediction_lines(predictor.task, rows, answers)
    write_predictions(found.predictions(split), lines, {})
    write_record(found.record_file, record.model_copy(update={"id": name, "files": {}}))
    return found


def _require_different_exports(names: Sequence[str]) -> None:
    seen: dict[Path, str] = {}
    for name in filter(is_export, names):
        if (first := seen.setdefault(Path(name).resolve(), name)) is not name:
            raise UserError(f"{first} and {name} are the same export", "Name another, or its run")


def _folders(run: Run) -> Sequence[RunFolder]:
    if len(found := groups(run.records)) > 1:
        raise UserError(
            f"one side has runs with {len(found)} different settings", "Compare two of run.runs, or runs of one setting"
        )
    return [RunFolder(one.folder) for one in run.runs]
