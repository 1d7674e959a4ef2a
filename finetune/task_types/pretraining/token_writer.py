"""Appends tokens to the files of an entry, from where an earlier process stopped."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType

import numpy as np

from finetune.data.atomic import sync, write_atomically
from finetune.task_types.pretraining.encode_lines import EncodedLines

IDS, STARTS, LINES = FILES = ("ids", "starts", "lines")
PROGRESS = "progress.json"
ENTRY_TOKENS = 0x3FFF  # tokens of an entry of a line; a longer line has several
GOES_ON, ENDS = 0x4000, 0x8000  # marks of an entry: its line is not complete; it ends a document


@dataclass(frozen=True, kw_only=True)
class Written:
    """What is written: documents, lines, bytes of text, tokens, and entries in the file of lines."""

    documents: int = 0
    lines: int = 0
    size: int = 0
    tokens: int = 0
    entries: int = 0


class TokenWriter:
    """Appends to the three files; what was written after the last `save` of a process that was killed is dropped."""

    def __init__(self, folder: Path, kind: type) -> None:
        self.folder = folder
        self.kind = kind
        self.done = self._saved()
        for name, size in self._sizes().items():
            with (folder / name).open("ab") as file:
                file.truncate(size)
        self.files = {name: (folder / name).open("r+b") for name in FILES}
        self.files[IDS].seek(0, 2)
        self.files[LINES].seek(0, 2)
        self.bits = self._unfinished_bits()

    def __enter__(self) -> "TokenWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self.files.values():
            file.close()

    @property
    def written(self) -> int:
        """Bytes of all files."""
        return sum(self._sizes().values())

    def append(self, encoded: EncodedLines, last: Sequence[bool], size: int) -> None:
        """Writes lines of `size` bytes of text; `last`: whether each ends a document."""
        entries = _entries(encoded.lengths, np.asarray(last, bool))
        self.files[IDS].write(encoded.ids.astype(self.kind).tobytes())
        self.files[LINES].write(entries.tobytes())
        self._append_bits(encoded.starts)
        done = self.done
        self.done = replace(
            done,
            documents=done.documents + sum(last),
            lines=done.lines + len(last),
            size=done.size + size,
            tokens=done.tokens + len(encoded.ids),
            entries=done.entries + len(entries),
        )

    def save(self) -> None:
        """Makes what is written survive a kill or a power cut."""
        for name, file in self.files.items():
            file.flush()
            sync(self.folder / name)
        write_atomically(self.folder / PROGRESS, json.dumps(asdict(self.done)) + "\n")

    def _append_bits(self, starts: np.ndarray) -> None:
        """Writes whole bytes; one that is not full is written again with the next bits."""
        bits = np.concatenate([self.bits, starts])
        full = len(bits) // 8 * 8
        self.files[STARTS].write(np.packbits(bits[:full]).tobytes())
        self.bits = bits[full:]
        self.files[STARTS].write(np.packbits(self.bits).tobytes())
        self.files[STARTS].seek(-(1 if len(self.bits) else 0), 1)

    def _unfinished_bits(self) -> np.ndarray:
        """The bits of the last byte, if it is not full."""
        count = self.done.tokens % 8
        file = self.files[STARTS]
        file.seek(self.done.tokens // 8)
        last = np.frombuffer(file.read(), np.uint8)
        file.seek(self.done.tokens // 8)
        return np.unpackbits(last)[:count].astype(bool)

    def _saved(self) -> Written:
        """What an earlier process has saved, if all of it is there."""
        try:
            self.done = Written(**json.loads((self.folder / PROGRESS).read_text(encoding="utf-8")))
            complete = all((self.folder / name).stat().st_size >= size for name, size in self._sizes().items())
        except (OSError, ValueError, TypeError):
            return Written()
        return self.done if complete else Written()

    def _sizes(self) -> dict[str, int]:
        done = self.done
        return {
            IDS: done.tokens * np.dtype(self.kind).itemsize,
            STARTS: (done.tokens + 7) // 8,
            LINES: done.entries * 2,
        }


def _entries(lengths: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The entries of lines: their numbers of tokens, with marks."""
    parts = np.maximum(1, -(-lengths // ENTRY_TOKENS))
    entries = np.full(parts.sum(), ENTRY_TOKENS | GOES_ON, np.uint16)
    ends = np.cumsum(parts) - 1
    entries[ends] = lengths - (parts - 1) * ENTRY_TOKENS
    entries[ends[last]] |= ENDS
    return entries


def line_bounds(entries: np.ndarray, *, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of lines in tokens, and of documents in lines, from their entries: int32 if they have room."""
    kind = np.int32 if max(tokens, len(entries)) < 1 << 31 else np.int64
    complete = entries & GOES_ON == 0
    ends = np.cumsum(entries & ENTRY_TOKENS, dtype=kind)[complete]
    last = np.flatnonzero(entries[complete] & ENDS).astype(kind)
    return np.concatenate([np.zeros(1, kind), ends]), np.concatenate([np.zeros(1, kind), last + 1])
