import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from finetune.commands.serve import model as module
from finetune.commands.serve.model import Worker


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
def worker(model: Model) -> Iterator[Worker]:
    made = Worker(model.answer, tokens=10)
    yield made
    model.may.set()
    made.close(10)
    assert not made._thread.is_alive()


def busy(worker: Worker, model: Model) -> "Future[list[Any]]":
    """A request that is computed until the model may answer."""
    first = worker.submit(["first"], 1)
    assert model.began.wait(10)
    return first


def test_requests_that_wait_are_computed_together_and_each_gets_its_own_answers(worker: Worker, model: Model) -> None:
    busy(worker, model)
    given = [worker.submit(rows, len(rows)) for rows in (["a", "b"], ["c"], ["d", "e"])]
    model.may.set()
    assert [one.result(10) for one in given] == [["a", "b"], ["c"], ["d", "e"]]
    assert model.together == [["first"], ["a", "b", "c", "d", "e"]]


def test_no_more_are_computed_together_than_have_room(worker: Worker, model: Model) -> None:
    busy(worker, model)
    given = [worker.submit([row], 5) for row in range(5)]
    model.may.set()
    assert [one.result(10) for one in given] == [[row] for row in range(5)]
    assert model.together[1:] == [[0, 1], [2, 3], [4]]


def test_clients_that_wait_together_are_computed_together_again(
    worker: Worker, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_GATHER", 60)
    first = busy(worker, model)
    given = [worker.submit([row], 5) for row in ("a", "b")]
    model.may.set()
    first.result(10)
    assert [one.result(10) for one in given] == [["a"], ["b"]]
    again = [worker.submit([row], 5) for row in ("c", "d")]
    assert [one.result(10) for one in again] == [["c"], ["d"]]
    assert model.together == [["first"], ["a", "b"], ["c", "d"]]


def test_a_client_alone_waits_for_no_other(worker: Worker, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_GATHER", 60)
    model.may.set()
    for row in ("a", "b", "c"):
        assert worker.submit([row], 1).result(10) == [row]


def test_what_fails_spoils_no_other_request(worker: Worker, model: Model) -> None:
    busy(worker, model)
    given = [worker.submit([row], 1) for row in ("a", "bad", "b")]
    model.may.set()
    assert (given[0].result(10), given[2].result(10)) == (["a"], ["b"])
    with pytest.raises(RuntimeError):
        given[1].result(10)


def test_a_request_that_nobody_waits_for_is_not_computed(worker: Worker, model: Model) -> None:
    busy(worker, model)
    left, stays = (worker.submit([row], 1) for row in ("left", "stays"))
    left.cancel()
    model.may.set()
    assert stays.result(10) == ["stays"]
    assert model.together == [["first"], ["stays"]]


def test_a_worker_that_closes_answers_those_that_wait(model: Model) -> None:
    worker = Worker(model.answer, tokens=10)
    busy(worker, model)
    waits = worker.submit(["waits"], 1)
    model.may.set()
    worker.close(10)
    assert waits.result(0) == ["waits"]
