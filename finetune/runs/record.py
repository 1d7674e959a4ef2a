"""RunRecord: settings, environment, scores and notes of a run."""

import math
import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from finetune.metrics.metric import Metric, find_metric
from finetune.runs.lineage import RUN_ID, Lineage
from finetune.runs.recipe import scored_parts
from finetune.runs.record_parts import (
    MOST_LABELS,
    Cost,
    DataFinding,
    Epoch,
    Margin,
    Observed,
    RecordedTrain,
    SavedMetric,
    Score,
    SplitScores,
    Whole,
    best_baseline,
    recipe_is_whole,
)

TextList = Annotated[list[str], FailFast()]  # else a million wrong items are a million errors
# A path in a sentence: from the root, a drive or the home folder, with at least two names; and the start of one.
ABSOLUTE = re.compile(r"(?<![\w.~/\\])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:;,'\"()]+[/\\])+([^\s/\\:;,'\"()]+)")
ROOT = re.compile(r"(?:~|[A-Za-z]:)?[/\\]")
WITH_PATHS = {"model", "recipe", "options", "data_origin", "notes", "observed", "findings"}  # fields


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
        return {name: value for name, value in saved.items() if name != "findings" or value}

    def leaks(self, split: str) -> list[str]:
        """What says that rows of a split are training rows too, of this run or of one that it learned from."""
        return [finding.what for finding in self.findings if (finding.code, finding.split) == ("leak", split)]

    @property
    def trained_of_all(self) -> tuple[int, int]:
        """How many of the model's weights were trained, and how many it has; zeros where that is not known."""
        return self.parameters.get("trained", 0), self.parameters.get("all", 0)

    @property
    def first_split(self) -> str:
        """The split that runs are compared on: the first scored one, dev where there is one."""
        return next(iter(self.scores))

    @property
    def scored_after(self) -> tuple[str, list[int]]:
        """`epoch` or `update`, and the number of the one that each entry of `epochs` comes after."""
        updates, numbers = self.updates, range(1, len(self.epochs) + 1)
        if updates is None:
            return "epoch", list(numbers)
        return "update", [updates * number // self.parts[1] for number in numbers]

    @property
    def parts(self) -> tuple[str, int]:
        """What the run is scored after, `epoch` or `part`, and how many of them its recipe has."""
        train = self.recipe.get("train", {})
        return scored_parts(self.updates, train.get("epochs", len(self.epochs)), train.get("solver", "adam"))

    @property
    def updates(self) -> int | None:
        """The planned length in updates, where it is not in epochs."""
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
        """The headline score on the first split, as computed; NaN where it is undefined."""
        return self.scores[self.first_split][self.headline]

    def best_baseline(self, split: str, metric: str) -> float | None:
        """The score of the best baseline on a split; None where there is none."""
        baselines = self.baselines.get(split, {})
        name = best_baseline(baselines, self.metric(metric))
        return None if name is None else baselines[name][metric]

    @property
    def beats_baselines(self) -> bool:
        """Whether the headline score is better than that of the best baseline; True where there is none."""
        best, metric = self.best_baseline(self.first_split, self.headline), self.metric(self.headline)
        return best is None or metric.rank(self.score) > metric.rank(best)

    def metric(self, name: str) -> Metric:
        """How a score of that name is shown and compared."""
        return find_metric(name, (Metric(key, **saved.model_dump()) for key, saved in self.metrics.items()))


def saved_metrics(metrics: Iterable[Metric]) -> dict[str, SavedMetric]:
    """What a record keeps of its metrics: those that are not shown or compared as by default."""
    every = {m.name: SavedMetric(**{name: getattr(m, name) for name in SavedMetric.model_fields}) for m in metrics}
    return {name: saved for name, saved in every.items() if saved != SavedMetric()}


def without_folders(record: RunRecord) -> RunRecord:
    """The record with only the last name of each absolute path, for pages that others see."""
    shown = names_only(record.model_dump(include=WITH_PATHS))
    return RunRecord.model_validate(record.model_dump() | shown, strict=False)


def names_only(value: Any) -> Any:
    """The value with absolute paths, also those in a sentence, replaced by their last name."""
    if isinstance(value, dict):
        return {key: names_only(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [names_only(inner) for inner in value]
    if not isinstance(value, str):
        return value
    return re.split(r"[/\\]", value)[-1] if ROOT.match(value) else ABSOLUTE.sub(r"\1", value)
