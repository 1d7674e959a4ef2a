"""Margins of older records, which lack them, from the saved predictions."""

from collections.abc import Mapping, Sequence

from finetune.errors import UserError
from finetune.runs.folder import RunFolder
from finetune.runs.margin import Margin
from finetune.runs.predictions import Line
from finetune.runs.record import RunRecord
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.resampling import margin
from finetune.task_types.run_task import trained_on
from finetune.task_types.task import Answer

BASELINE = "baseline:"  # begins the columns of the baselines' predictions


def with_margins(record: RunRecord, folder: RunFolder, predictions: Mapping[str, Sequence[Line]]) -> RunRecord:
    """The record with the margins of the splits that have predictions, where its task is known here."""
    lacking = {split: lines for split, lines in predictions.items() if lines and split not in record.margins}
    if not lacking:
        return record
    try:
        found = {split: _margin(lines, folder) for split, lines in lacking.items()}
    except (UserError, ValueError, TypeError, LookupError):  # an unknown task, or columns of an older version of it
        return record
    return record.model_copy(update={"margins": {**record.margins, **found}})


def _margin(lines: Sequence[Line], folder: RunFolder) -> Margin:
    task = trained_on(folder)
    rows = [row_of_line(task, line, folder.path) for line in lines]
    answers = [Answer(value=line["answer"], probabilities=line.get("probabilities")) for line in lines]
    methods = [name for name in lines[0] if name.startswith(BASELINE)]
    given = {name.removeprefix(BASELINE): [Answer(value=line[name]) for line in lines] for name in methods}
    return margin(task, rows, answers, given)
