"""The chart of memory by rows in docs/explanation/reliability.md, from results/benchmarks/memory_by_rows.json."""

from typing import Any

from matplotlib.figure import Figure

from finetune.analysis.report.svg import ONE, TWO, axes_of, drawn

NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
COLOURS = "color:#333;--quiet:#888;--grid:#ddd;--surface:#fff;--series1:#2a6fdb;--series2:#d9822b;--series3:#4a9d5b"


def memory_chart(measured: dict[str, Any]) -> str:
    """A file of SVG: peak memory of `finetune run`, and the part beyond the model, by the number of rows."""
    rows = [run["rows"] for run in measured["runs"]]

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x="rows", y="megabytes")
        axes.set_xscale("log")
        for key, name, colour in (
            ("peak_megabytes", "all", ONE),
            ("beyond_the_model_megabytes", "beyond the smallest run", TWO),
        ):
            axes.plot(rows, [run[key] for run in measured["runs"]], color=colour, marker="o", label=name)
        axes.set_ylim(bottom=0)
        axes.legend()

    says = "Memory of finetune run by rows: " + ", ".join(
        f"{run['peak_megabytes']:.0f} MB at {run['rows']:,}" for run in measured["runs"]
    )
    chart = str(drawn(draw, says=says))
    return chart.replace("<svg ", f'<svg {NAMESPACES} style="{COLOURS}" ', 1) + "\n"
