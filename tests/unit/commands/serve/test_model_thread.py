import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from finetune.commands.serve import model_thread
from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.model_thread import ModelThread
from finetune.commands.serve.refused import Refused

LIMITS = ServeLimits(tokens=10, waiting=6, seconds=60)


class Model:
    """Answers each row with itself, once it may; knows which rows it was given together."""

    def __init__(self) -> None:
        self.together: list[list[Any]] = []
        self.may = threading.Event()
        self.began = threading.Event()

    def answer(self, rows: Sequence[Any]) -> list[Any]:
        self.together.append(list(rows))
        self.began.set()
        assert self.may.wait(10)
        if "bad" in rows:
            raise RuntimeError("bad")
        return list(rows)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def thread(model: Model) -> Iterator[ModelThread]:
    made = ModelThread(LIMITS, name="m")
    yield made
    model.may.set()
    made.close(10)


def busy(thread: ModelThread, model: Model) -> "Future[list[Any]]":
    """A request that is computed until the model may answer."""
    first = thread.submit(model.answer, ["first"], [1])
    assert model.began.wait(10)
    return first


def test_requests_that_wait_are_computed_together_and_each_gets_its_own_answers(
    thread: ModelThread, model: Model
) -> None:
    busy(thread, model)
    given = [thread.submit(model.answer, rows, [2] * len(rows)) for rows in (["a", "b"], ["c"], ["d", "e"])]
    model.may.set()
    assert [one.result(10) for one in given] == [["a", "b"], ["c"], ["d", "e"]]
    assert model.together == [["first"], ["a", "b", "c", "d", "e"]]


def test_clients_that_wait_together_are_computed_together_again(
    thread: ModelThread, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_thread, "SECONDS_TO_GATHER", 60)
    first = busy(thread, model)
    given = [thread.submit(model.answer, [row], [1]) for row in ("a", "b")]
    model.may.set()
    first.result(10)
    again = thread.submit(model.answer, ["again"], [1])
    assert [one.result(10) for one in (*given, again)] == [["a"], ["b"], ["again"]]
    assert model.together == [["first"], ["a", "b", "again"]]


def test_a_client_alone_waits_for_no_other(thread: ModelThread, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_thread, "SECONDS_TO_GATHER", 60)
    model.may.set()
    for row in ("a", "b", "c"):
        assert thread.submit(model.answer, [row], [1]).result(10) == [row]


def test_a_large_request_leaves_room_for_those_after_it(thread: ModelThread, model: Model) -> None:
    busy(thread, model)
    large = thread.submit(model.answer, list(range(25)), [1] * 25)
    small = thread.submit(model.answer, ["small"], [1])
    model.may.set()
    assert (small.result(10), large.result(10)) == (["small"], list(range(25)))
    assert ["small" in rows for rows in model.together].index(True) == 2
    assert max(map(len, model.together)) == 10


def test_a_row_of_more_tokens_than_the_budget_is_computed_alone(thread: ModelThread, model: Model) -> None:
    busy(thread, model)
    given = thread.submit(model.answer, ["a", "long", "b"], [1, 99, 1])
    model.may.set()
    assert given.result(10) == ["a", "long", "b"]
    assert model.together[1:] == [["a"], ["long"], ["b"]]


def test_what_fails_spoils_no_other_request(thread: ModelThread, model: Model) -> None:
    busy(thread, model)
    given = [thread.submit(model.answer, [row], [1]) for row in ("a", "bad", "b")]
    model.may.set()
    assert (given[0].result(10), given[2].result(10)) == (["a"], ["b"])
    with pytest.raises(RuntimeError):
        given[1].result(10)


def test_requests_of_another_kind_are_computed_apart(thread: ModelThread, model: Model) -> None:
    other = Model()
    other.may.set()
    busy(thread, model)
    given = [thread.submit(each.answer, [row], [1]) for row, each in enumerate((model, other, model))]
    model.may.set()
    assert [one.result(10) for one in given] == [[0], [1], [2]]
    assert (model.together[1:], other.together) == ([[0, 2]], [[1]])


def test_a_full_queue_refuses(thread: ModelThread, model: Model) -> None:
    busy(thread, model)
    given = [thread.submit(model.answer, ["a"], [1]) for _ in range(LIMITS.waiting)]
    with pytest.raises(Refused) as refused:
        thread.submit(model.answer, ["a"], [1])
    assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "1"})
    model.may.set()
    assert [one.result(10) for one in given] == [["a"]] * LIMITS.waiting


def test_a_request_is_dropped_after_its_time_before_it_is_computed(thread: ModelThread, model: Model) -> None:
    busy(thread, model)
    thread.limits = replace(LIMITS, seconds=0.01)
    late = thread.submit(model.answer, ["late"], [1])
    time.sleep(0.05)
    model.may.set()
    with pytest.raises(Refused) as refused:
        late.result(10)
    assert refused.value.status == 504
    assert model.together == [["first"]]


def test_a_request_whose_client_left_is_not_computed(thread: ModelThread, model: Model) -> None:
    busy(thread, model)
    left, stays = (thread.submit(model.answer, [row], [1]) for row in ("left", "stays"))
    left.cancel()
    model.may.set()
    assert stays.result(10) == ["stays"]
    assert model.together == [["first"], ["stays"]]


def test_a_thread_that_closes_answers_those_that_wait_and_takes_no_more(model: Model) -> None:
    thread = ModelThread(LIMITS, name="m")
    busy(thread, model)
    waits = thread.submit(model.answer, ["waits"], [1])
    model.may.set()
    thread.close(10)
    assert waits.result(0) == ["waits"]
    with pytest.raises(Refused, match="stopping"):
        thread.submit(model.answer, ["a"], [1])


def test_those_that_wait_can_be_dropped(thread: ModelThread, model: Model) -> None:
    first = busy(thread, model)
    waits = thread.submit(model.answer, ["waits"], [1])
    thread.drop_waiting()
    with pytest.raises(Refused, match="stopping"):
        waits.result(0)
    model.may.set()
    assert first.result(10) == ["first"]
