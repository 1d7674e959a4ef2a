"""Saved predictions with the probability of each label in a column, as `finetune predict` writes them."""

from collections.abc import Iterator

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
