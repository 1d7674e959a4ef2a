"""Records and predictions of runs that were never made."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from finetune.data.checksums import CHECKSUMS
from finetune.runs.folder import write_predictions
from finetune.runs.record import RunRecord, saved_metrics
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import official_files, prediction_lines
from finetune.task_types.task import Task

BASE = "google-bert/bert-base-uncased"


def change_record(file: Path, **facts: Any) -> None:
    """Changes a saved record as another version may have written it, without checksums."""
    text = json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"checksum": "", "files": {}} | facts)
    file.write_text(text, encoding="utf-8")


def change_config(model: Path, **facts: Any) -> None:
    """Changes the config of a saved model, alone or in a run, and removes the checksums."""
    config = model / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text(encoding="utf-8")) | facts), encoding="utf-8")
    (model / CHECKSUMS).unlink(missing_ok=True)
    if (record := model.parent / "record.json").is_file():
        change_record(record)


def run(
    score: float,
    *,
    seed: int = 1,
    task: str = "mrpc",
    model: str = BASE,
    test: float | None = None,
    rows: int = 408,
    majority: float = 0.5,
    data: str = "d",
    **recipe: Any,
) -> RunRecord:
    """A record with this accuracy on dev."""
    settings: dict[str, Any] = {
        "task": task, "model": model, "seed": seed, "init_seed": None, "data_seed": None, "limit": None,
        "frozen": False, "layers": "last", "bilstm": False, "options": {}, "train": {"learning_rate": 2e-5},
    }  # fmt: skip
    given = {"dev": score} | ({} if test is None else {"test": test})
    scores = {split: dict.fromkeys(("accuracy", "f1", "em"), value) for split, value in given.items()}
    constant = dict.fromkeys(("accuracy", "f1", "em"), majority)
    return made_record(
        task,
        id=f"{seed}",
        model=model,
        recipe=settings | recipe,
        data=data,
        rows={"dev": rows, "test": rows},
        headline="f1" if task == "conll-2003" else "accuracy",
        scores=scores,
        baselines={split: {"majority": constant} for split in scores},
    )


def made_record(task: str, **facts: Any) -> RunRecord:
    """A record with these facts, and something for all others."""
    given: dict[str, Any] = {
        "id": "0" * 10, "task": task, "task_version": 1, "finished": "2026-01-01T00:00:00+00:00",
        "recipe": {"task": task, "seed": 1}, "model": "m", "weights": "w", "data": "d", "data_origin": {}, "rows": {},
        "features": {}, "truncated": {}, "notes": [], "versions": {}, "git_commit": None, "device": "cpu",
        "precision": "fp32", "processes": 1, "seconds": {}, "examples_per_second": 1.0, "peak_memory_bytes": 1,
        "epochs": [], "selected_epoch": 1, "headline": "accuracy", "scores": {}, "baselines": {}, "new_weights": [],
    }  # fmt: skip
    return RunRecord(**given | facts)


def save_run(
    out: Path,
    task: Task,
    rows: Sequence[Any],
    answers: Sequence[Answer],
    *,
    baselines: Mapping[str, list[Answer]] = MappingProxyType({}),
    **facts: Any,
) -> Path:
    """The folder of a run that was never made: its record and its predictions on dev, without events and model."""
    path = out / task.name / f"{len(list(out.glob('*/*'))):010d}"
    path.mkdir(parents=True)
    save_predictions(path / "predictions-dev.parquet", task, rows, answers, baselines)
    record = made_record(
        task.name,
        id=path.name,
        rows={"dev": len(rows)},
        headline=task.metric_names[0],
        scores={"dev": task.score(answers, rows)},
        baselines={"dev": {method: task.score(given, rows) for method, given in baselines.items()}},
        metrics=saved_metrics(task.metrics),
        **facts,
    )
    (path / "record.json").write_text(record.model_dump_json())
    return path


def save_predictions(
    file: Path,
    task: Task,
    rows: Sequence[Any],
    answers: Sequence[Answer],
    baselines: Mapping[str, Sequence[Answer]] = MappingProxyType({}),
) -> None:
    """Writes the predictions of a split as a run does."""
    write_predictions(file, prediction_lines(task, rows, answers, baselines), official_files(task, answers, rows))
