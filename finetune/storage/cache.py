"""The cache on disk of what runs share: its folder, its entries, size limit and eviction (least recently used first).

It is `$FINETUNE_CACHE` (default `~/.cache/finetune`) and holds at most `$FINETUNE_CACHE_GB`. Only trained vocabularies
and the tokenizers of untrained encoders are neither counted nor evicted: they are small, and a run loads them by their
path at any time.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from filelock import FileLock, Timeout

from finetune.data.atomic import remove_scratch, require_no_links, sync, write_atomically
from finetune.data.checksums import sha256_of
from finetune.data.outputs import cache_root
from finetune.errors import UserError

DEFAULT_GB = 20.0
SPARE_BYTES = 1 << 30  # to leave free on the disk
FACTS, LOCK = "facts.json", ".lock"
SUMS = "sha256"  # of the facts: the checksums of files by name
Facts = dict[str, Any]  # JSON values
Kept = TypeVar("Kept")
DAY = 86_400  # seconds
CacheKind = Literal["states", "answers", "tokens", "corpora", "weights", "untrained", "vocabularies"]
SMALL = ("untrained", "vocabularies")
KINDS = tuple(kind for kind in get_args(CacheKind) if kind not in SMALL)  # that are counted and evicted


def cache_folder(kind: CacheKind) -> Path:
    """The folder of all entries of a kind, in FINETUNE_CACHE or the user's cache folder."""
    return cache_root() / kind


def hash_of(facts: Sequence[object]) -> str:
    """The sha256 of JSON values."""
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def most_bytes() -> int:
    """Size limit in bytes. Raises UserError where FINETUNE_CACHE_GB is not a number."""
    given = os.environ.get("FINETUNE_CACHE_GB", str(DEFAULT_GB))
    try:
        return int(float(given) * 1e9)
    except (ValueError, OverflowError) as error:
        raise UserError(f"FINETUNE_CACHE_GB is '{given}'", "Set it to a number of gigabytes, such as 20") from error


@dataclass(frozen=True)
class Entry:
    """A folder of the cache: files, a lock, and facts with the checksums of the files.

    The facts are written last, so that what a killed process left is not taken for an entry; their modification time is
    that of the last use.
    """

    folder: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Creates the folder and locks it; removes what a process that was killed while writing left.

        Raises UserError for a symbolic link in it.
        """
        require_no_links(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / LOCK):
            remove_scratch(self.folder)
            yield

    @contextmanager
    def required(self) -> Iterator[None]:
        """Raises UserError where an entry that a run cannot do without cannot be read or written within."""
        try:
            yield
        except OSError as error:
            raise UserError(
                f"{self.folder}: the cache cannot be used ({error.strerror})",
                "Free some space, or name another folder: FINETUNE_CACHE=FOLDER",
            ) from error

    def read_or_make(self, read: Callable[[Facts], Kept], make: Callable[[], object]) -> Kept | None:
        """What `read` gets from the facts. Where they are missing or a file is damaged, `make` writes and seals first;
        None if it seals nothing. A second process waits for the first.
        """
        with self.locked():
            if (facts := self.facts()) is None:
                make()
                facts = self.facts()
            if facts is None:
                return None
            self.touch()
            return read(facts)

    def facts(self) -> Facts | None:
        """What was sealed; None where nothing was, or where a file is missing or damaged."""
        found = self._sealed()
        return found if found[SUMS] and all(map(self.holds, found[SUMS])) else None

    def holds(self, name: str) -> bool:
        """Whether a file is there, with the checksum that it was sealed with."""
        file = self.folder / name
        return file.is_file() and self._sealed()[SUMS].get(name) == sha256_of(file)

    def seal(self, names: Collection[str], **facts: object) -> None:
        """Writes the facts, with the checksums of these files and of others that are there and were sealed before."""
        for name in names:
            sync(self.folder / name)
        sums = self._sealed()[SUMS] | {name: sha256_of(self.folder / name) for name in names}
        there = {name: checksum for name, checksum in sums.items() if (self.folder / name).is_file()}
        write_atomically(self.folder / FACTS, json.dumps({**facts, SUMS: there}) + "\n")

    def touch(self) -> None:
        """Marks the entry as used now."""
        os.utime(self.folder / FACTS)

    def fits(self, need: int, *, spare: int = SPARE_BYTES) -> bool:
        """Whether `need` more bytes fit into the cache without an eviction, and leave `spare` bytes of the disk."""
        held = sum(map(_size, _entries(self.folder)))
        return held + need <= most_bytes() and need + spare <= shutil.disk_usage(self.folder).free

    def make_room(self, need: int, *, spare: int = SPARE_BYTES) -> bool:
        """Evicts least recently used entries until `need` bytes fit into this one; returns whether they do.

        Entries in use by another process stay, as do text and weights of the last day. If evicting all others would not
        be enough, none is evicted. What a run cannot do without leaves no bytes to spare.
        """
        entries = list(_entries(self.folder))
        stay = {one for one in entries if one == self.folder or _may_be_read(one)}
        others = sorted((one for one in entries if one not in stay), key=_used)
        free = shutil.disk_usage(self.folder).free + sum(map(_size, others))
        if sum(map(_size, stay)) + need > most_bytes() or need + spare > free:
            return False
        for oldest in others:
            if self.fits(need, spare=spare):
                break
            _evict(oldest)
        return self.fits(need, spare=spare)

    def require_room(self, need: int, *, what: str) -> None:
        """`make_room` for what a run cannot do without. Raises UserError where it does not fit."""
        if not self.make_room(need, spare=0):
            raise UserError(
                f"{self.folder}: {what}, for which the disk or the cache (FINETUNE_CACHE_GB is "
                f"{most_bytes() / 1e9:g}) has no room",
                "Set FINETUNE_CACHE_GB to more, free some space, or name a folder on another disk: "
                "FINETUNE_CACHE=FOLDER",
            )

    def _sealed(self) -> Facts:
        try:
            found = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))
            return {**found, SUMS: dict(found[SUMS])}
        except (FileNotFoundError, ValueError, LookupError, TypeError, RecursionError):
            return {SUMS: {}}


def entry(kind: CacheKind, fingerprint: str) -> Entry:
    """The entry with a hash of all that decides its content."""
    return Entry(cache_folder(kind) / fingerprint[:20])


def _evict(folder: Path) -> None:
    """Removes an entry's files, unless another process uses it, or removes or makes it."""
    with suppress(Timeout, FileNotFoundError, FileExistsError), FileLock(folder / LOCK, timeout=0):
        for file in _files(folder):
            file.unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[Path]:
    """All entries of the cache that this entry's folder is in."""
    kinds = (folder.parents[1] / kind for kind in KINDS)
    return (
        path
        for kind in kinds
        if kind.is_dir()
        for path in kind.iterdir()
        if path.is_dir() and not path.is_symlink()  # through which files elsewhere would be evicted
    )


def _files(folder: Path) -> list[Path]:
    """Every file but the lock: a process that waits for it must not get a deleted one.

    Files that another process removes meanwhile are skipped.
    """
    try:
        return [file for file in folder.rglob("*") if file.name != LOCK and not file.is_dir()]
    except FileNotFoundError:
        return []


def _may_be_read(folder: Path) -> bool:
    """Whether a run may open an entry's file again: text is a stream, weights are loaded by their path, and what others
    hold is in memory or mapped.
    """
    return folder.parent.name in ("corpora", "weights") and time.time() - _used(folder) < DAY


def _size(folder: Path) -> int:
    return sum(found.st_size for found in map(_look, _files(folder)) if found is not None)


def _used(folder: Path) -> float:
    """Modification time; a folder that was never finished counts as the oldest."""
    found = _look(folder / FACTS)
    return 0.0 if found is None else found.st_mtime


def _look(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None
