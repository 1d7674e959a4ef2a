"""How far labels are believed, where they are no classes."""

import math
from typing import Any

import numpy as np
import pytest

from finetune.analysis.label_errors import Believed, beliefs
from finetune.task_types.predictions import Predictions
from finetune.task_types.saved_predictions import labelled_table
from finetune.task_types.span.questions import SpanAnswer, with_label


def table_for(lines: list[dict[str, Any]]) -> Predictions:
    table = labelled_table(None, [{"id": str(number), **line} for number, line in enumerate(lines)])
    assert table is not None
    return table


def believed(table: Predictions) -> Believed:
    found = beliefs(table)
    assert found is not None
    return found


def test_an_error_counts_by_what_is_usual_for_such_predictions() -> None:
    """Predictions near 4 are off by 1 as a rule, those near 1 by 0.1: there 0.8 is a doubt."""
    draw = np.random.default_rng(0)
    golds = [1 + 0.1 * draw.standard_normal() for _ in range(100)] + [4 + draw.standard_normal() for _ in range(100)]
    golds[7] = 1.8
    lines = [{"text": "a", "gold": gold, "prediction": 1.0 if row < 100 else 4.0} for row, gold in enumerate(golds)]
    found = believed(table_for(lines))
    assert int(np.argmin(found.belief)) == 7 and found.belief[7] < -5
    errors = np.abs([line["gold"] - line["prediction"] for line in lines])
    assert int(np.argmax(errors)) > 100
    assert np.isnan(found.chances).all() and (found.belief <= 0).all()


def test_errors_that_are_all_equal_are_believed_alike() -> None:
    for off in (0.0, 1.0):
        found = believed(table_for([{"text": "a", "gold": 1.0 + off, "prediction": 1.0}] * 3))
        assert found.belief.tolist() == pytest.approx([-off] * 3)


def test_an_answer_is_believed_among_the_best_spans_and_itself() -> None:
    best = [
        {"text": "cat", "probability": 0.75, "start_logit": 1.0, "end_logit": math.log(3) - 1},
        {"text": "dog", "probability": 0.25, "start_logit": 0.0, "end_logit": 0.0},
    ]
    answer = SpanAnswer(value="cat", n_best=best)
    assert with_label(answer, ("dog",), -9.0).label_probability == 0.25
    assert with_label(answer, ("dog", "cat"), -9.0).label_probability == 1.0
    assert with_label(answer, ("bird",), 0.0).label_probability == pytest.approx(1 / 5)
    assert with_label(answer, (), -math.inf).label_probability == 0
    assert with_label(answer, ("lost",), -math.inf).label_probability is None
    assert with_label(answer, None, 0.0) is answer


def test_answers_without_a_place_come_last() -> None:
    line = {"question": "q", "context": "a cat", "gold": "cat", "answers": ["cat"], "prediction": "a", "score": 0.5}
    chances = (0.8, None, 0.1)
    found = believed(table_for([line | {"label_probability": chance} for chance in chances]))
    assert np.isnan(found.belief[1]) and int(np.argmin(found.belief[[0, 2]])) == 1
    assert beliefs(table_for([line])) is None  # from before it was saved
