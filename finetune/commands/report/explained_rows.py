"""The rows of a run that its report explains, and what their words add: confident errors, and a few that are right."""

from collections.abc import Iterator

import numpy as np

from finetune.commands.report.blocks import WordWeight
from finetune.inference.explain.explain import explain_row
from finetune.inference.explain.explanation import ExplainedRow
from finetune.inference.explain.pieces import text_pieces
from finetune.inference.predictor import Predictor
from finetune.runs.folder import RunFolder
from finetune.runs.predictions import PredictionLine, read_lines
from finetune.runs.record_files import load_record
from finetune.task_types.explained import Asked, CannotExplain
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.run_view import split_view_of
from finetune.task_types.view import View

RIGHT = 0.25  # right rows for each error that is explained


def explained_rows(predictor: Predictor, folder: RunFolder, count: int) -> Iterator[tuple[str, str, ExplainedRow]]:
    """(split, id, explanation) of `count` errors and some right rows of the first split with saved predictions.

    Rows without anything to explain, such as a text without an entity, and those that are too long are left out.
    Raises UserError without captum, and for a task whose predictions cannot be explained.
    """
    record = load_record(folder.record_file)
    split, lines = record.first_split, read_lines(folder, record.first_split)
    view = split_view_of(record, folder, split, lines)
    for line in lines[:count] if view is None else chosen(view, count):
        try:
            found = explain_row(predictor, row_of_line(predictor.task, line, folder.path), Asked())
        except CannotExplain:
            continue
        if found.explanations:
            yield split, str(line["id"]), found


def chosen(view: View, count: int) -> list[PredictionLine]:
    """The `count` most confident errors (for numbers the largest), and the first rows that are right."""
    certainty, scores = view.certainty(), view.scores()
    errors = np.argsort(-certainty, kind="stable")[: min(count, int((certainty > -np.inf).sum()))]
    right = np.flatnonzero(scores == 1)[: int(np.ceil(RIGHT * count)) * view.bounded]  # numbers are never right
    return [view.lines[index] for index in (*errors, *right)]


def word_weights(row: ExplainedRow) -> list[WordWeight]:
    """The pieces of the row's texts with the first explanation's parts: the strongest is 1 or -1, if not small."""
    explanation = row.explanations[0]
    found: list[WordWeight] = []
    for number, name in enumerate(row.texts):
        found += [WordWeight(text=" / ", weight=0.0)] * (number > 0)
        found += [
            WordWeight(text=one.text, weight=one.share) for one in text_pieces(row, explanation, name) if one.text
        ]
    return found
