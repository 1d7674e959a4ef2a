"""Types of a record's fields, so bounded that every list, table and report can be made from it: anyone may have written
it.
"""

import math
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from finetune.gone import without_defaults
from finetune.runs.recipe_tables import LARGEST, Seed

LARGEST_SCORE = 1e15  # 100 times it can be drawn
MOST_LABELS = 200  # that are counted a split
LONGEST_LABEL = 200  # characters of a label that is counted

Id = Annotated[str, Field(pattern=r"^\w[\w.-]{0,99}$")]  # part of a path
SplitName = Annotated[str, Field(pattern=r"^[^/\\\x00]{1,100}$")]  # part of a file's name
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Some = Annotated[int, Field(ge=1, le=LARGEST)]


def _drawable(score: float) -> float:
    """The score; NaN is an undefined one. Raises ValueError for a number so large that tables and charts fail."""
    if abs(score) > LARGEST_SCORE:
        raise ValueError(f"{score} cannot be drawn")
    return score


def _number(score: Any) -> Any:
    return math.nan if score is None else score


Score = Annotated[float, AfterValidator(_drawable), BeforeValidator(_number)]  # JSON's null becomes NaN
SplitScores = dict[SplitName, dict[str, Score]]


class _Recorded(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class RecordedTrain(_Recorded):
    """What is read of the recipe's `[train]`."""

    batch_size: Some = 1
    epochs: Whole = 0
    updates: Some | None = None
    least_updates: Whole = 0


class _RecordedRecipe(_Recorded):
    """What is read of a record's recipe."""

    task: str
    seed: Seed
    init_seed: Seed | None = None
    data_seed: Seed | None = None
    limit: Whole | None = None
    train_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    options: dict[str, Any] | None = None
    train: RecordedTrain = RecordedTrain()


class _RecordedEpoch(_Recorded):
    """What is read of an epoch."""

    epoch: Whole
    loss: Score
    headline: Score
    dev_loss: Score | None = None


def recipe_is_whole(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe without settings of earlier versions that nobody had set. Raises ValidationError where a table could
    not be made from it.
    """
    _RecordedRecipe.model_validate(recipe)
    return without_defaults(recipe)


def epoch_is_whole(epoch: dict[str, Any]) -> dict[str, Any]:
    """The epoch as given. Raises ValueError where a curve could not be drawn."""
    _RecordedEpoch.model_validate(epoch)
    return epoch


def with_nan(value: Any) -> Any:
    """A score, or tables of scores; JSON's null becomes NaN."""
    return {key: with_nan(inner) for key, inner in value.items()} if isinstance(value, dict) else _number(value)
