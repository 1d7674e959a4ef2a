"""What runs cost, as columns of `finetune table --cost`."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from finetune.commands.table.paper_table import TableLine
from finetune.commands.table.paper_table_formats import Form
from finetune.runs.cost import Cost
from finetune.runs.record import RunRecord

HEADER = ("device time", "memory", "GPU memory")
NOTE = (
    "Cost: device time (seconds times devices) is the mean of a run, memory is the most of any run. "
    "Blank without a GPU, and where a record has none."
)


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


def with_cost(form: Form, lines: Sequence[TableLine]) -> Form:
    """The form of `runs_form` with the cost of each line."""
    rows = [[*row, *_cells(cost_of(line.runs))] for row, line in zip(form.rows, lines, strict=True)]
    return replace(
        form, header=[*form.header, *HEADER], rows=rows, notes=[*form.notes, NOTE], option=f"{form.option} --cost"
    )


def csv_columns(lines: Sequence[TableLine]) -> dict[str, list[str]]:
    """The numbers of each line, in seconds and bytes, by column of a CSV file."""
    costs = [cost_of(line.runs) for line in lines]
    return {name: [_number(getattr(cost, name, None)) for cost in costs] for name in Cost.model_fields}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.12g}"


def _cells(cost: Cost | None) -> list[str]:
    if cost is None:
        return [""] * len(HEADER)
    return [_time(cost.device_seconds), _memory(cost.peak_memory_bytes), _memory(cost.peak_device_bytes)]


def _time(seconds: float) -> str:
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.1f} h"


def _memory(size: int | None) -> str:
    return "" if size is None else f"{size / 2**30:.2f} GiB"
