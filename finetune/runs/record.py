"""RunRecord: everything that a run says of itself."""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from finetune.data.rows import row_fields
from finetune.errors import UserError
from finetune.metrics.scores import Scores
from finetune.runs import environment
from finetune.runs.recipe import Recipe

if TYPE_CHECKING:
    from accelerate import Accelerator

    from finetune.data.rows import Row, Rows
    from finetune.data.source import Source
    from finetune.models.batch import Feature
    from finetune.models.pretrained import Weights
    from finetune.task_types.task import Task
    from finetune.training.evaluation import Evaluation
    from finetune.training.trainer import Progress


def _with_nan(value: Any) -> Any:
    """A score, or tables and lists of scores; null, as JSON has what is not a number, becomes NaN."""
    if isinstance(value, dict):
        return {key: _with_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_nan(inner) for inner in value]
    return math.nan if value is None else value


class RunRecord(BaseModel):
    """What decided a run, what it ran on, what came out. All scores are on a scale of 0 to 1.

    `data_origin` is where each split was read from, seen from the data folder, or for a user's own file from the
    folder that the run was started in; `data_files` has a hash of each such file. `chosen` names the options that were
    chosen on dev; records of before do not say, and knew these alone. With `cross_fitted` each row of dev was answered
    by options that other rows of dev chose.
    """

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
    data_files: dict[str, str] = {}
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
    epochs: Annotated[list[dict[str, Any]], BeforeValidator(_with_nan)]
    selected_epoch: int
    headline: str
    scores: Annotated[Scores, BeforeValidator(_with_nan)]
    baselines: Annotated[dict[str, Scores], BeforeValidator(_with_nan)]
    new_weights: list[str]
    options: dict[str, Any] = {}
    chosen: list[str] = ["threshold", "threshold_em", "thresholds"]
    cross_fitted: bool = False


def run_id(
    recipe: Recipe,
    *,
    task: "Task",
    data: str,
    weights: str,
    precision: str,
    options: Mapping[str, Any] = MappingProxyType({}),
    columns: Mapping[str, Any] = MappingProxyType({}),
    task_file: str | None = None,
) -> str:
    """Ten hex digits of what decides the result.

    Settings at their defaults stay out, so that a new setting leaves old ids as they are; so do the names of recipe
    and model, the place of the output, the number of processes and the versions of libraries. `options` are the
    task's that are not at its defaults, `columns` what the model keeps of a user's own data, which is more than the
    rows say. `task_file` is a hash of the user's own file, for a task that is in one.
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
        **({"columns": dict(columns)} if columns else {}),
    }
    canonical = json.dumps(decides, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def data_fingerprint(splits: "Mapping[str, Sequence[Row]]") -> str:
    """A hash of all rows of all splits, the same wherever the rows were read from."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        for row in splits[name]:
            facts = [name, row_fields(row)]
            digest.update(json.dumps(facts, sort_keys=True, ensure_ascii=True, default=str).encode())
    return digest.hexdigest()


def build_record(
    recipe: Recipe,
    task: "Task",
    *,
    run: str,
    data: str,
    files: "Weights",
    source: "Source",
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
    from finetune.models.device import describe_device, peak_memory
    from finetune.runs.dev_choices import all_notes
    from finetune.task_types.options import option_values
    from finetune.task_types.prepare import truncated_share

    origins = {split: _origin(loaded, source) for split, loaded in splits.items()}
    read = [note.replace(loaded.origin, origins[split]) for split, loaded in splits.items() for note in loaded.notes]
    trained = len(splits[task.train_split].rows) * len(progress.epochs)
    record = RunRecord(
        id=run,
        task=task.name,
        task_version=task.version,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=recipe.model_dump(exclude={"grid"}),
        model=files.name,
        weights=files.fingerprint,
        data=data,
        data_origin=origins,
        data_files={split: loaded.content for split, loaded in splits.items() if loaded.content},
        rows={split: len(loaded.rows) for split, loaded in splits.items()},
        features={split: len(encoded) for split, encoded in features.items()},
        truncated={split: truncated_share(encoded) for split, encoded in features.items()},
        notes=[
            *read,
            *_cut(features, task.lost(recipe.max_length)),
            *_masks(accelerator.num_processes, recipe),
            *evaluation.remarks(),
            *_undefined(scores),
        ],
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
        chosen=list(evaluation.chosen),
        cross_fitted=task.cross_fits and bool(evaluation.chosen),
    )
    return record.model_copy(update={"notes": all_notes(record)})


def _origin(loaded: "Rows", source: "Source") -> str:
    """Where rows were read from, without the folders of this machine above it."""
    path = Path(loaded.origin)
    if source.folder is not None and not loaded.content and path.is_relative_to(source.folder):
        return path.relative_to(source.folder).as_posix()
    if not path.is_absolute():
        return loaded.origin
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # on another drive
        return path.name


def _cut(features: "Mapping[str, Sequence[Feature]]", lost: str) -> list[str]:
    """What share of the rows of each split `lost` their end; nothing where none did."""
    notes = []
    for split, encoded in features.items():
        cut = {feature.row for feature in encoded if feature.truncated}
        share = len(cut) / len({feature.row for feature in encoded})
        notes += [f"{split}: {100 * share:.2g} % of the rows {lost}"] if cut else []
    return notes


def _masks(processes: int, recipe: Recipe) -> list[str]:
    """That several processes come to other numbers than one; nothing where there is one, or no dropout."""
    if processes == 1 or recipe.train.dropout == 0 or recipe.train.solver == "logistic":
        return []
    return [f"trained by {processes} processes, each with dropout masks of its own: one process comes to other numbers"]


def _undefined(scores: Scores) -> list[str]:
    """Which scores are no finite numbers."""
    return [
        f"{split}: {name} is {score}: it is undefined for these predictions"
        for split, found in scores.items()
        for name, score in found.items()
        if not math.isfinite(score)
    ]


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
