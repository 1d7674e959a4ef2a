"""Names that somebody chose badly or in bad faith: not UTF-8, too long, with markup, of pipes, devices and folders."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import Finetune, assert_error
from support.paths import ROOT
from support.runs import FinishedRun, as_csv

ROWS = as_csv(("review", "mark"), *((f"the {'cat' if i % 2 else 'dog'} sat {i}", "ab"[i % 2]) for i in range(40)))
LONG = "x" * 300  # characters, of which a file's name may have 255


def real(*arguments: bytes | str, cwd: Path | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The real command, whose arguments may be any bytes."""
    return subprocess.run(
        [sys.executable, "-m", "finetune", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        timeout=120,
    )


def assert_one_line(done: subprocess.CompletedProcess[bytes], command: object) -> None:
    lines = done.stderr.splitlines()
    assert (done.returncode, lines[-1][:7]) == (2, b"error: "), (command, done.stderr)
    assert not [line for line in lines[:-1] if line.startswith((b"error: ", b"Traceback"))], done.stderr


def test_an_argument_that_is_not_utf_8_is_one_line_for_the_real_command(tmp_path: Path) -> None:
    file = tmp_path / "reviews-\udcff.csv"
    file.write_text(ROWS)
    for command in (["run", os.fsencode(file)], ["ls", "--out", b"results-\xff"]):
        done = real(*command, cwd=tmp_path)
        assert_one_line(done, command)
        assert b"\\udcff" in done.stderr and b"UTF-8" in done.stderr


ODD = """
run LONG | run FILE dev=LONG | run glue-mrpc model=LONG | run glue-mrpc task=LONG.py:x | run glue-mrpc --data LONG
predict LONG FILE | predict RUN LONG | predict RUN FILE -o LONG.csv | predict RUN FILE -o FOLDER.csv
predict RUN FILE -o PIPE.csv | table LONG | table glue -o FOLDER.csv | table glue -o PIPE.csv
report RUN -o . | report RUN -o PIPE.csv | report RUN -o /dev/full | report RUN -o nowhere/r.html
submission RUN -o PIPE.csv | features minilm FILE -o FOLDER.npz | features minilm FILE -o LONG.npz
show BINARY.toml | init PIPE.csv | init /dev/zero | check FILE --fix FOLDER.csv | check FILE --fix PIPE.csv
"""


@pytest.mark.parametrize("command", re.split(r" \| |\n", ODD.strip()), ids=lambda command: command[:40])
def test_odd_names_are_one_line(command: str, here: Finetune, copied_run: FinishedRun, tmp_path: Path) -> None:
    run = copied_run("sentence")
    (tmp_path / "reviews.csv").write_text(ROWS)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00\x01")
    for suffix in (".csv", ".npz"):
        (tmp_path / f"folder{suffix}").mkdir()
        os.mkfifo(tmp_path / f"pipe{suffix}")
    names = {"FILE": "reviews.csv", "FOLDER": "folder", "PIPE": "pipe", "BINARY": "binary", "RUN": run.name}
    for name, there in {**names, "LONG": LONG}.items():
        command = command.replace(name, there)
    before = sorted(tmp_path.iterdir())
    done = here(*command.split())
    assert done.returncode == 2, done.stderr
    assert_error(done.stderr)
    assert sorted(tmp_path.iterdir()) == before and (tmp_path / "pipe.csv").is_fifo()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["ls", "--help"])
def test_a_full_standard_output_is_one_line(command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([sys.executable, "-m", "finetune", command], stdout=full, stderr=-1, cwd=ROOT)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert b"No space left" in done.stderr
