"""What `predict` measures of the rows that it predicts."""

from dataclasses import replace

from support.runs import FinishedRun

from finetune.inference.predictor import load_predictor
from finetune.inference.shift.note import WatchedPredictor
from finetune.inference.shift.reference import load_reference
from finetune.task_types.span.row import SpanRow


def test_of_questions_on_one_context_one_is_measured(finished_run: FinishedRun) -> None:
    run = finished_run("span")
    predictor, reference = load_predictor(run), load_reference(run / "model")
    assert reference is not None
    watched = WatchedPredictor(predictor=predictor, reference=reference, step=1)
    first = SpanRow(id="1", question="who ran?", context="the cat ran")
    rows = [first, replace(first, question="who sat?"), replace(first, context="a dog sat")]
    watched.answers_and_truncated(rows)
    watched.answers_and_truncated(rows)
    assert [len(some["length"]) for some in watched.seen] == [2]
