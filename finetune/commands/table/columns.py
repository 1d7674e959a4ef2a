"""The columns of `finetune table`: what each has of a line, as a text to be read or as one number of a CSV file."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from finetune.analysis.published import Anchor
from finetune.commands.table.lines import TableLine
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.runs.record import RunRecord
from finetune.runs.record_parts import Cost
from finetune.runs.seeds import Summary

Cell = Callable[[TableLine], str]
Columns = Mapping[str, Cell]  # by heading
HIDDEN = "†"  # marks a published score on labels that a server hides


def score_words(summary: Summary | None, metric: Metric) -> str:
    """Mean in points, ± standard deviation for several runs; empty for None."""
    if summary is None:
        return ""
    return metric.shown(summary.mean) + ("" if summary.sd is None else f" ± {metric.shown(summary.sd)}")


def interval_words(summary: Summary | None, shown: Callable[[float], str]) -> str:
    """`80.3 to 93.0`; empty without an interval."""
    return " to ".join(map(shown, (summary and summary.interval) or ()))


def sources(lines: Sequence[TableLine]) -> dict[str, int]:
    """The sources of published scores, numbered by first appearance."""
    every = [anchor.source for line in lines for anchor in (*line.published_dev, *line.published_test)]
    return {source: number for number, source in enumerate(dict.fromkeys(every), start=1)}


def runs_columns(lines: Sequence[TableLine]) -> Columns:
    """Our runs with their spread, next to published scores with the numbers of their sources."""
    numbers = sources(lines)
    return {
        "": lambda line: line.name,
        "metric": lambda line: line.metric.name,
        "model": lambda line: line.model,
        "runs": _runs,
        "failed": lambda line: "" if line.failed is None else str(line.failed),
        "dev": lambda line: score_words(line.dev, line.metric),
        "95 % interval": lambda line: interval_words(line.dev, line.metric.shown),
        "published dev": lambda line: _published(line.published_dev, line.metric, numbers),
        "verdict": lambda line: "; ".join(line.verdicts),
        "test": lambda line: score_words(line.test, line.metric),
        "published test": lambda line: _published(line.published_test, line.metric, numbers),
    }


def paired_columns(lines: Sequence[TableLine], names: Sequence[str], control: str) -> Columns:
    """Systems, by the headings `names`, with the differences to the first and to the control, next to the paper's."""
    return {
        "score": _score,
        **{name: _name(name) for name in names},
        "runs": _runs_of_plan,
        "dev": lambda line: line.metric.shown(line.dev.mean) if line.dev else "",
        "change": lambda line: line.metric.signed(line.difference.mean) if line.difference else "",
        "95 % interval": lambda line: interval_words(line.difference, line.metric.signed),
        "detects": lambda line: line.metric.shown(half) if (half := half_of_difference(line)) else "",
        **({f"from {control}": _from_control} if control else {}),
        **({"paper*": _paper} if any(line.paper is not None for line in lines) else {}),
    }


def _runs(line: TableLine) -> str:
    if not line.runs:
        return "no run"
    return f"{len(line.runs)}" + f", best of {line.choices} settings on {line.split}" * (line.choices > 1)


def _runs_of_plan(line: TableLine) -> str:
    count = len(line.runs)
    return f"{count} of {line.planned}" if count < line.planned else str(count or "")


def _published(some: Sequence[Anchor], metric: Metric, numbers: Mapping[str, int]) -> str:
    return "; ".join(
        f"{metric.shown(anchor.score)}{HIDDEN * anchor.hidden}{version_words(anchor)} [{numbers[anchor.source]}]"
        for anchor in some
    )


def version_words(anchor: Anchor) -> str:
    """The number of rows of a score on an older version of the data set; else empty."""
    if not anchor.outdated:
        return ""
    return f" ({so_many(anchor.rows)})" if anchor.rows else " (first version)"


def _score(line: TableLine) -> str:
    return f"{line.name}: {line.metric.name}" + ", lower is better" * (not line.metric.greater_is_better)


def _name(heading: str) -> Cell:
    return lambda line: line.names.get(heading, "")


def half_of_difference(line: TableLine) -> float | None:
    """The least difference that the runs can tell from none."""
    return (line.difference.half or None) if line.difference else None


def _from_control(line: TableLine) -> str:
    """`+1.7 (-2.3 to +5.6)`."""
    if (found := line.from_control) is None:
        return ""
    interval = interval_words(found, line.metric.signed)
    return line.metric.signed(found.mean) + (f" ({interval})" if interval else "")


def _paper(line: TableLine) -> str:
    """`84.4`, or `83.9 (-0.5)` with the change from the paper's first row."""
    if line.paper is None:
        return ""
    places = 1 if round(line.paper, 1) == line.paper else 2
    change = "" if line.paper_difference is None else f" ({line.paper_difference:+.{places}f})"
    return f"{line.paper:.{places}f}{change}"


def cost_of(runs: Sequence[RunRecord]) -> Cost | None:
    """The mean time of the runs whose cost is known, and their most memory; None if none is."""
    known = [run.cost for run in runs if run.cost is not None]
    if not known:
        return None
    return Cost(
        device_seconds=fmean(cost.device_seconds for cost in known),
        peak_memory_bytes=max(cost.peak_memory_bytes for cost in known),
        peak_device_bytes=max((c.peak_device_bytes for c in known if c.peak_device_bytes is not None), default=None),
    )


def cost_cell(name: str, shown: Callable[[float], str]) -> Cell:
    """A number of the line's cost; empty where it is not known."""

    def cell(line: TableLine) -> str:
        value = getattr(cost_of(line.runs), name, None)
        return "" if value is None else shown(value)

    return cell


def _time(seconds: float) -> str:
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.1f} h"


def _memory(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


COST: Columns = {
    "device time": cost_cell("device_seconds", _time),
    "memory": cost_cell("peak_memory_bytes", _memory),
    "GPU memory": cost_cell("peak_device_bytes", _memory),
}
