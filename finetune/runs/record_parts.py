"""Parts of a record, so bounded that every list, table and report can be made from it: anyone may have written it."""

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from finetune.data.issues import Severity
from finetune.gone import without_defaults
from finetune.metrics.metric import Metric
from finetune.runs.recipe import LARGEST, Seed

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
    """What is read of a table whose other keys are of any kind."""

    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)


class RecordedTrain(_Read):
    """What is read of the recipe's `[train]`."""

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


def recipe_is_whole(recipe: dict[str, Any]) -> dict[str, Any]:
    """The recipe without settings of earlier versions that nobody had set. Raises ValidationError where a table could
    not be made from it.
    """
    _RecordedRecipe.model_validate(recipe)
    return without_defaults(recipe)


def epoch_is_whole(epoch: dict[str, Any]) -> dict[str, Any]:
    """The epoch. Raises ValidationError where a curve could not be drawn."""
    _RecordedEpoch.model_validate(epoch)
    return epoch


Epoch = Annotated[dict[str, Any], BeforeValidator(with_nan), AfterValidator(epoch_is_whole)]


class SavedMetric(_Part):
    """What a record keeps of a metric: how its scores are shown and compared."""

    model_config = ConfigDict(strict=True)

    scale: ScoreValue = Metric.scale
    greater_is_better: bool = Metric.greater_is_better
    magnitudes: bool = Metric.magnitudes
    decimals: Annotated[int, Field(ge=0, le=6)] = Metric.decimals


class Margin(_Part):
    """Of the headline score on one split: its 95 % interval over rows, and its difference to the best baseline.

    Both by bootstrap over the same rows (`metrics.significance`), in units of the score; `p` tests the difference. An
    interval is None where all resamples are equal, unless all rows are right or all wrong. Without baselines `baseline`
    and what follows is None. `sketch` and `difference_sketch` tell which chance of rows the run shares with those of
    other seeds.
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

    `device_seconds` is the time that devices were held, of interrupted attempts too. Memory is the most that was used:
    main memory of the processes, and that of the GPUs (None without one).
    """

    model_config = ConfigDict(extra="ignore", strict=True)  # records once had joules

    device_seconds: Annotated[float, Field(ge=0, le=LARGEST_SCORE)]
    peak_memory_bytes: Whole
    peak_device_bytes: Whole | None = None


class Observed(_Part):
    """`constant` is the one prediction that each row of the first dev split has; None where they differ, or where all
    labels are equal.

    `contradicted` are those of the first training rows whose text another one has with a different label.
    `fitting_length` is the max_length that cuts no more than one in twenty of the training rows, 0 where none was cut,
    and `longest_length` what the encoder has positions for. `typed` are the words behind `finetune run` that give this
    run, empty where a grid gave several, and `data_folder` is the folder that `--data` named for it.
    """

    constant: Annotated[str | None, AfterValidator(lambda text: text and text[:LONGEST_LABEL])] = None
    contradicted: Whole = 0
    fitting_length: Whole = 0
    longest_length: Whole = 0
    typed: Annotated[list[str], Field(max_length=MOST_WORDS)] = []
    data_folder: str = ""


class DataFinding(_Part):
    """An error or warning on the data, as `check` says it; `count` are its rows, which `command` shows or fixes."""

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
        """All of it on one line."""
        return f"{self.severity} {self.code}: {self.what}. {self.remedy}{self.command and f': {self.command}'}"


def best_baseline(baselines: Mapping[str, Mapping[str, float]], metric: Metric) -> str | None:
    """The name of the baseline with the best score; None where there is none."""
    scores = {name: values[metric.name] for name, values in baselines.items() if metric.name in values}
    return max(scores, key=lambda name: metric.rank(scores[name]), default=None)
