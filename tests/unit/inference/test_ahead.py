"""A thread encodes the next window while the model predicts; predictions, errors and their order stay."""

import threading
from collections.abc import Iterator

import pytest

from finetune.data.records import Record
from finetune.inference.answer_rows import PredictedRow, ahead
from finetune.inference.predictor import Predictor


def test_the_next_item_is_made_meanwhile_and_no_more() -> None:
    made = [threading.Event() for _ in range(4)]

    def items() -> Iterator[int]:
        for number, event in enumerate(made):
            event.set()
            yield number

    coming = ahead(items())
    for number in range(3):
        assert next(coming) == number
        assert made[number + 1].wait(10)
        assert not any(event.is_set() for event in made[number + 2 :])
    assert list(coming) == [3]


def test_an_error_of_the_thread_is_raised_where_the_items_are_used() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    coming = ahead(items())
    assert next(coming) == 1
    with pytest.raises(OSError, match="gone"):
        next(coming)


@pytest.mark.parametrize("overlaps", [False, True])
def test_windows_have_the_predictions_of_records(
    reviewer: Predictor, monkeypatch: pytest.MonkeyPatch, overlaps: bool
) -> None:
    assert not reviewer.engine.overlaps  # on a CPU
    monkeypatch.setattr(type(reviewer.engine), "overlaps", overlaps)
    layout = reviewer.layout
    assert layout is not None

    def predicted(some: list[Record], first: int) -> Iterator[list[PredictedRow]]:
        return reviewer.predicted(((record, layout) for record in some), first=first)

    texts = ["the cat sat", "", "the dog sat", "\ud800 broken", "the cat ran"]
    records = [Record(row=n, line=n, values={"review": text}) for n, text in enumerate(texts)]
    expected = [[reviewer.cells(one) for one in window] for record in records for window in predicted([record], 1)]
    found = list(predicted(records, 2))
    assert [len(window) for window in found] == [2, 3]
    assert [one.record for window in found for one in window] == records
    assert [reviewer.cells(one) for window in found for one in window] == [cells for (cells,) in expected]
