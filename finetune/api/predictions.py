"""Saved predictions with the probability of each label in a column, as `finetune predict` writes them."""

import math
from collections.abc import Iterator
from typing import Any

from finetune.analysis.label_errors import beliefs
from finetune.runs.folder import PredictionLine, RunFolder, read_lines
from finetune.runs.record import RunRecord
from finetune.task_types.predictions import Predictions, named_chances
from finetune.task_types.saved_predictions import run_predictions


def saved_lines(record: RunRecord, folder: RunFolder) -> Iterator[PredictionLine]:
    """The lines of each split of a run. Raises UserError where they were deleted."""
    for split in record.scores:
        lines = read_lines(folder, split)
        table = run_predictions(record, folder, split, lines)
        yield from ({"split": split} | line_by_column(table, line) for line in lines)


def line_by_column(table: Predictions | None, line: PredictionLine) -> PredictionLine:
    """The line with `p(LABEL)` for each label; with the list `probabilities` where the labels are not known."""
    names = [] if table is None or not table.chances else [*table.chances[0]]
    named = named_chances([line], names) if table is not None and names == [*table.names] else []
    columns = {f"p({label})": chance for known in named for label, chance in known.items()}
    return {key: value for key, value in line.items() if key != "probabilities" or not named} | columns


def believed_lines(record: RunRecord, folder: RunFolder) -> list[dict[str, Any]]:
    """The predictions of a run, each with the probability of its label and how far that is believed, least first."""
    return sorted(_lines(record, folder), key=_least_first)


def _least_first(line: dict[str, Any]) -> tuple[bool, float]:
    return math.isnan(line["belief"]), line["belief"]


def _lines(record: RunRecord, folder: RunFolder) -> Iterator[dict[str, Any]]:
    for split in record.scores:
        table = run_predictions(record, folder, split)
        believed = None if table is None else beliefs(table)
        if table is None or believed is None:
            continue
        for row, line in enumerate(table.lines):
            kept = {key: value for key, value in line.items() if value is not None and ":" not in key}
            known = {} if believed.least is None else {"label_probability": float(believed.chances[row])}
            doubt = {} if believed.least is None else table.doubt(int(believed.least[row]))
            known |= {"belief": float(believed.belief[row])}
            yield {"split": split} | line_by_column(table, kept) | doubt | known
