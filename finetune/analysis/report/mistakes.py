"""Wrong answers that a model is sure of, and golds that are perhaps the mistake."""

import numpy as np

from finetune.task_types.view import Line, View

SURE = 0.9
DEVIATIONS = 3.0  # of the error of a number


def surest_mistakes(view: View, most: int) -> tuple[list[tuple[Line, float]], int]:
    """(line, certainty) of the wrong rows that the model is surest of, the surest first; and how many are wrong."""
    return _first(view, view.certainty(), most)


def suspects(view: View, most: int) -> tuple[list[tuple[Line, float]], int]:
    """The same for rows whose gold is contradicted by a model that is as sure of it as where it is right.

    That is: at least 90 % sure, and at least as sure as in the mean of its right decisions. Of numbers: those whose
    error is over three times the root of the mean squared error.
    """
    certainty = view.certainty()
    return _first(view, np.where(certainty >= bar(view), certainty, -np.inf), most)


def bar(view: View) -> float:
    """How certain a mistake must be for its gold to be doubted."""
    if not view.bounded:
        return DEVIATIONS * float(np.sqrt((view.scores() ** 2).mean()))
    found = view.decisions()
    if found is None:
        return np.inf
    confidence, right = found
    return max(SURE, float(confidence[right].mean()) if right.any() else SURE)


def _first(view: View, certainty: np.ndarray, most: int) -> tuple[list[tuple[Line, float]], int]:
    order = np.argsort(-certainty, kind="stable")
    wrong = int((certainty > -np.inf).sum())
    return [(view.lines[index], float(certainty[index])) for index in order[: min(most, wrong)]], wrong
