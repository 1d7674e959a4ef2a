"""What a record must hold so that every list, table and report can be made from it: anyone may have written it."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from finetune.gone import without_defaults
from finetune.metrics.scores import plain_metrics
from finetune.runs.recipe_tables import LARGEST, Seed

LARGEST_SCORE = 1e15  # 100 times it can be drawn
MOST_LABELS = 200  # that are counted a split
LONGEST_LABEL = 200  # characters of a label that is counted
LONGEST_SPLIT = 100  # characters, since it is part of a file's name

ScoresByName = Mapping[str, Mapping[str, float | None]]  # split or method -> metric -> score
Id = Annotated[str, Field(pattern=r"^\w[\w.-]{0,99}$")]  # part of a path
Whole = Annotated[int, Field(ge=0, le=LARGEST)]


class RecordedTrain(BaseModel):
    """What is read of the recipe's `[train]`."""

    model_config = ConfigDict(extra="allow", strict=True)

    batch_size: Annotated[int, Field(ge=1, le=LARGEST)] = 1
    epochs: Whole = 0
    updates: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    least_updates: Whole = 0


class RecordedRecipe(BaseModel):
    """What is read of a record's recipe."""

    model_config = ConfigDict(extra="allow", strict=True)

    task: str
    seed: Seed
    init_seed: Seed | None = None
    data_seed: Seed | None = None
    limit: Whole | None = None
    train_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    options: dict[str, Any] | None = None
    train: RecordedTrain = RecordedTrain()


class RecordedEpoch(BaseModel):
    """What is read of an epoch."""

    model_config = ConfigDict(extra="allow", strict=True)

    epoch: Whole
    loss: float
    headline: float
    dev_loss: float | None = None


def recipe_is_whole(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe without settings of earlier versions that nobody had set. Raises ValidationError where a table could
    not be made from it.
    """
    RecordedRecipe.model_validate(recipe)
    return without_defaults(recipe)


def epochs_are_whole(epochs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The epochs as given. Raises ValueError where a curve could not be drawn."""
    for epoch in epochs:
        found = RecordedEpoch.model_validate(epoch)
        _require_drawable({"loss": found.loss, "headline": found.headline, "dev loss": found.dev_loss}, "epochs")
    return epochs


def few_labels(labels: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The counts of labels as given. Raises ValueError for more than are kept."""
    if any(len(counts) > MOST_LABELS for counts in labels.values()):
        raise ValueError(f"it counts more than {MOST_LABELS} labels")
    return labels


def require_scores(headline: str, scores: ScoresByName) -> None:
    """Raises ValueError unless each split has the same metrics, `headline` among them, and scores that can be drawn."""
    if not scores:
        raise ValueError("it has no scores")
    metrics = plain_metrics(next(iter(scores.values())))
    for split, given in scores.items():
        if not split or len(split) > LONGEST_SPLIT or set(split) & set("/\\\0"):
            raise ValueError(f"{split[:LONGEST_SPLIT]!r} is not a split's name")
        _require_metrics(given, [headline, *metrics], split)


def require_baselines(scores: ScoresByName, baselines: Mapping[str, ScoresByName], rows: Mapping[str, int]) -> None:
    """Raises ValueError unless each split with scores has its number of rows, and baselines with the same metrics."""
    for split, given in scores.items():
        if split not in rows or split not in baselines:
            raise ValueError(f"it has no rows or baselines of {split}")
        for method, others in baselines[split].items():
            _require_metrics(others, plain_metrics(given), f"{split} {method}")


def _require_metrics(given: Mapping[str, float | None], metrics: Sequence[str], where: str) -> None:
    if missing := [name for name in metrics if name not in given]:
        raise ValueError(f"{where} has no score {missing[0][:LONGEST_SPLIT]!r}")
    _require_drawable(given, where)


def _require_drawable(given: Mapping[str, float | None], where: str) -> None:
    """Raises ValueError for a number so large that tables and charts fail; NaN is an undefined score."""
    for name, score in given.items():
        if score is not None and not math.isnan(score) and abs(score) > LARGEST_SCORE:
            raise ValueError(f"{where}: {name[:LONGEST_SPLIT]!r} is {score}")


def with_nan(value: Any) -> Any:
    """A score, or tables and lists of scores; JSON's null becomes NaN."""
    if isinstance(value, dict):
        return {key: with_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_nan(inner) for inner in value]
    return math.nan if value is None else value
