"""RunRecord: everything that a run says of itself."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, ValidationError

from finetune import environment
from finetune.errors import UserError
from finetune.metrics import Scores
from finetune.recipe import Recipe

if TYPE_CHECKING:
    from accelerate import Accelerator

    from finetune.features import Feature
    from finetune.scoring import Evaluation
    from finetune.task import Row, Rows, Task
    from finetune.trainer import Progress
    from finetune.weights import Weights


class RunRecord(BaseModel):
    """What decided a run, what it ran on, what came out. All scores are on a scale of 0 to 1."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: int = 1
    id: str
    task: str
    task_version: int
    finished: str
    recipe: dict[str, Any]
    model: str
    weights: str
    data: str
    data_origin: dict[str, str]
    rows: dict[str, int]
    features: dict[str, int]
    truncated: dict[str, float]
    notes: list[str]
    versions: dict[str, str]
    git_commit: str | None
    device: str
    precision: str
    processes: int
    seconds: dict[str, float]
    examples_per_second: float
    peak_memory_bytes: int
    epochs: list[dict[str, Any]]
    selected_epoch: int
    headline: str
    scores: Scores
    baselines: dict[str, Scores]
    new_weights: list[str]
    options: dict[str, Any] = {}


def run_id(
    recipe: Recipe,
    *,
    task: "Task",
    data: str,
    weights: str,
    precision: str,
    options: Mapping[str, Any] = MappingProxyType({}),
    task_file: str | None = None,
) -> str:
    """Ten hex digits of what decides the result.

    Settings at their defaults stay out, so that a new setting leaves old ids as they are; so do the names of recipe
    and model, the place of the output, the number of processes and the versions of libraries. `options` are the
    task's that are not at its defaults, `task_file` is a hash of the user's own file, for a task that is in one.
    """
    settings = recipe.model_dump(
        exclude_defaults=True, exclude={"task", "model", "seed", "init_seed", "data_seed", "options", "grid"}
    )
    settings.get("train", {}).pop("precision", None)
    decides = {
        "settings": {key: value for key, value in settings.items() if value != {}},
        "seeds": recipe.seeds,
        "task": [task.name, task.version, *([task_file] if task_file else [])],
        "data": data,
        "weights": weights,
        "precision": precision,
        **({"options": dict(options)} if options else {}),
    }
    canonical = json.dumps(decides, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def data_fingerprint(splits: "Mapping[str, Sequence[Row]]") -> str:
    """A hash of all rows of all splits, the same wherever the rows were read from."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        for row in splits[name]:
            digest.update(json.dumps([name, asdict(row)], sort_keys=True, ensure_ascii=True, default=str).encode())
    return digest.hexdigest()


def build_record(
    recipe: Recipe,
    task: "Task",
    *,
    run: str,
    data: str,
    files: "Weights",
    splits: "Mapping[str, Rows]",
    features: "Mapping[str, Sequence[Feature]]",
    new_weights: list[str],
    accelerator: "Accelerator",
    precision: str,
    progress: "Progress",
    evaluation: "Evaluation",
    scores: Scores,
    baselines: dict[str, Scores],
    seconds: float,
) -> RunRecord:
    """The record of a run that has just ended."""
    from finetune.device import describe_device, peak_memory
    from finetune.options import option_values
    from finetune.prepare import truncated_share

    read = [note for loaded in splits.values() for note in loaded.notes]
    trained = len(splits[task.train_split].rows) * len(progress.epochs)
    return RunRecord(
        id=run,
        task=task.name,
        task_version=task.version,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=recipe.model_dump(exclude={"grid"}),
        model=files.name,
        weights=files.fingerprint,
        data=data,
        data_origin={split: loaded.origin for split, loaded in splits.items()},
        rows={split: len(loaded.rows) for split, loaded in splits.items()},
        features={split: len(encoded) for split, encoded in features.items()},
        truncated={split: truncated_share(encoded) for split, encoded in features.items()},
        notes=[*read, *_cut(features, task.lost(recipe.max_length)), *evaluation.remarks()],
        versions=environment.versions(),
        git_commit=environment.git_commit(),
        device=describe_device(accelerator.device),
        precision=precision,
        processes=accelerator.num_processes,
        seconds={"total": seconds, "training": progress.seconds},
        examples_per_second=trained / progress.seconds,
        peak_memory_bytes=peak_memory(accelerator.device),
        epochs=progress.epochs,
        selected_epoch=progress.selected_epoch,
        headline=task.metrics[0],
        scores=scores,
        baselines=baselines,
        new_weights=new_weights,
        options=option_values(evaluation.task),
    )


def _cut(features: "Mapping[str, Sequence[Feature]]", lost: str) -> list[str]:
    """What share of the rows of each split `lost` their end; nothing where none did."""
    notes = []
    for split, encoded in features.items():
        cut = {feature.row for feature in encoded if feature.truncated}
        share = len(cut) / len({feature.row for feature in encoded})
        notes += [f"{split}: {100 * share:.2g} % of the rows {lost}"] if cut else []
    return notes


def load_record(file: Path) -> RunRecord:
    """Reads a record. Raises UserError for one that is damaged or of another format."""
    try:
        return RunRecord.model_validate_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        lines = str(error).splitlines()
        raise UserError(f"{file}: is no readable record ({' '.join(lines[:3])})", "Run again with --force") from error


def all_records(out: Path) -> tuple[list[RunRecord], list[UserError]]:
    """Every record under a results folder, by task and time; and what is wrong with those that cannot be read."""
    records, damaged = [], []
    for file in sorted(out.glob("*/*/record.json")):
        try:
            records.append(load_record(file))
        except UserError as error:
            damaged.append(error)
    return sorted(records, key=lambda record: (record.task, record.finished)), damaged
