"""Charts of the documents as files of SVG, with the colours of a light and of a dark page."""

import math
from importlib.resources import files
from typing import Any

import numpy as np
from encoder_heads import looked_at, mean_curve
from measured import by_command

from finetune.analysis.pages.svg import MARKERS, SERIES, Axis, Mark, chart

File = dict[str, Any]
LOOKS = {  # tokens that have most of a head's attention: colour, marker
    "previous": ("s1", "square"),
    "next": ("s2", "diamond"),
    "first": ("s3", "circle"),
    "other": ("s4", "right"),
}
STARTS = {  # key in the record: colour, marker
    "random": ("ink", "cross"),
    "equal": ("s1", "circle"),
    "equal, dropout of hidden states": ("s3", "square"),
    "equal, dropout of attention": ("s2", "diamond"),
    "equal, other columns": ("s4", "right"),
}

COLOURS = """
:root {
  color: #1c1c1a; background: #fff; --quiet: #5c5c58; --grid: #dededa; --surface: #fff; --ink: #1c1c1a;
  --series1: #0067a5; --series2: #c04e00; --series3: #00795a; --series4: #8a3f9e; --series5: #8a6a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    color: #ecece8; background: #1e1e1c; --quiet: #adada6; --grid: #383835; --surface: #1e1e1c; --ink: #ecece8;
    --series1: #6cb6ee; --series2: #f39a54; --series3: #4cc9a3; --series4: #d49be3; --series5: #d9bd55;
  }
}
"""
SECONDS_HEIGHT, MEMORY_HEIGHT = 170.0, 110.0  # units of the charts


def growth_chart(file: File, words: dict[str, str]) -> str:
    """CPU seconds over memory, by the number of rows, a line for each command."""
    commands = by_command(file)
    panels = [
        [
            Mark(
                points=[(math.log10(run["rows"]), run[value]) for run in runs],
                colour=colour,
                dash="none",
                shape=marker,
                name=name,
            )
            for (name, runs), colour, marker in zip(commands.items(), SERIES, MARKERS, strict=True)
        ]
        for value in ("cpu_seconds", "peak_megabytes")
    ]
    sizes = sorted({run["rows"] for run in file["measured"]})
    x = Axis(label=words["rows"], ticks=[(math.log10(size), f"{size:,}") for size in sizes], margin=0.1)
    ys = [Axis(label=words["seconds"], logarithmic=True), Axis(label=words["megabytes"], low=0.0)]
    says = "; ".join(
        f"{name}: " + ", ".join(f"{run['cpu_seconds']:.0f} s, {run['rows']:,}" for run in runs)
        for name, runs in commands.items()
    )
    return chart_file(chart(*zip(panels, ys, (SECONDS_HEIGHT, MEMORY_HEIGHT), strict=True), x=x, says=says))


def heads_charts(file: File, words: dict[str, str]) -> dict[str, str]:
    """Files of SVG by name: what each head looks at, and how heads with equal starts come to differ."""
    trained, untrained = (file["attention"][kind]["mrpc"]["measures"] for kind in ("trained", "untrained"))
    jobs = looked_at(trained)
    looks = [
        Mark(points=_points(trained, jobs == job), colour=colour, shape=shape, name=words[job])
        for job, (colour, shape) in LOOKS.items()
    ]
    looks.append(Mark(points=_points(untrained, ...), colour="ink", shape="cross", name=words["untrained"]))
    starts = [
        Mark(
            points=mean_curve(file["equal"]["starts"][name])[1:],
            colour=colour,
            dash="none",
            shape=marker,
            name=words[name],
        )
        for name, (colour, marker) in STARTS.items()
    ]
    x, y = (Axis(label=words[name], low=0.0) for name in ("distance", "entropy"))
    updates, differ = Axis(label=words["updates"]), Axis(label=words["differ"], logarithmic=True)
    return {
        "heads-look.svg": chart_file(chart((looks, y, 260.0), x=x, says=f"{x.label}; {y.label}")),
        "heads-equal.svg": chart_file(chart((starts, differ, 220.0), x=updates, says=differ.label)),
    }


def _points(measures: File, heads: Any) -> list[tuple[float, float]]:
    """(distance, entropy) of some heads."""
    distance, entropy = (np.array(measures[name])[heads].ravel().tolist() for name in ("distance", "entropy"))
    return list(zip(distance, entropy, strict=True))


def chart_file(drawn: object) -> str:
    """A chart as a file of its own."""
    style = files("finetune.analysis.pages").joinpath("chart.css").read_text(encoding="utf-8")
    text = str(drawn).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return text.replace("</title>", f"</title><style>{COLOURS}{style}</style>", 1) + "\n"
