"""The page of a search: its trials as parallel coordinates and as a table, and what the best is worth."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from finetune.analysis.pages.form import Form, as_html
from finetune.analysis.pages.templates import require_jinja2
from finetune.analysis.pages.write import write_page
from finetune.commands.search.result import Search, plain_setting, summary_of, trial_rows
from finetune.commands.search.space import Range
from finetune.data.messages import so_many

if TYPE_CHECKING:
    from markupsafe import Markup

    from finetune.analysis.pages.parallel import Kind, ParallelAxis, ParallelLine
    from finetune.commands.search.trial import Trial

GOOD = 0.25  # the share of the finished trials that are drawn as the best ones


def write_search_page(found: Search, file: Path) -> int:
    """Writes the page and returns its size in bytes. Raises UserError without jinja2, and if it cannot be written."""
    require_jinja2()
    header, rows = trial_rows(found)
    failed = sum(bool(trial.failure) for trial in found.found)
    notes = [f"{so_many(failed, 'trial')} failed and {'is' if failed == 1 else 'are'} not drawn"] * bool(failed)
    form = Form(
        title=f"Search of {found.best.task}: {so_many(len(found.found), 'trial')}", header=header, rows=rows,
        notes=[found.sentence, *notes, *found.notes], behind=[], left=0,
    )  # fmt: skip
    words = (
        "A line is a trial: follow it from axis to axis to its score. Orange is the best, blue the best quarter, "
        "dashed stopped early; the settings are under the pointer."
    )
    return write_page(as_html(form, [(words, _chart(found))]), file)


def _chart(found: Search) -> "Markup":
    from finetune.analysis.pages.parallel import ParallelAxis, parallel_chart

    ranked = [trial for trial in found.ranked if not trial.failure]
    score = ParallelAxis(name=f"{found.split} {found.metric.name}")
    axes = [*(_setting_axis(found, key, ranked) for key in found.space), score]
    finished = sum(trial.value is not None for trial in ranked)
    lines = [_line(found, trial, axes, _kind(place, finished)) for place, trial in enumerate(ranked)]
    return parallel_chart(axes, lines[::-1], says=found.sentence)


def _setting_axis(found: Search, key: str, trials: "Sequence[Trial]") -> "ParallelAxis":
    """A range is an axis of numbers; choices are places, numbers among them in order."""
    from finetune.analysis.pages.parallel import ParallelAxis

    name, axis = key.rpartition(".")[2], found.space[key]
    if isinstance(axis, Range):
        return ParallelAxis(name=name, logarithmic=axis.log, whole=axis.whole)
    given = [*axis.values, *(trial.settings[key] for trial in trials)]
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in given)
    return ParallelAxis(name=name, choices=list(dict.fromkeys(map(plain_setting, sorted(given) if numbers else given))))


def _kind(place: int, finished: int) -> "Kind":
    if place == 0 and finished:
        return "best"
    return "good" if place < GOOD * finished else "other"


def _line(found: Search, trial: "Trial", axes: "Sequence[ParallelAxis]", kind: "Kind") -> "ParallelLine":
    from finetune.analysis.pages.parallel import ParallelLine

    summary, values = summary_of(trial, found.metric), [trial.settings[key] for key in found.space]
    places = [plain_setting(value) if axis.choices else value for axis, value in zip(axes, values, strict=False)]
    score = None if summary is None else found.metric.scaled(summary.mean)
    settings = ", ".join(f"{key}={plain_setting(value)}" for key, value in zip(found.space, values, strict=True))
    shown = "" if summary is None else f": {found.metric.shown(summary.mean)}"
    return ParallelLine(
        values=[*places, score], tip=f"{settings}{shown}", kind=kind, dashed=trial.pruned_at is not None
    )
