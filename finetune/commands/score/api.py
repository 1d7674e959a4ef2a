"""`finetune.score`: scores predictions that are there already; no model is needed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finetune.api.evaluation import Evaluation
from finetune.api.inputs import is_path
from finetune.api.quiet import plainly
from finetune.commands.score.answers import score_answers
from finetune.data.source import source_of
from finetune.errors import UserError
from finetune.runs.predictions import OLDER, PREDICTION
from finetune.task_types.options import configured
from finetune.task_types.registry import find

ID = "id"  # the column of row ids


@plainly
def score(
    task: str,
    predictions: Any,
    *,
    split: str = "dev",
    null_odds: Any = None,
    data_folder: str | Path | None = None,
    **options: Any,
) -> Evaluation:
    """Scores predictions without a model, as the official script of the task would.

    Example: `finetune.score("squad-v1", "predictions.json")`, `finetune.score("mrpc", run.predictions)`

    Args:
        task: The name of the task.
        predictions: The prediction of each row id: a JSON file, a dictionary, or a DataFrame with the columns `id` and
            `prediction`.
        split: The split of the predictions.
        null_odds: The odds of no answer of each row id (SQuAD 2.0): a JSON file or a dictionary.
        data_folder: The folder with the data sets of tasks; default: `$FINETUNE_DATA`, then the Hub.
        **options: Options of the task.

    Returns:
        The scores.

    Raises:
        UserError: For an unknown task, invalid predictions, and missing ones.
    """
    return scored(
        task, predictions, options, split=split, null_odds=null_odds,
        data=None if data_folder is None else Path(data_folder),
    )  # fmt: skip


def scored(
    task: str, predictions: Any, options: Mapping[str, Any], *, split: str, null_odds: Any, data: Path | None
) -> Evaluation:
    """`score` with the options in a dictionary, and `data` the folder with the data sets."""
    found = configured(find(task), options)
    result = score_answers(
        found, _by_id(predictions, split), source=source_of(data), split=split,
        null_odds=None if null_odds is None else _by_id(null_odds, split),
    )  # fmt: skip
    scores = {split: dict(result.scores)}
    return Evaluation(task=found, scores=scores, thresholds=result.thresholds, notes=tuple(result.notes))


def _by_id(given: Any, split: str) -> Path | dict[str, Any]:
    """Predictions by row id, or their file; of a DataFrame with several splits those of one."""
    if is_path(given):
        return Path(given)
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    columns = list(getattr(given, "columns", ()))
    name = next((name for name in (PREDICTION, OLDER) if name in columns), "")
    if ID not in columns or not name:
        raise UserError(
            f"the predictions are a {type(given).__name__} without the columns '{ID}' and '{PREDICTION}'",
            "Give a dictionary from row id to prediction, a DataFrame with these columns, or a JSON file",
        )
    rows = given[given["split"] == split] if "split" in given.columns else given
    if rows[ID].duplicated().any():
        twice = rows[ID][rows[ID].duplicated()].iloc[0]
        raise UserError(f"the predictions have two rows with the id {twice}", "Give those of one run")
    return dict(zip(rows[ID].astype(str), rows[name], strict=True))
