"""The table of docs/how-to/together.md, from results/benchmarks/together.json."""

import statistics
from typing import Any

from finetune.commands.table.files import Cells, markdown_table
from finetune.data.messages import so_many
from finetune.metrics.metric import Metric
from finetune.runs.seeds import paired

ALONE = "alone"
WAYS = ("together", "together, then alone", "alone, twice as long")


def together_table(measured: dict[str, Any]) -> str:
    """Dev scores of each task in each way: means over seeds, and the difference to alone."""
    draws = measured["draws"].values()
    ways = [way for way in WAYS if sum(way in one for one in draws)]
    lines: list[Cells] = []
    for task, metric in measured["metrics"].items():
        alone = [one[ALONE][task] for one in draws]
        lines.append([f"{task} ({metric})", f"{100 * statistics.fmean(alone):.1f}", *_cells(draws, ways, task, metric)])
    means = [{way: {"mean": statistics.fmean(found.values())} for way, found in one.items()} for one in draws]
    alone = [one[ALONE]["mean"] for one in means]
    lines.append(["mean", f"{100 * statistics.fmean(alone):.1f}", *_cells(means, ways, "mean", "mean")])
    counts = {way: sum(way in one for one in draws) for way in (ALONE, *ways)}
    fewer = [f"{count} {way}" for way, count in counts.items() if count < len(draws)]
    seeds = so_many(len(draws), "seed") + (f", of which {', '.join(fewer)}" if fewer else "")
    text = (
        f"{measured['model']}, {measured['limit']} rows of each split and task, {measured['epochs']} epochs in batches "
        f"of {measured['batch_size']} ({seeds}). In brackets the difference to *alone* of the same seeds with its "
        "95 % interval over seeds (from two seeds on); **bold** where that is on one side. "
        f"{measured['cpu']['name']}, {measured['date'][:10]}."
    )
    return f"{markdown_table(['task', ALONE, *ways], lines)}\n\n{text}"


def _cells(draws: Any, ways: list[str], task: str, metric: str) -> list[str]:
    pairs = [[(one[ALONE][task], one[way][task]) for one in draws if way in one] for way in ways]
    return [_compared(some, Metric(metric)) for some in pairs]


def _compared(pairs: list[tuple[float, float]], metric: Metric) -> str:
    """A way's mean score, and its difference to alone."""
    score, found = metric.shown(statistics.fmean(other for _, other in pairs)), paired(pairs, metric)
    if found.interval is None:
        return f"{score} ({metric.signed(found.mean)})"
    text = f"{score} ({metric.signed(found.mean)}, {' to '.join(map(metric.signed, found.interval))})"
    return f"**{text}**" if found.interval[0] > 0 or found.interval[1] < 0 else text
