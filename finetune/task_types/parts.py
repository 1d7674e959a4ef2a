"""The parts of a task, each with one concern, of which general code asks: a type writes those in which it differs."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeVar

import numpy as np

from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.task_types.explained import Asked, ExplainTarget, NamedText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.metrics.sums import Counted
    from finetune.models.feature import Feature
    from finetune.runs.events import Watcher

Taught = Literal["", "class", "flags", "number"]
ROWS_AT_ONCE = 10_000  # rows whose labels are looked at together


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A prediction for one row: the value, in the form of the row's label, and the probability of each choice.

    Where the value is a list of tags, there is one probability per tag.
    """

    value: Any
    probabilities: Sequence[float] | None = None


class Declared(Protocol):
    """What the defaults below read of a task."""

    @property
    def name(self) -> str:
        """On the command line."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The headline first."""


AnyTask = TypeVar("AnyTask", bound=Declared)


@dataclass(frozen=True)
class Part(Generic[AnyTask]):
    """A part of `task`, whose settings it reads."""

    task: AnyTask


class Codec(Part[AnyTask], ABC):
    """Rows to features, logits to predictions, and predictions to the cells of a file."""

    @abstractmethod
    def encode(self, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> "list[Feature]":
        """Features in the order of the rows, which they number from 0; a row may give several."""

    @abstractmethod
    def decode(self, logits: Sequence[np.ndarray], features: "Sequence[Feature]", rows: Sequence[Row]) -> list[Answer]:
        """One prediction per row, in the order of the rows. `logits` has one array per feature, without padding."""

    def encode_together(self, before: Row, row: Row) -> bool:
        """Whether `encode` must get these neighbouring rows together. If not, many rows are encoded in parts, in little
        memory; then features must not depend on rows of another part, nor notes hold a row's number.
        """
        return True

    def tokens(self, rows: Iterable[Row]) -> Sequence[str]:
        """Tokens that rows have and a pretrained tokenizer may lack, such as the markers of spans."""
        return ()

    def truncation_note(self, max_length: int) -> str:
        """What happens to rows with a truncated feature, in words that follow `3 rows`."""
        return f"are longer than max_length {max_length}: the longer text is truncated"

    def shown_label(self, feature: "Feature", tokens: Sequence[str]) -> str:
        """A feature's label as `finetune check` shows it next to the feature's tokens."""
        return str(feature.label)

    def cells(self, answer: Answer, row: Row) -> dict[str, Any]:
        """The cells of a prediction that `finetune predict` adds to a row, by column name; by default the value."""
        return {"prediction": answer.value}

    def confidence(self, answer: Answer, row: Row) -> float | None:
        """How sure a prediction is, 0 to 1, by the probabilities of its choices; None where it has none."""
        return None if answer.probabilities is None else float(max(answer.probabilities, default=1.0))

    def official_files(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Additional files in an official format for such predictions: JSON values by file name."""
        return {}


class Scoring(Part[AnyTask], ABC):
    """Predictions to scores, and the options that are chosen on dev.

    `reads` are the names of the texts of rows that scores depend on, besides the label.
    """

    reads: ClassVar[tuple[str, ...]] = ()

    def groups(self, rows: Sequence[Row]) -> Sequence[Any] | None:
        """What rows that are scored together share, such as their query `(rows,)`; None where each is scored alone."""
        return None

    @abstractmethod
    def labels(self, rows: Sequence[Row]) -> list[Answer]:
        """The labels as predictions, so that `score(labels(rows), rows)` is perfect."""

    def all_labelled(self, rows: Sequence[Row]) -> bool:
        """Whether all rows have a label."""
        parts = (rows[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(rows), ROWS_AT_ONCE))
        return all(answer.value is not None for part in parts for answer in self.labels(part))

    def score(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, float]:
        """Every metric by its name; a task whose metrics have no `score` of their own computes them here."""
        labels, values = self._values(answers, rows)
        return {metric.name: metric.score(labels, values) for metric in self.task.metrics if metric.score is not None}

    def sums(self, answers: Sequence[Answer], rows: Sequence[Row]) -> "dict[str, Counted]":
        """Those of the metrics that are functions of sums over rows, for resampling; `score` gives the same values."""
        labels, values = self._values(answers, rows)
        return {metric.name: metric.sums(labels, values) for metric in self.task.metrics if metric.sums is not None}

    def notes(self, answers: Sequence[Answer], rows: Sequence[Row]) -> list[str]:
        """Notes on these predictions, in addition to their scores."""
        return []

    def calibrate(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Options chosen on the first dev split after training, and saved with the model."""
        return {}

    def apply_options(self, answers: Sequence[Answer]) -> list[Answer]:
        """The predictions, decided again from their probabilities with the task's current options: for `cross_fits`."""
        return list(answers)

    def _values(self, answers: Sequence[Answer], rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
        """The labels and the predictions of the rows."""
        return [answer.value for answer in self.labels(rows)], [answer.value for answer in answers]


class Baselines(Part[AnyTask]):
    """What needs no encoder: predictions by the name of a method. By default there are none."""

    def predictions(self, train: Sequence[Row], rows: Sequence[Row]) -> dict[str, list[Answer]]:
        return {}

    def notes(self, train: Sequence[Row]) -> list[str]:
        """Notes on the baselines for these training rows."""
        return []


class Explainer(Part[AnyTask]):
    """A row's texts, and the logits from which its prediction was made. By default predictions are not explained."""

    def texts(self, row: Row) -> list[list[NamedText]]:
        """The texts that a row's sequences are made of, in order: one list for all of them, or one for each choice."""
        raise UserError(f"predictions of {self.task.name} cannot be explained", "Give its task type an `Explainer`")

    def wanted(self, row: Row, answer: Answer, features: "Sequence[Feature]", asked: Asked) -> ExplainTarget:
        """Which logits of a row's features are explained. Raises UserError for a label or a word that is not there."""
        raise UserError(f"predictions of {self.task.name} cannot be explained", "Give its task type an `Explainer`")


class Stream(Part[AnyTask]):
    """Training data that is drawn for each update, as in pre-training. By default it is what the codec encodes."""

    def require_batch(self, size: int) -> None:
        """Raises UserError where it cannot be trained with batches of so many rows."""
        return

    def vocabulary(self, rows: Sequence[Row], watch: "Watcher", *, size: int) -> Path | None:
        """The folder of a vocabulary trained on the rows to train on, for a new encoder; None for other tasks."""
        return None

    def train_features(
        self, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: "Watcher"
    ) -> "Sequence[Feature] | None":
        """The features to train on, where they are others than those that the codec encodes to be scored; else None."""
        return None

    def draw(self, features: "Sequence[Feature]", generator: np.random.Generator) -> "Sequence[Feature]":
        """A training batch with what is random in it, such as masks, whenever it is used for an update."""
        return features


class Teaching(Part[AnyTask]):
    """A teacher's logits in a form that does not depend on its tokens: for each row an array `(items, n)`.

    An item is what one answer is about: a row, a label of several, a word, a start or an end. By default a row is an
    item, and a row that is read in several features has the mean of their logits.
    """

    same_tokens: ClassVar[bool] = False  # whether a student must read the teacher's tokens

    @property
    def learns(self) -> Taught:
        """What an item's logits are of: a class, a label that is there or not (`flags`), a number; empty where a task
        cannot be taught.
        """
        return ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the logits of an item, or with `flags` those of the items; empty where they have none."""
        return ()

    @property
    def in_columns(self) -> bool:
        """Whether a file may have a row's answers, as columns p(LABEL)."""
        return False

    def items(self, logits: np.ndarray) -> np.ndarray:
        """The logits of a feature by item, `(items, n)`."""
        return logits[:, None] if self.learns == "flags" else logits[None]

    def logits(self, items: np.ndarray) -> np.ndarray:
        """The reverse of `items`."""
        return items[:, 0] if self.learns == "flags" else items[0]

    def by_row(
        self, logits: Sequence[np.ndarray], features: "Sequence[Feature]", rows: Sequence[Row]
    ) -> list[np.ndarray]:
        """The answers of each row, in the order of the rows; of logits that are missing, NaN."""
        found: list[list[np.ndarray]] = [[] for _ in rows]
        for given, feature in zip(logits, features, strict=True):
            found[feature.row].append(self.items(given))
        return [np.mean(some, axis=0) for some in found]

    def by_feature(self, answers: Sequence[np.ndarray], features: "Sequence[Feature]") -> list[np.ndarray]:
        """The answers for each of a student's features. Raises UserError where its tokens would have to be others."""
        return [answers[feature.row] for feature in features]
