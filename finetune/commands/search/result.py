"""What a search found: its trials as a table, the best recipe, and what the best score is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.api.run import Run, runs_of_records
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord
from finetune.runs.seeds import Summary, summarised

if TYPE_CHECKING:
    import pandas as pd

FACTS = ("mean", "sd", "n", "failure")  # columns of `Search.trials` after the settings


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Settings of the space (dotted keys), with the headline score on the first split and the run's id for each seed,
    or with a `failure`.
    """

    settings: dict[str, Any]
    scores: Sequence[float] = ()
    runs: Sequence[str] = ()
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class HeldOutScore:
    """The winner's headline score over its seeds on a share of the training rows that no trial saw; `winners` is the
    number of trials that these rows have scored so far, 1 unless the search was continued.
    """

    summary: Summary
    share: float
    winners: int


@dataclass(frozen=True, kw_only=True)
class Search:
    """A finished search: what `finetune.search` returns.

    Example: `found.trials`, `found.best.to_toml()`, `found.run.model`

    Attributes:
        ranked: The trials, the best first, failed ones last.
        best: The recipe with the best settings, without seeds of its own and without held-out rows.
        records: The records of the best settings, one a seed.
        space: The range or the list of values of each setting.
        seeds: The number of seeds of a trial.
        metric: The headline metric.
        split: The split on which trials are compared.
        optimism: By how much the best mean is too good because it was chosen, as computed; None where unknown.
        held_out: The winner's score on rows that chose nothing; None without `test_share`.
        out: The folder of runs.
    """

    ranked: Sequence[Trial]
    best: Recipe
    records: Sequence[RunRecord]
    space: Sequence[str]
    seeds: int
    metric: Metric
    split: str
    optimism: float | None
    held_out: HeldOutScore | None
    out: Path

    @property
    def trials(self) -> "pd.DataFrame":
        """A row for each trial, the best first: its settings, then `mean`, `sd` and `n` of the headline score over its
        seeds as computed, and `failure`.
        """
        import pandas as pd

        rows = []
        for trial in self.ranked:
            summary = summarised(trial.scores, self.metric) if trial.scores else None
            scores = (summary.mean, summary.sd, summary.n) if summary else (None, None, 0)
            rows.append({**trial.settings, **dict(zip(FACTS, (*scores, trial.failure), strict=True))})
        return pd.DataFrame(rows, columns=[*self.space, *FACTS])

    @property
    def winner(self) -> Trial:
        """The trial with the best mean over its seeds."""
        return self.ranked[0]

    @property
    def run(self) -> Run:
        """The finished runs of the best settings, one a seed."""
        return runs_of_records(self.records, out=self.out)

    @property
    def sentence(self) -> str:
        """The best settings, how much of their score is luck, and the score on held-out rows."""
        shown, done = self.metric.shown, sum(not trial.failure for trial in self.ranked)
        settings = ", ".join(f"{key}={plain_setting(value)}" for key, value in self.winner.settings.items())
        summary = summarised(self.winner.scores, self.metric)
        text = (
            f"best of {so_many(len(self.ranked), 'trial')}: {settings}, with {self.split} {self.metric.name} "
            f"{shown(summary.mean)} ({so_many(summary.n, 'seed')}{self._spread(summary)})"
        )
        if done > 1 and self.optimism is not None:
            text += f", of which about {shown(self.optimism)} is optimism of the best of {done}"
        elif done > 1:
            text += "; the optimism of the best is unknown with one seed"
        if (held_out := self.held_out) is None:
            return text
        spread, winners = self._spread(held_out.summary), held_out.winners
        text += f"; {shown(held_out.summary.mean)} on {held_out.share:.0%} of the training rows, held out{spread}"
        return f"{text}; these rows have now scored {winners} winners" if winners > 1 else text

    def _spread(self, summary: Summary) -> str:
        return "" if summary.sd is None else f", sd {self.metric.shown(summary.sd)}"

    def __repr__(self) -> str:
        return f"<Search of {self.best.task}: {self.sentence}>"


def plain_setting(value: Any) -> str:
    """A setting as it is written in a command: `2.5e-05`, `true`."""
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}" if isinstance(value, float) else str(value)
