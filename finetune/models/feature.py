"""Features: token ids with their row's number. Needs no torch, so that data can be encoded and checked without it."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, overload

import numpy as np

IGNORED = -100  # the label that torch's cross-entropy ignores
Ids = Sequence[int] | np.ndarray
LABEL = "label"  # the target of a head with one loss
LOGITS = "logits"  # the first output of an exported graph
TAUGHT = "taught"  # the target of a student: a teacher's probabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One sequence of tokens, from row number `row`; or several that share one label (`choices`).

    - `label`: the target of the head's loss. An int or float; a list of these (one for each token, or a start and an
      end); an array `(items, n)`; by name such targets, some of which may be missing, for a head with several losses;
      or None. Without a label are: NaN by itself, IGNORED in a list (of floats too), an item that begins with IGNORED.
    - `reads`: the positions that a head on the sequence output reads, and to which its labels and logits belong; None
      means all.
    - `note`: metadata for `Task.decode`, opaque to the trainer.
    - `states`: returns precomputed hidden states of a frozen encoder (`inference.hidden_states`).
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

    def packed(self, *, first_row: int = 0) -> "Feature":
        """The feature with tokens in arrays, a third of the memory of lists; `first_row` is added to its row."""
        segments = self.token_type_ids
        return replace(
            self,
            row=self.row + first_row,
            input_ids=np.asarray(self.input_ids, dtype=np.int32),
            token_type_ids=None if segments is None else np.asarray(segments, dtype=np.int8),
            choices=[choice.packed(first_row=first_row) for choice in self.choices],
        )


class IndexedFeatures(Sequence[Feature]):
    """Features that are found or built when they are asked for."""

    @abstractmethod
    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""

    @overload
    def __getitem__(self, index: int) -> Feature: ...
    @overload
    def __getitem__(self, index: slice) -> list[Feature]: ...
    def __getitem__(self, index: int | slice) -> Feature | list[Feature]:
        if isinstance(index, slice):
            return [self.at(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"feature {index} of {len(self)}")
        return self.at(index % len(self))


class LazyFeatures(IndexedFeatures):
    """Features that are built when they are asked for; length, row and `truncated` of all are arrays `(features,)`."""

    lengths: np.ndarray
    rows: np.ndarray
    truncated: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)


class TextFeatures(LazyFeatures):
    """Features of one text or pair each, in arrays by name: 20 tokens take 80 bytes, and 500 as an object."""

    def __init__(self, parts: Sequence[Mapping[str, np.ndarray]]) -> None:
        self.arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        self.rows, self.truncated, self.lengths = (self.arrays[name] for name in ("rows", "truncated", "lengths"))
        self.bounds = np.cumsum([0, *self.lengths])

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        tokens, segments = slice(*self.bounds[index : index + 2]), self.arrays.get("segments")
        return Feature(
            row=int(self.rows[index]),
            input_ids=self.arrays["ids"][tokens].tolist(),
            token_type_ids=None if segments is None else segments[tokens].tolist(),
            label=self.arrays["labels"][index].tolist(),
            truncated=bool(self.truncated[index]),
        )


def text_arrays(features: Sequence[Feature], *, first_row: int) -> dict[str, np.ndarray] | None:
    """A part of `TextFeatures`; None unless each feature is one text, and labels are numbers of the same shape."""
    labels = [np.asarray(feature.label) for feature in features]
    kinds = {(label.shape, label.dtype.kind) for label in labels}
    has_extras = any(f.choices or f.reads is not None or f.note is not None or f.states is not None for f in features)
    if has_extras or len(kinds) != 1 or labels[0].dtype.kind not in "bif":
        return None
    ids = np.concatenate([feature.input_ids for feature in features]).astype(np.int64)
    arrays = {
        "rows": np.array([feature.row for feature in features]) + first_row,
        "truncated": np.array([feature.truncated for feature in features]),
        "lengths": np.array([len(feature) for feature in features], dtype=np.int32),
        "ids": ids.astype(np.min_scalar_type(ids.max(initial=0))),
        "labels": np.stack(labels),
    }
    segments = [feature.token_type_ids for feature in features if feature.token_type_ids is not None]
    return arrays | ({"segments": np.concatenate(segments).astype(np.int8)} if segments else {})


class Sequences(IndexedFeatures):
    """The sequences of features: `[bounds[i] : bounds[i + 1]]` is feature i itself, or its choices."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.bounds = np.cumsum([0, *(len(feature.choices) or 1 for feature in features)])

    def __len__(self) -> int:
        return int(self.bounds[-1])

    def at(self, index: int) -> Feature:
        """The sequence with this index, which is not negative."""
        number = int(np.searchsorted(self.bounds, index, side="right")) - 1
        feature = self.features[number]
        return feature.choices[int(index - self.bounds[number])] if feature.choices else feature

    def __iter__(self) -> Iterator[Feature]:
        return chain.from_iterable(feature.choices or (feature,) for feature in self.features)


def labels_by_name(features: Sequence[Feature]) -> dict[str, list[Any]]:
    """The targets of all features by name, IGNORED where a feature lacks one; empty if a feature has no label."""
    labels = [feature.label for feature in features]
    if any(label is None for label in labels):
        return {}
    if not isinstance(labels[0], Mapping):
        return {LABEL: labels}
    examples = {name: np.asarray(target) for label in labels for name, target in label.items()}
    return {name: [label.get(name, _no_target(like)) for label in labels] for name, like in examples.items()}


def _no_target(like: np.ndarray) -> Any:
    if like.ndim == 0:
        return math.nan if like.dtype.kind == "f" else IGNORED
    return like[:0]


def label_counts(features: Sequence[Feature]) -> dict[str, int]:
    """The number of labels of each loss, by name."""
    return {
        name: sum(_count(np.asarray(label)) for label in labels) for name, labels in labels_by_name(features).items()
    }


def _count(label: np.ndarray) -> int:
    if label.ndim == 0 and label.dtype.kind == "f":
        return int(not np.isnan(label))
    return int(np.count_nonzero((label[:, 0] if label.ndim == 2 else label) != IGNORED))


def lengths(features: Sequence[Feature]) -> np.ndarray:
    """The `len` of each feature, `(features,)`."""
    if isinstance(features, LazyFeatures):
        return features.lengths
    return np.array([len(feature) for feature in features])


def read_positions(features: Sequence[Feature]) -> np.ndarray:
    """The number of positions that a head on the sequence output reads of each feature, `(features,)`."""
    return np.array([len(feature if feature.reads is None else feature.reads) for feature in features])


def used_tokens(features: Sequence[Feature], *, count: int) -> np.ndarray:
    """Whether each of `count` tokens is in any of the features, `(count,)`."""
    used = np.zeros(count, dtype=bool)
    for sequence in Sequences(features):
        used[np.asarray(sequence.input_ids, dtype=np.int64)] = True
    return used


def truncated_rows(features: Sequence[Feature]) -> tuple[np.ndarray, np.ndarray]:
    """The row of each feature, and whether it was truncated, both `(features,)`."""
    if isinstance(features, LazyFeatures):
        return features.rows, features.truncated
    return np.array([feature.row for feature in features]), np.array([feature.truncated for feature in features])


def padded(items: Sequence[Any], value: float, *, dtype: type[np.number] = np.int64, length: int = 0) -> np.ndarray:
    """Lists or arrays of unequal sizes as one array, filled with `value`; its second axis has `length` or more."""
    arrays = [np.asarray(item) for item in items]
    first, *others = np.max([array.shape for array in arrays], axis=0)
    out = np.full((len(arrays), max(first, length), *others), value, dtype=dtype)
    for index, array in enumerate(arrays):
        out[index][tuple(map(slice, array.shape))] = array
    return out


def default_numpy_errors() -> AbstractContextManager[None]:
    """Within it numpy handles overflow, division by 0 and NaN as by default, whatever the calling program has set."""
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
