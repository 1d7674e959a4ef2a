"""RunRecord: settings, environment, scores and notes of a run."""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, FailFast, Field, ValidationError

from finetune.data.atomic import write_atomically
from finetune.data.paths import is_folder, read_small
from finetune.data.rows import Row, row_fields
from finetune.errors import UserError
from finetune.metrics.metric import Metric, find_metric
from finetune.metrics.scores import Scores
from finetune.runs.margin import Margin
from finetune.runs.recipe import Recipe
from finetune.runs.whole_record import (
    LARGEST_SCORE,
    Id,
    Whole,
    epochs_are_whole,
    few_labels,
    recipe_is_whole,
    require_baselines,
    require_scores,
)

MOST_BYTES = 16_000_000  # of a record.json; ours have 13,000, and 100 epochs with 1,000 labels some millions
MOST_REASON = 300  # characters of what is wrong with a record
MOST_FAULTS = 1_000  # of a record, that are looked at
REMEDY = "Run its recipe again with `force`, or delete its folder"


Texts = Annotated[list[str], FailFast()]  # else a million wrong items are a million errors


class DamagedRecord(UserWarning):
    """A record that cannot be read, and is left out of what is made of many."""


CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode


def _with_nan(value: Any) -> Any:
    """A score, or tables and lists of scores; JSON's null becomes NaN."""
    if isinstance(value, dict):
        return {key: _with_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_nan(inner) for inner in value]
    return math.nan if value is None else value


class SavedMetric(BaseModel):
    """What a record keeps of a metric: how its scores are shown and compared."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    scale: Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE)] = Metric.scale
    greater_is_better: bool = Metric.greater_is_better


class RunRecord(BaseModel):
    """The settings, environment and results of a run. Scores are as computed, not times their metric's scale."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: int = Field(1, description="the version of this form")
    id: Id = Field(description="ten hex digits: a hash of all that decides the result")
    task: str = Field(description="the task's name, or that of the data file")
    task_version: int = Field(description="raised when a task's rows or scores change")
    finished: str = Field(description="date and time (UTC)")
    recipe: Annotated[dict[str, Any], AfterValidator(recipe_is_whole)] = Field(description="every setting")
    model: str = Field(description="the encoder's name")
    weights: str = Field(description="a hash of the encoder's weights, or their commit on the Hub")
    data: str = Field(description="a hash of all rows")
    data_origin: dict[str, str] = Field(
        description="where each split was read from: relative to the data folder, for your own file to the folder "
        "that the run was started in"
    )
    data_files: dict[str, str] = Field({}, description="a hash of each of your data files")
    rows: dict[str, Whole] = Field(description="rows of each split")
    features: dict[str, Whole] = Field(description="token sequences of each split: several for rows read in windows")
    truncated: dict[str, float] = Field(description="the share of rows of each split that were truncated, 0 to 1")
    notes: Texts = Field(description="what was unusual, as the command printed it")
    versions: dict[str, str] = Field(description="of Python and the libraries")
    git_commit: str | None = Field(
        description="of a checkout of finetune, with + where files differ from it; null for an installed one"
    )
    device: str = Field(description="what it was trained on")
    precision: str = Field(description="fp32, bf16 or fp16, as it was used")
    processes: Whole = Field(description="how many trained together")
    seconds: dict[str, float] = Field(description="of the whole run (total), and of training")
    examples_per_second: float = Field(description="rows a second in training")
    peak_memory_bytes: Whole = Field(description="of the process, or of the GPU")
    epochs: Annotated[list[dict[str, Any]], BeforeValidator(_with_nan), AfterValidator(epochs_are_whole)] = Field(
        description="loss and dev scores of each epoch"
    )
    selected_epoch: Whole = Field(description="the epoch whose weights were saved, counted from 1")
    headline: str = Field(description="the name of the first metric")
    scores: Annotated[Scores, BeforeValidator(_with_nan)] = Field(
        description="split, metric, score; null is a score that is not defined"
    )
    baselines: Annotated[dict[str, Scores], BeforeValidator(_with_nan)] = Field(
        description="split, baseline, metric, score"
    )
    new_weights: Texts = Field(description="weights that were not in the checkpoint, and began at random")
    options: dict[str, Any] = Field({}, description="options of the task, those chosen on dev included")
    chosen: Texts = Field(
        ["threshold", "threshold_em", "thresholds"],
        description="options that were chosen on dev; older records lack it, and these were the only ones then",
    )
    cross_fitted: bool = Field(False, description="each row of dev was predicted with options chosen on its other rows")
    files: dict[str, str] = Field({}, description="checksums of the run's files; older records lack them")
    checksum: str = Field("", description="SHA-256 of the record's own text without it; older records lack it")
    metrics: dict[str, SavedMetric] = Field(
        {}, description="metrics whose scores are not shown times 100, or of which less is better"
    )
    labels: Annotated[dict[str, dict[str, Whole]], AfterValidator(few_labels)] = Field(
        {}, description="rows of each label, by split, of the most frequent ones; older records lack it"
    )
    margins: dict[str, Margin] = Field(
        {},
        description="of the headline on each split: its 95 % interval, the best baseline and the difference to it; "
        "older records lack it",
    )

    def metric(self, name: str) -> Metric:
        """How a score of that name is shown and compared."""
        return _metric(name, self.metrics)


class ListedRun(BaseModel):
    """The part of a record that a list of runs shows; reading the rest would take most of the time."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    class Settings(BaseModel):
        """The seed of the recipe, and all else that it sets as it was read."""

        model_config = ConfigDict(extra="allow", frozen=True, strict=True)

        seed: int

    id: Id
    task: str
    finished: str
    model: str
    recipe: Settings
    headline: str
    scores: dict[str, dict[str, float | None]]
    checksum: str = ""
    metrics: dict[str, SavedMetric] = {}

    @property
    def settings(self) -> dict[str, Any]:
        """The recipe without its seed."""
        return self.recipe.model_extra or {}

    @property
    def score(self) -> float:
        """The headline score on the first split, 0 to 1; NaN where it is undefined."""
        found = next(iter(self.scores.values()))[self.headline]
        return math.nan if found is None else found

    def metric(self, name: str) -> Metric:
        """How a score of that name is shown and compared."""
        return _metric(name, self.metrics)


AnyRecord = TypeVar("AnyRecord", RunRecord, ListedRun)


def saved_metrics(metrics: Iterable[Metric]) -> dict[str, SavedMetric]:
    """What a record keeps of its metrics: those whose scale or direction is not the default."""
    every = {m.name: SavedMetric(scale=m.scale, greater_is_better=m.greater_is_better) for m in metrics}
    return {name: saved for name, saved in every.items() if saved != SavedMetric()}


def _metric(name: str, saved: Mapping[str, SavedMetric]) -> Metric:
    return find_metric(name, (Metric(key, **each.model_dump()) for key, each in saved.items()))


def run_id(
    recipe: Recipe,
    *,
    task: str,
    version: int,
    data: str,
    weights: str,
    precision: str,
    options: Mapping[str, Any] = MappingProxyType({}),
    columns: Mapping[str, Any] = MappingProxyType({}),
    task_file: str | None = None,
) -> str:
    """Ten hex digits: a hash of all that decides the result.

    Settings at their defaults are left out, so that a new setting keeps old ids; so are the names of recipe
    and model, the output folder, the number of processes and the versions of libraries. `task` is its name,
    `options` those that are not at their defaults, `columns` what the model keeps of a user's own data, which is more
    than the rows say. `task_file` is a hash of the user's own file, for a task that is in one.
    """
    settings = recipe.model_dump(
        exclude_defaults=True, exclude={"task", "model", "seed", "init_seed", "data_seed", "options", "grid"}
    )
    settings.get("train", {}).pop("precision", None)
    decides = {
        "settings": {key: value for key, value in settings.items() if value != {}},
        "seeds": recipe.seeds,
        "task": [task, version, *([task_file] if task_file else [])],
        "data": data,
        "weights": weights,
        "precision": precision,
        **({"options": dict(options)} if options else {}),
        **({"columns": dict(columns)} if columns else {}),
    }
    canonical = json.dumps(decides, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]


def data_fingerprint(splits: Mapping[str, Sequence[Row]]) -> str:
    """A hash of all rows of all splits, independent of where they were read from."""
    digest = hashlib.sha256()
    for name in sorted(splits):
        for row in splits[name]:
            facts = [name, row_fields(row)]
            digest.update(CANONICAL(facts).encode())
    return digest.hexdigest()


def write_record(file: Path, record: RunRecord) -> None:
    """Writes a record with its checksum."""
    text = record.model_copy(update={"checksum": ""}).model_dump_json(indent=2) + "\n"
    write_atomically(file, text.replace(_checksum_line(""), _checksum_line(_checksum(text))))


def load_record(file: Path) -> RunRecord:
    """Reads a record. Raises UserError for one that is damaged or of another format."""
    record = _read(file, RunRecord)
    try:
        require_baselines(record.scores, record.baselines, record.rows)
    except ValueError as error:
        raise _damaged(file, error) from None
    return record


def all_records(out: Path) -> list[RunRecord]:
    """Every record under a results folder, by task and time; warns of those that cannot be read."""
    found = [record for _, record in readable(_record_files(out), load_record)]
    return sorted(found, key=lambda record: (record.task, record.finished))


def records_on(data: str, out: Path) -> list[RunRecord]:
    """The records of runs on rows with this fingerprint, the latest last; warns of those that cannot be read."""
    files = [file for file in _record_files(out) if data.encode() in file.read_bytes()]  # else 10,000 take seconds
    found = [record for _, record in readable(files, load_record) if record.data == data]
    return sorted(found, key=lambda record: record.finished)


def listed_runs(out: Path) -> list[ListedRun]:
    """`all_records` with the part of each record that a list shows."""
    found = [run for _, run in readable(_record_files(out), lambda file: _read(file, ListedRun))]
    return sorted(found, key=lambda run: (run.task, run.finished))


def readable(files: Iterable[Path], read: Callable[[Path], AnyRecord]) -> Iterator[tuple[Path, AnyRecord]]:
    """(file, record) of each file that can be read; a damaged one is left out with a DamagedRecord warning."""
    for file in files:
        try:
            yield file, read(file)
        except UserError as error:
            warnings.warn(f"{error}; it is left out", DamagedRecord, stacklevel=2)


def _record_files(out: Path) -> list[Path]:
    return sorted(out.glob("*/*/record.json")) if is_folder(out) else []


def _checksum_line(value: str) -> str:
    return f'"checksum": "{value}"'


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(file: Path, kind: type[AnyRecord]) -> AnyRecord:
    content = read_small(file, most=MOST_BYTES, remedy=REMEDY)
    try:
        record = kind.model_validate_json(content)
        if record.checksum:
            _require_checksum(file, content.decode("utf-8"), record.checksum)
        require_scores(record.headline, record.scores)
    except ValueError as error:  # ValidationError is one too
        raise _damaged(file, error) from None
    return record


def _require_checksum(file: Path, text: str, checksum: str) -> None:
    if _checksum(text.replace(_checksum_line(checksum), _checksum_line(""))) != checksum:
        raise UserError(f"{file}: is damaged or was edited (its checksum is wrong)", REMEDY)


def _damaged(file: Path, error: ValueError) -> UserError:
    return UserError(f"{file}: is not a whole record of a run ({_reason(error)})", REMEDY)


def _reason(error: ValueError) -> str:
    """The first fault; only the number of very many, whose list would take a gigabyte."""
    if not isinstance(error, ValidationError):
        return str(error)
    if error.error_count() > MOST_FAULTS:
        return f"{error.error_count():,} faults"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")[:MOST_REASON]
