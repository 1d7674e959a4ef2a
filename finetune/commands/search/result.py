"""What a search found: its trials as a table, the best recipe, and what the best score is worth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finetune.api.run import Run
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.runs.recipe import Recipe
from finetune.runs.seeds import Summary

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Search:
    """A finished search: what `finetune.search` returns.

    Example: `found.trials`, `found.best.to_toml()`, `found.run.model`

    Attributes:
        trials: A row for each trial, the best first and failed ones last: its settings, then `mean`, `sd` and `n` of
            the headline score over its seeds as computed, and `failure`.
        settings: The best settings.
        best: The recipe with the best settings, without seeds of its own and without held-out rows.
        run: The finished runs of the best settings, one a seed.
        metric: The headline metric.
        summary: The best settings' score on the first split over their seeds.
        held_out: Their score over the seeds on training rows that no trial saw; None without `test_share`.
        winners: The number of trials that these rows have scored so far, 1 unless the search was continued.
    """

    trials: "pd.DataFrame"
    settings: Mapping[str, Any]
    best: Recipe
    run: Run
    metric: Metric
    summary: Summary
    held_out: Summary | None
    winners: int

    @property
    def sentence(self) -> str:
        """The best settings, their score, and the score on held-out rows."""
        text = f"best of {so_many(len(self.trials), 'trial')}: {plain_settings(self.settings)}, with "
        text += f"{self.run.record.first_split} {self.metric.name} {self._shown(self.summary)}"
        if self.held_out is None:
            text += ", a little too good, since it was chosen by it"
        else:
            text += f"; {self._shown(self.held_out)} on held-out training rows"
        return text + f", which have now scored {self.winners} winners" * (self.winners > 1)

    def _shown(self, summary: Summary) -> str:
        sd = "" if summary.sd is None else f", sd {self.metric.shown(summary.sd)}"
        return f"{self.metric.shown(summary.mean)} ({so_many(summary.n, 'seed')}{sd})"

    def __repr__(self) -> str:
        return f"<Search of {self.best.task}: {self.sentence}>"


def plain_settings(settings: Mapping[str, Any]) -> str:
    """Settings as they are written in a command: `train.learning_rate=2.5e-05, frozen=true`."""
    return ", ".join(f"{key}={plain_setting(value)}" for key, value in settings.items())


def plain_setting(value: Any) -> str:
    """A setting as it is written in a command: `2.5e-05`, `true`."""
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}" if isinstance(value, float) else str(value)
