"""`predict` is killed while it writes, and the same command then writes what an undisturbed one does."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cli import Finetune
from support.predicted_files import predict, written
from support.runs import REVIEWS

from finetune.inference.predictor import Predictor


def killed(command: list[str], part: Path, *, windows: int) -> None:
    """Kills a process as soon as its journal has so many windows."""
    running = subprocess.Popen(command, cwd=part.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while (not part.exists() or part.read_bytes().count(b"\n") <= windows) and time.monotonic() < until:
        time.sleep(0.01)
    running.kill()
    assert running.wait() == -9


@pytest.mark.nightly
def test_a_prediction_that_is_killed_twice_is_the_same(
    reviewer: Predictor, reviews: Path, tmp_path: Path, finetune: Finetune
) -> None:
    texts = [f"{text} {'the cat sat on it ' * (i % 9)}" for i, (text, _) in enumerate(REVIEWS * 100)]
    path = written(tmp_path / "new.csv", [("review",), *((text,) for text in texts)])
    predict(reviewer, path, tmp_path / "whole.csv")
    arguments = ["predict", str(reviews), "new.csv", "-o", "out.csv"]
    for windows in (1, 4):
        killed([sys.executable, "-m", "finetune", *arguments], tmp_path / ".out.csv.part.jsonl", windows=windows)
        assert not (tmp_path / "out.csv").exists()
    done = finetune(*arguments)
    assert done.returncode == 0, done.stderr
    assert "resuming after them" in done.stderr
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not list(tmp_path.glob(".out*"))
