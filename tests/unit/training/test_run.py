"""What is around the loop: thresholds of dev, trackers, costs, and a run that fails among several."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from support.toys import toy

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.feature_batches import Diverged
from finetune.models.feature import Feature
from finetune.runs.events import logged_seconds, unwatched
from finetune.runs.record import Cost
from finetune.task_types.classification.task import MultiLabelRow, MultiLabelTask
from finetune.task_types.options import configured
from finetune.training import run_many
from finetune.training.evaluation import DevEvaluation, cross_fitted, predicted_by_baselines
from finetune.training.record import run_cost
from finetune.training.run_many import run_all
from finetune.training.run_options import RunOptions
from finetune.training.targets import expand_targets

LABELS = ("b", "a", "c/d", "e")


def made_up(rows: list[MultiLabelRow]) -> MultiLabelTask:
    return toy(MultiLabelTask, rows, name="toy-letters", labels=LABELS)


def guessed(count: int, generator: np.random.Generator) -> list[MultiLabelRow]:
    """Rows with a tenth of the labels each."""
    gold = [[label for label in LABELS if generator.random() < 0.1] for _ in range(count)]
    return [MultiLabelRow(id=str(i), text=f"text {i}", gold=tuple(labels)) for i, labels in enumerate(gold)]


def test_dev_s_thresholds_decide_on_test_those_of_the_model_and_those_of_the_baseline() -> None:
    generator = np.random.default_rng(1)
    rows = {split: guessed(60, generator) for split in ("train", "dev", "test")}
    task = replace(made_up(rows["dev"]), dev_splits=("dev", "test"))
    features = {split: [Feature(row=index) for index in range(60)] for split in task.dev_splits}
    logits = {id(some): list(generator.normal(-1, 1, (60, len(LABELS)))) for some in features.values()}
    evaluation = DevEvaluation(task=task, rows=rows, features=features)
    engine: Any = SimpleNamespace(logits=lambda given: logits[id(given)], watch=unwatched, loss=lambda *_: None)
    found = evaluation(engine)
    tuned = configured(task, found.chosen)
    assert found.answers["test"] == tuned.decode(logits[id(features["test"])], features["test"], rows["test"])
    assert found.answers["dev"] != tuned.decode(logits[id(features["dev"])], features["dev"], rows["dev"])
    methods = evaluation.decided(predicted_by_baselines(task, rows["train"], rows), found)
    given = {split: task.baselines(rows["train"], rows[split])["tfidf-logistic"] for split in task.dev_splits}
    theirs = configured(task, task.tune(given["dev"], rows["dev"]))
    assert methods["test"]["tfidf-logistic"] == theirs.decide(given["test"]) != given["test"]
    assert methods["dev"]["tfidf-logistic"] == cross_fitted(task, given["dev"], rows["dev"])


def test_costs_of_processes_and_of_interrupted_attempts_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Cost(device_seconds=2.0, peak_memory_bytes=10, peak_device_bytes=5)
    two = Cost(device_seconds=2.5, peak_memory_bytes=20, peak_device_bytes=6)
    unknown = Cost(device_seconds=1.0, peak_memory_bytes=1)
    accelerator: Any = SimpleNamespace(device=torch.device("cpu"), num_processes=2)
    for costs, expected in (
        ([one, two], Cost(device_seconds=4.5, peak_memory_bytes=30, peak_device_bytes=11)),
        ([one, unknown], Cost(device_seconds=3.0, peak_memory_bytes=11)),
    ):
        monkeypatch.setattr("finetune.training.record.gather_object", lambda _, costs=costs: costs)
        assert run_cost(accelerator, 1.0) == expected
    log = tmp_path / "events.jsonl"
    assert logged_seconds(log) == 0.0
    events = [("start", 100.0), ("updates", 104.0), ("updates", 107.0), ("start", 5_000.0), ("updates", 5_002.0)]
    log.write_text("\n".join(json.dumps({"event": name, "time": time}) for name, time in events) + '\n{"event": "upd')
    assert logged_seconds(log) == 9.0


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Diverged("the loss is nan", "Lower it"), "the loss is nan. Lower it"),
        (OSError(28, "No space left on device"), "No space left on device. Free space"),
        (torch.OutOfMemoryError("CUDA out of memory"), "out of memory. Set train.gradient_checkpointing=true"),
        (RuntimeError("put_ does not have a deterministic implementation"), "Leave deterministic = true out"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), None),  # a fault of the code
    ],
    ids=lambda given: type(given).__name__,
)
def test_an_error_of_the_user_s_ends_one_run_of_several(
    error: Exception, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def fail(resolved: Any, *_: Any, **__: Any) -> Any:
        tried.append(resolved.recipe.seed)
        raise error

    monkeypatch.setattr(run_many, "run", fail)
    planned, options = expand_targets(["glue-rte"], {}, seeds=2), RunOptions(source=Source(), out=tmp_path)
    if expected is None:
        with pytest.raises(RuntimeError, match="mat1"):
            run_all(planned, options, watch=unwatched)
        return
    records, failures = run_all(planned, options, watch=unwatched)
    assert (records, tried) == ([], [42, 43])
    assert [type(failure) for failure in failures] == 2 * [type(error) if isinstance(error, Diverged) else UserError]
    assert expected in str(failures[0]) and str(failures[0]).startswith("glue-rte")
