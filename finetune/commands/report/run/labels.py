"""How often each label occurs in train and in dev."""

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart, names_axis
from finetune.analysis.pages.marks import bars
from finetune.analysis.pages.svg import SERIES
from finetune.commands.report.blocks import Block, TableBlock
from finetune.commands.report.run_files import RunFiles
from finetune.commands.report.text import NAME, shown_of
from finetune.task_types.marked_text import cut

ORDER = 135
MOST_BARS = 16
MOST_LINES = 60
WIDE = 0.8  # of a line, that the bars of all splits take


def blocks(run: RunFiles) -> Iterator[Block]:
    """The share of each label in each split, as bars and as a table; the most frequent of many."""
    counts = {split: found for split, found in run.record.labels.items() if found}
    names = list(dict.fromkeys(name for found in counts.values() for name in found))
    if len(names) < 2:
        return
    names.sort(key=lambda name: -max(found.get(name, 0) for found in counts.values()))
    lines = [[cut(name, NAME), *(f"{found.get(name, 0):,}" for found in counts.values())] for name in names]
    yield Block(
        title="Labels",
        note=shown_of(min(len(names), MOST_LINES), len(names), "labels, the most frequent"),
        chart=_chart(counts, names) if len(names) <= MOST_BARS else None,
        table=TableBlock(columns=["label", *counts], rows=lines[:MOST_LINES], sorts=True),
    )


def _chart(counts: Mapping[str, Mapping[str, int]], names: list[str]) -> Markup:
    marks, thick = [], WIDE / len(counts)
    for number, (split, found) in enumerate(counts.items()):
        total = max(1, sum(found.values()))
        top = [-index + WIDE / 2 - number * thick for index in range(len(names))]
        boxes = [(0.0, y, 100 * found.get(name, 0) / total, y - thick) for name, y in zip(names, top, strict=True)]
        marks.append(bars(boxes, colour=SERIES[number % len(SERIES)], name=split))
    first = next(iter(counts.values()))
    said = ", ".join(f"{name} {first.get(name, 0):,}" for name in names)
    return chart(
        marks, x=Axis(label="share of the split's labels, %", low=0.0), y=names_axis(names),
        height=26.0 * len(names) + 8, says=f"Labels of {next(iter(counts))}: {said}",
    )  # fmt: skip
