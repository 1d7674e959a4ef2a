"""Batches: the tensors of one step, collated from features."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from finetune.models.feature import IGNORED, Feature, labels_by_name, padded

# In the order of the arguments of a model's forward.
TENSORS = ("input_ids", "attention_mask", "token_type_ids", "choices", "positions", "states")
MOST_PINNED = 1 << 26  # bytes of a tensor; torch keeps pinned memory, which other programs then lack


@dataclass(frozen=True, slots=True)
class Batch:
    """Tensors of one step: ids, mask and segments `(sequences, length)`, and labels by name, each `(batch,)`,
    `(batch, n)` or `(batch, items, n)`.

    `choices` `(batch, most choices)` are the sequences of each feature, -1 where it has fewer; None if each has one.
    The head reads the `positions` `(sequences, n)`, -1 for padding; None means all. `states` `(sequences, n, layers,
    width)` replace the ids; the mask `(sequences, n)` is then theirs.
    """

    input_ids: Tensor | None
    attention_mask: Tensor
    token_type_ids: Tensor | None = None
    choices: Tensor | None = None
    positions: Tensor | None = None
    states: Tensor | None = None
    labels: Mapping[str, Tensor] = field(default_factory=dict)

    def to(self, device: torch.device) -> "Batch":
        """The same batch on a device."""
        return self.mapped(lambda tensor: tensor.to(device, non_blocking=True))

    def pinned(self) -> "Batch":
        """The batch in pinned memory, from which a GPU copies while the CPU works; large tensors are left as they are.

        torch frees the memory after the copy, and uses it for later batches.
        """
        return self.mapped(lambda tensor: tensor.pin_memory() if tensor.nbytes <= MOST_PINNED else tensor)

    def mapped(self, function: Callable[[Tensor], Tensor]) -> "Batch":
        """The batch with each tensor replaced by `function(tensor)`."""
        inputs = [None if tensor is None else function(tensor) for tensor in self.inputs()]
        labels = {name: function(label) for name, label in self.labels.items()}
        return Batch(*inputs, labels=labels)  # type: ignore[arg-type, misc]

    def repeated(self, times: int) -> "Batch":
        """The batch so many times, one after another."""
        repeated = self.mapped(lambda tensor: tensor.repeat(times, *[1] * (tensor.ndim - 1)))
        if self.choices is None:
            return repeated
        choices = [self.choices + (self.choices >= 0) * number * len(self.attention_mask) for number in range(times)]
        return replace(repeated, choices=torch.cat(choices))

    def by_name(self) -> dict[str, Tensor]:
        """All tensors that the batch has; labels as `labels.NAME`."""
        inputs = zip(TENSORS, self.inputs(), strict=True)
        labels = {f"labels.{name}": label for name, label in self.labels.items()}
        return {name: tensor for name, tensor in inputs if tensor is not None} | labels

    def for_encoder(self) -> dict[str, Tensor | None]:
        """The arguments of `Backbone.hidden_states`, by name."""
        names = ("input_ids", "attention_mask", "token_type_ids", "positions")
        return {name: getattr(self, name) for name in names}

    def inputs(self) -> tuple[Tensor | None, ...]:
        """The arguments of a model's forward, in order."""
        return tuple(getattr(self, name) for name in TENSORS)


def collate(features: Sequence[Feature], *, pad_id: int, length: int = 0, reads: int = 0) -> Batch:
    """Collates features into a batch, padded to the longest, and to at least `length` tokens and `reads` positions."""
    sequences = [sequence for f in features for sequence in f.choices or (f,)]
    ends = np.cumsum([len(f.choices) for f in features])
    choices = [range(end - len(f.choices), end) for f, end in zip(features, ends, strict=True)]
    shared: dict[str, Any] = {
        "choices": _padded(choices, -1) if ends[-1] else None,
        "labels": {name: _labels(labels, length=reads) for name, labels in labels_by_name(features).items()},
    }
    if sequences[0].states is not None:
        states = [sequence.states() for sequence in sequences if sequence.states is not None]
        mask = _padded([[1] * len(state) for state in states], 0)
        return Batch(input_ids=None, attention_mask=mask, states=_padded(states, 0, dtype=np.float32), **shared)
    segments: list[Any] = [sequence.token_type_ids for sequence in sequences]
    positions: list[Any] = [sequence.reads for sequence in sequences]
    return Batch(
        input_ids=_padded([sequence.input_ids for sequence in sequences], pad_id, length=length),
        attention_mask=_padded([np.ones(len(sequence), np.int64) for sequence in sequences], 0, length=length),
        token_type_ids=None if segments[0] is None else _padded(segments, 0, length=length),
        positions=None if positions[0] is None else _padded(positions, -1, length=reads),
        **shared,
    )


def _labels(labels: Sequence[Any], *, length: int) -> Tensor:
    """The labels as a tensor: int64 for whole numbers, float32 for tables and fractions."""
    if np.isscalar(labels[0]):
        return torch.tensor(labels)
    fractions = np.ndim(labels[0]) == 2 or any(np.asarray(label).dtype.kind == "f" for label in labels if len(label))
    return _padded(labels, IGNORED, dtype=np.float32 if fractions else np.int64, length=length)


def _padded(items: Sequence[Any], value: int, *, dtype: type[np.number] = np.int64, length: int = 0) -> Tensor:
    return torch.from_numpy(padded(items, value, dtype=dtype, length=length))
