"""Task: the contract of everything that can be trained."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from finetune.data.rows import Row, Rows
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.task_types.declared_options import declared_names

if TYPE_CHECKING:
    import numpy as np
    from transformers import PreTrainedTokenizerBase

    from finetune.data.source import Source
    from finetune.metrics.sums import Counted
    from finetune.models.backbone import Backbone, Head
    from finetune.models.feature import Feature


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model says of one row: the value in the gold's own terms, and how probable each choice is.

    Where the value is a list of tags, there is one probability for each of its items.
    """

    value: Any
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Turns rows into features and logits into scored answers, and names its head.

    A task of your own is an instance of one of the shapes in `finetune.heads`, or a subclass of this with every
    method below. `name` is its name on the command line, `version` is raised whenever its results may change.
    `metrics` are the scores, the first is the headline (`group/metric` are shown by group); `dev_splits` are what
    a run is scored on, the first decides. A recipe may set the fields of the task and of its reader that are declared
    with `option`. `row_type` is the dataclass of its rows, with which saved predictions are read again. With
    `cross_fits` each row of dev is scored with what `calibrate` chose on other rows of dev. With `missing_is_wrong` a
    row without an answer in a scored file counts 0.
    """

    name: str
    version: int = 1
    metrics: tuple[Metric, ...]
    dev_splits: tuple[str, ...] = ("dev",)
    train_split: str = "train"
    row_type: ClassVar[type | None] = None
    cross_fits: ClassVar[bool] = False
    missing_is_wrong: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raises UserError for what is not a metric, and for an option that the reader declares again."""
        if wrong := [given for given in self.metrics if not isinstance(given, Metric)]:
            raise UserError(f"the task {self.name} has the metric {wrong[0]!r}", "Give objects such as `accuracy`")
        if twice := {*declared_names(self)} & {*declared_names(self.reader)}:
            raise UserError(f"the reader of {self.name} has the option '{min(twice)}' of its task", "Rename it")

    @abstractmethod
    def load(self, source: "Source", split: str) -> Rows:
        """The rows of a split. Raises UserError where they are not found or malformed."""

    @abstractmethod
    def encode(self, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> "list[Feature]":
        """Features in the order of the rows; a row may give several."""

    @abstractmethod
    def head(self, backbone: "Backbone") -> "Head":
        """A new head, its weights yet to be initialised."""

    @abstractmethod
    def decode(
        self, logits: "Sequence[np.ndarray]", features: "Sequence[Feature]", rows: Sequence[Row]
    ) -> list[Answer]:
        """One answer a row, in the order of the rows. `logits` has one array a feature, without padding."""

    @abstractmethod
    def gold(self, rows: Sequence[Row]) -> list[Answer]:
        """The right answers, so that `score(gold(rows), rows)` is perfect."""

    # What follows, a shape may leave as it is.

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics, the headline first."""
        return tuple(metric.name for metric in self.metrics)

    def score(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, float]:
        """Every metric by its name; a task whose metrics have no `score` of their own computes them here."""
        gold, values = self._columns(answers, rows)
        return {metric.name: metric.score(gold, values) for metric in self.metrics if metric.score is not None}

    @property
    def reader(self) -> Any:
        """What reads the rows, if the task has such a field, `read`."""
        return getattr(self, "read", None)

    @property
    def options(self) -> tuple[str, ...]:
        """What a recipe may set: the declared options of the task that it has a use for, and those of its reader."""
        own = (name for name in declared_names(self) if name not in self.unused_options())
        return (*own, *declared_names(self.reader))

    def unused_options(self) -> tuple[str, ...]:
        """Declared options that mean nothing for this task, such as class weights for numbers."""
        return ()

    def seen(self, train: Sequence[Row]) -> "Task":
        """The task as its training rows make it, for what a head must know of them."""
        return self

    def fault(self, row: Row) -> str:
        """What is wrong with a row, in words, as `has no words`; empty where nothing is."""
        return ""

    def checked(self, loaded: Rows) -> Rows:
        """The same rows. Raises UserError that names the first one with a fault."""
        for row in loaded.rows:
            if fault := self.fault(row):
                raise UserError(f"{loaded.origin}: row '{row.id}' {fault}", "Mend that row")
        return loaded

    def fits(self, value: Any, row: Row) -> bool:
        """Whether a value could be the answer to a row."""
        return True

    def baselines(self, train: Sequence[Row], rows: Sequence[Row]) -> dict[str, list[Answer]]:
        """Answers of cheap methods, by the method's name."""
        return {}

    def baseline_remarks(self, train: Sequence[Row]) -> list[str]:
        """What a user should know of these methods and training rows."""
        return []

    def counted(self, answers: Sequence[Answer], rows: Sequence[Row]) -> "dict[str, Counted]":
        """Those of the metrics that are functions of sums over rows, for resampling; `score` gives the same values."""
        gold, values = self._columns(answers, rows)
        return {metric.name: metric.sums(gold, values) for metric in self.metrics if metric.sums is not None}

    def _columns(self, answers: Sequence[Answer], rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
        """The labels and the predictions of the rows."""
        return [answer.value for answer in self.gold(rows)], [answer.value for answer in answers]

    def calibrate(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Options that are chosen on the first dev split once a model is trained, and saved with it."""
        return {}

    def with_odds(self, values: Sequence[Any], odds: Sequence[float]) -> list[Answer]:
        """Answers with the odds that there is none, for `calibrate`. Raises UserError where all rows have an answer."""
        raise UserError(f"the rows of {self.name} all have answers", "Leave --null-odds out")

    def decided(self, answers: Sequence[Answer]) -> list[Answer]:
        """The same answers as the task's options decide them now, from their probabilities: for `cross_fits`."""
        return list(answers)

    def remarks(self, answers: Sequence[Answer], rows: Sequence[Row]) -> list[str]:
        """What a user should know of these answers, beyond their scores."""
        return []

    def official_files(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Further files in which a field keeps such answers: JSON values by the file's name."""
        return {}

    def cells(self, answer: Answer, row: Row) -> dict[str, Any]:
        """An answer as the cells that `finetune predict` adds to a row, by the column's name: the value alone."""
        return {"answer": answer.value}

    def row(self, *inputs: Any) -> Row:
        """A row without gold, made of what a user gives `finetune.load(RUN)(...)`."""
        raise UserError(f"the task {self.name} does not say how to make a row", "Give it a method `row`")

    def lost(self, max_length: int) -> str:
        """What is true of rows with a feature that is truncated, in words that go after `3 rows`."""
        return f"are longer than max_length {max_length} and lost their end"

    def shown_label(self, feature: "Feature", tokens: Sequence[str]) -> str:
        """A feature's label as `finetune check` shows it, beside the feature's tokens."""
        return str(feature.label)
