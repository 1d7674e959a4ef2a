"""Hidden states of a frozen encoder: computed once, then read from a cache on disk by every seed and layer choice.

Only the positions that the head reads are stored, in half precision: one memory-mapped array `(positions, width)` per
layer. `storage.cache` has the folder and its size limit.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from finetune.data.atomic import scratch_file
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.models.backbone import POOLED
from finetune.models.feature import Feature, LazyFeatures, Sequences, lengths, truncated_rows
from finetune.runs.events import Note
from finetune.storage.cache import Entry, Facts, entry, most_bytes

FORMAT = 2  # in 1, the pooled output was the pooler's or the first token's


class FeaturesWithStates(LazyFeatures):
    """Features with their hidden states: those of sequence i are `[bounds[i] : bounds[i + 1]]` of each layer."""

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
        choices = [
            replace(one, states=partial(self._states, number))
            for number, one in enumerate(feature.choices, start=first)
        ]
        return replace(feature, choices=choices)

    def _states(self, number: int) -> np.ndarray:
        """The hidden states of a sequence, `(n, layers, width)`."""
        start, end = self.bounds[number : number + 2]
        return np.stack([layer[start:end] for layer in self.layers], axis=1)


def with_states(features: Sequence[Feature], engine: Engine, *, weights: str, precision: str) -> Sequence[Feature]:
    """The features with the frozen encoder's hidden states, cached or computed now.

    If the cache has no room for them, the features are returned unchanged with a note, and each epoch encodes again.
    Raises UserError for a cache that cannot be used; damaged states are computed again.
    """
    sequences = Sequences(features)
    counts = [_positions(sequence, engine) for sequence in sequences]
    width = engine.model.backbone.config.hidden_size
    facts: Facts = {
        "format": FORMAT, "weights": weights, "precision": precision, "positions": sum(counts), "width": width,
    }  # fmt: skip
    kept = entry("states", _fingerprint(facts, sequences, engine))
    with engine.accelerator.main_process_first():
        arrays = _arrays(kept, facts, sequences, counts, engine)
    if arrays is None:
        return features
    return FeaturesWithStates(features, sequences, arrays, np.cumsum([0, *counts]))


def with_states_in_memory(features: Sequence[Feature], engine: Engine) -> Sequence[Feature]:
    """The features of a few rows with the frozen encoder's hidden states, without the cache on disk.

    Raises UserError for states that exceed half precision.
    """
    sequences, numbers = Sequences(features), engine.model.backbone.layer_indices(pooled=engine.model.pooled)
    counts = [_positions(sequence, engine) for sequence in sequences]
    shape = (sum(counts), engine.model.backbone.config.hidden_size)
    arrays = tuple(np.empty(shape, dtype=np.float16) for _ in numbers)
    _fill(arrays, numbers, sequences, counts, engine)
    return FeaturesWithStates(features, sequences, arrays, np.cumsum([0, *counts]))


def _positions(sequence: Feature, engine: Engine) -> int:
    """Number of vectors that a head reads of a sequence."""
    if engine.model.pooled and not engine.model.backbone.bilstm:
        return 1
    return len(sequence.input_ids if sequence.reads is None else sequence.reads)


def _fingerprint(facts: Facts, sequences: Sequence[Feature], engine: Engine) -> str:
    """A hash of model, tokens and positions."""
    first = engine.model.pooled and not engine.model.backbone.bilstm
    mean = ["mean"] * (first and engine.model.backbone.vector == "mean")
    apart = ["lengths apart"] * (engine.model.backbone.padded_up_to is not None)
    digest = hashlib.sha256(json.dumps([facts, first, *mean, *apart], sort_keys=True).encode())
    for sequence in sequences:
        for ids in (sequence.input_ids, sequence.token_type_ids, None if first else sequence.reads):
            digest.update(b"-" if ids is None else np.asarray(ids, dtype=np.int32).tobytes() + b";")
    return digest.hexdigest()


def _arrays(
    kept: Entry, facts: Facts, sequences: Sequence[Feature], counts: Sequence[int], engine: Engine
) -> tuple[np.ndarray, ...] | None:
    """The arrays `(positions, width)` of the layers in use; None if there is no room for them."""
    backbone = engine.model.backbone
    wanted = backbone.layer_indices(pooled=engine.model.pooled)
    with kept.required(), kept.locked():
        if [number for number in wanted if not _is_sound(kept, _file(number), engine)]:
            size = 2 * sum(counts) * backbone.config.hidden_size
            numbers = _that_fit(kept, wanted, size, engine)
            if numbers is None:
                return None
            _write(kept.folder, numbers, sequences, counts, engine)
            kept.seal([_file(number) for number in numbers], **facts)
        kept.touch()
        return tuple(np.load(kept.folder / _file(number), mmap_mode="r") for number in wanted)


def _file(number: int) -> str:
    return "pooled.npy" if number == POOLED else f"layer-{number}.npy"


def _is_sound(kept: Entry, name: str, engine: Engine) -> bool:
    """Whether a layer's file is there and not damaged; a damaged one is removed, with a note."""
    if kept.holds(name):
        return True
    if (kept.folder / name).is_file():
        engine.watch(Note(f"{kept.folder / name}: damaged, so it is computed again"))
        (kept.folder / name).unlink()
    return False


def _that_fit(kept: Entry, wanted: Sequence[int], size: int, engine: Engine) -> list[int] | None:
    """The layers to encode, `size` bytes each: all if they fit, else only those in use, evicting older caches; None if
    these do not fit either.
    """
    depth = engine.model.backbone.config.num_hidden_layers
    every, read = (
        [number for number in numbers if not (kept.folder / _file(number)).is_file()]
        for numbers in (sorted({*wanted, *range(depth + 1)}), wanted)
    )
    if kept.fits(size * len(every)):
        return every
    need = size * len(read)
    if kept.make_room(need):
        return read
    engine.watch(
        Note(
            f"the encoder's hidden states need {need / 1e9:.1f} GB, more than the cache may hold "
            f"({most_bytes() / 1e9:.1f} GB, FINETUNE_CACHE_GB) or the disk has free: every epoch encodes again"
        )
    )
    return None


def _write(
    folder: Path, numbers: Sequence[int], sequences: Sequence[Feature], counts: Sequence[int], engine: Engine
) -> None:
    """Encodes, and moves each layer's array into place once all are complete."""
    shape = (sum(counts), engine.model.backbone.config.hidden_size)
    with ExitStack() as files:
        scratch = [files.enter_context(scratch_file(folder / _file(number))) for number in numbers]
        arrays = [np.lib.format.open_memmap(file, mode="w+", dtype=np.float16, shape=shape) for file in scratch]
        _fill(arrays, numbers, sequences, counts, engine)
        for array in arrays:
            array.flush()


def _fill(
    arrays: Sequence[np.ndarray],
    numbers: Sequence[int],
    sequences: Sequence[Feature],
    counts: Sequence[int],
    engine: Engine,
) -> None:
    """Encodes; each array gets the states of the layer of its number."""
    ends = np.cumsum(counts)
    for index, states in engine.hidden_states(sequences, numbers):
        if np.abs(states).max() > np.finfo(np.float16).max:
            raise UserError("the encoder's states exceed half precision", "Set FINETUNE_CACHE_GB=0: no cache")
        for layer, array in enumerate(arrays):
            array[ends[index] - counts[index] : ends[index]] = states[:, layer]
