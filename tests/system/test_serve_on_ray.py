"""Replicas of Ray Serve answer as one server does, replace their models, and end in order."""

import os
import pickle
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from support.cli import Finetune, assert_error
from support.processes import below, is_running, ray_tasks, soon
from support.served import ServeProcess, serve_process

TOKEN = "0123456789abcdef0123"
ROWS: list[Any] = ["the cat sat", {"review": ""}, {"other": 1}, "the dog", None]
ASKED: list[tuple[str, str, Any]] = [
    ("POST", "/predict", {"rows": ROWS}),
    ("POST", "/reviews/predict", {"rows": "the cat"}),
    ("POST", "/predict", {"rows": ["a" * 100_001]}),
    ("POST", "/predict", {"rows": ["the cat"] * 1_001}),
    ("POST", "/", {"inputs": "the cat sat"}),
    ("POST", "/explain", {"row": {"review": "the cat sat"}}),
    ("POST", "/nothing", {}),
    ("GET", "/", None),
    ("GET", "/about", None),
    ("GET", "/openapi.json", None),
    ("GET", "/ready", None),
]


def answers(server: ServeProcess, token: str = TOKEN) -> list[tuple[int, Any]]:
    """The status and body of each request."""
    with httpx.Client(base_url=server.address, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        found = [client.request(method, path, json=body) for method, path, body in ASKED]
        found.append(client.post("/file", content=b"review\nthe cat\n", headers={"Content-Type": "text/csv"}))
        found.append(client.get("/about", headers={"Host": "attacker.example"}))
        return [(one.status_code, one.text.replace(server.address, "")) for one in found]


def replicas_of(server: ServeProcess) -> list[int]:
    return ray_tasks(server.process.pid, "ServeReplica")


def what_a_replica_tells_a_stranger(replica: int) -> str:
    """The status with which it refuses what another process sends to its port for Ray, which it would unpickle."""
    import grpc
    from ray.serve.generated import serve_pb2, serve_pb2_grpc

    ports = {one.laddr.port for one in psutil.Process(replica).net_connections() if one.laddr.ip in ("::", "0.0.0.0")}
    request = serve_pb2.ASGIRequest(pickled_request_metadata=pickle.dumps(None))
    found = set()
    for port in ports:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, pytest.raises(grpc.RpcError) as refused:
            serve_pb2_grpc.ASGIServiceStub(channel).HandleRequest(request, timeout=30)
        found.add(refused.value.code().name)
    return " ".join(found)


@pytest.mark.nightly
def test_two_replicas_answer_as_one_server_does_and_are_replaced_and_ended_in_order(reviews: Path) -> None:
    pytest.importorskip("ray.serve")
    given = [reviews, "--token-env", "SERVE_TOKEN"]
    with serve_process(*given, SERVE_TOKEN=TOKEN) as plain:
        expected = [answers(plain), answers(plain, "another")]
    with serve_process(*given, "--on", "ray", "--replicas", "2", SERVE_TOKEN=TOKEN) as server:
        for token, wanted in zip((TOKEN, "another"), expected, strict=True):
            assert [pair for pair in zip(answers(server, token), wanted, strict=True) if pair[0] != pair[1]] == []
        assert {status for status, _ in expected[0]} == {200, 400, 404, 413, 421}
        before = replicas_of(server)
        assert len(before) == 2
        assert {what_a_replica_tells_a_stranger(one) for one in before} == {"UNAUTHENTICATED"}

        server.process.send_signal(signal.SIGHUP)
        statuses, loaded = list[int](), threading.Event()

        def ask() -> None:
            while not loaded.is_set():
                statuses.append(answers(server)[0][0])

        with ThreadPoolExecutor() as pool:
            asking = pool.submit(ask)
            server.wait_for("loaded again")
            loaded.set()
            asking.result()
        assert set(statuses) == {200}
        assert not {*before} & {*replicas_of(server)}

        large = list[int]()
        headers = {"Authorization": f"Bearer {TOKEN}"}
        body = {"rows": ["the cat sat " * 20] * 1_000}
        waiting = threading.Thread(
            target=lambda: large.append(
                httpx.post(f"{server.address}/predict", json=body, headers=headers, timeout=60).status_code
            )
        )
        waiting.start()
        waiting.join(0.2)
        started_by_it = below(server.process.pid)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        waiting.join()
        assert large == [200]
        assert soon(lambda: not any(map(is_running, started_by_it)))
        assert not [line for line in server.lines if "Traceback" in line or "the cat" in line or TOKEN in line]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--on", "rai"], ["'rai'", "Did you mean 'ray'"]),
        (["--on", "slurm"], ["`--on` is 'slurm'", "Give ray"]),
        (["--replicas", "2"], ["--replicas is", "`--on` ray"]),
        (["--cpus-each", "2"], ["--cpus-each is", "`--on` ray"]),
        (["--on", "ray", "--replicas", "0"], ["--replicas"]),
        (["--on", "ray", "--gpus-each", "1.5"], ["`--gpus-each` is 1.5"]),
    ],
    ids=" ".join,
)
def test_wrong_input_is_one_line(arguments: list[str], words: list[str], here: Finetune, reviews: Path) -> None:
    done = here("serve", reviews, "--port", "0", *arguments)
    assert done.returncode == 2
    assert_error(done.stderr, *words)


def test_without_ray_the_extra_is_named(here: Finetune, reviews: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())  # in which the command sets what Ray reads
    monkeypatch.setitem(sys.modules, "ray", None)
    done = here("serve", reviews, "--port", "0", "--on", "ray", "--quiet")
    assert done.returncode == 2
    assert_error(done.stderr, "Ray is not installed", "pip install 'bert-finetune[ray-serve]'")
