"""Training rows by how far and how steadily their label was believed (Swayamdipta et al. 2020, Dataset Cartography)."""

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from finetune.analysis.pages.chart import Axis, chart
from finetune.analysis.pages.marks import dots
from finetune.commands.report.blocks import Block, ShownRow
from finetune.commands.report.run_files import RunFiles
from finetune.data.messages import so_many
from finetune.runs.training_rows import TrainingRows, read_training_rows
from finetune.task_types.marked_text import unmarked

ORDER = 136
DOTS = 600
ROWS_LISTED = 10


def blocks(run: RunFiles) -> Iterator[Block]:
    """The chart and the rows that were believed least, where a run has several epochs and probabilities."""
    found = read_training_rows(run.folder.training_rows)
    if found is None:
        return
    order = np.argsort(found.confidence, kind="stable")
    note = (
        "The probability of each training row's label while it was trained on: its mean and its standard deviation "
        f"over {run.record.parts[0]}s. At the top the rows are easy; on the right they are ambiguous; at the bottom "
        "left they are hard, and wrong labels are among these: the first are listed. The model has learned these rows, "
        "so labels are judged better by finetune.label_errors."
    )
    yield Block(title="Training rows", note=note, chart=_chart(found, order))
    yield Block(title="Training rows believed least", shown=[_row(found, row) for row in order[:ROWS_LISTED].tolist()])


def _row(found: TrainingRows, row: int) -> ShownRow:
    facts = [f"confidence {found.confidence[row]:.2f}", f"variability {found.variability[row]:.2f}"]
    return ShownRow(
        id=found.ids[row],
        parts=[unmarked("text", found.texts[row])],
        label=found.labels[row],
        facts=facts,
        right=None,
    )


def _chart(found: TrainingRows, order: np.ndarray) -> Markup:
    """At most DOTS rows, with those that are listed."""
    confidence, variability = found.confidence, found.variability
    others = np.random.default_rng(0).permutation(order[ROWS_LISTED:])[: DOTS - ROWS_LISTED]
    marks = [
        dots(_points(variability[rows], confidence[rows]), radius=2.4, faint=faint, colour=colour, name=name,
             tips=[f"row {found.ids[row]}: {confidence[row]:.2f}, {variability[row]:.2f}" for row in rows])
        for rows, colour, faint, name in (
            (others, "s1", True, "rows"),
            (order[:ROWS_LISTED], "s2", False, "listed"),
        )
        if len(rows)
    ]  # fmt: skip
    return chart(
        marks, x=Axis(label="variability", low=0.0), y=Axis(label="confidence", low=0.0, high=1.0), height=240,
        says=f"Confidence over variability of {so_many(len(found.ids), 'training row')}: from {confidence.min():.2f}",
    )  # fmt: skip


def _points(across: np.ndarray, up: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(across.tolist(), up.tolist(), strict=True))
