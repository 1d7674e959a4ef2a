"""A server of trained models on this machine, in a thread of the test's own process, or in one of its own."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

import finetune
from finetune.commands.serve.app import Endpoints, ServeLimits, build_app


@dataclass(kw_only=True)
class Served:
    """A server: where it is, what it answers, and the lines of its log."""

    address: str
    endpoints: Endpoints
    lines: list[str] = field(default_factory=list)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(self.address + path, headers=headers, timeout=60)

    def post(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Posts a value as JSON."""
        return httpx.post(self.address + path, json=body, headers=headers, timeout=60)

    def send(self, path: str, content: bytes, kind: str = "application/json") -> httpx.Response:
        """Posts bytes."""
        return httpx.post(self.address + path, content=content, headers={"Content-Type": kind}, timeout=60)


@contextmanager
def served(run: Path, limits: ServeLimits | None = None, token: str = "") -> Iterator[Served]:
    """A server of a run, which ends with the block."""
    lines = list[str]()
    endpoints = Endpoints(finetune.load(run, device="cpu"), limits or ServeLimits())
    app = build_app(endpoints, local=True, token=token, log=lines.append)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Served(address=address, endpoints=endpoints, lines=lines)
        finally:
            server.should_exit = True
            thread.join()
            endpoints.worker.close(5)


class ServeProcess:
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
        until = time.monotonic() + 300  # on a busy machine
        while not (found := [line for line in self.lines if words in line]):
            assert time.monotonic() < until and self.process.poll() is None, self.lines
            time.sleep(0.02)
        return found[0]

    def predict(self, *rows: Any) -> httpx.Response:
        return httpx.post(f"{self.address}/predict", json={"rows": rows}, timeout=60)


@contextmanager
def serve_process(*arguments: str | Path, **environment: str) -> Iterator[ServeProcess]:
    """`finetune serve` of these arguments on a free port, which ends with the block."""
    made = ServeProcess(*arguments, **environment)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()


def error_of(response: httpx.Response) -> str:
    """The one line of a refused request."""
    assert response.headers["content-type"] == "application/json", response.text
    found = response.json()
    assert set(found) == {"error"} and "\n" not in found["error"] and "Traceback" not in found["error"], found
    return str(found["error"])
