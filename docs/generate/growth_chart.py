"""The chart and the table of time and memory by rows of docs/explanation/speed.md, in each language."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from heads_charts import chart_file

from finetune.analysis.pages.svg import MARKERS, SERIES, Axis, Mark, line, stacked
from finetune.analysis.table import Cells, markdown_table

MEMORY_HEIGHT = 110.0  # units of the chart of memory
WORDS: dict[str, dict[str, str]] = {
    "en": {
        "rows": "rows", "seconds": "CPU seconds", "megabytes": "most memory in MB", "missing": "not measured",
        "cell": "{seconds} s, {megabytes} MB",
        "each": "milliseconds a further row takes, by sizes",
        "about": "CPU seconds of a process from start to exit, and the most memory that it had; empty cache, 1 thread "
        "({cpu}), {date}. What would take more than {longest:.0f} seconds is not measured.",
    },
    "ko": {
        "rows": "행 수", "seconds": "CPU 시간(초)", "megabytes": "최대 메모리(MB)", "missing": "측정 안 함",
        "cell": "{seconds}초, {megabytes} MB",
        "each": "한 행이 늘 때 드는 밀리초, 크기별",
        "about": "프로세스가 시작해서 끝날 때까지의 CPU 시간과 최대 메모리. 빈 캐시, 스레드 1개({cpu}), {date}. "
        "{longest:.0f}초가 넘을 것은 측정하지 않았습니다.",
    },
}  # fmt: skip


def growth_chart(measured: dict[str, Any], language: str) -> str:
    """A file of SVG: CPU seconds over memory, by the number of rows, a line for each command."""
    words, found = WORDS[language], by_command(measured)
    sizes = sorted({each["rows"] for each in measured["measured"]})
    ticks = [(math.log10(size), f"{size:,}") for size in sizes]
    x = Axis(label=words["rows"], ticks=ticks, margin=0.1)
    ys = [Axis(label=words["seconds"], logarithmic=True), Axis(label=words["megabytes"], low=0.0)]
    lines = [_lines(found, name) for name in ("cpu_seconds", "peak_megabytes")]
    says = "; ".join(
        f"{name}: " + ", ".join(f"{one['cpu_seconds']:.0f} s, {one['rows']:,}" for one in each)
        for name, each in found.items()
    )
    return chart_file(stacked(*lines, x=x, ys=ys, says=says, below=MEMORY_HEIGHT))


def _lines(found: dict[str, list[dict[str, Any]]], value: str) -> list[Mark]:
    looks = zip(found.items(), SERIES, MARKERS, strict=True)
    return [
        line([(math.log10(one["rows"]), one[value]) for one in each], colour=colour, marker=marker, name=name)
        for (name, each), colour, marker in looks
    ]


def growth_table(measured: dict[str, Any], language: str = "en") -> str:
    """Seconds and memory of each command and size, what each further row takes, and how it was measured."""
    words, found = WORDS[language], by_command(measured)
    lines: list[Cells] = []
    for size in sorted({each["rows"] for each in measured["measured"]}):
        cells = [next((one for one in each if one["rows"] == size), None) for each in found.values()]
        lines.append([f"{size:,}", *(_cell(one, words) if one else words["missing"] for one in cells)])
    lines.append([words["each"], *(_each_row(each) for each in found.values())])
    about = words["about"].format(
        cpu=measured["cpu"]["name"], date=measured["date"][:10], longest=measured["longest_cpu_seconds"]
    )
    return "\n".join([markdown_table([words["rows"], *found], lines), "", about])


def growth_table_ko(measured: dict[str, Any]) -> str:
    """The table in Korean."""
    return growth_table(measured, "ko")


def by_command(measured: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What was measured of each command, the fewest rows first."""
    names = dict.fromkeys(each["command"] for each in measured["measured"])
    every = sorted(measured["measured"], key=lambda each: int(each["rows"]))
    return {name: [each for each in every if each["command"] == name] for name in names}


def _cell(one: dict[str, Any], words: dict[str, str]) -> str:
    return words["cell"].format(seconds=f"{one['cpu_seconds']:,.1f}", megabytes=f"{one['peak_megabytes']:,.0f}")


def _each_row(each: Sequence[dict[str, Any]]) -> str:
    """`0.54, 0.49`: the milliseconds that a row adds, between each size and the one before."""
    added = [
        1_000 * (after["cpu_seconds"] - before["cpu_seconds"]) / (after["rows"] - before["rows"])
        for before, after in pairwise(each)
    ]
    return ", ".join(f"{one:.2g}" for one in added)
