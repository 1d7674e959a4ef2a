"""The page of `finetune run --live` as it is now: state, time left, rate, losses, scores, all runs of the command."""

import shlex
import statistics
import time
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files

from jinja2 import Template
from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import MARKERS, Mark, line
from finetune.analysis.pages.svg import SERIES
from finetune.analysis.pages.templates import script_hash, templates_of
from finetune.commands.run.live_run import FINISHED, RUNNING, LiveRun
from finetune.runs.losses import thinned
from finetune.runs.pace import duration

RECENT = 20  # updates whose mean loss is written
WAIT = 3  # seconds after which a browser reads the page again
STALE = 90  # seconds without news after which the page says so
LEAST_SPAN = 0.05  # of the axis of scores, of their scale
PACKAGE = "finetune.commands.run"


def live_page(runs: Sequence[LiveRun], planned: int, *, ended: bool) -> str:
    """The page about some runs, the last of them the current one; it renews itself unless all have `ended`."""
    current = runs[-1]
    script = "" if ended else files(PACKAGE).joinpath("live.js").read_text(encoding="utf-8")
    return _template().render(
        current=current, facts=facts(current), done=_share(current), loss=loss_chart(current),
        scores=score_chart(runs), runs=runs if planned > 1 or len(runs) > 1 else (), planned=max(planned, len(runs)),
        finished=[shlex.quote(str(one.folder)) for one in runs if one.state == FINISHED],
        ended=ended, duration=duration, wait=WAIT, stale=STALE,
        at=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S"), now=round(1000 * time.time()),
        script=Markup(script), script_hash=script_hash(script),
    )  # fmt: skip


@cache  # it takes ten times as long to read as to fill in
def _template() -> Template:
    return templates_of(PACKAGE).get_template("live.html.j2")


def facts(run: LiveRun) -> dict[str, str]:
    """What is written of a run, by name; empty ones are left out."""
    pace, moving = run.pace, run.pace is not None and run.state == RUNNING and bool(run.pace.recent)
    recent = list(run.losses.values())[-RECENT:]
    found = {
        "now": run.what if run.state == RUNNING else "",
        "update": f"{pace.update:,} of {pace.plan.updates:,}" if pace is not None else "",
        "time left": duration(pace.left) if moving and pace is not None else "",
        "rate": f"{pace.rate:.0f} examples/s" if moving and pace is not None else "",
        "loss": f"{statistics.fmean(recent):.3f}" if recent else "",
        "scores": run.scores,
        "best": run.metric.shown(run.best) if run.metric is not None and run.best is not None else "",
        "time": duration(run.seconds or time.monotonic() - run.began),
        "device": run.device,
    }
    return {name: text for name, text in found.items() if text}


def _share(run: LiveRun) -> tuple[int, int]:
    """Updates that are done, and all of them."""
    return (0, 0) if run.pace is None else (run.pace.update, run.pace.plan.updates)


def loss_chart(run: LiveRun) -> Markup | None:
    """The training loss by update, and that on dev after each epoch; None before the second update."""
    updates = sorted(run.losses.items())
    if len(updates) < 2 or run.pace is None:
        return None
    step = run.pace.plan.updates / run.pace.plan.epochs
    dev = [(step * at, one["dev_loss"]) for at, one in sorted(run.epochs.items()) if one.get("dev_loss") is not None]
    marks: list[Mark] = [line(thinned(updates), name="training")]
    if dev:
        marks.append(line(dev, colour="s2", marker="square", name="dev", tips=True))
    return chart(
        marks, x=Axis(label="update", low=0.0, high=float(run.pace.plan.updates), whole=True),
        y=Axis(label="mean loss of a label", low=0.0),
        says=f"Training loss by update: first {updates[0][1]:.3f}, last {updates[-1][1]:.3f}",
    )  # fmt: skip


def score_chart(runs: Sequence[LiveRun]) -> Markup | None:
    """The headline score on dev after each epoch, of the last runs of the current task; None without scores."""
    last = runs[-1]
    shown = [run for run in runs if run.epochs and run.folder.parent == last.folder.parent][-len(SERIES) :]
    metric = next((run.metric for run in reversed(shown) if run.metric is not None), None)
    if metric is None or not shown:
        return None
    curves = {
        run.folder.name: [(float(at), metric.scaled(one["headline"])) for at, one in sorted(run.epochs.items())]
        for run in shown
    }
    marks = [
        line(points, colour=SERIES[number], marker=MARKERS[number], name=name, tips=True)
        for number, (name, points) in enumerate(curves.items())
    ]
    most = max(run.pace.plan.epochs if run.pace is not None else max(run.epochs) for run in shown)
    said = "; ".join(f"{name} {', '.join(f'{score:.4g}' for _, score in points)}" for name, points in curves.items())
    return chart(
        marks, x=Axis(label=_unit(last), low=0.0, high=float(most), whole=True),
        y=Axis(label=f"dev {metric.name}", span=metric.scaled(LEAST_SPAN), logarithmic=metric.magnitudes),
        says=f"dev {metric.name}: {said}",
    )  # fmt: skip


def _unit(run: LiveRun) -> str:
    """What a run is evaluated after."""
    return "epoch" if run.pace is None else run.pace.plan.unit
