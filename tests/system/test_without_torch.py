"""An installation without torch: the commands of the Dockerfile, without a daemon, in an environment of its own."""

import json
import os
import shlex
import shutil
import subprocess
import time
import venv
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from support.dockerfile import ROOT, of_kind, words_of
from support.runs import FinishedRun

pytestmark = pytest.mark.nightly
UNREACHABLE = ("No matching distribution", "Could not find a version", "connection", "Network is unreachable")
TOKEN = "0123456789abcdef0123"
PORT = 8377


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
    (words,) = (shlex.split(run) for run in of_kind("RUN") if run.startswith("pip "))
    here = [word.replace("/source", str(folder / "source")) for word in words[1:]]
    done = subprocess.run([folder / "env/bin/pip", *here], capture_output=True, text=True, timeout=900)
    if done.returncode and any(word in done.stderr for word in UNREACHABLE):
        pytest.skip("pip reaches no index")
    assert done.returncode == 0, done.stderr
    return folder / "env"


def test_the_entry_point_serves_an_export_and_the_health_check_finds_it(
    image: Path, exported_run: FinishedRun, tmp_path: Path
) -> None:
    mounted = {"/model": str(exported_run("sentence")), "0.0.0.0": "127.0.0.1"}
    typed = [mounted.get(word, word) for word in (*words_of("ENTRYPOINT"), *words_of("CMD"))]
    environment = {"PATH": f"{image / 'bin'}{os.pathsep}/usr/bin", "HOME": str(tmp_path), "FINETUNE_TOKEN": TOKEN}
    server = subprocess.Popen(
        [image / "bin" / typed[0], *typed[1:], "--port", str(PORT)], env=environment, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip

    def asked(token: str) -> str:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        body = json.dumps({"rows": [{"review": "the cat sat 3"}]}).encode()
        with urlopen(Request(f"http://127.0.0.1:{PORT}/predict", body, headers), timeout=20) as reply:
            return str(reply.read().decode())

    try:
        check = [word.replace(":8000/", f":{PORT}/") for word in words_of("HEALTHCHECK")]
        until = time.monotonic() + 60
        while subprocess.run(check, env=environment, capture_output=True).returncode != 0:
            assert time.monotonic() < until and server.poll() is None, server.communicate()[0]
            time.sleep(0.2)
        assert '"good"' in asked(TOKEN)
        with pytest.raises(URLError):
            asked("another token than this")
    finally:
        server.terminate()
        server.wait(timeout=20)
    assert server.returncode == 0
