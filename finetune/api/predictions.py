"""Saved predictions with the probability of each label in a column, as `finetune predict` writes them."""

import math
from collections.abc import Iterator
from typing import Any

from finetune.analysis.label_errors import beliefs
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import PredictionLine, read_lines
from finetune.runs.record import RunRecord
from finetune.task_types.run_view import split_view_of
from finetune.task_types.view import View


def saved_lines(record: RunRecord, folder: RunFolder) -> Iterator[PredictionLine]:
    """The lines of each split of a run. Raises UserError where they were deleted."""
    for split in record.scores:
        lines = read_lines(folder, split)
        view = split_view_of(record, folder, split, lines)
        yield from ({"split": split} | (line if view is None else line_by_column(view, line)) for line in lines)


def line_by_column(view: View, line: PredictionLine) -> PredictionLine:
    """The line with `p(LABEL)` for each label; with the list `probabilities` where the view knows no labels for it."""
    named = {f"p({label})": chance for label, chance in view.by_label(line).items()}
    return {key: value for key, value in line.items() if key != "probabilities" or not named} | named


def believed_lines(record: RunRecord, folder: RunFolder) -> list[dict[str, Any]]:
    """The predictions of a run, each with the probability of its label and how far that is believed, least first."""
    return sorted(_lines(record, folder), key=_least_first)


def _least_first(line: dict[str, Any]) -> tuple[bool, float]:
    return math.isnan(line["belief"]), line["belief"]


def _lines(record: RunRecord, folder: RunFolder) -> Iterator[dict[str, Any]]:
    for split in record.scores:
        lines = read_lines(folder, split)
        view = split_view_of(record, folder, split, lines)
        found = None if view is None else beliefs(view)
        if view is None or found is None:
            continue
        for index, line in enumerate(view.lines):
            kept = {key: value for key, value in line.items() if value is not None and ":" not in key}
            doubt = {} if found.places is None else view.doubt(line, int(found.places[index]))
            chance = {} if view.numbers() is not None else {"label_probability": float(found.chances[index])}
            belief = {"belief": float(found.belief[index])}
            yield {"split": split} | line_by_column(view, kept) | doubt | chance | belief
