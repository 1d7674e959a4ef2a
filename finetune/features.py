"""Features (token ids, each knowing its row) and the batches that the model reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

IGNORED = -100  # a label at this value takes no part in the loss, as in torch's cross-entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One sequence of tokens, made from row number `row`; or several that share one label (`choices`).

    `label` is what the head's loss reads: an int or a float, or a list of ints (one for each token, or a start and
    an end), or None where there is no gold. `note` is the task's own: whatever `decode` needs, the rest ignores it.
    """

    row: int
    input_ids: Sequence[int] = ()
    token_type_ids: Sequence[int] | None = None
    choices: "Sequence[Feature]" = ()
    label: int | float | Sequence[int] | None = None
    truncated: bool = False
    note: Any = None

    def __len__(self) -> int:
        """Tokens that go through the model, with the padding between choices."""
        return len(self.choices) * max(map(len, self.choices)) if self.choices else len(self.input_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Tensors of one step: ids, mask and segments `(sequences, length)`, labels `(batch,)` or `(batch, n)` or None.

    `counts` `(batch,)` says how many sequences each feature has; None where each has one.
    """

    input_ids: Tensor
    attention_mask: Tensor
    token_type_ids: Tensor | None
    counts: Tensor | None
    labels: Tensor | None

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        moved = (None if t is None else t.to(device, non_blocking=True) for t in self.tensors())
        return Batch(**dict(zip(self.__slots__, moved, strict=True)))  # type: ignore[arg-type]

    def tensors(self) -> tuple[Tensor | None, ...]:
        """In the order of the fields."""
        return (*self.inputs(), self.labels)

    def inputs(self) -> tuple[Tensor | None, ...]:
        """What `Model.forward` takes, in its order."""
        return (self.input_ids, self.attention_mask, self.token_type_ids, self.counts)


def collate(features: Sequence[Feature], *, pad_id: int) -> Batch:
    """Pads to the longest of these features, no further."""
    sequences = [sequence for f in features for sequence in f.choices or (f,)]
    segments = [sequence.token_type_ids for sequence in sequences]
    counts = [len(f.choices) for f in features]
    return Batch(
        input_ids=_padded([sequence.input_ids for sequence in sequences], pad_id),
        attention_mask=_padded([[1] * len(sequence) for sequence in sequences], 0),
        token_type_ids=None if segments[0] is None else _padded(segments, 0),  # type: ignore[arg-type]
        counts=torch.tensor(counts) if any(counts) else None,
        labels=_labels([f.label for f in features]),
    )


def label_count(features: Sequence[Feature]) -> int:
    """How many labels take part in the loss over these features."""
    return sum(int(np.count_nonzero(np.asarray(f.label) != IGNORED)) for f in features)


def _labels(labels: Sequence[Any]) -> Tensor | None:
    if any(label is None for label in labels):
        return None
    return torch.tensor(labels) if np.isscalar(labels[0]) else _padded(labels, IGNORED)


def _padded(rows: Sequence[Sequence[int]], value: int) -> Tensor:
    out = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return torch.from_numpy(out)
