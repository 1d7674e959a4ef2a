"""Two processes on the CPU train and predict what one process does."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from finetune.predictions import read_predictions


def test_two_processes_equal_one(
    finetune: Callable[..., subprocess.CompletedProcess[str]], tiny_bert: Path, tmp_path: Path
) -> None:
    settings = [
        *("quickstart", f"model={tiny_bert}", "train.epochs=2", "train.learning_rate=1e-3", "train.dropout=0.0"),
        *(
            "train.batch_size=7",
            "train.accumulation=2",
            "--limit",
            "100",
            "train.precision=fp32",
            "--device",
            "cpu",
        ),  # the last batch has two rows for four parts
    ]
    one = finetune("run", *settings, "--out", "one")
    assert one.returncode == 0, one.stderr
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    two = subprocess.run(
        [*launch, "-m", "finetune", "run", *settings, "--out", "two"],
        cwd=tmp_path,
        env=os.environ | {"ACCELERATE_USE_CPU": "true"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert two.returncode == 0, two.stderr
    assert two.stdout.count("this run") == 1  # one process prints
    (first,), (second,) = (list((tmp_path / out).glob("*/*/record.json")) for out in ("one", "two"))
    expected, found = json.loads(first.read_text()), json.loads(second.read_text())
    assert (expected["processes"], found["processes"]) == (1, 2)
    assert expected["id"] == found["id"]
    for a, b in zip(expected["epochs"], found["epochs"], strict=True):
        assert b["loss"] == pytest.approx(a["loss"], abs=1e-5)
    ours, theirs = (read_predictions(file.with_name("predictions-dev.parquet")) for file in (first, second))
    assert [line["answer"] for line in ours] == [line["answer"] for line in theirs]
    probabilities = [[line["probabilities"][0] for line in lines] for lines in (ours, theirs)]
    assert probabilities[1] == pytest.approx(probabilities[0], abs=1e-4)
