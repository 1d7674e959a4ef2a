"""The real libraries, in folders and on loopback, each in a process of its own."""

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune

Tracked = Callable[[str], tuple[dict[str, Any], Path, str]]
SETTINGS = ["glue-rte", "train.epochs=2", "train.learning_rate=2e-3", "train.batch_size=8", "max_length=32"]
MLFLOW = """
import json, sys, mlflow
mlflow.set_tracking_uri(sys.argv[1])
client = mlflow.MlflowClient()
(run,) = mlflow.search_runs(experiment_names=["rte"], output_format="list")
steps = [point.step for point in client.get_metric_history(run.info.run_id, "dev/accuracy")]
print(json.dumps([run.info.run_name, run.info.status, run.data.params, run.data.metrics, steps]))
"""


@pytest.fixture
def tracked(finetune: Finetune, rte: Path, tiny_bert: Path) -> Tracked:
    """(record, folder, standard error) of a run with a tracker, which must succeed."""

    def run(tracker: str) -> tuple[dict[str, Any], Path, str]:
        if importlib.util.find_spec(tracker) is None:
            pytest.skip(f"needs {tracker}")
        done = finetune("run", *SETTINGS, f"model={tiny_bert}", "--device", "cpu", "--track", tracker, data=rte)
        assert (done.returncode, tracker in done.stdout.lower()) == (0, False), done.stderr
        (file,) = rte.parent.glob("results/rte/*/record.json")
        return json.loads(file.read_text()), file.parent, done.stderr

    return run


@pytest.mark.slow
def test_tensorboard_has_scalars(tracked: Tracked, tmp_path: Path) -> None:
    record, folder, err = tracked("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert "left out" not in err
    events = EventAccumulator(str(tmp_path / "results" / "tensorboard" / "rte" / folder.name))
    events.Reload()
    assert [point.step for point in events.Scalars("dev/accuracy")] == [8, 16]
    found = events.Scalars("final/dev/accuracy")[-1].value
    assert found == pytest.approx(record["scores"]["dev"]["accuracy"])
    assert not list(folder.rglob("*tfevents*"))  # whose checksums the record has


@pytest.mark.nightly
def test_mlflow_has_the_run_by_its_id(tracked: Tracked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    record, folder, err = tracked("mlflow")
    assert "left out" not in err
    read = subprocess.run([sys.executable, "-c", MLFLOW, uri], capture_output=True, text=True, timeout=120)
    assert read.returncode == 0, read.stderr
    name, status, params, metrics, steps = json.loads(read.stdout)
    assert (name, status, params["train.learning_rate"]) == (folder.name, "FINISHED", "0.002")
    assert metrics["final/dev/accuracy"] == record["scores"]["dev"]["accuracy"]
    assert sorted(set(steps)) == [8, 16]


@pytest.mark.nightly
def test_wandb_saves_an_offline_run_with_the_id(
    tracked: Tracked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    _, folder, err = tracked("wandb")
    assert "left out" not in err
    (file,) = (tmp_path / "wandb").glob(f"offline-run-*/run-{folder.name}.wandb")
    assert b"final/dev/accuracy" in file.read_bytes()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_wrong_address_is_a_note_and_the_run_is_finished(
    name: str, tracked: Tracked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
    started = time.monotonic()
    record, _, err = tracked(name)
    assert f"note: {name} is left out" in err and "Traceback" not in err
    assert time.monotonic() - started < record["seconds"]["total"] + 120
