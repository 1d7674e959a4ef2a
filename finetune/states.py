"""States of a frozen encoder: computed once, then read from a cache on disk by every seed, layer choice and later run.

Only the positions that the head reads are kept, in half precision: one memory-mapped array `(positions, width)` for
each layer. The cache is `$FINETUNE_CACHE` (default `~/.cache/finetune`) and holds at most `$FINETUNE_CACHE_GB`.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor

from finetune.batching import prediction_batches
from finetune.errors import UserError
from finetune.features import Feature, collate
from finetune.folder import write_atomically
from finetune.model import POOLED
from finetune.trainer import PREDICT_TOKENS, Trainer

FORMAT = 1
DEFAULT_GB = 20.0
SPARE_BYTES = 1 << 30  # that are left on the disk


@dataclass(frozen=True, slots=True)
class Slice:
    """One sequence's states in the arrays of its split: `(n, layers, width)` when called."""

    layers: tuple[np.ndarray, ...]
    start: int
    end: int

    def __call__(self) -> np.ndarray:
        return np.stack([layer[self.start : self.end] for layer in self.layers], axis=1)


def with_states(features: Sequence[Feature], trainer: Trainer, *, weights: str, precision: str) -> list[Feature]:
    """The same features with the states of the frozen encoder, from the cache or computed now.

    Where the cache has no room for them the features are given back as they are, with a note, and each epoch encodes
    anew. Raises UserError for a cache that is damaged, or of another model.
    """
    sequences = list(chain.from_iterable(feature.choices or (feature,) for feature in features))
    counts = [_positions(sequence, trainer) for sequence in sequences]
    facts = {"format": FORMAT, "weights": weights, "precision": precision, "positions": sum(counts)}
    facts["width"] = trainer.model.backbone.config.hidden_size
    folder = cache_folder() / _name(facts, sequences, trainer)
    with trainer.accelerator.main_process_first():
        arrays = _arrays(folder, facts, sequences, counts, trainer)
    if arrays is None:
        return list(features)
    ends = np.cumsum(counts)
    slices = iter([Slice(arrays, int(end) - count, int(end)) for count, end in zip(counts, ends, strict=True)])

    def held(feature: Feature) -> Feature:
        if feature.choices:
            return replace(feature, choices=[replace(one, states=next(slices)) for one in feature.choices])
        return replace(feature, states=next(slices))

    return [held(feature) for feature in features]


def cache_folder() -> Path:
    """Where states are kept."""
    named = os.environ.get("FINETUNE_CACHE")
    return (Path(named) if named else Path.home() / ".cache" / "finetune") / "states"


def encode_states(
    trainer: Trainer, sequences: Sequence[Feature], numbers: Sequence[int]
) -> Iterator[tuple[int, np.ndarray]]:
    """(number of the sequence, its states `(n, layers, width)`) of every sequence, the longest first."""
    model, accelerator = trainer.model, trainer.accelerator
    model.to(accelerator.device).eval()
    tokens = PREDICT_TOKENS.get(accelerator.device.type, PREDICT_TOKENS["cuda"])
    started, done = time.perf_counter(), 0
    with torch.inference_mode(), accelerator.autocast():
        for chosen in prediction_batches([len(sequence) for sequence in sequences], tokens=tokens):
            batch = collate([replace(sequences[i], label=None) for i in chosen], pad_id=trainer.pad_id)
            states, mask = model.backbone.states(
                numbers, pooled=model.pooled, **batch.to(accelerator.device).for_encoder()
            )
            yield from zip(chosen.tolist(), _cut(states, mask), strict=True)
            done += len(chosen)
            rate = done / (time.perf_counter() - started)
            trainer.watch("encoded", done=done, total=len(sequences), rate=rate)


def _cut(states: Tensor, mask: Tensor) -> Iterator[np.ndarray]:
    for row, count in zip(states.float().cpu().numpy(), mask.sum(1).tolist(), strict=True):
        yield row[:count]


def _positions(sequence: Feature, trainer: Trainer) -> int:
    """How many vectors a head reads of a sequence."""
    if trainer.model.pooled and not trainer.model.backbone.bilstm:
        return 1
    return len(sequence.input_ids if sequence.reads is None else sequence.reads)


def _name(facts: dict[str, object], sequences: Sequence[Feature], trainer: Trainer) -> str:
    """A hash of the model, the tokens and the positions."""
    first = trainer.model.pooled and not trainer.model.backbone.bilstm
    digest = hashlib.sha256(json.dumps([facts, first], sort_keys=True).encode())
    for sequence in sequences:
        for ids in (sequence.input_ids, sequence.token_type_ids, None if first else sequence.reads):
            digest.update(b"-" if ids is None else np.asarray(ids, dtype=np.int32).tobytes() + b";")
    return digest.hexdigest()[:20]


def _arrays(
    folder: Path, facts: dict[str, object], sequences: Sequence[Feature], counts: Sequence[int], trainer: Trainer
) -> tuple[np.ndarray, ...] | None:
    """The arrays of the layers that are read; None where there is no room for them."""
    backbone = trainer.model.backbone
    wanted = backbone.numbers(pooled=trainer.model.pooled)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            _require_same(folder, facts)
            if any(not _file(folder, number).is_file() for number in wanted):
                every = sorted({*wanted, *range(backbone.config.num_hidden_layers + 1)})
                size = 2 * sum(counts) * backbone.config.hidden_size
                numbers = _that_fit(folder, [every, sorted(wanted)], size, trainer)
                if numbers is None:
                    return None
                _write(folder, numbers, sequences, counts, trainer)
            write_atomically(folder / "states.json", json.dumps(facts, indent=1) + "\n")  # and says when it was used
        return tuple(np.load(_file(folder, number), mmap_mode="r") for number in wanted)
    except OSError as error:
        raise UserError(
            f"{folder}: the cache cannot be used ({error.strerror})", "Set FINETUNE_CACHE=FOLDER"
        ) from error
    except (ValueError, EOFError) as error:
        raise UserError(f"{folder}: the cached states are damaged", "Remove that folder, and run again") from error


def _file(folder: Path, number: int) -> Path:
    return folder / ("pooled.npy" if number == POOLED else f"layer-{number}.npy")


def _require_same(folder: Path, facts: dict[str, object]) -> None:
    """Raises UserError where a cache says that it is of something else than its name does."""
    try:
        found = json.loads((folder / "states.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return
    if found != facts:
        differ = ", ".join(name for name in facts if found.get(name) != facts[name])
        raise UserError(f"{folder}: holds the states of another model or version ({differ})", "Remove that folder")


def _that_fit(folder: Path, choices: Sequence[Sequence[int]], size: int, trainer: Trainer) -> list[int] | None:
    """The first choice of layers for which there is room, after the caches that were used longest ago have gone."""
    most = _most_bytes()
    need = 0
    for numbers in choices:
        missing = [number for number in numbers if not _file(folder, number).is_file()]
        need = size * len(missing)
        if need <= most and _make_room(folder, need, most):
            return missing
    trainer.watch(
        "note",
        text=f"the encoder's states need {need / 1e9:.1f} GB, more than the cache may hold ({most / 1e9:.1f} GB, "
        f"FINETUNE_CACHE_GB) or the disk has free: every epoch encodes anew",
    )
    return None


def _most_bytes() -> int:
    given = os.environ.get("FINETUNE_CACHE_GB", str(DEFAULT_GB))
    try:
        return int(float(given) * 1e9)
    except (ValueError, OverflowError) as error:
        raise UserError(f"FINETUNE_CACHE_GB is '{given}'", "Set it to a number of gigabytes, such as 20") from error


def _make_room(folder: Path, need: int, most: int) -> bool:
    """Removes the caches that were used longest ago until so many bytes fit; whether they do."""
    others = [file.parent for file in folder.parent.glob("*/states.json") if file.parent != folder]
    sizes = {other: sum(file.stat().st_size for file in other.glob("*.npy")) for other in [*others, folder]}
    for oldest in sorted(others, key=lambda other: (other / "states.json").stat().st_mtime):
        if sum(sizes.values()) + need <= most and need + SPARE_BYTES <= shutil.disk_usage(folder).free:
            break
        shutil.rmtree(oldest, ignore_errors=True)
        del sizes[oldest]
    return sum(sizes.values()) + need <= most and need + SPARE_BYTES <= shutil.disk_usage(folder).free


def _write(
    folder: Path, numbers: Sequence[int], sequences: Sequence[Feature], counts: Sequence[int], trainer: Trainer
) -> None:
    """Encodes, and puts each layer's array in its place once all are whole."""
    shape = (sum(counts), trainer.model.backbone.config.hidden_size)
    scratch = [_file(folder, number).with_suffix(".part") for number in numbers]
    arrays = [np.lib.format.open_memmap(file, mode="w+", dtype=np.float16, shape=shape) for file in scratch]
    ends = np.cumsum(counts)
    for index, states in encode_states(trainer, sequences, numbers):
        if np.abs(states).max() > np.finfo(np.float16).max:
            raise UserError(f"{folder}: the states exceed half precision", "Set FINETUNE_CACHE_GB=0: no cache")
        for place, array in enumerate(arrays):
            array[ends[index] - counts[index] : ends[index]] = states[:, place]
    for array, file in zip(arrays, scratch, strict=True):
        array.flush()
        file.replace(file.with_suffix(".npy"))
