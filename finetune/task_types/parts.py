"""What a task gives for a row, a prediction; what a student learns of its logits; and how it makes its batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.feature import Feature
    from finetune.runs.events import Watcher


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A prediction for one row: the value, in the form of the row's label, and the probability of each choice.

    Where the value is a list of tags, there is one probability per tag.
    """

    value: Any
    probabilities: Sequence[float] | None = None


def taught_classes(task: Any) -> tuple[str, ...]:
    """The classes whose logits a student can learn: a task's `teach`, if it has it; none for other tasks."""
    return getattr(task, "teach", None) or ()


class BatchMaker:
    """How training batches are made; a task that draws them for each update, as pre-training does, inherits this."""

    def require_batch(self, size: int) -> None:
        """Raises UserError where nothing can be learned from batches of so many rows."""
        return

    def own_vocabulary(self, rows: Sequence[Any], watch: "Watcher", *, size: int) -> Path | None:
        """The folder of a vocabulary trained on the rows to train on, for a new encoder."""
        return None

    def train_features(
        self, rows: Sequence[Any], tokenizer: "PreTrainedTokenizerBase", max_length: int, watch: "Watcher"
    ) -> "Sequence[Feature] | None":
        """The features to train on, where they differ from the scored ones; else None."""
        return None

    def draw(self, features: "Sequence[Feature]", generator: np.random.Generator) -> "Sequence[Feature]":
        """A training batch with its random parts, such as masks, drawn for each update."""
        return features


def batch_maker(task: Any) -> BatchMaker:
    """A task that makes its own batches, else what takes the features as they are."""
    return task if isinstance(task, BatchMaker) else BatchMaker()
