"""`finetune.label_errors`: every row of a data set, judged by a model that was not trained on it."""

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.calls import plainly
from finetune.api.front import here
from finetune.api.inputs import in_memory, is_path, recipe_settings
from finetune.api.planning import plan
from finetune.api.run import Run, runs_of_records
from finetune.data.rows import OwnRow
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.events import Watcher
from finetune.task_types.columns import own_data
from finetune.task_types.own_type import OwnType
from finetune.task_types.pretraining.own import Text
from finetune.task_types.types import named_type
from finetune.training.run_options import RunOptions

if TYPE_CHECKING:
    import pandas as pd

FEWEST_FOLDS = 2
CHOSEN_ON_DEV = {"train.select": "last", "train.patience": None}  # or the rows that are judged choose the epoch
EPOCHS = 2  # longer training learns wrong labels by heart
INPUTS = ("id", "text", "pair", "words", "question", "context", "choices")
COLUMNS = (*INPUTS, "gold", "prediction", "doubted", "predicted_there", "label_probability", "belief")


@plainly
def label_errors(
    data: Any,
    *,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    model: str | Path = "minilm",
    folds: int = 5,
    device: str | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> "pd.DataFrame":
    """Ranks all rows, those first whose label is believed least: trains once for each fold, which it then judges.

    Trains for two epochs, before wrong labels are learned by heart, and judges with the last weights: the fold chooses
    nothing.

    Example: `finetune.label_errors(df).head(20)`

    Args:
        data: Rows in memory as for `finetune.run`, or a data file.
        text: The column of the text, or the columns of a pair.
        label: The column of the label.
        model: A Hub name, a folder, or `minilm`.
        folds: The number of parts of the rows, and of trainings. Rows with the same text are in one part.
        device: `cpu`, `cuda`, `cuda:1` or `mps`; default: the best available.
        progress: Whether to show a line of progress; default: in a notebook only.
        **settings: Settings of a recipe, such as `max_length=256`.

    Returns:
        A row for each usable row of the data: `id` (its own, or its number from 1), its texts, `gold` (the label),
        `prediction`, `label_probability`, and `belief`, which is that less the mean of the label's class; of a number
        the error, negative, in units of what is usual for such predictions. Of tags and several labels the least
        believed one counts, by logarithms: `doubted` names it (`Paris (PER)`), and `predicted_there` is the model's.
        No run is left in `results`.

    Raises:
        UserError: For data that `finetune.run` refuses, text without labels, and settings that choose an epoch on
            dev, which is the fold that is judged.
    """
    import pandas as pd

    if folds < FEWEST_FOLDS:
        raise UserError(f"folds is {folds}", f"Give at least {FEWEST_FOLDS}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = os.fspath(data) if is_path(data) else str(stack.enter_context(in_memory(data, folder)))
        chosen = _judging_last(recipe_settings(settings, text=text, label=label, model=model))
        splits = _splits(path, chosen, folds, folder)
        options = RunOptions(source=source_of(None), out=folder / "runs", device=device)
        watch = stack.enter_context(here().working(f"{path}: loading the model {model}", progress=progress))
        judged = [_trained(path, chosen | {"split": str(split)}, options, watch).label_errors for split in splits]
    rows = pd.concat(judged, ignore_index=True).sort_values("belief", ignore_index=True)
    return rows[[name for name in COLUMNS if name in rows.columns]]


def _trained(path: str, settings: dict[str, Any], options: RunOptions, watch: Watcher) -> Run:
    from finetune.training.run_many import run_all

    records, failures = run_all(plan([path], settings, out=options.out), options, watch=watch)
    if failures:
        raise failures[0]
    return runs_of_records(records, out=options.out)


def _judging_last(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with the weights of the last epoch: the fold that is judged chooses nothing."""
    for name, value in CHOSEN_ON_DEV.items():
        if settings.get(name, value) != value:
            raise UserError(f"{name} is {settings[name]!r}: the rows that are judged would choose", "Leave it out")
    return {"train.epochs": EPOCHS} | settings | CHOSEN_ON_DEV


def _splits(path: str, settings: dict[str, Any], folds: int, folder: Path) -> list[Path]:
    """A file for each fold, which is dev there."""
    task = plan([path], settings)[0].task
    read = own_data(task)
    if read is None or len(read.files) > 1:
        raise UserError(f"{path} is not a single table of rows", "Give a DataFrame or a data file, without a dev split")
    kind = named_type(read.layout.shape)
    if isinstance(kind, Text):
        raise UserError(f"{path}: a {kind.name} task has no labels that somebody gave", "Choose a file with labels")
    rows = [row for split in ("train", "dev") for row in task.load(source_of(None), split).rows]
    if (units := len({kind.unit(row) for row in rows})) < folds:
        what = f"{path}: {units} different texts cannot be divided into {folds} folds"
        raise UserError(what, "Give more rows, or fewer folds")
    files = [folder / f"fold-{number + 1}.json" for number in range(folds)]
    for file, part in zip(files, in_folds(kind, rows, folds), strict=True):
        file.write_text(json.dumps({"dev": [rows[index].id for index in part]}))
    return files


def in_folds(kind: OwnType, rows: Sequence[OwnRow], count: int) -> list[list[int]]:
    """The indexes of the rows of each part: stratified by label, rows with one text together, whatever their order."""
    units: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        units.setdefault(kind.unit(row), []).append(index)
    strata = kind.strata(rows)
    hashes = {unit: hashlib.sha256(unit.encode("utf-8", "surrogatepass")).digest() for unit in units}
    ordered = sorted(units, key=lambda unit: (str(strata[units[unit][0]]), hashes[unit]))
    return [sorted(index for unit in ordered[part::count] for index in units[unit]) for part in range(count)]
