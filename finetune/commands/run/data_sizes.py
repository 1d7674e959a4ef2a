"""Prints the learning curve over the size of the data, and whether more labels would help."""

from collections.abc import Sequence

from finetune.analysis.data_sizes import SizeCurve
from finetune.cli.console import Terminal, as_plain_text
from finetune.cli.fitted_table import FittedTable, columns
from finetune.data.messages import so_many


def print_curves(console: Terminal, curves: Sequence[SizeCurve]) -> None:
    """A table and a sentence for each setting that was run with several sizes."""
    for curve in curves:
        console.print(sizes_table(curve))
        console.print_line(curve.answer)


def sizes_table(curve: SizeCurve) -> FittedTable:
    """A line per size: rows, mean score, its interval, and the best baseline at that size."""
    seeds = len(curve.sizes[-1].records)
    rows = [tuple(map(as_plain_text, cells)) for cells in curve.cells]
    notes = [f"mean of {so_many(seeds, 'seed')}"] if seeds > 1 else []
    headings = columns(*curve.columns, right=curve.columns)
    return FittedTable(title="by size of the data", columns=headings, rows=rows, notes=notes)
