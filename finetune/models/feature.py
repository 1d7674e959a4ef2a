"""Features: token ids, each knowing its row. Needs no torch, so that data can be encoded and checked without it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

IGNORED = -100  # a class, or a place in a list, that takes no part in the loss, as in torch's cross-entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One sequence of tokens, made from row number `row`; or several that share one label (`choices`).

    `label` is what the head's loss reads: an int or a float, or a list of either (one for each token, or a start and
    an end), or None where there is no label. IGNORED in a list, of floats too, is a place without one; a float by
    itself always counts. `reads` are the positions that a head on the sequence output reads, all
    where it is None; then labels and logits are theirs. `note` is the task's own: whatever `decode` needs, the rest
    ignores it. `states` gives the hidden states of a frozen encoder where they are known (`inference.hidden_states`).
    """

    row: int
    input_ids: Sequence[int] = ()
    token_type_ids: Sequence[int] | None = None
    choices: "Sequence[Feature]" = ()
    label: int | float | Sequence[int] | Sequence[float] | None = None
    reads: Sequence[int] | None = None
    truncated: bool = False
    note: Any = None
    states: Callable[[], np.ndarray] | None = None

    def __len__(self) -> int:
        """Tokens that go through the model, with the padding between choices."""
        return len(self.choices) * max(map(len, self.choices)) if self.choices else len(self.input_ids)


def label_count(features: Sequence[Feature]) -> int:
    """How many labels take part in the loss over these features."""
    return sum(_count(np.asarray(f.label)) for f in features)


def _count(label: np.ndarray) -> int:
    if label.ndim == 0 and label.dtype.kind == "f":
        return 1
    return int(np.count_nonzero(label != IGNORED))
