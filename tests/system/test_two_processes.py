"""Two processes on the CPU train and predict what one process does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.cli import Finetune
from support.paths import ROOT
from support.runs import REVIEWS, as_csv
from support.toy_language import write_corpus
from support.toys import write_columns, write_squad, write_swag

from finetune.runs.folder import read_predictions

pytestmark = pytest.mark.slow

SHAPES = {
    "pooled": ("quickstart", "train.batch_size=7", "train.accumulation=2", "limit=100"),  # 2 rows for 4 parts at last
    "tagging": ("conll-2003", "train.batch_size=7", "max_length=32", "layers=[1]"),  # above it nothing is trained
    "span": ("squad-v2", "train.batch_size=7", "max_length=48"),
    "choice": ("swag", "train.batch_size=7", "max_length=64"),
    "lora": ("quickstart", "train.batch_size=7", "train.accumulation=2", "limit=100", "lora=4"),
}


@pytest.fixture
def toy_files(tmp_path: Path) -> Path:
    """The toys of three shapes in the official formats."""
    folder = tmp_path / "data"
    folder.mkdir()
    write_columns(folder, ("eng.train", "eng.testa", "eng.testb"), types=("PER", "LOC"))
    write_squad(folder, "v2.0")
    write_swag(folder)
    return folder


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


ENDED = """
import atexit, os, sys
from pathlib import Path
from finetune.cli.app import main

def threads():  # runs as the last of its kind, when the connections must have ended
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    Path(f"threads-{os.environ['RANK']}.txt").write_text(" ".join(names))

atexit.register(threads)
main()
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="threads have names in /proc")
def test_no_thread_of_the_connections_outlives_a_run(tiny_bert: Path, tmp_path: Path) -> None:
    """One that holds a tensor while the interpreter ends would abort the process."""
    (tmp_path / "ended.py").write_text(ENDED)
    settings = [*SHAPES["pooled"], f"model={tiny_bert}", "train.epochs=1", "--device", "cpu", "--out", "two"]
    done = on_two(tmp_path, "run", *settings, script="ended.py")
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("two/*/*/record.json"))) == 1
    threads = [(tmp_path / f"threads-{rank}.txt").read_text() for rank in (0, 1)]
    assert not any("gloo" in names for names in threads), threads


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=() if shape == "span" else pytest.mark.nightly) for shape in SHAPES]
)
def test_two_processes_equal_one(
    shape: str, finetune: Finetune, tiny_bert: Path, toy_files: Path, tmp_path: Path
) -> None:
    settings = [
        *SHAPES[shape],
        *(f"model={tiny_bert}", "train.epochs=2", "train.learning_rate=1e-3", "train.dropout=0.0"),
        *("train.precision=fp32", "--device", "cpu", "--data", str(toy_files)),
    ]
    one = finetune("run", *settings, "--out", "one")
    assert one.returncode == 0, one.stderr
    two = on_two(tmp_path, "run", *settings, "--out", "two")
    assert two.returncode == 0, two.stderr
    assert two.stdout.count(", run ") == 1  # one process prints
    (first,), (second,) = (list((tmp_path / out).glob("*/*/record.json")) for out in ("one", "two"))
    expected, found = json.loads(first.read_text()), json.loads(second.read_text())
    assert (expected["processes"], found["processes"]) == (1, 2)
    assert expected["id"] == found["id"]
    assert not any("dropout" in note for note in found["notes"])
    for a, b in zip(expected["epochs"], found["epochs"], strict=True):
        assert b["loss"] == pytest.approx(a["loss"], abs=1e-5)
    ours, theirs = (read_predictions(file.with_name("predictions-dev.parquet")) for file in (first, second))
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
def test_two_processes_train_the_used_rows_of_word_embeddings_as_one_trains_all(
    finetune: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    (tmp_path / "used.py").write_text(USED_ROWS)
    settings = ["quickstart", f"model={tiny_bert}", "limit=40", "train.epochs=2", "train.batch_size=7"]
    settings += ["train.learning_rate=1e-3", "train.dropout=0.0", "train.precision=fp32", "--device", "cpu"]
    one = finetune("run", *settings, "--out", "one")
    two = on_two(tmp_path, "run", *settings, "--out", "two", script="used.py")
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    assert two.stdout.count("used rows alone") == 2
    (first,), (second,) = (list((tmp_path / out).glob("*/*/model/model.safetensors")) for out in ("one", "two"))
    expected, found = load_file(first), load_file(second)
    assert all(torch.allclose(tensor, found[name], atol=1e-4) for name, tensor in expected.items())


@pytest.mark.nightly
def test_with_dropout_the_record_of_two_processes_says_that_one_comes_to_other_numbers(
    finetune: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    """Each draws masks for its own rows, padded as these are; the batches, and so the id, are the same."""
    settings = ["quickstart", f"model={tiny_bert}", "limit=40", "train.epochs=1", "train.precision=fp32"]
    settings += ["train.dropout=0.5", "--device", "cpu"]
    one = finetune("run", *settings, "--out", "one")
    two = on_two(tmp_path, "run", *settings, "--out", "two", "--track", "tensorboard")
    assert (one.returncode, two.returncode) == (0, 0), two.stderr
    (first,), (second,) = (list((tmp_path / out).glob("*/*/record.json")) for out in ("one", "two"))
    alone, shared = json.loads(first.read_text()), json.loads(second.read_text())
    assert alone["id"] == shared["id"]
    assert alone["epochs"][0]["loss"] != pytest.approx(shared["epochs"][0]["loss"], abs=1e-5)
    note = "trained by 2 processes with separate dropout masks: scores differ from a single process"
    assert note not in alone["notes"]
    assert note in shared["notes"]
    assert f"note: {note}" in two.stdout
    assert shared["cost"]["peak_memory_bytes"] > 1.5 * shared["peak_memory_bytes"]  # of both
    assert shared["cost"]["device_seconds"] > 1.5 * shared["seconds"]["training"]
    assert len(list((tmp_path / "two" / "tensorboard" / "paraphrase" / shared["id"]).glob("*tfevents*"))) == 1


@pytest.mark.nightly
def test_a_contrastive_step_is_refused_on_several_processes(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text(as_csv(("review", "mark"), *REVIEWS))
    done = on_two(tmp_path, "run", "few.csv", "preset=few-labels", f"model={tiny_bert}", "--device", "cpu")
    assert done.returncode != 0
    assert done.stderr.count("trains in one process, and here are 2") == 1, done.stderr


SENT = """
import sys
from pathlib import Path

import torch
from support.toys import cat_task
from support.training import build, unscored
from finetune.runs.recipe import Train

trainer, features = build(cat_task(), Path(sys.argv[1]), Train(epochs=1, learning_rate=1e-9), freeze_layers=1)
encoder, rank = trainer.model.backbone.encoder, trainer.accelerator.process_index
with torch.no_grad():
    for layer in encoder.encoder.layer:
        layer.output.dense.bias.fill_(rank + 1)
trainer.fit(features, unscored)
frozen, trained = (float(layer.output.dense.bias.detach().mean()) for layer in encoder.encoder.layer)
found = f"{trainer.accelerator.num_processes} processes: frozen {frozen:.3f}, trained {trained:.3f}"
Path(f"process-{rank}.txt").write_text(found)
"""


@pytest.mark.nightly
def test_frozen_weights_are_not_sent_to_other_processes(tiny_bert: Path, tmp_path: Path) -> None:
    """Each process has its own, different ones here; the trained ones are those of the first."""
    (tmp_path / "sent.py").write_text(SENT)
    done = on_two(tmp_path, str(tiny_bert), script="sent.py")
    assert done.returncode == 0, done.stderr
    assert [file.read_text() for file in sorted(tmp_path.glob("process-*.txt"))] == [
        "2 processes: frozen 1.000, trained 1.000",
        "2 processes: frozen 2.000, trained 1.000",
    ]


@pytest.mark.nightly
def test_two_processes_pre_train_what_one_does(tiny_bert: Path, tmp_path: Path) -> None:
    """Also where the word embeddings are the output matrix, and a pooler is kept that no loss reaches."""
    script = str(ROOT / "tests" / "support" / "pretraining.py")
    outs = {1: tmp_path / "one", 2: tmp_path / "two"}
    for out in outs.values():
        out.mkdir()
    one = subprocess.run(
        [sys.executable, script, str(tiny_bert), str(outs[1])],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert one.returncode == 0, one.stderr
    two = on_two(tmp_path, str(tiny_bert), str(outs[2]), script=script)
    assert two.returncode == 0, two.stderr
    files = sorted(file.name for file in outs[1].iterdir())
    assert files == ["NextSentenceHead.pt", "NextWordHead.pt", "WordHead.pt"]
    for name in files:
        (alone, expected), (both, found) = (torch.load(out / name) for out in outs.values())
        assert (alone, both) == (1, 2)
        assert expected.keys() == found.keys()
        for weight, tensor in expected.items():
            assert torch.allclose(found[weight], tensor, atol=1e-5), weight


@pytest.mark.parametrize(
    "objective",
    [
        pytest.param(["objective=mlm", "mask=words"], marks=pytest.mark.nightly),
        pytest.param(["objective=ltr"], marks=pytest.mark.nightly),
        ["objective=mlm-nsp", "mask=words"],
    ],
    ids=" ".join,
)
def test_two_processes_pre_train_as_one(
    objective: list[str], finetune: Finetune, tiny_bert: Path, tmp_path: Path
) -> None:
    """Masks, which are drawn before the processes share a batch, are equal, and weights within rounding."""
    write_corpus(tmp_path / "corpus.txt", documents=400)
    settings = [
        *("corpus.txt", "shape=text", *objective, f"model={tiny_bert}", "max_length=48"),
        *("train.updates=20", "train.batch_size=7", "train.accumulation=2", "train.learning_rate=1e-3"),
        *("train.dropout=0.0", "train.precision=fp32", "--device", "cpu"),
    ]
    one = finetune("run", *settings, "--out", "one")
    assert one.returncode == 0, one.stderr
    two = on_two(tmp_path, "run", *settings, "--out", "two")
    assert two.returncode == 0, two.stderr
    files = [next(tmp_path.glob(f"{out}/*/*/record.json")) for out in ("one", "two")]
    first, second = (json.loads(file.read_text()) for file in files)
    assert [first["processes"], second["processes"], second["id"]] == [1, 2, first["id"]]
    for a, b in zip(first["epochs"], second["epochs"], strict=True):
        assert (b["loss"], b["headline"]) == pytest.approx((a["loss"], a["headline"]), rel=1e-4)
    ours, theirs = (load_file(next((file.parent / "model").glob("*.safetensors"))) for file in files)
    assert all(torch.allclose(ours[name], theirs[name], atol=1e-4) for name in ours)
