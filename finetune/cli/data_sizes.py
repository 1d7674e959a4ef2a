"""Prints the learning curve over the size of the data, and whether more labels would help."""

from collections.abc import Sequence
from pathlib import Path

from finetune.analysis.data_sizes import Size, curves_of, last_gain, more_labels
from finetune.cli.console import Terminal, plain
from finetune.cli.fitted_table import FittedTable, columns
from finetune.data.messages import so_many
from finetune.runs.data_sizes import percent
from finetune.runs.folder import RunFolder
from finetune.runs.record import RunRecord


def print_curves(console: Terminal, records: Sequence[RunRecord], *, out: Path) -> None:
    """A table and a sentence for each setting that was run with several sizes."""
    folders = {record.id: RunFolder.of(out, record.task, record.id) for record in records}
    for sizes in curves_of(records):
        console.print(sizes_table(sizes))
        console.print_line(more_labels(last_gain(sizes, folders)))


def sizes_table(sizes: Sequence[Size]) -> FittedTable:
    """A line per size: rows, mean score, its interval, and the best baseline at that size."""
    first = sizes[0].verdict
    seeds = len(sizes[-1].records)
    names = ("size", "rows", f"{first.split} {first.metric.name}", "95 % interval", "best baseline")
    rows = []
    for size in sizes:
        shown, found = first.metric.shown, size.verdict
        interval = "" if found.interval is None else " to ".join(map(shown, found.interval))
        base = "" if size.baseline is None else shown(size.baseline)
        rows.append((percent(size.share), f"{size.rows:,}", plain(shown(found.score)), interval, base))
    notes = [f"mean of {so_many(seeds, 'seed')}"] if seeds > 1 else []
    return FittedTable(title="by size of the data", columns=columns(*names, right=names), rows=rows, notes=notes)
