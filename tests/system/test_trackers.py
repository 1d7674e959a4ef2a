"""The real libraries, in folders and on loopback, each in a process of its own."""

import importlib.util
import json
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.trackers import wandb_records

SETTINGS = ["glue-rte", "train.epochs=2", "train.learning_rate=2e-3", "train.batch_size=8", "max_length=32"]


def needs(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"needs {module}")


def run(finetune: Finetune, data: Path, model: Path, *more: str) -> tuple[dict[str, Any], Path, str]:
    """(record, folder, standard error) of a run that must succeed."""
    done = finetune("run", *SETTINGS, f"model={model}", "--device", "cpu", *more, data=data)
    assert done.returncode == 0, done.stderr
    assert "trackio" not in done.stdout.lower() and "mlflow" not in done.stdout.lower()
    assert "wandb" not in done.stdout.lower()
    out = more[more.index("--out") + 1] if "--out" in more else "results"
    (file,) = data.parent.glob(f"{out}/rte/*/record.json")
    return json.loads(file.read_text()), file.parent, done.stderr


@pytest.mark.nightly
def test_tensorboard_has_scalars_texts_and_settings(
    finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    needs("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    record, folder, err = run(finetune, rte, tiny_bert, "--track", "tensorboard")
    assert "note: tensorboard" not in err
    events = EventAccumulator(str(tmp_path / "results" / "tensorboard" / "rte" / folder.name))
    events.Reload()
    assert [point.step for point in events.Scalars("dev/accuracy")] == [8, 16]
    found = events.Scalars("final/dev/accuracy")[-1].value
    assert found == pytest.approx(record["scores"]["dev"]["accuracy"])
    (text,) = events.Tensors("record/text_summary")
    assert record["id"] in text.tensor_proto.string_val[0].decode()
    assert not list(folder.rglob("*tfevents*"))  # whose checksums the record has


@pytest.mark.nightly
def test_workers_of_ray_send_their_runs_to_tensorboard(
    finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    needs("tensorboard")
    needs("ray")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    command = ["run", *SETTINGS, f"model={tiny_bert}", "--seeds", "2", "--device", "cpu", "--track", "tensorboard"]
    done = finetune(*command, "--on", "ray", data=rte)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "note: tensorboard" not in done.stderr
    records = [json.loads(file.read_text()) for file in tmp_path.glob("results/rte/*/record.json")]
    assert len(records) == 2
    for record in records:
        events = EventAccumulator(str(tmp_path / "results" / "tensorboard" / "rte" / record["id"]))
        events.Reload()
        assert [point.step for point in events.Scalars("dev/accuracy")] == [8, 16]
        assert events.Scalars("final/dev/accuracy")[-1].value == pytest.approx(record["scores"]["dev"]["accuracy"])
        (text,) = events.Tensors("record/text_summary")
        assert record["id"] in text.tensor_proto.string_val[0].decode()


@pytest.mark.nightly
def test_mlflow_has_one_run_for_one_that_is_sent_twice(
    finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("mlflow")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    record, folder, err = run(finetune, rte, tiny_bert, "--track", "mlflow")
    assert "note: mlflow" not in err
    again = finetune("track", folder.name, "--to", "mlflow", data=rte)
    assert again.returncode == 0, again.stderr
    found = json.loads(in_its_own_process(MLFLOW, uri))
    (one,) = found
    assert (one["name"], one["tag"], one["status"]) == (folder.name, folder.name, "FINISHED")
    assert one["params"]["train.learning_rate"] == "0.002"
    assert one["metrics"]["final/dev/accuracy"] == record["scores"]["dev"]["accuracy"]
    assert sorted(one["files"]) == ["final.md", "record.json"]
    assert sorted({step for step, _ in one["accuracy"]}) == [8, 16]


MLFLOW = """
import json, sys, mlflow
mlflow.set_tracking_uri(sys.argv[1])
client, found = mlflow.MlflowClient(), []
for run in mlflow.search_runs(experiment_names=["rte"], output_format="list"):
    id = run.info.run_id
    found.append({
        "name": run.info.run_name, "tag": run.data.tags["finetune.run"], "status": run.info.status,
        "params": run.data.params, "metrics": run.data.metrics, "files": [f.path for f in client.list_artifacts(id)],
        "accuracy": [(m.step, m.value) for m in client.get_metric_history(id, "dev/accuracy")],
    })
print(json.dumps(found))
"""


def in_its_own_process(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
def test_wandb_saves_an_offline_run_with_the_id(
    finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    record, folder, err = run(finetune, rte, tiny_bert, "--track", "wandb")
    assert "note: wandb" not in err
    records = wandb_records(tmp_path / "wandb")
    (begun,) = (each.run for each in records if each.WhichOneof("record_type") == "run")
    assert (begun.run_id, begun.project) == (folder.name, "rte")
    settings = {item.key: item.value_json for each in records for item in each.config.update}
    assert settings["train.learning_rate"] == "0.002"
    points: dict[str, list[float]] = {}
    for each in records:
        for item in each.history.item:
            name = item.key or "/".join(item.nested_key)
            if name.startswith(("dev/", "final/")):
                points.setdefault(name, []).append(json.loads(item.value_json))
    assert len(points["dev/accuracy"]) == 2
    assert points["final/dev/accuracy"] == [record["scores"]["dev"]["accuracy"]]
    assert f"record-{record['id']}" in {each.artifact.name for each in records}


@pytest.mark.nightly
def test_trackio_continues_the_run_of_a_name(
    finetune: Finetune, rte: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("trackio")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    record, folder, err = run(finetune, rte, tiny_bert, "--track", "trackio")
    assert "note: trackio" not in err
    again = finetune("track", folder.name, "--to", "trackio", data=rte)
    assert (again.returncode, again.stdout) == (0, ""), again.stderr
    database = sqlite3.connect(tmp_path / "trackio" / "rte.db")
    lines = database.execute("select run_id, run_name, step, metrics from metrics").fetchall()
    assert {name for _, name, *_ in lines} == {folder.name}
    assert len({run_id for run_id, *_ in lines}) == 1
    scores = [json.loads(metrics).get("final/dev/accuracy") for *_, metrics in lines]
    assert record["scores"]["dev"]["accuracy"] in scores
    ((config,),) = database.execute("select config from configs").fetchall()
    assert json.loads(config)["train.learning_rate"] == 0.002
    assert "allow_val_change" not in json.loads(config)
    assert database.execute("select name from artifacts").fetchall() == [(f"record-{record['id']}",)]


def answer_once(listening: socket.socket) -> None:
    """Answers whether it is there, and nothing after that."""
    kept = []
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        if connection.recv(6) == b"GET / ":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        kept.append(connection)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["mlflow", "wandb"])
@pytest.mark.parametrize("server", ["closed", "hanging", "dying"])
def test_a_wrong_address_is_a_note_and_the_run_is_the_same(
    name: str, server: str, finetune: Finetune, rte: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(name)
    with socket.create_server(("127.0.0.1", 0)) as listening:  # which accepts, and never answers
        port = 1 if server == "closed" else listening.getsockname()[1]
        if server == "dying":
            threading.Thread(target=answer_once, args=(listening,), daemon=True).start()
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("WANDB_API_KEY", "a" * 40)
        plain, _, _ = run(finetune, rte, tiny_bert, "--out", "plain")
        started = time.monotonic()
        record, folder, err = run(finetune, rte, tiny_bert, "--track", name)
        took = time.monotonic() - started
    assert f"note: {name}" in err
    assert f"finetune track {folder.name} --to {name}" in err
    assert "Traceback" not in err
    assert took < record["seconds"]["total"] + 30
    assert record["scores"] == plain["scores"]
    assert record["epochs"] == plain["epochs"]
