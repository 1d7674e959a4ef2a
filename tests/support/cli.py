"""The command line: the real one in a new process, and the same in this one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from finetune.cli import app as cli
from finetune.runs import process

Finetune = Callable[..., subprocess.CompletedProcess[str]]
InProcess = Callable[..., tuple[int, str, str]]  # exit code, standard output, standard error


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Sets the handlers of signals as they were before."""
    before, hook = [(number, signal.getsignal(number)) for number in process.SIGNALS], sys.unraisablehook
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def installed() -> Iterator[None]:
    """The handlers of the command line."""
    with handlers_kept():
        process.install()
        yield


def exit_code() -> int:
    """Runs the command line of `sys.argv` in this process."""
    with handlers_kept(), pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.fixture
def finetune(tmp_path: Path) -> Finetune:
    """Runs the real command line in an empty folder: `finetune("run", "glue-mrpc", data=FOLDER)`."""

    def call(*arguments: str | Path, data: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if key != "FINETUNE_DATA"}
        if data is not None:
            environment["FINETUNE_DATA"] = str(data)
        return subprocess.run(
            [sys.executable, "-m", "finetune", *map(str, arguments)],
            cwd=tmp_path,
            env=environment | {"COLUMNS": "200", "HF_HOME": str(tmp_path / "hf")},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return call


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> InProcess:
    """The command line without a new Python, whose imports take seconds: (exit code, standard output, error)."""

    def call(*arguments: str, data: Path | str) -> tuple[int, str, str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("FINETUNE_DATA", str(data))
        monkeypatch.setattr(sys, "argv", ["finetune", *arguments])
        code = exit_code()
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def here(in_process: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finetune:
    """As `finetune`, without a new Python."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str | Path, data: Path | None = None) -> subprocess.CompletedProcess[str]:
        code, out, err = in_process(*map(str, arguments), data=data or "")
        return subprocess.CompletedProcess([], code, out, err)

    return call


def started(folder: Path, data: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command line in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "finetune", *arguments],
        cwd=folder,
        env=os.environ | {"FINETUNE_DATA": str(data)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(folder: Path, pattern: str) -> None:
    """Waits until a file is there."""
    until = time.monotonic() + 120
    while not list(folder.glob(pattern)):
        assert time.monotonic() < until
        time.sleep(0.05)


def assert_error(err: str, *words: str) -> None:
    """What was printed is one line of error, which has these words; whatever else it says may change."""
    *before, last = err.splitlines()
    assert last.startswith("error: "), err
    assert not [line for line in before if line.startswith("error: ")], err
    assert [word for word in words if word not in last] == [], err
