"""`finetune serve` as a process: what it prints, signals, and what it refuses before it starts."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.cli import assert_error

Finetune = Callable[..., subprocess.CompletedProcess[str]]


class Process:
    """A server in a process of its own, and what it has printed so far."""

    def __init__(self, *arguments: str | Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "finetune", "serve", *map(str, arguments), "--port", "0"],
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = re.findall(r"http://\S+:\d+", self.wait_for("http://"))[0]
        self.wait_for("Ctrl-C stops it")
        for _ in range(200):
            with suppress(httpx.TransportError):
                httpx.get(f"{self.address}/health")
                break
            time.sleep(0.05)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def wait_for(self, words: str) -> str:
        """The first line with these words, once it is printed."""
        until = time.monotonic() + 120
        while not (found := [line for line in self.lines if words in line]):
            assert time.monotonic() < until and self.process.poll() is None, self.lines
            time.sleep(0.02)
        return found[0]

    def predict(self, *rows: Any) -> httpx.Response:
        return httpx.post(f"{self.address}/predict", json={"rows": rows}, timeout=60)


@contextmanager
def process(*arguments: str | Path, **environment: str) -> Iterator[Process]:
    made = Process(*arguments, **environment)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def test_a_server_says_how_to_try_it_loads_again_and_answers_what_waits_before_it_ends(
    copied_run: Callable[[str], Path],
) -> None:
    run = copied_run("sentence")
    with process(run, "--host", "0.0.0.0") as server:  # of which 127.0.0.1 is one
        assert "--token-env" in server.wait_for("0.0.0.0: whoever reaches")
        typed = server.wait_for("curl ").strip()
        answered = subprocess.run(typed, shell=True, capture_output=True, text=True, check=True)
        assert set(json.loads(answered.stdout)["predictions"][0]) == {"prediction", "p(bad)", "p(good)"}

        server.process.send_signal(signal.SIGHUP)
        server.wait_for("reviews: loaded again, the same weights")
        shutil.move(run / "model", run / "elsewhere")
        server.process.send_signal(signal.SIGHUP)
        assert "model" in server.wait_for("cannot be loaded again, the model before it stays")
        assert server.predict("the cat").status_code == 200

        large, began = list[httpx.Response](), time.monotonic()
        waiting = threading.Thread(target=lambda: large.append(server.predict(*["the cat sat " * 20] * 1_000)))
        waiting.start()
        while not server.process.poll() and time.monotonic() - began < 0.2:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("stopping")
        assert server.process.wait(30) == 0
        waiting.join()
        assert [len(one.json()["predictions"]) for one in large] == [1_000]
        with pytest.raises(httpx.TransportError):
            server.predict("the cat")
        assert not [line for line in server.lines if "Traceback" in line or "the cat" in line]


def test_ctrl_c_ends_a_server_with_a_token(reviews: Path) -> None:
    token = "0123456789abcdef0123"
    with process(reviews, "--host", "0.0.0.0", "--token-env", "SERVE_TOKEN", SERVE_TOKEN=token) as server:
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
    assert_error(done.stderr, str(port), "--port 0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing"], ["nothing"]),
        (["--host", "no.such.host.example"], ["no.such.host.example"]),
        (["--token-env", "NO_SUCH_TOKEN"], ["NO_SUCH_TOKEN", "export NO_SUCH_TOKEN="]),
        (["text=review"], ["text", "temperature=dev"]),
        (["temperature=3"], ["temperature", "dev"]),
    ],
)
def test_what_cannot_be_served_is_one_line(
    arguments: list[str], words: list[str], here: Finetune, reviews: Path
) -> None:
    done = here("serve", reviews, "--port", "0", *arguments)
    assert done.returncode == 2
    assert_error(done.stderr, *words)


def test_one_run_is_served_once(here: Finetune, reviews: Path) -> None:
    done = here("serve", reviews, reviews, "--port", "0")
    assert done.returncode == 2
    assert_error(done.stderr, reviews.name)


def test_the_extra_is_named_where_it_is_not_installed(
    here: Finetune, reviews: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    done = here("serve", reviews)
    assert done.returncode == 2
    assert_error(done.stderr, "fastapi", "bert-finetune[serve]")
