"""What a task gives for a row: a prediction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A prediction for one row: the value, in the form of the row's label, and the probability of each choice.

    Where the value is a list of tags, there is one probability per tag.
    """

    value: Any
    probabilities: Sequence[float] | None = None
