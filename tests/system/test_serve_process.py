"""`finetune serve` as a process: what it prints, signals, and what it refuses before it starts."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from support.cli import assert_error
from support.served import serve_process

Finetune = Callable[..., subprocess.CompletedProcess[str]]


def test_a_server_says_how_to_try_it_and_answers_what_waits_before_it_ends(
    copied_run: Callable[[str], Path],
) -> None:
    with serve_process(copied_run("sentence")) as server:
        typed = server.wait_for("curl ").strip()
        answered = subprocess.run(typed, shell=True, capture_output=True, text=True, check=True)
        assert set(json.loads(answered.stdout)["predictions"][0]) == {"prediction", "p(bad)", "p(good)"}

        large, began = list[httpx.Response](), time.monotonic()
        waiting = threading.Thread(target=lambda: large.append(server.predict(*["the cat sat " * 20] * 1_000)))
        waiting.start()
        while not server.process.poll() and time.monotonic() - began < 0.2:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        waiting.join()
        assert [len(one.json()["predictions"]) for one in large] == [1_000]
        with pytest.raises(httpx.TransportError):
            server.predict("the cat")
        assert not [line for line in server.lines if "Traceback" in line or "the cat" in line]


@pytest.mark.slow
def test_ctrl_c_ends_a_server_with_a_token(reviews: Path) -> None:
    token = "0123456789abcdef0123"
    with serve_process(reviews, "--host", "0.0.0.0", "--token-env", "SERVE_TOKEN", SERVE_TOKEN=token) as server:
        typed = server.wait_for("curl ").strip()
        assert "$SERVE_TOKEN" in typed and not [line for line in server.lines if token in line]
        environment = os.environ | {"SERVE_TOKEN": token}
        answered = subprocess.run(typed, shell=True, capture_output=True, text=True, check=True, env=environment)
        assert "predictions" in json.loads(answered.stdout)
        assert server.predict("the cat").status_code == 401
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(30) == 0


def test_a_port_in_use_is_one_line(here: Finetune, reviews: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = here("serve", reviews, "--port", str(port))
    assert done.returncode == 2
    assert_error(done.stderr, str(port), "0 takes one")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], ["nothing"]),
        (["--host", "no.such.host.example", "--token-env", "HOME_TOKEN"], ["no.such.host.example"]),
        (["--host", "0.0.0.0"], ["0.0.0.0", "--token-env"]),
        (["--token-env", "NO_SUCH_TOKEN"], ["NO_SUCH_TOKEN", "export NO_SUCH_TOKEN="]),
    ],
)
def test_what_cannot_be_served_is_one_line(
    arguments: list[str], words: list[str], here: Finetune, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME_TOKEN", "0123456789abcdef")
    done = here("serve", *([] if arguments == ["nothing"] else [reviews]), "--port", "0", *arguments)
    assert done.returncode == 2
    assert_error(done.stderr, *words)


def test_the_extra_is_named_where_it_is_not_installed(
    here: Finetune, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    done = here("serve", reviews)
    assert done.returncode == 2
    assert_error(done.stderr, "fastapi", "bert-finetune[serve]")
