"""Counts of a corpus, in one pass and in bounded memory."""

import hashlib
import heapq
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from finetune.data.characters import CHUNK_CHARS, KINDS, SCRIPTS, census, kind_number
from finetune.data.documents import Document

MOST_HASHES = 1 << 22  # lines that are compared; of more, those of a share of all hashes
SAMPLED, LONGEST_SAMPLED = 4_000, 2_000  # different lines of the sample, and characters of each
LONG_LINE_CHARS = 10_000  # characters of a long line


class Repeats:
    """Counts lines by their hashes: if there are too many, only hashes that are multiples of a power of two, so that a
    line is counted with all its copies or not at all.
    """

    def __init__(self) -> None:
        self.hashes = array("Q")
        self.mask = 0

    def add(self, own: int) -> None:
        """Counts a line."""
        if own & self.mask:
            return
        self.hashes.append(own)
        if len(self.hashes) > MOST_HASHES:
            self.mask = 2 * self.mask + 1
            every = np.frombuffer(self.hashes, np.uint64)
            self.hashes = array("Q", every[every & np.uint64(self.mask) == 0].tobytes())

    @property
    def share(self) -> float:
        """The share of lines that equal an earlier one."""
        every = np.frombuffer(self.hashes, np.uint64)
        return 1 - len(np.unique(every)) / len(every) if len(every) else 0.0

    def times(self) -> dict[int, int]:
        """How often each line occurs that does so more than once, by hash; of those that occur most."""
        hashes, counts = np.unique(np.frombuffer(self.hashes, np.uint64), return_counts=True)
        several = np.flatnonzero(counts > 1)
        most = several[np.argsort(-counts[several], kind="stable")[:SAMPLED]]
        return dict(zip(hashes[most].tolist(), counts[most].tolist(), strict=True))


class Sample:
    """The beginnings of the lines with the lowest hashes, equal lines once: a sample that any order of lines gives."""

    def __init__(self) -> None:
        self.highest: list[int] = []  # a heap of negative hashes
        self.by_hash: dict[int, str] = {}

    def add(self, own: int, line: str) -> None:
        """Takes a line, if its hash is among the lowest."""
        if (len(self.highest) == SAMPLED and own > -self.highest[0]) or own in self.by_hash:
            return
        self.by_hash[own] = line[:LONGEST_SAMPLED]
        heapq.heappush(self.highest, -own)
        if len(self.highest) > SAMPLED:
            del self.by_hash[-heapq.heappop(self.highest)]

    @property
    def texts(self) -> list[str]:
        """The lines, in the order of their hashes."""
        return [self.by_hash[own] for own in sorted(self.by_hash)]


@dataclass(kw_only=True)
class Counts:
    """Numbers of documents, of those of one line (`single`), lines, words and bytes; characters by kind; the longest
    line in characters, and the number of `long` ones.
    """

    documents: int = 0
    single: int = 0
    lines: int = 0
    words: int = 0
    size: int = 0
    longest: int = 0
    long: int = 0
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(len(KINDS), np.int64))
    repeats: Repeats = field(default_factory=Repeats)
    sample: Sample = field(default_factory=Sample)

    @property
    def letters(self) -> np.ndarray:
        """Letters by script, `(SCRIPTS,)`."""
        letters = self.kinds[[kind_number(name) for name in SCRIPTS]]
        letters[SCRIPTS.index("Hangul")] += self.kinds[kind_number("jamo")]
        return letters

    def add(self, document: Document) -> None:
        """Counts a document, but for its characters."""
        self.documents += 1
        self.single += len(document.lines) == 1
        self.lines += len(document.lines)
        for line in document.lines:
            self.words += len(line.split())
            self.longest = max(self.longest, len(line))
            self.long += len(line) > LONG_LINE_CHARS
            self.size += len(line.encode()) + 1
            own = line_hash(line)
            self.repeats.add(own)
            self.sample.add(own, line)
        self.size -= 1


def line_hash(line: str) -> int:
    """A hash that is the same in all processes."""
    return int.from_bytes(hashlib.blake2b(line.encode(), digest_size=8).digest(), "little")


def counts_of(documents: Iterable[Document]) -> Counts:
    """Reads documents to their end."""
    counts = Counts()
    texts: list[str] = []
    size = 0
    for document in documents:
        counts.add(document)
        texts.append(document.text)
        size += len(texts[-1])
        if size >= CHUNK_CHARS:
            counts.kinds += census(texts).sum(axis=0)
            texts, size = [], 0
    counts.kinds += census(texts).sum(axis=0)
    return counts
