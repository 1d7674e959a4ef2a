"""What a task gives for a row, a prediction; and for a student, a teacher's logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.models.feature import Feature

AnyTask = TypeVar("AnyTask")
Taught = Literal["", "class", "flags", "number"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A prediction for one row: the value, in the form of the row's label, and the probability of each choice.

    Where the value is a list of tags, there is one probability per tag.
    """

    value: Any
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True)
class Teaching(Generic[AnyTask]):
    """A teacher's logits in a form that does not depend on its tokens: for each row an array `(items, n)`.

    An item is what one answer is about: a row, a label of several, a word, a start or an end. By default a row is an
    item, and a row that is read in several features has the mean of their logits.
    """

    task: AnyTask
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
        self, logits: Sequence[np.ndarray], features: "Sequence[Feature]", rows: "Sequence[Row]"
    ) -> list[np.ndarray]:
        """The answers of each row, in the order of the rows; of logits that are missing, NaN."""
        found: list[list[np.ndarray]] = [[] for _ in rows]
        for given, feature in zip(logits, features, strict=True):
            found[feature.row].append(self.items(given))
        return [np.mean(some, axis=0) for some in found]

    def by_feature(self, answers: Sequence[np.ndarray], features: "Sequence[Feature]") -> list[np.ndarray]:
        """The answers for each of a student's features. Raises UserError where its tokens would have to be others."""
        return [answers[feature.row] for feature in features]
