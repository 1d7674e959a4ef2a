"""The real libraries, in folders and on loopback, each in a process of its own."""

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune

pytestmark = pytest.mark.nightly
SETTINGS = ["glue-rte", "train.epochs=2", "train.learning_rate=2e-3", "train.batch_size=8", "max_length=32"]
MLFLOW = """
import json, sys, mlflow
mlflow.set_tracking_uri(sys.argv[1])
client = mlflow.MlflowClient()
(run,) = mlflow.search_runs(experiment_names=["rte"], output_format="list")
steps = [point.step for point in client.get_metric_history(run.info.run_id, "dev/accuracy")]
print(json.dumps([run.info.run_name, run.info.status, run.data.params, run.data.metrics, steps]))
"""


def run(finetune: Finetune, data: Path, model: Path, tracker: str, *more: str) -> tuple[dict[str, Any], Path, str]:
    """(record, folder, standard error) of a run that must succeed."""
    if importlib.util.find_spec(tracker) is None:
        pytest.skip(f"needs {tracker}")
    done = finetune("run", *SETTINGS, f"model={model}", "--device", "cpu", "--track", tracker, *more, data=data)
    assert done.returncode == 0, done.stderr
    assert tracker not in done.stdout.lower()
    (file,) = data.parent.glob("results/rte/*/record.json")
    return json.loads(file.read_text()), file.parent, done.stderr


def test_tensorboard_has_scalars(finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path) -> None:
    record, folder, err = run(finetune, rte, tiny_bert, "tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert "left out" not in err
    events = EventAccumulator(str(tmp_path / "results" / "tensorboard" / "rte" / folder.name))
    events.Reload()
    assert [point.step for point in events.Scalars("dev/accuracy")] == [8, 16]
    found = events.Scalars("final/dev/accuracy")[-1].value
    assert found == pytest.approx(record["scores"]["dev"]["accuracy"])
    assert not list(folder.rglob("*tfevents*"))  # whose checksums the record has


def test_mlflow_has_the_run_by_its_id(
    finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    record, folder, err = run(finetune, rte, tiny_bert, "mlflow")
    assert "left out" not in err
    read = subprocess.run([sys.executable, "-c", MLFLOW, uri], capture_output=True, text=True, timeout=120)
    assert read.returncode == 0, read.stderr
    name, status, params, metrics, steps = json.loads(read.stdout)
    assert (name, status, params["train.learning_rate"]) == (folder.name, "FINISHED", "0.002")
    assert metrics["final/dev/accuracy"] == record["scores"]["dev"]["accuracy"]
    assert sorted(set(steps)) == [8, 16]


def test_wandb_saves_an_offline_run_with_the_id(
    finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    _, folder, err = run(finetune, rte, tiny_bert, "wandb")
    assert "left out" not in err
    (file,) = (tmp_path / "wandb").glob(f"offline-run-*/run-{folder.name}.wandb")
    assert b"final/dev/accuracy" in file.read_bytes()


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_wrong_address_is_a_note_and_the_run_is_finished(
    name: str, finetune: Finetune, rte: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    started = time.monotonic()
    record, _, err = run(finetune, rte, tiny_bert, name)
    assert f"note: {name} is left out" in err
    assert "Traceback" not in err
    assert time.monotonic() - started < record["seconds"]["total"] + 120
