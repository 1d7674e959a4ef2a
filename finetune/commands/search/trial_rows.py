"""The trials of a search as rows of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from finetune.commands.search.space import Space
from finetune.metrics.metric import Metric
from finetune.runs.seeds import Summary, summarised

if TYPE_CHECKING:
    from finetune.commands.search.trial import Trial


def trial_rows(
    space: Space, ranked: Sequence["Trial"], metric: Metric, split: str
) -> tuple[list[str], list[list[str]]]:
    """The headings and the cells of the trials, the best first."""
    rows = []
    for trial in ranked:
        summary = summary_of(trial, metric)
        scores = ["", "", ""] if summary is None else [metric.shown(summary.mean), "", str(summary.n)]
        if summary is not None and summary.sd is not None:
            scores[1] = metric.shown(summary.sd)
        rows.append([*(plain_setting(trial.settings[key]) for key in space), *scores, _end(trial)])
    settings = [key.rpartition(".")[2] for key in space]
    return [*settings, f"{split} {metric.name}", "sd", "n", "pruned at"], rows


def _end(trial: "Trial") -> str:
    if trial.failure:
        return "failed"
    return "" if trial.pruned_at is None else f"epoch {trial.pruned_at}"


def summary_of(trial: "Trial", metric: Metric) -> Summary | None:
    """The summary of a trial's scores over its seeds; of a pruned one the mean when it stopped; None if it failed."""
    if trial.failure:
        return None
    if trial.pruned_at is not None:
        return Summary(n=len(trial.runs), mean=trial.by_epoch[trial.pruned_at], best=trial.by_epoch[trial.pruned_at])
    return summarised(trial.scores, metric)


def plain_setting(value: Any) -> str:
    """A setting as it is written in a command: `2.5e-05`, `true`."""
    return str(value).lower() if isinstance(value, bool) else f"{value:.4g}" if isinstance(value, float) else str(value)
