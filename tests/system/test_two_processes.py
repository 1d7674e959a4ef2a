"""Two processes on the CPU train and predict what one process does."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.cli import Finetune
from support.paths import ROOT
from support.toy_language import write_corpus
from support.toys import write_columns, write_squad, write_swag

from finetune.runs.folder import read_predictions

pytestmark = pytest.mark.slow

FP32 = ["train.learning_rate=1e-3", "train.precision=fp32", "--device", "cpu"]
SHAPES = {
    "pooled": ("quickstart", "train.batch_size=7", "train.accumulation=2", "limit=100"),  # 2 rows for 4 parts at last
    "tagging": ("conll-2003", "train.batch_size=7", "max_length=32", "layers=[1]"),  # above it nothing is trained
    "span": ("squad-v2", "train.batch_size=7", "max_length=48"),
    "choice": ("swag", "train.batch_size=7", "max_length=64"),
    "lora": ("quickstart", "train.batch_size=7", "train.accumulation=2", "limit=100", "lora=4"),
}


@dataclass(frozen=True)
class Trained:
    """A run of a command: what it printed, its record, its weights, and its predictions."""

    printed: str
    record: dict[str, Any]
    folder: Path

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        (file,) = (self.folder / "model").glob("*.safetensors")
        return dict(load_file(file))


Both = Callable[..., tuple[Trained, Trained]]


def on_two(folder: Path, *arguments: str, script: str = "") -> subprocess.CompletedProcess[str]:
    """The command line, or a script, on two processes, in a folder."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    return subprocess.run(
        [*launch, *([script] if script else ["-m", "finetune"]), *arguments],
        cwd=folder,
        env=os.environ
        | {"ACCELERATE_USE_CPU": "true", "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def both(here: Finetune, tiny_bert: Path, tmp_path: Path) -> Both:
    """The same run on one process and on two, where a script may stand for the command line; with one id."""

    def run(*settings: str, script: str = "", more: tuple[str, ...] = ()) -> tuple[Trained, Trained]:
        typed = ["run", *settings, *FP32, f"model={tiny_bert}"]
        one = here(*typed, "--out", "one")
        assert one.returncode == 0, one.stderr
        two = on_two(tmp_path, *typed, "--out", "two", *more, script=script)
        assert two.returncode == 0, two.stderr
        found = []
        for done, out in ((one, "one"), (two, "two")):
            (file,) = (tmp_path / out).glob("*/*/record.json")
            found.append(Trained(done.stdout, json.loads(file.read_text()), file.parent))
        first, second = found
        assert (first.record["processes"], second.record["processes"]) == (1, 2)
        assert first.record["id"] == second.record["id"]
        return first, second

    return run


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=() if shape == "span" else pytest.mark.nightly) for shape in SHAPES]
)
def test_two_processes_equal_one(shape: str, both: Both, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_columns(data, ("eng.train", "eng.testa", "eng.testb"), types=("PER", "LOC"))
    write_squad(data, "v2.0")
    write_swag(data)
    one, two = both(*SHAPES[shape], "train.epochs=2", "train.dropout=0.0", "--data", str(data))
    assert two.printed.count(", run ") == 1  # one process prints
    assert not any("dropout" in note for note in two.record["notes"])
    for a, b in zip(one.record["epochs"], two.record["epochs"], strict=True):
        assert b["loss"] == pytest.approx(a["loss"], abs=1e-5)
    ours, theirs = (read_predictions(run.folder / "predictions-dev.parquet") for run in (one, two))
    assert [line["prediction"] for line in ours] == [line["prediction"] for line in theirs]
    sure = "score" if shape == "span" else "probabilities"
    probabilities = [np.hstack([line[sure] for line in lines]) for lines in (ours, theirs)]
    assert probabilities[1] == pytest.approx(probabilities[0], abs=1e-4)


USED_ROWS = """
from finetune.models import fast_paths
from finetune.cli.app import main

class Noted(fast_paths.UsedRows):
    def __init__(self, *given):
        super().__init__(*given)
        print("used rows alone")

fast_paths.LEAST_SAVED, fast_paths.UsedRows = 1, Noted
main()
"""


@pytest.mark.nightly
def test_two_processes_train_the_used_rows_of_word_embeddings_as_one_trains_all(both: Both, tmp_path: Path) -> None:
    (tmp_path / "used.py").write_text(USED_ROWS)
    settings = ["quickstart", "limit=40", "train.epochs=2", "train.batch_size=7", "train.dropout=0.0"]
    one, two = both(*settings, script="used.py")
    assert two.printed.count("used rows alone") == 2
    found = two.weights
    assert all(torch.allclose(tensor, found[name], atol=1e-4) for name, tensor in one.weights.items())


@pytest.mark.parametrize(
    "objective",
    [
        pytest.param(["objective=mlm", "mask=words"], marks=pytest.mark.nightly),
        pytest.param(["objective=ltr"], marks=pytest.mark.nightly),
        ["objective=mlm-nsp", "mask=words"],
    ],
    ids=" ".join,
)
def test_two_processes_pre_train_as_one(objective: list[str], both: Both, tmp_path: Path) -> None:
    """Masks, which are drawn before the processes share a batch, are equal, and weights within rounding."""
    write_corpus(tmp_path / "corpus.txt", documents=400)
    length = ["max_length=48", "train.updates=20", "train.batch_size=7", "train.accumulation=2", "train.dropout=0.0"]
    one, two = both("corpus.txt", "shape=text", *objective, *length)
    for a, b in zip(one.record["epochs"], two.record["epochs"], strict=True):
        assert (b["loss"], b["headline"]) == pytest.approx((a["loss"], a["headline"]), rel=1e-4)
    found = two.weights
    assert all(torch.allclose(tensor, found[name], atol=1e-4) for name, tensor in one.weights.items())


ENDED = """
import atexit, os, sys
from pathlib import Path
from finetune.cli.app import main

def threads():  # runs as the last of its kind, when the connections must have ended
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    Path(f"found-{os.environ['RANK']}.txt").write_text(" ".join(names))

atexit.register(threads)
main()
"""


def found_by(script: str, folder: Path, *arguments: str) -> list[str]:
    """What each of two processes of a script writes."""
    (folder / "script.py").write_text(script)
    done = on_two(folder, *arguments, script="script.py")
    assert done.returncode == 0, done.stderr
    return [file.read_text() for file in sorted(folder.glob("found-*.txt"))]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="threads have names in /proc")
def test_no_thread_of_the_connections_outlives_a_run(tiny_bert: Path, tmp_path: Path) -> None:
    """One that holds a tensor while the interpreter ends would abort the process."""
    settings = [*SHAPES["pooled"], f"model={tiny_bert}", "train.epochs=1", "--device", "cpu", "--out", "two"]
    threads = found_by(ENDED, tmp_path, "run", *settings)
    assert len(list(tmp_path.glob("two/*/*/record.json"))) == 1
    assert len(threads) == 2 and not any("gloo" in names for names in threads), threads
