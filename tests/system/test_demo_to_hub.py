"""The model of `make demo` is exported, served, tried on the page, pushed, and loaded from the Hub: by the page."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import driven
from support.hub import TOKEN
from support.hub_server import HubServer
from support.pages import DOCS, KOREAN, blocks
from support.paths import ROOT
from support.processes import soon
from support.served import serve_process

PAGE = Path("how-to") / "publish.md"


def demo() -> str:
    """The command of `make demo` that trains."""
    (command,) = re.findall(r"\$\(BIN\)/(finetune run .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    return str(command)


def typed(folder: Path, command: str, **environment: str) -> None:
    """Types a command in a folder."""
    name, *arguments = shlex.split(command)
    assert name == "finetune"
    done = subprocess.run(
        [sys.executable, "-m", "finetune", *arguments],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if not key.startswith("HF_")} | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, (command, done.stderr)


def tried_on_the_page(folder: Path, address: str) -> str:
    """What the page answers to two sentences typed into it."""
    found = "return document.getElementById('found').innerText"
    with driven(folder / "browser") as browser:
        browser.get(address)
        assert soon(lambda: len(browser.find_elements("css selector", "#fields textarea")) == 2)
        for field in browser.find_elements("css selector", "#fields textarea"):
            field.send_keys("The castle was destroyed by fire.")
        browser.find_element("css selector", "#row button[type=submit]").click()
        assert soon(lambda: browser.execute_script(found), 30)
        return str(browser.execute_script(found))


@pytest.mark.nightly
def test_the_model_of_the_demo_gets_to_the_hub_and_back(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (english,), (korean,) = (blocks("sh", folder / PAGE) for folder in (DOCS, KOREAN))
    assert english == korean
    make, export, serve, push, predict = english.strip().splitlines()
    assert make == "make demo"
    (tmp_path / "tasks").symlink_to(ROOT / "tasks")
    monkeypatch.chdir(tmp_path)
    reader = {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HOME": str(tmp_path / "hf"),
        "NO_PROXY": "127.0.0.1",
    }
    typed(tmp_path, demo())
    typed(tmp_path, export)
    with serve_process(*shlex.split(serve)[2:]) as server:
        answer = tried_on_the_page(tmp_path, server.address)
    assert answer.startswith("same") and "different" in answer and "%" in answer
    typed(tmp_path, push, **reader)
    typed(tmp_path, predict, **reader)
    typed(tmp_path, "finetune predict paraphrase --out build/demo tasks/paraphrase-dev.csv -o here.csv")
    assert (tmp_path / "from-the-hub.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
