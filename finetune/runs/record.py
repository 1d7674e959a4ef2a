"""RunRecord: settings, environment, scores and notes of a run.

It is so bounded that every list, table and report can be made from it: anyone may have written the file.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from finetune.data.issues import Severity
from finetune.gone import without_defaults
from finetune.metrics.metric import Metric, find_metric
from finetune.runs.recipe import LARGEST, Seed, scored_parts
from finetune.runs.settings import RUN_ID, Lineage

LARGEST_SCORE = 1e15  # 100 times it can be drawn
MOST_LABELS = 200  # that are counted a split
LONGEST_LABEL = 200  # characters of a label that is counted
MOST_WORDS = 100  # of a command
MOST_COMPARED = 50_000  # training rows, the first, of which texts are compared

SplitName = Annotated[str, Field(pattern=r"^[^/\\\x00]{1,100}$")]  # part of a file's name
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
ScoreValue = Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
ScoreInterval = tuple[ScoreValue, ScoreValue]
Sketch = Annotated[str, Field(pattern=r"^([0-9a-f]{400})?$")]  # `metrics.significance.sketch`
TextList = Annotated[list[str], FailFast()]  # else a million wrong items are a million errors
# A path in a sentence: from the root, a drive or the home folder, with at least two names; and the start of one.
ABSOLUTE = re.compile(r"(?<![\w.~/\\])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:;,'\"()]+[/\\])+([^\s/\\:;,'\"()]+)")
ROOT = re.compile(r"(?:~|[A-Za-z]:)?[/\\]")
WITH_PATHS = {"model", "recipe", "options", "data_origin", "notes", "observed", "findings"}  # fields


def with_nan(value: Any) -> Any:
    """A score, or tables of scores; JSON's null becomes NaN."""
    if isinstance(value, dict):
        return {key: with_nan(inner) for key, inner in value.items()}
    return math.nan if value is None else value


def _drawable(score: float) -> float:
    """The score; NaN is an undefined one. Raises ValueError for a number so large that tables and charts fail."""
    if abs(score) > LARGEST_SCORE:
        raise ValueError(f"{score} cannot be drawn")
    return score


Score = Annotated[float, AfterValidator(_drawable), BeforeValidator(with_nan)]
SplitScores = dict[SplitName, dict[str, Score]]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class _Read(BaseModel):
    """The keys that are read of a table; others are of any kind."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)


class RecordedTrain(_Read):
    """The keys that are read of the recipe's `[train]`."""

    batch_size: Positive = 1
    epochs: Whole = 0
    updates: Positive | None = None
    least_updates: Whole = 0


class _RecordedRecipe(_Read):
    task: str
    seed: Seed
    init_seed: Seed | None = None
    data_seed: Seed | None = None
    limit: Whole | None = None
    train_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    options: dict[str, Any] | None = None
    train: RecordedTrain = Field(default_factory=RecordedTrain)


class _RecordedEpoch(_Read):
    epoch: Whole
    loss: Score
    headline: Score
    dev_loss: Score | None = None


def _whole_recipe(recipe: dict[str, Any]) -> dict[str, Any]:
    """Without settings of earlier versions that nobody had set. Raises ValidationError for one that no table takes."""
    _RecordedRecipe.model_validate(recipe)
    return without_defaults(recipe)


def _whole_epoch(epoch: dict[str, Any]) -> dict[str, Any]:
    _RecordedEpoch.model_validate(epoch)
    return epoch


Epoch = Annotated[dict[str, Any], BeforeValidator(with_nan), AfterValidator(_whole_epoch)]


class SavedMetric(_Part):
    """A metric in a record: how its scores are shown and compared."""

    model_config = ConfigDict(strict=True)

    scale: ScoreValue = Metric.scale
    greater_is_better: bool = Metric.greater_is_better
    magnitudes: bool = Metric.magnitudes
    decimals: Annotated[int, Field(ge=0, le=6)] = Metric.decimals


class Margin(_Part):
    """The headline score on one split: its 95 % interval over rows, and its difference to the best baseline.

    Both are by bootstrap over the same rows (`metrics.significance`), in units of the score; `p` tests the difference.
    An interval is None if all resamples are equal, unless all rows are right or all wrong. The other fields are None
    without baselines. `sketch` and `difference_sketch` show how far runs of other seeds share the chance of rows.
    """

    interval: ScoreInterval | None = None
    baseline: str | None = None
    difference: ScoreValue | None = None
    difference_interval: ScoreInterval | None = None
    p: Annotated[float, Field(ge=0, le=1)] | None = None
    sketch: Sketch = ""
    difference_sketch: Sketch = ""


class Cost(_Part):
    """The cost of a run in all its processes together, until its model is saved.

    `device_seconds` is the time that devices were held, in interrupted attempts too. Memory is the peak in bytes: main
    memory of the processes, and memory of the GPUs (None without one).
    """

    model_config = ConfigDict(extra="ignore", strict=True)  # records once had joules

    device_seconds: Annotated[float, Field(ge=0, le=LARGEST_SCORE)]
    peak_memory_bytes: Whole
    peak_device_bytes: Whole | None = None


class Observed(_Part):
    """Observations that a diagnosis needs.

    `constant` is the prediction of all rows of the first dev split; None if they differ, or if all labels are equal.
    `contradicted` counts training rows (of the first MOST_COMPARED) with the text of a row that has another label.
    `fitting_length` is the max_length that cuts at most one in twenty training rows, 0 if none was cut.
    `longest_length` is the number of positions of the encoder. `typed` are the words after `finetune run` that give
    this run, empty if a grid gave several, and `data_folder` is the folder of `--data`.
    """

    constant: Annotated[str | None, AfterValidator(lambda text: text and text[:LONGEST_LABEL])] = None
    contradicted: Whole = 0
    fitting_length: Whole = 0
    longest_length: Whole = 0
    typed: Annotated[list[str], Field(max_length=MOST_WORDS)] = []
    data_folder: str = ""


class DataFinding(_Part):
    """An error or warning of `check` on the data, with the number of its rows; `command` shows or fixes them."""

    model_config = ConfigDict(strict=True)

    severity: Severity
    code: str
    split: str
    what: str
    remedy: str
    count: Whole
    command: str = ""

    @property
    def note(self) -> str:
        """The finding on one line."""
        return f"{self.severity} {self.code}: {self.what}. {self.remedy}{self.command and f': {self.command}'}"


def best_baseline(baselines: Mapping[str, Mapping[str, float]], metric: Metric) -> str | None:
    """The name of the baseline with the best score; None without one."""
    scores = {name: values[metric.name] for name, values in baselines.items() if metric.name in values}
    return max(scores, key=lambda name: metric.rank(scores[name]), default=None)


class RunRecord(BaseModel):
    """The settings, environment and results of a run. Scores are as computed, not times their metric's scale.

    Fields that earlier versions wrote are ignored.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, defer_build=True)

    format: int = Field(1, description="the version of this form")
    id: str = Field(pattern=RUN_ID, description="ten hex digits: a hash of all that decides the result")
    task: str = Field(description="the task's name, or that of the data file")
    task_version: int = Field(description="raised when a task's rows or scores change")
    finished: str = Field(description="date and time (UTC)")
    recipe: Annotated[dict[str, Any], AfterValidator(_whole_recipe)] = Field(description="every setting")
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
    notes: TextList = Field(description="what was unusual, as the command printed it")
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
    epochs: list[Epoch] = Field(description="loss and dev scores of each epoch")
    selected_epoch: Whole = Field(description="the epoch whose weights were saved, counted from 1")
    headline: str = Field(description="the name of the first metric")
    scores: SplitScores = Field(description="split, metric, score; null is a score that is not defined")
    baselines: dict[str, dict[str, dict[str, Score]]] = Field(description="split, baseline, metric, score")
    new_weights: TextList = Field(description="weights that were not in the checkpoint, and began at random")
    options: dict[str, Any] = Field({}, description="options of the task, those chosen on dev included")
    chosen: TextList = Field([], description="options that were chosen on dev")
    cross_fitted: bool = Field(False, description="each row of dev was predicted with options chosen on its other rows")
    files: dict[str, str] = Field({}, description="checksums of the run's files")
    checksum: str = Field("", description="SHA-256 of the record's own text without it")
    metrics: dict[str, SavedMetric] = Field(
        {}, description="metrics whose scores are not shown times 100, or of which less is better"
    )
    labels: dict[str, Annotated[dict[str, Whole], Field(max_length=MOST_LABELS)]] = Field(
        {}, description="rows of each label, by split, of the most frequent ones"
    )
    parameters: dict[str, Whole] = Field({}, description="the model's weights: all, and those that were trained")
    margins: dict[str, Margin] = Field(
        {}, description="of the headline on each split: its 95 % interval, the best baseline and the difference to it"
    )
    cost: Cost | None = Field(
        None, description="of all processes together: the seconds that devices were held, peak memory and that of GPUs"
    )
    lineage: Lineage | None = Field(
        None,
        description="the run whose encoder this one started from: its task, seed and the settings that differ from "
        "their defaults, the encoder that it started from, and its own lineage; null where `model` is not of a run",
    )
    learned: list[str] = Field(
        [], max_length=10, description="splits whose rows the saved model has learned too, after they were scored"
    )
    observed: Observed | None = Field(
        None,
        description="what a diagnosis needs: the prediction that all rows of dev have, training rows that contradict "
        "each other, the length that fits the texts, what was typed; null for runs from before it was recorded",
    )
    findings: list[DataFinding] = Field(
        [],
        max_length=1_000,
        description="errors and warnings on the data that did not stop the run, such as rows that two splits share; "
        "left out where there are none",
    )

    @model_serializer(mode="wrap")
    def _without_no_findings(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        saved: dict[str, Any] = write(self)
        if not saved.get("findings"):
            saved.pop("findings", None)
        return saved

    def leaks(self, split: str) -> list[str]:
        """The findings, in words, that rows of a split are training rows of this or an earlier run."""
        return [finding.what for finding in self.findings if (finding.code, finding.split) == ("leak", split)]

    @property
    def first_split(self) -> str:
        """The split that runs are compared on: the first scored split, dev if it has one."""
        return next(iter(self.scores))

    @property
    def scored_after(self) -> tuple[str, list[int]]:
        """(`epoch` or `update`, the number of epochs or updates before each entry of `epochs`)."""
        updates, numbers = self.updates, range(1, len(self.epochs) + 1)
        if updates is None:
            return "epoch", list(numbers)
        return "update", [updates * number // self.parts[1] for number in numbers]

    @property
    def parts(self) -> tuple[str, int]:
        """`scored_parts` of the recipe: (`epoch` or `part`, their number)."""
        train = self.recipe.get("train", {})
        return scored_parts(self.updates, train.get("epochs", len(self.epochs)), train.get("solver", "adam"))

    @property
    def updates(self) -> int | None:
        """The planned length in updates; None if it is in epochs."""
        train = RecordedTrain.model_validate(self.recipe.get("train", {}))
        an_epoch = math.ceil(self.features.get("train", 0) / train.batch_size)
        return train.updates or (train.least_updates if train.epochs * an_epoch < train.least_updates else None)

    @property
    def is_pretraining(self) -> bool:
        """Whether the run trained an encoder on unlabelled text."""
        return self.headline == "perplexity"

    @property
    def train_share(self) -> float:
        """The share of the training rows that it used."""
        return float(self.recipe.get("train_share", 1.0))

    @property
    def score(self) -> float:
        """The headline score on the first split, as computed; NaN if undefined."""
        return self.scores[self.first_split][self.headline]

    def best_baseline(self, split: str, metric: str) -> float | None:
        """The score of the best baseline on a split; None without one."""
        baselines = self.baselines.get(split, {})
        name = best_baseline(baselines, self.metric(metric))
        return None if name is None else baselines[name][metric]

    @property
    def beats_baselines(self) -> bool:
        """Whether the headline score is better than the best baseline's; True without one."""
        best, metric = self.best_baseline(self.first_split, self.headline), self.metric(self.headline)
        return best is None or metric.rank(self.score) > metric.rank(best)

    def metric(self, name: str) -> Metric:
        """The metric of a score: how it is shown and compared."""
        return find_metric(name, (Metric(key, **saved.model_dump()) for key, saved in self.metrics.items()))


def saved_metrics(metrics: Iterable[Metric]) -> dict[str, SavedMetric]:
    """The metrics that are not shown or compared as by default, for a record."""
    saved = {m.name: SavedMetric(**{name: getattr(m, name) for name in SavedMetric.model_fields}) for m in metrics}
    return {name: metric for name, metric in saved.items() if metric != SavedMetric()}


def without_folders(record: RunRecord) -> RunRecord:
    """The record with only the last name of each absolute path, for pages that others see."""
    shown = names_only(record.model_dump(include=WITH_PATHS))
    return RunRecord.model_validate(record.model_dump() | shown, strict=False)


def names_only(value: Any) -> Any:
    """The value with the last name of each absolute path instead of it, in sentences too."""
    if isinstance(value, dict):
        return {key: names_only(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [names_only(inner) for inner in value]
    if not isinstance(value, str):
        return value
    return re.split(r"[/\\]", value)[-1] if ROOT.match(value) else ABSOLUTE.sub(r"\1", value)
