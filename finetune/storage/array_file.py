"""Named arrays in a file of raw bytes, in parts, and memory-mapped: reading one runs no code."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

Arrays = Mapping[str, np.ndarray]
Places = Mapping[str, tuple[str, Sequence[int], int]]  # of each array of a part: type, shape, first byte
ALIGNED = 8  # bytes: each array begins at a multiple


def append_arrays(file: BinaryIO, arrays: Arrays) -> Places:
    """Writes a part, and returns what `map_arrays` needs to read it."""
    places = {}
    for name, array in arrays.items():
        places[name] = (array.dtype.str, array.shape, file.tell())
        file.write(array.tobytes())
        file.write(b"\0" * (-file.tell() % ALIGNED))
    return places


def map_arrays(file: Path, parts: Sequence[Places]) -> list[Arrays]:
    """The parts of a file, memory-mapped and read-only."""
    content = np.memmap(file, np.uint8, mode="r").view(np.ndarray) if file.stat().st_size else np.zeros(0, np.uint8)
    return [{name: _array(content, *place) for name, place in places.items()} for places in parts]


def _array(content: np.ndarray, kind: str, shape: Sequence[int], begin: int) -> np.ndarray:
    dtype = np.dtype(kind)
    size = int(np.prod(shape)) * dtype.itemsize
    return content[begin : begin + size].view(dtype).reshape(shape)
