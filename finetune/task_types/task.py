"""Task: the contract of everything that can be trained."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finetune.data.rows import Row, Rows
from finetune.errors import UserError
from finetune.metrics.metric import Metric, find_metric
from finetune.task_types.declared_options import declared_names
from finetune.task_types.explained import Asked, ExplainTarget, NamedText
from finetune.task_types.parts import Answer, Teaching

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.data.source import Source
    from finetune.metrics.sums import Counted
    from finetune.models.backbone import Backbone
    from finetune.models.feature import Feature
    from finetune.models.head import Head
    from finetune.runs.events import Watcher

TEST = "test"  # the split that chooses nothing
ROWS_AT_ONCE = 10_000  # rows whose labels are looked at together


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A task: its data, how rows become tokens, its head, how logits become predictions, and how these are scored.

    A custom task is an instance of one of the task types in `finetune.task_types`, or a subclass of this with a field
    `read` or a method `load`, and `encode`, `head`, `decode` and `labels_of`; the rest has defaults. `name` is its name
    on the command line, `version` is raised whenever its results may change. `metrics` are the scores, the first is the
    headline (`label/metric` are shown by label); `dev_splits` are what a run is scored on, the first decides; `test`
    among them is predicted once, with the weights that were selected. A recipe may set the fields of the task and of
    its reader that are declared with `option`. `inputs` are the names of its texts where a row may have one or two,
    such as sentence1 and sentence2; `fit` fills them in where the task declares none.

    `row_type` is the dataclass of its rows, which saved predictions are parsed to. With `cross_fits` each row of dev is
    scored with what `tune` chose on other rows of dev. `reads` are the names of the texts of rows that scores
    depend on, besides the label.
    """

    name: str
    version: int = 1
    metrics: tuple[Metric, ...]
    dev_splits: tuple[str, ...] = ("dev",)
    train_split: str = "train"
    inputs: tuple[str, ...] = ()
    row_type: ClassVar[type | None] = None
    cross_fits: ClassVar[bool] = False
    reads: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Raises UserError for a metric that is not a `Metric`, and for an option that the reader declares too."""
        if wrong := [given for given in self.metrics if not isinstance(given, Metric)]:
            raise UserError(f"the task {self.name} has the metric {wrong[0]!r}", "Give objects such as `accuracy`")
        if twice := {*declared_names(self)} & {*declared_names(self.reader)}:
            raise UserError(f"the reader of {self.name} has the option '{min(twice)}' of its task", "Rename it")

    def load(self, source: "Source", split: str) -> Rows:
        """The rows of a split, by default those of `read(source, split)` without a fault.

        Raises UserError where they are not found or malformed.
        """
        if self.reader is None:
            raise UserError(f"the task {self.name} has no rows", "Give it `read(source, split)`, or a method `load`")
        return self.checked(self.reader(source, split))

    @abstractmethod
    def head(self, backbone: "Backbone") -> "Head":
        """A new head, without initialised weights."""

    @abstractmethod
    def encode(self, rows: Sequence[Any], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> "list[Feature]":
        """Features in the order of the rows, which they number from 0; a row may give several.

        Many rows are encoded in parts, so that a feature depends on no other row but those of `encode_together`.
        """

    @abstractmethod
    def decode(self, logits: Sequence[np.ndarray], features: "Sequence[Feature]", rows: Sequence[Any]) -> list[Answer]:
        """One prediction per row, in the order of the rows. `logits` has one array per feature, without padding."""

    @abstractmethod
    def labels_of(self, rows: Sequence[Any]) -> list[Answer]:
        """The labels as predictions, so that `score(labels_of(rows), rows)` is perfect."""

    def fit(self, train: Sequence[Any]) -> "Task":
        """The task with what its training rows say, such as class weights."""
        return self

    def tune(self, answers: Sequence[Answer], rows: Sequence[Any]) -> dict[str, Any]:
        """Options chosen on the first dev split after training, and saved with the model, such as thresholds."""
        return {}

    def decided_again(self, answers: Sequence[Answer]) -> list[Answer]:
        """The predictions, decided again from their probabilities with the task's current options: for `cross_fits`."""
        return list(answers)

    def score(self, answers: Sequence[Answer], rows: Sequence[Any]) -> dict[str, float]:
        """Every metric by its name: by its own `score`, else from the sums; a task adds those that have neither."""
        labels, values = self._values(answers, rows)
        sums = self.sums(answers, rows) if any(metric.score is None for metric in self.metrics) else {}
        return {
            metric.name: sums[metric.name].score if metric.score is None else metric.score(labels, values)
            for metric in self.metrics
            if metric.score is not None or metric.name in sums
        }

    def sums(self, answers: Sequence[Answer], rows: Sequence[Any]) -> "dict[str, Counted]":
        """The metrics that are functions of sums over rows, for resampling; `score` gives the same values."""
        labels, values = self._values(answers, rows)
        return {metric.name: metric.sums(labels, values) for metric in self.metrics if metric.sums is not None}

    def score_notes(self, answers: Sequence[Answer], rows: Sequence[Any]) -> list[str]:
        """Notes on these predictions, in addition to their scores."""
        return []

    def baselines(self, train: Sequence[Any], rows: Sequence[Any]) -> dict[str, list[Answer]]:
        """Predictions that need no encoder, by the name of a method."""
        return {}

    def baseline_notes(self, train: Sequence[Any]) -> list[str]:
        """Notes on the baselines for these training rows."""
        return []

    def cells(self, answer: Answer, row: Any) -> dict[str, Any]:
        """The cells of a prediction that `finetune predict` adds to a row, by column name; by default the value."""
        return {"prediction": answer.value}

    def confidence(self, answer: Answer, row: Any) -> float | None:
        """How sure a prediction is, 0 to 1, by the probabilities of its choices; None where it has none."""
        return None if answer.probabilities is None else float(max(answer.probabilities, default=1.0))

    def official_files(self, answers: Sequence[Answer], rows: Sequence[Any]) -> dict[str, Any]:
        """Additional files in an official format for such predictions: JSON values by file name."""
        return {}

    def explain_texts(self, row: Any) -> list[list[NamedText]]:
        """The texts that a row's sequences are made of, in order: one list for all of them, or one for each choice.

        Raises UserError for a task whose predictions are not explained.
        """
        raise UserError(f"predictions of {self.name} cannot be explained", "Give its task type `explain_texts`")

    def explain_target(self, row: Any, answer: Answer, features: "Sequence[Feature]", asked: Asked) -> ExplainTarget:
        """Which logits of a row's features are explained. Raises UserError for a label or a word that is not there."""
        raise UserError(f"predictions of {self.name} cannot be explained", "Give its task type `explain_target`")

    @property
    def teach(self) -> Teaching | None:
        """What a student learns of its logits; None for a task that cannot be taught."""
        return None

    # Rows and tokens.

    def all_labelled(self, rows: Sequence[Any]) -> bool:
        """Whether all rows have a label."""
        parts = (rows[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(rows), ROWS_AT_ONCE))
        return all(answer.value is not None for part in parts for answer in self.labels_of(part))

    def groups(self, rows: Sequence[Any]) -> Sequence[Any] | None:
        """What rows that are scored together share, such as their query `(rows,)`; None where each is scored alone."""
        return None

    def encode_together(self, before: Any, row: Any) -> bool:
        """Whether `encode` must get these neighbouring rows together."""
        return False

    def new_tokens(self, rows: Iterable[Any]) -> Sequence[str]:
        """Tokens that rows have and a pretrained tokenizer may lack, such as the markers of spans."""
        return ()

    def truncation_note(self, max_length: int) -> str:
        """What happens to rows with a truncated feature, in words that follow `3 rows`."""
        return f"are longer than max_length {max_length}: the longer text is truncated"

    def shown_label(self, feature: "Feature", tokens: Sequence[str]) -> str:
        """A feature's label as `finetune check` shows it next to the feature's tokens."""
        return str(feature.label)

    # Training data that is drawn for each update, as in pre-training.

    def require_batch(self, size: int) -> None:
        """Raises UserError where it cannot be trained with batches of so many rows."""
        return

    def own_vocabulary(self, rows: Sequence[Any], watch: "Watcher", *, size: int) -> Path | None:
        """The folder of a vocabulary trained on the rows to train on, for a new encoder; None for other tasks."""
        return None

    def train_features(
        self, rows: Sequence[Any], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: "Watcher"
    ) -> "Sequence[Feature] | None":
        """The features to train on, where they are others than those that are scored; else None."""
        return None

    def draw(self, features: "Sequence[Feature]", generator: np.random.Generator) -> "Sequence[Feature]":
        """A training batch with what is random in it, such as masks, whenever it is used for an update."""
        return features

    def _values(self, answers: Sequence[Answer], rows: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The labels and the predictions of the rows."""
        return [answer.value for answer in self.labels_of(rows)], [answer.value for answer in answers]

    def row(self, *inputs: Any) -> Row:
        """A row without a label, made from the arguments of `finetune.load(RUN)(...)`."""
        raise UserError(f"the task {self.name} cannot make a row from inputs", "Give it a method `row`")

    def fault(self, row: Row) -> str:
        """What is wrong with a row, in words, as `has no words`; empty where nothing is."""
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

    @property
    def pooled(self) -> bool:
        """Whether its head can read the vector of a text that `pooling = auto` chooses."""
        return True

    @property
    def splits_in_training(self) -> tuple[str, ...]:
        """Those of `dev_splits` that are scored after each epoch."""
        return tuple(split for split in self.dev_splits if split != TEST)

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels as its data names them; empty where the label is a number, a span or a choice."""
        return tuple(getattr(self, "labels", ()))

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics, the headline first."""
        return tuple(metric.name for metric in self.metrics)

    def metric(self, name: str) -> Metric:
        """The metric of a score, whose name may begin with a group."""
        return find_metric(name, self.metrics)

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
