"""Task: the contract of everything that can be trained."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from finetune.data.rows import Row, Rows
from finetune.errors import UserError
from finetune.metrics.metric import Metric, find_metric
from finetune.task_types.declared_options import declared_names
from finetune.task_types.explained import Asked, NamedText, Wanted

if TYPE_CHECKING:
    import numpy as np
    from transformers import PreTrainedTokenizerBase

    from finetune.data.source import Source
    from finetune.metrics.sums import Counted
    from finetune.models.backbone import Backbone, Head
    from finetune.models.feature import Feature
    from finetune.runs.events import Watcher


TEST = "test"  # the split that chooses nothing
AT_ONCE = 10_000  # rows whose labels are looked at together


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A prediction for one row: the value, in the form of the row's label, and the probability of each choice.

    Where the value is a list of tags, there is one probability per tag.
    """

    value: Any
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Turns rows into features, logits into predictions, and predictions into scores, and builds its head.

    A custom task is an instance of one of the task types in `finetune.task_types`, or a subclass of this with every
    method below. `name` is its name on the command line, `version` is raised whenever its results may change.
    `metrics` are the scores, the first is the headline (`label/metric` are shown by label); `dev_splits` are what
    a run is scored on, the first decides; `test` among them is predicted once, with the weights that were selected. A
    recipe may set the fields of the task and of its reader that are declared with `option`. `row_type` is the dataclass
    of its rows, which saved predictions are parsed to. With `cross_fits` each row of dev is scored with what
    `calibrate` chose on other rows of dev. With `missing_is_wrong` a row without a prediction in a scored file counts
    0. `inputs` are the names of its texts where a row may have one or two, such as sentence1 and sentence2; `seen`
    fills them in where the task declares none.
    """

    name: str
    version: int = 1
    metrics: tuple[Metric, ...]
    dev_splits: tuple[str, ...] = ("dev",)
    train_split: str = "train"
    inputs: tuple[str, ...] = ()
    row_type: ClassVar[type | None] = None
    cross_fits: ClassVar[bool] = False
    missing_is_wrong: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raises UserError for a metric that is not a `Metric`, and for an option that the reader declares too."""
        if wrong := [given for given in self.metrics if not isinstance(given, Metric)]:
            raise UserError(f"the task {self.name} has the metric {wrong[0]!r}", "Give objects such as `accuracy`")
        if twice := {*declared_names(self)} & {*declared_names(self.reader)}:
            raise UserError(f"the reader of {self.name} has the option '{min(twice)}' of its task", "Rename it")

    @abstractmethod
    def load(self, source: "Source", split: str) -> Rows:
        """The rows of a split. Raises UserError where they are not found or malformed."""

    @abstractmethod
    def encode(self, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> "list[Feature]":
        """Features in the order of the rows, which they number from 0; a row may give several."""

    @abstractmethod
    def head(self, backbone: "Backbone") -> "Head":
        """A new head, without initialised weights."""

    @abstractmethod
    def decode(
        self, logits: "Sequence[np.ndarray]", features: "Sequence[Feature]", rows: Sequence[Row]
    ) -> list[Answer]:
        """One prediction per row, in the order of the rows. `logits` has one array per feature, without padding."""

    @abstractmethod
    def gold(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels as predictions, so that `score(gold(rows), rows)` is perfect."""

    # The following have defaults.

    def labelled(self, rows: Sequence[Row]) -> bool:
        """Whether all rows have a label."""
        parts = (rows[begin : begin + AT_ONCE] for begin in range(0, len(rows), AT_ONCE))
        return all(answer.value is not None for part in parts for answer in self.gold(part))

    def train_features(
        self, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: "Watcher"
    ) -> "Sequence[Feature] | None":
        """The features to train on, where they are others than those that `encode` makes to be scored; else None."""
        return None

    def vocabulary(self, rows: Sequence[Row], watch: "Watcher", *, size: int) -> Path | None:
        """The folder of a vocabulary trained on the rows to train on, for a new encoder; None for other tasks."""
        return None

    def draw(self, features: "Sequence[Feature]", generator: "np.random.Generator") -> "Sequence[Feature]":
        """A training batch with what is random in it, such as masks, whenever it is used for an update."""
        return features

    @property
    def splits_in_training(self) -> tuple[str, ...]:
        """Those of `dev_splits` that are scored after each epoch."""
        return tuple(split for split in self.dev_splits if split != TEST)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics, the headline first."""
        return tuple(metric.name for metric in self.metrics)

    def metric(self, name: str) -> Metric:
        """The metric of a score, whose name may begin with a group."""
        return find_metric(name, self.metrics)

    def score(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, float]:
        """Every metric by its name; a task whose metrics have no `score` of their own computes them here."""
        gold, values = self._columns(answers, rows)
        return {metric.name: metric.score(gold, values) for metric in self.metrics if metric.score is not None}

    @property
    def reader(self) -> Any:
        """The reader of the rows, if the task has such a field, `read`."""
        return getattr(self, "read", None)

    @property
    def options(self) -> tuple[str, ...]:
        """What a recipe may set: the declared options that the task uses, and those of its reader."""
        own = (name for name in declared_names(self) if name not in self.unused_options())
        return (*own, *declared_names(self.reader))

    def unused_options(self) -> tuple[str, ...]:
        """Declared options that this task does not use, such as class weights in regression."""
        return ()

    def joined(self, before: Row, row: Row) -> bool:
        """Whether `encode` must get these neighbouring rows together. If not, many rows are encoded in parts, in little
        memory; then features must not depend on rows of another part, nor notes hold a row's number.
        """
        return True

    def seen(self, train: Sequence[Row]) -> "Task":
        """The task configured from its training rows, such as with class weights."""
        return self

    def fault(self, row: Row) -> str:
        """What is wrong with a row, in words, as `has no words`; empty where nothing is."""
        return ""

    def batch_fault(self, size: int) -> str:
        """Why it cannot be trained with batches of so many rows, in words; empty where it can."""
        return ""

    def checked(self, loaded: Rows) -> Rows:
        """The rows unchanged. Raises UserError that names the first one with a fault."""
        for row in loaded.rows:
            if fault := self.fault(row):
                raise UserError(f"{loaded.origin}: row '{row.id}' {fault}", "Fix that row")
        return loaded

    def fits(self, value: Any, row: Row) -> bool:
        """Whether a value is a valid prediction for a row."""
        return True

    def baselines(self, train: Sequence[Row], rows: Sequence[Row]) -> dict[str, list[Answer]]:
        """Predictions of the baselines, by name."""
        return {}

    def feature_baselines(
        self, train: "Sequence[Feature]", features: "Sequence[Feature]", rows: Sequence[Row]
    ) -> dict[str, list[Answer]]:
        """Predictions of baselines that read features rather than rows, by name."""
        return {}

    def baseline_remarks(self, train: Sequence[Row]) -> list[str]:
        """Notes on the baselines for these training rows."""
        return []

    def counted(self, answers: Sequence[Answer], rows: Sequence[Row]) -> "dict[str, Counted]":
        """Those of the metrics that are functions of sums over rows, for resampling; `score` gives the same values."""
        gold, values = self._columns(answers, rows)
        return {metric.name: metric.sums(gold, values) for metric in self.metrics if metric.sums is not None}

    def _columns(self, answers: Sequence[Answer], rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
        """The labels and the predictions of the rows."""
        return [answer.value for answer in self.gold(rows)], [answer.value for answer in answers]

    def calibrate(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Options chosen on the first dev split after training, and saved with the model."""
        return {}

    def with_odds(self, values: Sequence[Any], odds: Sequence[float]) -> list[Answer]:
        """Predictions with the null odds, for `calibrate`. Raises UserError where all rows have an answer."""
        raise UserError(f"all rows of {self.name} have an answer", "Leave `null_odds` out")

    def decided(self, answers: Sequence[Answer]) -> list[Answer]:
        """The predictions, decided again from their probabilities with the task's current options: for `cross_fits`."""
        return list(answers)

    def remarks(self, answers: Sequence[Answer], rows: Sequence[Row]) -> list[str]:
        """Notes on these predictions, in addition to their scores."""
        return []

    def official_files(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Additional files in an official format for such predictions: JSON values by file name."""
        return {}

    def cells(self, answer: Answer, row: Row) -> dict[str, Any]:
        """The cells of a prediction that `finetune predict` adds to a row, by column name; by default the value."""
        return {"prediction": answer.value}

    def row(self, *inputs: Any) -> Row:
        """A row without a label, made from the arguments of `finetune.load(RUN)(...)`."""
        raise UserError(f"the task {self.name} cannot make a row from inputs", "Give it a method `row`")

    def explained_texts(self, row: Row) -> list[list[NamedText]]:
        """The texts that a row's sequences are made of, in order: one list for all of them, or one for each choice."""
        raise UserError(f"predictions of {self.name} cannot be explained", "Give its task type `explained_texts`")

    def explained(self, row: Row, answer: Answer, features: "Sequence[Feature]", asked: Asked) -> Wanted:
        """Which logits of a row's features are explained. Raises UserError for a label or a word that is not there."""
        raise UserError(f"predictions of {self.name} cannot be explained", "Give its task type `explained`")

    def lost(self, max_length: int) -> str:
        """What happens to rows with a truncated feature, in words that follow `3 rows`."""
        return f"are longer than max_length {max_length}: the longer text is truncated"

    def shown_label(self, feature: "Feature", tokens: Sequence[str]) -> str:
        """A feature's label as `finetune check` shows it next to the feature's tokens."""
        return str(feature.label)
