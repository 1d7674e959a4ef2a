"""The tables of docs/how-to/label-next.md and the README, from results/benchmarks/label_next.json."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from finetune.analysis.form import Cells, markdown_table

HOW = ("random", "least sure", "label-next")
ENOUGH, EARLY = 0.95, 240  # of the score with all labels; labels after the second round


def label_next_probe(measured: dict[str, Any]) -> str:
    """Labels until a probe reaches 95 % of its score with the whole pool, and its score early on."""
    found: defaultdict[tuple[str, str], list[dict[int, float]]] = defaultdict(list)
    for key, points in measured["curves"].items():
        task, _, how = key.split(" ", 2)
        found[task, how].append(dict(points))
    lines: list[Cells] = []
    for task in measured["pools"]:
        seeds = min(len(found[task, how]) for how in HOW)
        if seeds == 0:
            continue
        full = measured["full"][task]
        line = [task, f"{measured['pools'][task][0]:,}", str(seeds), f"{100 * full:.1f}"]
        for how in HOW:
            curves = found[task, how][:seeds]
            early = statistics.fmean(100 * curve[EARLY] for curve in curves)
            line.append(f"{_labels([_needed(curve, ENOUGH * full) for curve in curves])}; {early:.1f}")
        lines.append(line)
    head = ["task", "pool", "seeds", "score with all labels", *(f"{how}: labels; score at {EARLY}" for how in HOW)]
    return markdown_table(head, lines)


def label_next_runs(measured: dict[str, Any]) -> str:
    """What the commands reach, by draw of the rows."""
    draws = list(measured["draws"].values())
    if not draws:
        return "Not measured yet."
    head = ["accuracy on 500 other rows", *(f"draw {number}" for number in range(1, len(draws) + 1))]
    names = [name for name in draws[0] if name.endswith("rows") or " rows, " in name]
    lines: list[Cells] = [[name, *(f"{100 * draw[name]:.1f}" for draw in draws)] for name in names]
    return markdown_table(head, lines)


def label_next_short(measured: dict[str, Any]) -> str:
    """The means over draws, in a line."""
    draws = list(measured["draws"].values())
    if not draws:
        return "Not measured yet."
    names = ("40 rows", "240 rows, label-next", "240 rows, random")
    first, chosen, lots = (100 * statistics.fmean(draw[name] for draw in draws) for name in names)
    means = f"means of {len(draws)} draws" if len(draws) > 1 else "one draw"
    return (
        f"With reviews of films (SST-2) and MiniLM: {first:.1f} % right with 40 rows, {chosen:.1f} % with these 240, "
        f"{lots:.1f} % with 240 of which all are random ({means}, 500 other rows)."
    )


def _needed(curve: dict[int, float], wanted: float) -> float:
    return next((labels for labels, score in curve.items() if score >= wanted), float("inf"))


def _labels(needed: Sequence[float]) -> str:
    """The median; more than the most that were tried where half of the seeds never reached it."""
    middle = statistics.median_low(needed)
    return "not reached" if middle == float("inf") else f"{middle:,.0f}"
