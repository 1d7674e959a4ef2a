"""The rows of a run that its report explains: the most confident errors, and a few that are right."""

from collections.abc import Iterator, Sequence

import numpy as np

from finetune.errors import UserError
from finetune.inference.explain.explain import explain
from finetune.inference.explain.explanation import ExplainedRow
from finetune.inference.predictor import Predictor
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import Line, read_lines
from finetune.runs.record import load_record
from finetune.task_types.explained import Asked
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.types import view_of

RIGHT = 0.25  # right rows for each error that is explained


def explained_rows(predictor: Predictor, folder: RunFolder, count: int) -> Iterator[tuple[str, str, ExplainedRow]]:
    """(split, id, explanation) of `count` errors and some right rows of the first split with saved predictions.

    Rows without anything to explain, such as a text without an entity, are left out. Raises UserError without captum.
    """
    split = next(iter(load_record(folder.record_file).scores))
    for line in chosen(read_lines(folder, split), count):
        try:
            found = explain(predictor, row_of_line(predictor.task, line, folder.path), Asked())
        except UserError as error:
            if "pip install" in error.way_out:
                raise
            continue  # a row that is too long
        if found.explanations:
            yield split, str(line["id"]), found


def chosen(lines: Sequence[Line], count: int) -> list[Line]:
    """The `count` most confident errors (for numbers the largest), and the first rows that are right."""
    view = view_of(lines)
    if view is None:
        return list(lines[:count])
    certainty, scores = view.certainty(), view.scores()
    errors = np.argsort(-certainty, kind="stable")[: min(count, int((certainty > -np.inf).sum()))]
    right = np.flatnonzero(scores == 1)[: int(np.ceil(RIGHT * count)) * view.bounded]  # numbers are never right
    return [view.lines[index] for index in (*errors, *right)]
