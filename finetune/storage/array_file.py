"""A file of named arrays, in parts: written a part at a time, memory-mapped, and verified by its checksum.

The arrays are raw bytes, followed by a JSON index; so reading one runs no code.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, TypedDict

import numpy as np

Arrays = Mapping[str, np.ndarray]
ALIGNED = 8  # bytes: each array begins at a multiple


class Seal(TypedDict):
    """What must be kept to open a file: the byte at which its index begins, and its checksum."""

    index: int
    sha256: str


class ArrayWriter:
    """Appends parts to an open file; `seal` completes it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.digest = hashlib.sha256()
        self.size = 0
        self.index: list[dict[str, tuple[str, tuple[int, ...], int]]] = []

    def append(self, arrays: Arrays) -> None:
        """Writes a part."""
        places = {}
        for name, array in arrays.items():
            places[name] = (array.dtype.str, array.shape, self.size)
            self._write(array.tobytes())
            self._write(b"\0" * (-self.size % ALIGNED))
        self.index.append(places)

    def seal(self) -> Seal:
        """Writes the index."""
        begin = self.size
        self._write(json.dumps(self.index).encode())
        return Seal(index=begin, sha256=self.digest.hexdigest())

    def _write(self, content: bytes) -> None:
        self.file.write(content)
        self.digest.update(content)
        self.size += len(content)


def map_arrays(path: Path, seal: Seal) -> list[Arrays]:
    """The parts of a file, memory-mapped and read-only. Raises ValueError for a file that differs from its seal."""
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != seal["sha256"]:
            raise ValueError(f"{path} is damaged")
        file.seek(seal["index"])
        index = json.loads(file.read())
    content = np.memmap(path, mode="r").view(np.ndarray)
    return [{name: _array(content, *place) for name, place in places.items()} for places in index]


def _array(content: np.ndarray, kind: str, shape: list[int], begin: int) -> np.ndarray:
    dtype = np.dtype(kind)
    size = int(np.prod(shape)) * dtype.itemsize
    return content[begin : begin + size].view(dtype).reshape(shape)
