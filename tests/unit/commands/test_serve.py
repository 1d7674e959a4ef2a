"""The thread of `finetune serve` that computes, and the server from Python."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx
import pytest

import finetune
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


def busy(worker: Worker, model: Model) -> "Future[list[Any]]":
    """A request that is computed until the model may answer."""
    first = worker.submit(["first"], 1)
    assert model.began.wait(10)
    return first


@pytest.mark.parametrize(
    ("requests", "together"),
    [
        ([(["a", "b"], 2), (["c"], 1), (["d", "e"], 2)], [["a", "b", "c", "d", "e"]]),
        ([([row], 5) for row in "abcde"], [["a", "b"], ["c", "d"], ["e"]]),  # as many as have room
    ],
)
def test_requests_that_wait_are_computed_together_and_each_gets_its_own_answers(
    requests: list[tuple[list[str], int]], together: list[list[str]], worker: Worker, model: Model
) -> None:
    busy(worker, model)
    given = [worker.submit(rows, tokens) for rows, tokens in requests]
    model.may.set()
    assert [one.result(10) for one in given] == [rows for rows, _ in requests]
    assert model.together == [["first"], *together]


def test_what_fails_or_is_left_spoils_no_other_request(worker: Worker, model: Model) -> None:
    busy(worker, model)
    given = [worker.submit([row], 1) for row in ("a", "bad", "left", "b")]
    given[2].cancel()
    model.may.set()
    assert (given[0].result(10), given[3].result(10)) == (["a"], ["b"])
    with pytest.raises(RuntimeError):
        given[1].result(10)
    assert not any("left" in rows for rows in model.together)


def test_a_server_answers_in_the_background_until_it_is_stopped(reviews: Path) -> None:
    server = finetune.serve(reviews, port=0, device="cpu")
    found = httpx.post(f"{server.address}/predict", json={"rows": ["the cat sat"]}, timeout=60).json()
    assert set(found["predictions"][0]) == {"prediction", "p(bad)", "p(good)"}
    server.stop()
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{server.address}/health")
