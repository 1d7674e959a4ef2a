"""The chart of memory by rows in docs/explanation/reliability.md, from results/benchmarks/memory_by_rows.json."""

import math
from typing import Any

from heads_charts import chart_file

from finetune.analysis.pages.svg import Axis, chart, line


def memory_chart(measured: dict[str, Any]) -> str:
    """A file of SVG: peak memory of `finetune run`, and the part beyond the model, by the number of rows."""
    runs = measured["runs"]
    places = [math.log10(run["rows"]) for run in runs]
    lines = [
        line([(at, run[key]) for at, run in zip(places, runs, strict=True)], colour=colour, marker=marker, name=name)
        for key, name, colour, marker in (
            ("peak_megabytes", "all", "s1", "circle"),
            ("beyond_the_model_megabytes", "beyond the smallest run", "s2", "square"),
        )
    ]
    ticks = [(at, f"{run['rows']:,}") for at, run in zip(places, runs, strict=True)]
    says = ", ".join(f"{run['peak_megabytes']:.0f} MB at {run['rows']:,}" for run in runs)
    drawn = chart(
        lines, x=Axis(label="rows", ticks=ticks, margin=0.1), y=Axis(label="megabytes", low=0.0),
        says=f"Memory of finetune run by rows: {says}",
    )  # fmt: skip
    return chart_file(drawn)
