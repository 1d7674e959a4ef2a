"""Margin: how far a run's headline score can be trusted, and by how much it beats the best baseline."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from finetune.metrics.metric import Metric
from finetune.runs.whole_record import LARGEST_SCORE

ScoreValue = Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
ScoreInterval = tuple[ScoreValue, ScoreValue]
Sketch = Annotated[str, Field(pattern=r"^([0-9a-f]{400})?$")]  # `metrics.significance.sketch`


class Margin(BaseModel):
    """Of the headline score on one split: its 95 % interval over rows, and its difference to the best baseline.

    Both by bootstrap over the same rows (`metrics.significance`), in units of the score; `p` tests the difference. An
    interval is None where all resamples are equal, unless all rows are right or all wrong. Without baselines `baseline`
    and what follows is None. `sketch` and `difference_sketch` tell which chance of rows the run shares with those of
    other seeds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    interval: ScoreInterval | None = None
    baseline: str | None = None
    difference: ScoreValue | None = None
    difference_interval: ScoreInterval | None = None
    p: Annotated[float, Field(ge=0, le=1)] | None = None
    sketch: Sketch = ""
    difference_sketch: Sketch = ""


def best_baseline(given: Mapping[str, Mapping[str, float]], metric: Metric) -> str | None:
    """The name of the baseline with the best score; None where there is none."""
    named = {name: scores[metric.name] for name, scores in given.items() if metric.name in scores}
    return max(named, key=lambda name: metric.rank(named[name]), default=None)
