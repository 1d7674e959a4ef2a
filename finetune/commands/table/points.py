"""What a run is but for its seeds: the same of a recipe that is to be run and of a record of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from finetune.runs.encoder_runs import NOT_SETTINGS
from finetune.runs.lineage import SEEDS, Lineage
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_diff import DEFAULTS
from finetune.runs.record import RunRecord
from finetune.runs.toml import flat


@dataclass(frozen=True, kw_only=True)
class Point:
    """A task and the settings (dotted keys) that are not at their defaults.

    `first` is that of the run whose encoder it starts from; without one it starts from the encoder `model`.
    """

    task: str
    settings: Mapping[str, Any]
    model: str = ""
    first: "Point | None" = None


def point_of_recipe(recipe: Recipe, task: str, first: Point | None) -> Point:
    """The point of a recipe of one run, for the task of this name."""
    return _point(task, _changed(recipe.model_dump(exclude={"grid"})), recipe.model, first)


def point_of_record(record: RunRecord) -> Point:
    """The point of a finished run."""
    return _point(record.task, _changed(record.recipe), record.model, _point_of_lineage(record.lineage))


def _point_of_lineage(lineage: Lineage | None) -> Point | None:
    if lineage is None:
        return None
    return _point(lineage.task, _but_seeds(lineage.settings), lineage.model, _point_of_lineage(lineage.lineage))


def _point(task: str, settings: Mapping[str, Any], model: str, first: Point | None) -> Point:
    return Point(task=task, settings=settings, model="" if first else model, first=first)


def _changed(recipe: Mapping[str, Any]) -> dict[str, Any]:
    every = flat({**recipe, "options": recipe.get("options") or {}})
    return _but_seeds({key: value for key, value in every.items() if value != DEFAULTS.get(key)})


def _but_seeds(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in (*SEEDS, *NOT_SETTINGS)}
