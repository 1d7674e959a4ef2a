"""Task: the contract of everything that can be trained."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.task_types.declared import DeclaredTask, declared_names
from finetune.task_types.parts import Answer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.metrics.metric import Counted
    from finetune.models.backbone import Backbone
    from finetune.models.feature import Feature
    from finetune.models.head import Head

TEST = "test"  # the split that chooses nothing


@dataclass(frozen=True, kw_only=True)
class Task(DeclaredTask, ABC):
    """A task: its data, how rows become tokens, its head, how logits become predictions, and how these are scored.

    A custom task is an instance of one of the task types in `finetune.task_types`, or a subclass of this with the field
    `read` or a method `load`, and `encode`, `head` and `decode`; the rest has defaults. `name` is its name
    on the command line, `version` is raised whenever its results may change. `metrics` are the scores, the first is the
    headline (`label/metric` are shown by label); `dev_splits` are what a run is scored on, the first decides; `test`
    among them is predicted once, with the weights that were selected. A recipe may set the fields of the task and of
    its reader that are declared with `option`. `inputs` are the names of its texts where a row may have one or two,
    such as sentence1 and sentence2; `fit` fills them in where the task declares none.

    `row_type` is the dataclass of its rows, which saved predictions are parsed to. `pooled`: its head can read the
    vector of a text that `pooling = auto` chooses. With `missing_is_wrong` a row without a prediction in a scored file
    counts 0. Rows with the same text in the field `scored_by` are scored together, such as the passages of a query.
    `truncated` says what happens to such rows, in words that follow `3 rows`.

    A task type may have more, which is looked for by its name: `explain_target` (see `explained`), `teach` (see
    `Teaching`), `decide` (see `tune`), `official_files`, and all of `BatchMaker`.
    """

    name: str
    version: int = 1
    read: Callable[[Source, str], Rows] | None = None
    metrics: tuple[Metric, ...]
    dev_splits: tuple[str, ...] = ("dev",)
    train_split: str = "train"
    inputs: tuple[str, ...] = ()
    row_type: ClassVar[type | None] = None
    pooled: ClassVar[bool] = True
    missing_is_wrong: ClassVar[bool] = False
    scored_by: ClassVar[str] = ""
    truncated: ClassVar[str] = "are longer than max_length {max_length}: the longer text is truncated"

    def __post_init__(self) -> None:
        """Raises UserError for a metric that is not a `Metric`, and for an option that the reader declares too."""
        if wrong := [metric for metric in self.metrics if not isinstance(metric, Metric)]:
            raise UserError(f"the task {self.name} has the metric {wrong[0]!r}", "Give objects such as `accuracy`")
        if twice := {*declared_names(self)} & {*declared_names(self.read)}:
            raise UserError(f"the reader of {self.name} has the option '{min(twice)}' of its task", "Rename it")

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError where they are not there or malformed, which names the first fault."""
        if self.read is None:
            raise UserError(f"the task {self.name} has no rows", "Give it `read(source, split)`, or a method `load`")
        loaded = self.read(source, split)
        for row in loaded.rows:
            if fault := self.fault(row):
                raise UserError(f"{loaded.origin}: row '{row.id}' {fault}", "Fix that row")
        return loaded

    def fault(self, row: Row) -> str:
        """What is wrong with a row, in words, as `has no words`; empty where nothing is."""
        return ""

    def fits(self, value: Any, row: Row) -> bool:
        """Whether a value is a valid prediction for a row."""
        return True

    def row(self, *inputs: Any) -> Row:
        """A row without a label, made from the arguments of `finetune.load(RUN)(...)`."""
        raise UserError(f"the task {self.name} cannot make a row from inputs", "Give it a method `row`")

    @abstractmethod
    def head(self, backbone: "Backbone") -> "Head":
        """A new head, without initialised weights."""

    @abstractmethod
    def encode(self, rows: Sequence[Any], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> "list[Feature]":
        """Features in the order of the rows, which they number from 0; a row may give several.

        Many rows are encoded in parts: a feature depends on no row outside of `encode_together`.
        """

    def encode_together(self, before: Any, row: Any) -> bool:
        """Whether `encode` must get these neighbouring rows together."""
        return False

    def new_tokens(self, rows: Iterable[Any]) -> Sequence[str]:
        """Tokens that rows have and a pretrained tokenizer may lack, such as the markers of spans."""
        return ()

    @abstractmethod
    def decode(self, logits: Sequence[np.ndarray], features: "Sequence[Feature]", rows: Sequence[Any]) -> list[Answer]:
        """One prediction per row, in the order of the rows. `logits` has one array per feature, without padding."""

    def labels_of(self, rows: Sequence[Any]) -> list[Answer]:
        """The labels as predictions, by default each `gold`, so that `score(labels_of(rows), rows)` is perfect."""
        return [Answer(value=row.gold) for row in rows]

    def fit(self, train: Sequence[Any]) -> "Task":
        """The task with what its training rows say, such as class weights."""
        return self

    def tune(self, answers: Sequence[Answer], rows: Sequence[Any]) -> dict[str, Any]:
        """Options chosen on the first dev split after training, and saved with the model, such as thresholds.

        Where the task has `decide(answers)`, which decides predictions again with its current options, each row of dev
        is scored with what other rows of dev chose.
        """
        return {}

    def score(self, answers: Sequence[Answer], rows: Sequence[Any]) -> dict[str, float]:
        """Every metric by its name: by its own `score`, else from the `sums`; without labels that are in neither."""
        labels, values = self._values(answers, rows)
        sums = self.sums(answers, rows) if any(metric.score is None for metric in self.metrics) else {}
        return {
            metric.name: sums[metric.name].score if metric.score is None else metric.score(labels, values)
            for metric in self.metrics
            if metric.score is not None or metric.name in sums
        }

    def sums(self, answers: Sequence[Answer], rows: Sequence[Any]) -> "dict[str, Counted]":
        """The metrics that are functions of sums over rows, for `score` and for resampling."""
        labels, values = self._values(answers, rows)
        return {metric.name: metric.sums(labels, values) for metric in self.metrics if metric.sums is not None}

    def baselines(self, train: Sequence[Any], rows: Sequence[Any]) -> dict[str, list[Answer]]:
        """Predictions that need no encoder, by the name of a method."""
        return {}

    def cells(self, answer: Answer, row: Any) -> dict[str, Any]:
        """The cells of a prediction that `finetune predict` adds to a row, by column name; by default the value."""
        return {"prediction": answer.value}

    def unused_options(self) -> tuple[str, ...]:
        """Declared options that this task does not use, such as class weights in regression."""
        return ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels as its data names them; empty where the label is a number, a span or a choice."""
        return tuple(getattr(self, "labels", ()))

    def _values(self, answers: Sequence[Answer], rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The labels and the predictions of the rows."""
        return [answer.value for answer in self.labels_of(rows)], [answer.value for answer in answers]
