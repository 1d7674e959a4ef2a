"""What a task gives for a row, a prediction; and what a student learns of its logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A prediction for one row: the value, in the form of the row's label, and the probability of each choice.

    Where the value is a list of tags, there is one probability per tag.
    """

    value: Any
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Teaching:
    """What a student learns of a teacher's logits, item by item: an item is a row, a label of several, or a word.

    The logits of an item are of a class, of a label that is there or not (`flags`), or a number. `labels` names them,
    with `flags` the items; it is empty where they have no names. With `by_word` a feature's `note` has the places of
    its items: how many rows after its own, and which word.
    """

    learns: Literal["class", "flags", "number"]
    labels: tuple[str, ...] = ()
    by_word: bool = False
