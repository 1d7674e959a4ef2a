"""Features: token ids with their row's number. Needs no torch, so that data can be encoded and checked without it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

IGNORED = -100  # the label that torch's cross-entropy ignores
Ids = Sequence[int] | np.ndarray
LABEL = "label"  # the name of the target of a head with one loss
LOGITS = "logits"  # that of an exported graph's first output
TAUGHT = "taught"  # that of what a teacher answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One sequence of tokens, from row number `row`; or several that share one label (`choices`).

    `label` is the target of the head's loss: an int or a float, or a list of either (one for each token, or a start and
    an end), or a mapping of names to such targets for a head with several losses, or None where there is no label.
    IGNORED in a list, of floats too, is an item without one, and so is a number by itself that is NaN. A target of two
    axes `(items, n)` has a label for each item but those whose first number is IGNORED. `reads` are the positions that
    a head on the sequence output reads (None: all), and that its labels and logits are for. `note` is metadata for
    `Task.decode`, opaque to the trainer: best an array, or a mapping of names to arrays and numbers, since only these
    have a compact form (`feature_arrays`). `states` returns precomputed hidden states of a frozen encoder
    (`inference.hidden_states`).
    """

    row: int
    input_ids: Ids = ()
    token_type_ids: Ids | None = None
    choices: "Sequence[Feature]" = ()
    label: Any = None
    reads: Ids | None = None
    truncated: bool = False
    note: Any = None
    states: Callable[[], np.ndarray] | None = None

    def __len__(self) -> int:
        """The number of tokens that the encoder computes, including padding between choices."""
        return len(self.choices) * max(map(len, self.choices)) if self.choices else len(self.input_ids)


def labels_by_name(features: Sequence[Feature]) -> dict[str, list[Any]]:
    """The targets of all features by name; empty where one has none."""
    labels = [feature.label for feature in features]
    if any(label is None for label in labels):
        return {}
    if isinstance(labels[0], Mapping):
        return {name: [label[name] for label in labels] for name in labels[0]}
    return {LABEL: labels}


def label_counts(features: Sequence[Feature]) -> dict[str, int]:
    """The number of labels in each loss over these features, by name."""
    return {
        name: sum(_count(np.asarray(label)) for label in labels) for name, labels in labels_by_name(features).items()
    }


def _count(label: np.ndarray) -> int:
    if label.ndim == 0 and label.dtype.kind == "f":
        return int(not np.isnan(label))
    if label.ndim == 2:
        label = label[:, 0]
    return int(np.count_nonzero(label != IGNORED))
