"""The sequences of features: those of rows with choices have several."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import overload

import numpy as np

from finetune.models.feature import Feature


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
