"""ListedRun: the part of a record that a list of runs shows."""

import math
from typing import Any

from pydantic import BaseModel, ConfigDict

from finetune.gone import without_defaults
from finetune.metrics.metric import Metric
from finetune.runs.lineage import Lineage
from finetune.runs.record import SavedMetric, recorded_metric
from finetune.runs.whole_record import Id


class ListedRun(BaseModel):
    """The part of a record that a list of runs shows; reading the rest would take most of the time."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    class Settings(BaseModel):
        """The seed of the recipe, and all else that it sets as it was read."""

        model_config = ConfigDict(extra="allow", frozen=True, strict=True)

        seed: int

    id: Id
    task: str
    finished: str
    model: str
    recipe: Settings
    headline: str
    scores: dict[str, dict[str, float | None]]
    checksum: str = ""
    metrics: dict[str, SavedMetric] = {}
    lineage: Lineage | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The recipe without its seed."""
        return without_defaults(self.recipe.model_extra or {})

    @property
    def score(self) -> float:
        """The headline score on the first split, as computed; NaN where it is undefined."""
        found = next(iter(self.scores.values()))[self.headline]
        return math.nan if found is None else found

    def metric(self, name: str) -> Metric:
        """How a score of that name is shown and compared."""
        return recorded_metric(name, self.metrics)
