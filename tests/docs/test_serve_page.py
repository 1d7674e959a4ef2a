"""The page on serving: its commands and its Python, from top to bottom, with a server in the background."""

import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from huggingface_hub import constants
from support.cli import exit_code
from support.page_data import write_own_data
from support.pages import SERVE
from support.served import ServeProcess, serve_process

BLOCK = re.compile(r"```(bash|python)\n(.*?)```", re.DOTALL)
WRITTEN = re.compile(r"http://127\.0\.0\.1:\d+")  # the address on the page
TOKEN = "0123456789abcdef0123"


def parts(page: Path) -> list[str]:
    """The commands of a page, a line each, and its blocks of Python, in order."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [part for kind, text in found for part in ([text] if kind == "python" else text.strip().splitlines())]


def served_by(command: str, stack: ExitStack) -> ServeProcess:
    """The server of a command, on a port that is free."""
    arguments = re.sub(r" --port \d+", "", command).split()[2:]
    return stack.enter_context(serve_process(*arguments, TOKEN=TOKEN))


@pytest.mark.nightly
def test_the_commands_and_the_python_of_the_page_run_one_after_the_other(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_own_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("TOKEN", TOKEN)
    asked = 0
    with ExitStack() as stack:
        for part in parts(SERVE):
            if part.startswith("finetune run "):
                monkeypatch.setattr(sys, "argv", [*part.split(), f"model={tiny_bert}", "train.epochs=1"])
                assert exit_code() == 0
            elif part.startswith("finetune serve "):
                stack.close()
                server = served_by(part, stack)
            elif part.startswith("curl "):
                typed = WRITTEN.sub(server.address, part)
                done = subprocess.run(typed, shell=True, capture_output=True, text=True, check=True)
                assert "prediction," in done.stdout or "error" not in json.loads(done.stdout), part
                asked += 1
            elif not part.startswith("docker "):  # unit/test_container.py
                capsys.readouterr()
                exec(WRITTEN.sub(server.address, part), {})
                assert {*capsys.readouterr().out.split()} <= {"good", "bad"}
                asked += 1
    assert asked == 4
