"""Servers of finished runs on this machine: their answers over HTTP, and `finetune serve` as a process."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cli import Finetune, assert_error, started
from support.served import Served, error_of, serve_process, served

from finetune.commands.serve.app import ServeLimits
from finetune.inference.predictor import load_predictor

CopiedRun = Callable[[str], Path]
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROWS)
def test_predictions_are_those_of_the_model_and_its_example_is_answered(kind: str, finished_run: Any) -> None:
    expected = load_predictor(finished_run(kind)).predict(ROWS[kind])
    with served(finished_run(kind)) as server:
        found = server.post("/predict", {"rows": ROWS[kind]}).json()
        (about,) = server.get("/about").json()["models"]
        assert found == {"predictions": json.loads(json.dumps(expected)), "model": about["name"]}
        content = server.get("/openapi.json").json()["paths"]["/predict"]["post"]["requestBody"]["content"]
        rows = content["application/json"]["example"]["rows"]
        assert [list(row) for row in rows] == [about["columns"]]
        given = server.post("/predict", {"rows": rows}).json()["predictions"]
        assert not [cells for cells in [*found["predictions"], *given] if "error" in cells]


def test_a_bad_row_spoils_no_other(server: Served) -> None:
    rows: list[Any] = [{"review": "the cat"}, {"review": ""}, {"other": 1}, None, [], {}, ["a", "b"], True, "the cat"]
    found = server.post("/predict", {"rows": rows}).json()["predictions"]
    assert ["error" in cells for cells in found] == [False, *[True] * 6, False, False]
    assert found[0] == found[-1] and "review" in found[1]["error"]
    odd = server.send("/predict", b'{"rows": [NaN, ' + b"[" * 50 + b"]" * 50 + b', "the cat"]}')
    assert ["error" in cells for cells in odd.json()["predictions"]] == [True, True, False]


MANY = b'{"rows":[[' + b"{}," * 2_600_000 + b"{}]]}"
REFUSED = {
    "no JSON": (b"rows", 400),
    "not UTF-8": (b'{"rows": ["\xff"]}', 400),
    "no rows": (b"{}", 400),
    "deep": (b'{"rows":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
    "a lone surrogate": (b'{"rows": ["\\ud800"]}', 400),
    "a number of 5,000 digits": (b'{"rows": [' + b"9" * 5_000 + b"]}", 400),
    "too many rows": (json.dumps({"rows": ["a"] * 1_001}).encode(), 413),
    "a long row": (json.dumps({"rows": ["a" * 100_001]}).encode(), 413),
    "a large body": (b" " * 8_000_001, 413),
    "many values": (MANY, 413),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_answered_is_one_line_of_json_and_the_server_lives(what: str, server: Served) -> None:
    content, status = REFUSED[what]
    found = server.send("/predict", content)
    assert (found.status_code, bool(error_of(found))) == (status, True)
    assert server.post("/predict", {"rows": ["the cat"]}).status_code == 200


def test_a_body_of_many_values_stalls_no_other_request(server: Served) -> None:
    most = b'{"rows":[[' + b"{}," * 95_000 + b"{}]]}"  # as many as are read
    with ThreadPoolExecutor() as pool:
        sent = [pool.submit(server.send, "/predict", content) for content in (MANY, most) * 4]
        slowest = 0.0
        while not all(one.done() for one in sent):
            began = time.perf_counter()
            assert server.get("/health").status_code == 200
            slowest = max(slowest, time.perf_counter() - began)
    assert {one.result().status_code for one in sent} == {413}
    assert slowest < 2  # each of them took seconds, and all others waited


def test_another_content_type_method_path_or_site_is_refused(server: Served) -> None:
    assert (server.get("/predict").status_code, server.get("/docs").status_code) == (405, 404)
    assert "application/json" in error_of(kind := server.send("/predict", b"x", "text/plain"))
    assert [kind.status_code, server.send("/file", b"x").status_code, server.get("/metrics").status_code] == [
        415,
        404,
        404,
    ]
    other = server.get("/about", Host="attacker.example")
    assert (other.status_code, server.address.rpartition(":")[2] in error_of(other)) == (421, True)
    origins = ("http://attacker.example", "null")
    assert [server.get("/about", Origin=origin).status_code for origin in origins] == [403] * 2
    own = server.get("/about", Origin=server.address)
    assert (own.status_code, "access-control-allow-origin" in own.headers) == (200, False)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=json_values | st.fixed_dictionaries({"rows": st.lists(json_values, max_size=4)}))
def test_any_json_is_answered_or_refused(value: Any, server: Served) -> None:
    found = server.send("/predict", json.dumps(value).encode())
    assert found.status_code == 200 or (found.status_code in (400, 413) and error_of(found))
    assert not [line for line in server.lines if line.startswith("fault")]


def test_a_full_queue_and_a_request_past_its_time_are_refused(reviews: Path) -> None:
    with served(reviews, limits=ServeLimits(waiting=0)) as server:
        found = server.post("/predict", {"rows": ["the cat"]})
        assert (found.status_code, found.headers["retry-after"], bool(error_of(found))) == (503, "1", True)
        assert server.get("/health").status_code == 200
    with served(reviews, limits=ServeLimits(seconds=0.0)) as server:
        assert server.post("/predict", {"rows": ["the cat"]}).status_code in (408, 504)


def test_a_token_is_needed_for_all_but_the_page_and_health_and_the_log_has_no_text(reviews: Path) -> None:
    with served(reviews, token="0123456789abcdef") as server:
        paths = ("/", "/health", "/about?secret", "/openapi.json", "/no")
        assert [server.get(path).status_code for path in paths] == [200, 200, 401, 401, 401]
        body = {"rows": ["the secret cat"]}
        refused = server.post("/predict", body, {"Authorization": "Bearer 0123456789abcdeg"})
        assert (refused.status_code, "Bearer" in error_of(refused)) == (401, True)
        assert server.post("/predict", body, {"Authorization": "Bearer 0123456789abcdef"}).status_code == 200
        assert not any("secret" in line for line in server.lines)
        assert [line.split()[:3] for line in server.lines if "POST" in line][-1] == ["POST", "/predict", "200"]


@pytest.mark.slow
def test_a_server_says_how_to_try_it_and_answers_what_waits_before_it_ends(copied_run: CopiedRun) -> None:
    with serve_process(copied_run("sentence")) as server:
        typed = server.wait_for("curl ").strip()
        answered = subprocess.run(typed, shell=True, capture_output=True, text=True, check=True)
        assert set(json.loads(answered.stdout)["predictions"][0]) == {"prediction", "p(bad)", "p(good)"}
        large = list[httpx.Response]()
        waiting = threading.Thread(target=lambda: large.append(server.predict(*["the cat sat " * 20] * 1_000)))
        waiting.start()
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        waiting.join()
        assert [len(one.json()["predictions"]) for one in large] == [1_000]
        with pytest.raises(httpx.TransportError):
            server.predict("the cat")
        assert not [line for line in server.lines if "Traceback" in line or "the cat" in line]


@pytest.mark.slow
def test_a_server_prints_its_address_as_json(reviews: Path, tmp_path: Path) -> None:
    process = started(tmp_path, tmp_path, "serve", str(reviews), "--port", "0", "--json", "--quiet")
    assert process.stdout is not None
    about = json.loads(process.stdout.readline())
    assert httpx.get(f"{about['address']}/about").json()["models"]
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], ["0.0.0.0", "--token-env"]),
        (["--token-env", "NO_SUCH_TOKEN"], ["NO_SUCH_TOKEN", "export NO_SUCH_TOKEN="]),
        (["--port", "{taken}"], ["{taken}", "0 takes one"]),
        (["without fastapi"], ["fastapi", "bert-finetune[serve]"]),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_one_line(
    arguments: list[str], words: list[str], here: Finetune, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if arguments == ["without fastapi"]:
        monkeypatch.setitem(sys.modules, "fastapi", None)
        arguments = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        typed = [*([] if "--port" in arguments else ["--port", "0"]), *(one.format(taken=port) for one in arguments)]
        done = here("serve", reviews, *typed)
    assert done.returncode == 2
    assert_error(done.stderr, *(word.format(taken=port) for word in words))
