"""The Dockerfile: its packages are those of pyproject.toml, no root, and nothing but the source comes into it."""

import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from support.dockerfile import ROOT, instructions, of_kind, words_of


def test_it_installs_what_a_service_without_torch_needs() -> None:
    command = shlex.split(of_kind("RUN")[0])
    assert command[-1] == "/source[onnx,serve]"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    installed = {re.split(r"[><=]", one)[0] for one in [*project["dependencies"], *extras["onnx"], *extras["serve"]]}
    assert installed & {re.split(r"[><=]", one)[0] for one in extras["train"]} == {"tokenizers", "tqdm"}


def test_it_serves_the_model_that_is_mounted_as_no_root_with_a_token() -> None:
    names = [name for name, _ in instructions()]
    assert names.index("USER") > max(place for place, name in enumerate(names) if name == "RUN")
    assert of_kind("USER") == ["finetune"] and of_kind("FROM") == ["python:3.11-slim"]
    typed = [*words_of("ENTRYPOINT"), *words_of("CMD")]
    assert typed == ["finetune", "serve", "/model", "--host", "0.0.0.0", "--token-env", "FINETUNE_TOKEN"]


def test_only_the_source_comes_into_it() -> None:
    lines = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert lines[0] == "*"
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert kept == {"pyproject.toml", "constraints.txt", "README.md", "LICENSE", "finetune", "tasks", "recipes"}
    assert not [name for name in (".git", ".env", "results", ".venv", "shared") if any(fnmatch(name, k) for k in kept)]


def test_its_health_check_tells_a_server_that_answers_from_one_that_does_not() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(HTTPStatus.OK if self.path == "/health" else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    _, *arguments = words_of("HEALTHCHECK")
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        here = [word.replace(":8000/", f":{server.server_port}/") for word in arguments]
        Thread(target=server.handle_request, daemon=True).start()
        assert subprocess.run([sys.executable, *here], capture_output=True).returncode == 0
    assert subprocess.run([sys.executable, *here], capture_output=True).returncode != 0
