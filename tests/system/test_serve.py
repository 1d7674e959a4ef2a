"""A server of finished runs, asked over HTTP on this machine."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.served import Served, error_of, served

import finetune
from finetune.api.model import loaded
from finetune.commands.serve.app import ServeLimits
from finetune.commands.serve.model import served_predictor
from finetune.inference.predictor import Predictor, load_predictor
from finetune.runs.events import Event

ROWS: dict[str, list[Any]] = {
    "sentence": [{"review": "the cat sat"}, "the dog", {"review": "a bird flew"}],
    "regression": [{"a": "the cat", "b": "the dog"}, ["a cat", "a dog"]],
    "multilabel": [{"text": "the cat"}, "a dog"],
    "tagging": ["the cat sat", {"tokens": ["the", "dog"]}],
    "span": [{"question": "who sat?", "context": "the cat sat"}, ["who ran?", "the dog ran"]],
    "choice": [{"context": "the cat", "choice1": "sat", "choice2": "ran"}, ["the cat", ["sat", "ran", "flew"]]],
    "choice by letter": [{"question": "the cat", "A": "sat", "B": "ran", "C": "flew"}],
}


@pytest.fixture(scope="module")
def server(reviews: Path) -> Iterator[Served]:
    """A server of one run."""
    with served(reviews) as one:
        yield one


@pytest.mark.parametrize("kind", ROWS)
def test_predictions_are_those_of_the_model_and_its_example_is_answered(kind: str, finished_run: Any) -> None:
    expected = load_predictor(finished_run(kind)).predict(ROWS[kind])
    with served(finished_run(kind)) as server:
        found = server.post("/predict", {"rows": ROWS[kind]}).json()
        (about,) = server.get("/about").json()["models"]
        assert found == {"predictions": json.loads(json.dumps(expected)), "model": about["name"]}
        assert not [cells for cells in found["predictions"] if "error" in cells]

        content = server.get("/openapi.json").json()["paths"]["/predict"]["post"]["requestBody"]["content"]
        rows = content["application/json"]["example"]["rows"]
        assert [list(row) for row in rows] == [about["columns"]]
        predictions = server.post("/predict", {"rows": rows}).json()["predictions"]
        assert not [one for one in predictions if "error" in one]


def test_a_bad_row_spoils_no_other(server: Served) -> None:
    rows: list[Any] = [{"review": "the cat"}, {"review": ""}, {"other": 1}, None, [], {}, ["a", "b"], True, "the cat"]
    found = server.post("/predict", {"rows": rows}).json()["predictions"]
    assert ["error" in cells for cells in found] == [False, *[True] * 6, False, False]
    assert found[0] == found[-1]
    assert "review" in found[1]["error"]


def test_about_says_what_the_run_is(server: Served, reviews: Path, reviewer: Predictor) -> None:
    (about,) = server.get("/about").json()["models"]
    record = json.loads((reviews / "record.json").read_text())
    expected = {"name": "reviews", "task": "reviews.csv", "shape": "classification", "columns": ["review"]}
    expected |= {"labels": ["bad", "good"], "fingerprint": reviewer.fingerprint, "max_length": 16, "engine": "torch"}
    assert {name: about[name] for name in expected} == expected
    assert about["scores"] == {name: score for name, score in record["scores"]["dev"].items() if "/" not in name}
    assert about["interval"] == record["margins"]["dev"]["interval"]


DEEP = b'{"rows":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
REFUSED = {
    "no JSON": (b"rows", 400),
    "empty": (b"", 400),
    "not UTF-8": (b'{"rows": ["\xff"]}', 400),
    "a list": (b"[]", 400),
    "no rows": (b"{}", 400),
    "rows of another kind": (b'{"rows": "the cat"}', 400),
    "another name": (b'{"rows": [], "text": ""}', 400),
    "deep": (DEEP, 400),
    "a lone surrogate": (b'{"rows": ["\\ud800"]}', 400),
    "a number of 5,000 digits": (b'{"rows": [' + b"9" * 5_000 + b"]}", 400),
    "too many rows": (json.dumps({"rows": ["a"] * 1_001}).encode(), 413),
    "a long row": (json.dumps({"rows": ["a" * 100_001]}).encode(), 413),
    "a large body": (b" " * 8_000_001, 413),
    "many values": (b'{"rows":[[' + b"{}," * 2_600_000 + b"{}]]}", 413),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_answered_is_one_line_of_json_and_the_server_lives(what: str, server: Served) -> None:
    content, status = REFUSED[what]
    found = server.send("/predict", content)
    assert (found.status_code, bool(error_of(found))) == (status, True)
    assert server.post("/predict", {"rows": ["the cat"]}).status_code == 200


def test_a_body_of_many_values_stalls_no_other_request(server: Served) -> None:
    body = b'{"rows":[[' + b"{}," * 2_600_000 + b"{}]]}"
    most = b'{"rows":[[' + b"{}," * 95_000 + b"{}]]}"  # as many as are read
    with ThreadPoolExecutor() as pool:
        sent = [pool.submit(server.send, "/predict", content) for content in (body, most) * 4]
        slowest = 0.0
        while not all(one.done() for one in sent):
            began = time.perf_counter()
            assert server.get("/health").status_code == 200
            slowest = max(slowest, time.perf_counter() - began)
    assert {one.result().status_code for one in sent} == {413}
    assert slowest < 2  # each of them took seconds, and all others waited


def test_another_content_type_method_or_path_is_refused(server: Served) -> None:
    assert server.send("/predict", b"x", "text/plain").status_code == 415
    assert [server.send("/file", b"x", "text/csv").status_code, server.get("/metrics").status_code] == [404] * 2
    assert "application/json" in error_of(server.send("/predict", b"x", "text/plain"))
    assert (server.get("/predict").status_code, server.get("/docs").status_code) == (405, 404)
    assert error_of(server.get("/redoc"))


def test_what_no_row_can_be_is_the_fault_of_its_row(server: Served) -> None:
    found = server.send("/predict", b'{"rows": [NaN, ' + b"[" * 50 + b"]" * 50 + b', "the cat"]}')
    assert ["error" in cells for cells in found.json()["predictions"]] == [True, True, False]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=json_values | st.fixed_dictionaries({"rows": st.lists(json_values, max_size=4)}))
def test_any_json_is_answered_or_refused(value: Any, server: Served) -> None:
    found = server.send("/predict", json.dumps(value).encode())
    assert found.status_code in (200, 400, 413)
    if found.status_code != 200:
        assert error_of(found)
    assert not [line for line in server.lines if line.startswith("fault")]


def test_a_full_queue_and_a_request_past_its_time_are_refused(reviews: Path) -> None:
    with served(reviews, limits=ServeLimits(waiting=0)) as server:
        found = server.post("/predict", {"rows": ["the cat"]})
        assert (found.status_code, found.headers["retry-after"]) == (503, "1")
        assert error_of(found)
        assert server.get("/health").status_code == 200
    with served(reviews, limits=ServeLimits(seconds=0.0)) as server:
        assert server.post("/predict", {"rows": ["the cat"]}).status_code in (408, 504)


def test_a_token_is_needed_for_all_but_the_page_and_health(reviews: Path) -> None:
    with served(reviews, token="0123456789abcdef") as server:
        assert [server.get(path).status_code for path in ("/", "/health")] == [200] * 2
        assert [server.get(path).status_code for path in ("/about", "/openapi.json", "/no")] == [401] * 3
        body = {"rows": ["the cat"]}
        refused = server.post("/predict", body, {"Authorization": "Bearer 0123456789abcdeg"})
        assert (refused.status_code, "Bearer" in error_of(refused)) == (401, True)
        assert server.post("/predict", body, {"Authorization": "Bearer 0123456789abcdef"}).status_code == 200


def test_a_page_of_another_site_may_not_ask(server: Served) -> None:
    other = server.get("/about", Host="attacker.example")
    assert (other.status_code, server.address.rpartition(":")[2] in error_of(other)) == (421, True)
    assert server.get("/about", Origin="http://attacker.example").status_code == 403
    assert server.get("/about", Origin="null").status_code == 403
    own = server.get("/about", Origin=server.address)
    assert (own.status_code, "access-control-allow-origin" in own.headers) == (200, False)


def test_the_log_has_no_text(reviews: Path) -> None:
    with served(reviews) as server:
        server.post("/predict", {"rows": ["the secret cat"]})
        server.send("/predict", b'{"rows": ["secret"')
        server.get("/about?secret")
        assert not any("secret" in line for line in server.lines)
        assert next(line.split()[:3] for line in server.lines if "POST" in line) == ["POST", "/predict", "200"]


def test_what_shows_the_loading_shows_no_request(reviews: Path) -> None:
    events: list[Event] = []
    model = loaded(reviews, task=None, out="results", device="cpu", watch=events.append)
    events.clear()
    assert served_predictor(model)(["the cat"])
    assert events == []


@pytest.mark.slow
def test_an_export_is_served_by_the_name_of_its_run(copied_run: Callable[[str], Path]) -> None:
    run = copied_run("sentence")
    finetune.export(run, run / "onnx")
    with served(run / "onnx") as exported, served(run) as trained:
        answers = [one.post("/predict", {"rows": ["the cat", ""]}).json()["predictions"] for one in (exported, trained)]
        (about,) = exported.get("/about").json()["models"]
        assert (about["engine"], about["name"]) == ("onnx", "reviews")
        assert answers[0][0]["p(good)"] == pytest.approx(answers[1][0]["p(good)"], abs=0.01)
        assert answers[0][1] == answers[1][1]
