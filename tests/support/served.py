"""A server of trained models on this machine, in a thread of the test's own process."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from finetune.commands.serve.app import build_app
from finetune.commands.serve.guard import Access
from finetune.commands.serve.limits import ServeLimits
from finetune.commands.serve.loading import load_models
from finetune.commands.serve.running import ModelServer, bound_socket
from finetune.commands.serve.served_models import ServedModels
from finetune.inference.model_source import ModelSource
from finetune.runs.events import unwatched


@dataclass(kw_only=True)
class Served:
    """A server: where it is, its models, and the lines of its log."""

    address: str
    models: ServedModels
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
def served(
    *runs: Path, limits: ServeLimits | None = None, token: str = "", examples: bool = True, log_texts: bool = False
) -> Iterator[Served]:
    """A server of these runs, which ends with the block."""
    loaded = load_models([ModelSource(model=str(run), device="cpu") for run in runs], watch=unwatched)
    models, lines = ServedModels(loaded, limits or ServeLimits()), list[str]()

    def log_rows(rows: Sequence[Any]) -> None:
        lines.extend(map(str, rows if log_texts else ()))

    with bound_socket("127.0.0.1", 0) as bound:
        access = Access(host="127.0.0.1", token=token)
        app = build_app(models, access=access, examples=examples, log=lines.append, log_rows=log_rows)
        server = ModelServer(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield Served(address=f"http://127.0.0.1:{bound.getsockname()[1]}", models=models, lines=lines)
        finally:
            server.should_exit = True
            thread.join()
            models.close(5)


def error_of(response: httpx.Response) -> str:
    """The one line of a refused request."""
    assert response.headers["content-type"] == "application/json", response.text
    found = response.json()
    assert set(found) == {"error"} and "\n" not in found["error"] and "Traceback" not in found["error"], found
    return str(found["error"])
