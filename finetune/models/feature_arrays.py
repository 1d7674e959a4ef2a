"""Features as arrays: about 60 bytes for one of 20 tokens, which as an object has 2 kB; and the sequences in them."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, overload

import numpy as np

from finetune.models.feature import Feature

Arrays = Mapping[str, np.ndarray]
BOUNDS = (
    ":bounds"  # of the array `name`, whose item i is [bounds[i] : bounds[i + 1]]; without them each item is a number
)
NOTE, LABEL = "note.", "label."  # before the names in a note or a label that is a mapping


class NoArrays(ValueError):
    """Features that have no array form."""


def to_arrays(features: Sequence[Feature], *, first_row: int = 0) -> Arrays:
    """The fields of features by name; `first_row` is added to their rows. `ArrayFeatures` is the way back.

    Raises NoArrays where a field is not numbers of one kind in all of them, or None in some only.
    """
    sequences = [sequence for feature in features for sequence in feature.choices or (feature,)]
    counts = [len(feature.choices) for feature in features]
    if any(counts) and not (all(counts) and all(map(_is_tokens, sequences))):
        raise NoArrays("choices have more than tokens, or only some of the features have any")
    if any(sequence.states is not None for sequence in sequences):
        raise NoArrays("features have hidden states")
    arrays = {
        "row": np.array([feature.row for feature in features], dtype=np.int64) + first_row,
        "truncated": np.array([feature.truncated for feature in features], dtype=bool),
        **({"choices" + BOUNDS: _bounds(counts)} if any(counts) else {}),
        **_column("input_ids", [sequence.input_ids for sequence in sequences]),
        **_column("token_type_ids", [sequence.token_type_ids for sequence in sequences]),
        **_label([feature.label for feature in features]),
        **_column("reads", [feature.reads for feature in features]),
        **_note([feature.note for feature in features]),
    }
    return {name: _smallest(array) for name, array in arrays.items()}


class LazyFeatures(Sequence[Feature]):
    """Features that are built when they are asked for, with facts of all of them as arrays `(features,)`."""

    lengths: np.ndarray  # the `len` of each
    rows: np.ndarray
    truncated: np.ndarray

    @abstractmethod
    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""

    def __len__(self) -> int:
        return len(self.rows)

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


class ArrayFeatures(LazyFeatures):
    """Features in parts of arrays."""

    def __init__(self, parts: Sequence[Arrays]) -> None:
        self.parts = parts
        self.ends = np.cumsum([len(part["row"]) for part in parts])
        self.rows = np.concatenate([part["row"] for part in parts])
        self.truncated = np.concatenate([part["truncated"] for part in parts])
        self.lengths = np.concatenate([_lengths(part) for part in parts])

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        number = int(np.searchsorted(self.ends, index, side="right"))
        part = self.parts[number]
        return _feature(part, int(index - self.ends[number]) + len(part["row"]))


def lengths(features: Sequence[Feature]) -> np.ndarray:
    """The `len` of each feature, `(features,)`."""
    if isinstance(features, LazyFeatures):
        return features.lengths
    return np.array([len(feature) for feature in features])


def read_positions(features: Sequence[Feature]) -> np.ndarray:
    """How many positions of the sequence output are read of each feature, `(features,)`."""
    return np.array([len(feature if feature.reads is None else feature.reads) for feature in features])


def used_tokens(features: Sequence[Feature], *, count: int) -> np.ndarray:
    """Whether each of `count` tokens is in any of the features, `(count,)`."""
    used = np.zeros(count, dtype=bool)
    if isinstance(features, ArrayFeatures):
        for part in features.parts:
            used[part["input_ids"]] = True
        return used
    for feature in features:
        for sequence in feature.choices or (feature,):
            used[np.asarray(sequence.input_ids, dtype=np.int64)] = True
    return used


def truncated_rows(features: Sequence[Feature]) -> tuple[np.ndarray, np.ndarray]:
    """The row of each feature, and whether it was truncated, both `(features,)`."""
    if isinstance(features, LazyFeatures):
        return features.rows, features.truncated
    return np.array([feature.row for feature in features]), np.array([feature.truncated for feature in features])


def _is_tokens(choice: Feature) -> bool:
    """Whether a choice is only its tokens."""
    return not choice.choices and not choice.truncated and choice.label is choice.reads is choice.note is None


def _column(name: str, items: Sequence[Any]) -> dict[str, np.ndarray]:
    """The values of all items, and their bounds unless each item is a number; nothing where all are None."""
    try:
        given = [np.asarray(item) for item in items if item is not None]
    except ValueError as error:
        raise NoArrays(f"{name} has lists of unequal lengths") from error
    some = [array for array in given if array.size]
    kinds = {array.dtype.kind.replace("u", "i") for array in some}
    shapes = {(array.ndim, array.shape[1:]) for array in some}
    if (given and len(given) < len(items)) or len(kinds) > 1 or len(shapes) > 1 or not kinds <= set("bif"):
        raise NoArrays(f"{name} is not numbers of one kind in all features")
    if not given:
        return {}
    if given[0].ndim == 0:
        return {name: np.stack(given)}
    values = np.concatenate(some) if some else np.zeros(0, dtype=np.int8)
    return {name: values, name + BOUNDS: _bounds([len(array) for array in given])}


def _label(labels: Sequence[Any]) -> dict[str, np.ndarray]:
    """The arrays of labels, or of mappings with the same names."""
    if not any(isinstance(label, Mapping) for label in labels):
        return _column("label", labels)
    return _by_name(LABEL, labels)


def _note(notes: Sequence[Any]) -> dict[str, np.ndarray]:
    """The arrays of notes that are None, arrays, or mappings with the same names."""
    if all(note is None or isinstance(note, np.ndarray) for note in notes):
        return _column("note", notes)
    return _by_name(NOTE, notes)


def _by_name(prefix: str, items: Sequence[Any]) -> dict[str, np.ndarray]:
    if not all(isinstance(item, Mapping) and item.keys() == items[0].keys() for item in items):
        raise NoArrays(f"{prefix[:-1]} is neither numbers nor a mapping with the same names in all features")
    columns = [_column(prefix + name, [item[name] for item in items]) for name in items[0]]
    return {name: array for column in columns for name, array in column.items()}


def _bounds(counts: Sequence[int]) -> np.ndarray:
    return np.cumsum([0, *counts])


def _smallest(array: np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest type that holds them all."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    least, most = (np.min_scalar_type(int(number)) for number in (array.min(), array.max()))
    return array.astype(most if array.min() >= 0 else np.result_type(least, most))


def _lengths(part: Arrays) -> np.ndarray:
    """As `Feature.__len__`: with choices their number times the longest."""
    each = np.diff(part["input_ids" + BOUNDS].astype(np.int64))
    if "choices" + BOUNDS not in part:
        return each
    bounds = part["choices" + BOUNDS].astype(np.int64)
    return np.maximum.reduceat(each, bounds[:-1]) * np.diff(bounds)


def _feature(part: Arrays, index: int) -> Feature:
    row = int(part["row"][index])
    own: dict[str, Any] = {}
    if "choices" + BOUNDS in part:
        first, end = part["choices" + BOUNDS][index : index + 2].tolist()
        own["choices"] = [Feature(row=row, **_tokens(part, number)) for number in range(first, end)]
    else:
        own = _tokens(part, index)
    return Feature(
        row=row,
        label=_plain(part, "label", index) if "label" in part else _named(part, LABEL, _plain, index),
        reads=_plain(part, "reads", index),
        truncated=bool(part["truncated"][index]),
        note=_note_at(part, index),
        **own,
    )


def _tokens(part: Arrays, number: int) -> dict[str, Any]:
    return {name: _plain(part, name, number) for name in ("input_ids", "token_type_ids")}


def _at(part: Arrays, name: str, index: int) -> Any:
    """An item of an array; None where there is no such array."""
    if name not in part:
        return None
    if (bounds := part.get(name + BOUNDS)) is None:
        return part[name][index]
    return part[name][bounds[index] : bounds[index + 1]]


def _plain(part: Arrays, name: str, index: int) -> Any:
    """An item as a number or list."""
    found = _at(part, name, index)
    return None if found is None else found.tolist()


def _note_at(part: Arrays, index: int) -> Any:
    if "note" in part:
        return _wide(_at(part, "note", index))
    return _named(part, NOTE, lambda *at: _wide(_at(*at)), index)


def _named(part: Arrays, prefix: str, at: Callable[[Arrays, str, int], Any], index: int) -> dict[str, Any] | None:
    """The mapping of an item whose names begin with a prefix in the arrays; None where there are none."""
    names = [name for name in part if name.startswith(prefix) and not name.endswith(BOUNDS)]
    return {name.removeprefix(prefix): at(part, name, index) for name in names} or None


def _wide(found: Any) -> Any:
    """A number, or an array whose whole numbers are int64, so that arithmetic on them does not overflow."""
    if found.ndim == 0:
        return found.tolist()
    return found.astype(np.int64) if found.dtype.kind in "iu" else found


class Sequences(Sequence[Feature]):
    """The sequences of features: of feature i `[bounds[i] : bounds[i + 1]]`, itself or its choices."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.bounds = np.cumsum([0, *(len(feature.choices) or 1 for feature in features)])

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @overload
    def __getitem__(self, index: int) -> Feature: ...
    @overload
    def __getitem__(self, index: slice) -> list[Feature]: ...
    def __getitem__(self, index: int | slice) -> Feature | list[Feature]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = int(np.searchsorted(self.bounds, index, side="right")) - 1
        feature = self.features[number]
        return feature.choices[int(index - self.bounds[number])] if feature.choices else feature

    def __iter__(self) -> Iterator[Feature]:
        return chain.from_iterable(feature.choices or (feature,) for feature in self.features)
