"""The page of a search: its trials as parallel coordinates and as a table, and what the best is worth."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.analysis.pages.form import Form, as_html
from finetune.analysis.pages.templates import require_jinja2
from finetune.analysis.pages.write import write_page
from finetune.commands.search.space import Range, Space
from finetune.commands.search.trial_rows import plain_setting, summary_of, trial_rows
from finetune.data.messages import noun, so_many
from finetune.metrics.metric import Metric

if TYPE_CHECKING:
    from markupsafe import Markup

    from finetune.analysis.pages.parallel import Kind, ParallelAxis, ParallelLine
    from finetune.commands.search.trial import Trial

GOOD = 0.25  # the share of the finished trials that are drawn as the best ones
HOW_TO_READ = (
    "A line is a trial: follow it from axis to axis to its score. Orange is the best, blue the best quarter, dashed "
    "stopped early; the settings are under the pointer."
)


def write_search_page(
    file: Path, *, task: str, space: Space, ranked: "Sequence[Trial]", metric: Metric, split: str, notes: Sequence[str]
) -> int:
    """Writes the page of trials, the best first, and returns its size in bytes. Raises UserError without jinja2, and if
    it cannot be written.
    """
    require_jinja2()
    header, rows = trial_rows(space, ranked, metric, split)
    drawn = [trial for trial in ranked if not trial.failure]
    failed = len(ranked) - len(drawn)
    left_out = [f"{so_many(failed, 'trial')} failed and {noun(failed, 'is', 'are')} not drawn"] * bool(failed)
    form = Form(
        title=f"Search of {task}: {so_many(len(ranked), 'trial')}", header=header, rows=rows,
        notes=[*notes, *left_out], behind=[], left=0,
    )  # fmt: skip
    chart = _chart(space, drawn, metric, f"{split} {metric.name}")
    return write_page(as_html(form, [(HOW_TO_READ, chart)]), file)


def _chart(space: Space, drawn: "Sequence[Trial]", metric: Metric, score: str) -> "Markup":
    from finetune.analysis.pages.parallel import ParallelAxis, parallel_chart

    axes = [*(_setting_axis(space, key, drawn) for key in space), ParallelAxis(name=score)]
    finished = sum(trial.value is not None for trial in drawn)
    lines = [_line(trial, axes, space, metric, _kind(place, finished)) for place, trial in enumerate(drawn)]
    says = f"{score} of {so_many(len(drawn), 'trial')} by {', '.join(axis.name for axis in axes[:-1])}"
    return parallel_chart(axes, lines[::-1], says=says)


def _setting_axis(space: Space, key: str, trials: "Sequence[Trial]") -> "ParallelAxis":
    """A range is an axis of numbers; choices are places, numbers among them in order."""
    from finetune.analysis.pages.parallel import ParallelAxis

    name, axis = key.rpartition(".")[2], space[key]
    if isinstance(axis, Range):
        return ParallelAxis(name=name, logarithmic=axis.log, whole=axis.whole)
    given = [*axis.values, *(trial.settings[key] for trial in trials)]
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in given)
    return ParallelAxis(name=name, choices=list(dict.fromkeys(map(plain_setting, sorted(given) if numbers else given))))


def _kind(place: int, finished: int) -> "Kind":
    if place == 0 and finished:
        return "best"
    return "good" if place < GOOD * finished else "other"


def _line(trial: "Trial", axes: "Sequence[ParallelAxis]", space: Space, metric: Metric, kind: "Kind") -> "ParallelLine":
    from finetune.analysis.pages.parallel import ParallelLine

    summary, values = summary_of(trial, metric), [trial.settings[key] for key in space]
    places = [plain_setting(value) if axis.choices else value for axis, value in zip(axes, values, strict=False)]
    settings = ", ".join(f"{key}={plain_setting(value)}" for key, value in zip(space, values, strict=True))
    score = None if summary is None else metric.scaled(summary.mean)
    shown = "" if summary is None else f": {metric.shown(summary.mean)}"
    return ParallelLine(
        values=[*places, score], tip=f"{settings}{shown}", kind=kind, dashed=trial.pruned_at is not None
    )
