"""The commands of the Dockerfile without a daemon: its packages in an empty environment serve an export, no torch."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from support.dockerfile import ROOT, of_kind, words_of
from support.runs import FinishedRun

TOKEN = "0123456789abcdef0123"
PORT = 8377
WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment after the RUN commands of the Dockerfile; skipped where no package index can be reached."""
    folder = tmp_path_factory.mktemp("image")
    venv.create(folder / "env", with_pip=True)
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("finetune", "tasks", "recipes"):
        shutil.copytree(ROOT / name, folder / "source" / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    installs = [shlex.split(run) for run in of_kind("RUN") if run.startswith("pip ")]
    (words,) = installs
    here = [word.replace("/source", str(folder / "source")) for word in words[1:]]
    done = subprocess.run([folder / "env/bin/pip", *here], capture_output=True, text=True, timeout=900)
    if "No matching distribution" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return folder / "env"


@pytest.mark.nightly
def test_the_commands_of_the_dockerfile_serve_an_export_without_torch(
    image: Path, finished_run: FinishedRun, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    export = [sys.executable, "-m", "finetune", "export", str(finished_run("sentence")), "-o", str(small)]
    subprocess.run(export, check=True, capture_output=True, timeout=300)
    assert subprocess.run([image / "bin/python", "-c", "import torch"], capture_output=True).returncode != 0
    mounted = {"/model": str(small), "0.0.0.0": "127.0.0.1"}
    typed = [mounted.get(word, word) for word in (*words_of("ENTRYPOINT"), *words_of("CMD"))]
    environment = {"PATH": f"{image / 'bin'}{os.pathsep}/usr/bin", "HOME": str(tmp_path), "FINETUNE_TOKEN": TOKEN}
    server = subprocess.Popen(
        [image / "bin" / typed[0], *typed[1:], "--port", str(PORT)], env=environment, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        check = [word.replace(":8000/", f":{PORT}/") for word in words_of("HEALTHCHECK")]
        until = time.monotonic() + WAIT_SECONDS
        while subprocess.run(check, env=environment, capture_output=True).returncode != 0:
            assert time.monotonic() < until and server.poll() is None, server.communicate()[0]
            time.sleep(0.2)
        answer = _asked({"rows": [{"review": "the cat sat 3"}]}, TOKEN)
        assert '"good"' in answer
        with pytest.raises(URLError):
            _asked({"rows": [{"review": "the cat sat 3"}]}, "another token than this")
    finally:
        server.terminate()
        server.wait(timeout=20)
    assert server.returncode == 0


def _asked(body: object, token: str) -> str:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = Request(f"http://127.0.0.1:{PORT}/predict", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=20) as reply:
        found: str = reply.read().decode()
    return found
