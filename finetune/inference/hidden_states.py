"""Hidden states of a frozen encoder: computed once, then read from a cache on disk for every seed and choice of layers.

Positions that the head reads are stored in half precision: a memory-mapped array `(positions, width)` per layer.
`storage.cache` has the folder and its size limit.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np

from finetune.data.atomic import scratch_file
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.backbone import POOLED
from finetune.models.feature import Feature, LazyFeatures, Sequences, lengths, read_positions, truncated_rows
from finetune.runs.events import Note
from finetune.storage.cache import Entry, Facts, entry, most_bytes

FORMAT = 2  # in 1, the pooled output was the pooler's or the first token's


class FeaturesWithStates(LazyFeatures):
    """Features with hidden states; those of sequence i are `[bounds[i] : bounds[i + 1]]` of each layer."""

    def __init__(
        self, features: Sequence[Feature], sequences: Sequences, layers: tuple[np.ndarray, ...], bounds: np.ndarray
    ) -> None:
        self.features, self.sequences, self.layers, self.bounds = features, sequences, layers, bounds
        self.rows, self.truncated = truncated_rows(features)
        self.lengths = lengths(features)

    def at(self, index: int) -> Feature:
        """The feature with this index, which is not negative."""
        feature, first = self.features[index], int(self.sequences.bounds[index])
        if not feature.choices:
            return replace(feature, states=partial(self._states, first))
        numbered = enumerate(feature.choices, start=first)
        choices = [replace(choice, states=partial(self._states, number)) for number, choice in numbered]
        return replace(feature, choices=choices)

    def _states(self, number: int) -> np.ndarray:
        """The hidden states of a sequence, `(n, layers, width)`."""
        start, end = self.bounds[number : number + 2]
        return np.stack([layer[start:end] for layer in self.layers], axis=1)


class HiddenStates:
    """The hidden states that a head reads of features, `(positions, width)` a layer."""

    def __init__(self, features: Sequence[Feature], engine: Engine) -> None:
        self.features, self.engine, self.sequences = features, engine, Sequences(features)
        self.backbone, pooled = engine.model.backbone, engine.model.pooled
        self.layers = self.backbone.layer_indices(pooled=pooled)
        self.of_text = pooled and not self.backbone.bilstm  # one vector of each sequence
        counts = np.ones(len(self.sequences), int) if self.of_text else read_positions(self.sequences)
        self.bounds = np.cumsum([0, *counts])
        self.shape = (int(self.bounds[-1]), self.backbone.config.hidden_size)

    def added(self, arrays: tuple[np.ndarray, ...]) -> FeaturesWithStates:
        """The features with their hidden states, an array of `shape` for each layer."""
        return FeaturesWithStates(self.features, self.sequences, arrays, self.bounds)

    def fill(self, arrays: Sequence[np.ndarray], numbers: Sequence[int]) -> None:
        """Writes the states of the layers of these numbers, each to its array. Raises UserError beyond float16."""
        for index, states in self.engine.hidden_states(self.sequences, numbers):
            if np.abs(states).max() > np.finfo(np.float16).max:
                raise UserError("the encoder's states exceed half precision", "Set FINETUNE_CACHE_GB=0: no cache")
            for layer, array in enumerate(arrays):
                array[slice(*self.bounds[index : index + 2])] = states[:, layer]

    def fingerprint(self, facts: Facts) -> str:
        """A hash of model, tokens and positions."""
        mean = ["mean"] * (self.of_text and self.backbone.vector == "mean")
        unpadded = ["lengths apart"] * (self.backbone.padded_up_to is not None)
        digest = hashlib.sha256(json.dumps([facts, self.of_text, *mean, *unpadded], sort_keys=True).encode())
        for sequence in self.sequences:
            for ids in (sequence.input_ids, sequence.token_type_ids, None if self.of_text else sequence.reads):
                digest.update(b"-" if ids is None else np.asarray(ids, dtype=np.int32).tobytes() + b";")
        return digest.hexdigest()

    def cached(self, cache: Entry, facts: Facts) -> tuple[np.ndarray, ...] | None:
        """The arrays of the layers in use, read from the cache or computed now; None, with a note, if they do not fit.

        All layers are computed if they fit; else those in use, for which older entries are removed.
        """
        layers = {*self.layers, *range(self.backbone.config.num_hidden_layers + 1)}
        files = {n: cache.folder / ("pooled.npy" if n == POOLED else f"layer-{n}.npy") for n in sorted(layers)}
        with cache.locked():
            numbers = [number for number in self.layers if not cache.holds(files[number].name)]
            for number in numbers:
                if files[number].is_file():
                    self.engine.watch(Note(f"{files[number]}: damaged, so it is computed again"))
                    files[number].unlink()
            if numbers:
                size = 2 * self.shape[0] * self.shape[1]
                new = [number for number in files if not files[number].is_file()]
                if cache.make_room(size * len(new), evict=False):
                    numbers = new
                elif not cache.make_room(size * len(numbers)):
                    note = (
                        f"the encoder's hidden states need {size * len(numbers) / 1e9:.1f} GB, more than the cache may "
                        f"hold ({most_bytes() / 1e9:.1f} GB, FINETUNE_CACHE_GB) or the disk has free: every epoch "
                        "encodes again"
                    )
                    self.engine.watch(Note(note))
                    return None
                with ExitStack() as stack:  # files are moved into place once all are complete
                    scratch = [stack.enter_context(scratch_file(files[number])) for number in numbers]
                    opened = partial(np.lib.format.open_memmap, mode="w+", dtype=np.float16, shape=self.shape)
                    arrays = list(map(opened, scratch))
                    self.fill(arrays, numbers)
                    for array in arrays:
                        array.flush()
                cache.seal([files[number].name for number in numbers], **facts)
            cache.touch()
            return tuple(np.load(files[number], mmap_mode="r") for number in self.layers)


def with_states(features: Sequence[Feature], engine: Engine, *, weights: str, precision: str) -> Sequence[Feature]:
    """The features with the frozen encoder's hidden states, read from the cache or computed now.

    If they do not fit into the cache, the features are returned unchanged, with a note: each epoch encodes again.
    Damaged states are computed again. Raises UserError for a cache that cannot be used.
    """
    states = HiddenStates(features, engine)
    positions, width = states.shape
    facts: Facts = {
        "format": FORMAT, "weights": weights, "precision": precision, "positions": positions, "width": width,
    }  # fmt: skip
    cache = entry("states", states.fingerprint(facts))
    with engine.accelerator.main_process_first():
        arrays = states.cached(cache, facts)
    return features if arrays is None else states.added(arrays)


def with_states_in_memory(features: Sequence[Feature], engine: Engine) -> Sequence[Feature]:
    """The features of few rows with the frozen encoder's hidden states, without the cache.

    Raises UserError for states that exceed half precision.
    """
    states = HiddenStates(features, engine)
    arrays = tuple(np.empty(states.shape, dtype=np.float16) for _ in states.layers)
    states.fill(arrays, states.layers)
    return states.added(arrays)
