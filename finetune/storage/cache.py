"""The cache on disk that runs share: its folder, entries, size limit and eviction (least recently used first).

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
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from finetune.data.atomic import cache_root, remove_scratch, require_no_links, sync, write_atomically
from finetune.data.checksums import sha256_of
from finetune.errors import UserError

DEFAULT_GB = 20.0
SPARE_BYTES = 1 << 30  # to leave free on the disk
FACTS, LOCK = "facts.json", ".lock"
SUMS = "sha256"  # of the facts: the checksums of files by name
Facts = dict[str, Any]  # JSON values
DAY = 86_400  # seconds
CacheKind = Literal["states", "answers", "tokens", "corpora", "weights", "untrained", "vocabularies"]
SMALL = ("untrained", "vocabularies")
REOPENED = ("corpora", "weights")  # text is a stream, weights are loaded by their path; others are in memory or mapped
KINDS = tuple(kind for kind in get_args(CacheKind) if kind not in SMALL)  # that are counted and evicted


def cache_folder(kind: CacheKind) -> Path:
    """The folder of all entries of a kind, in FINETUNE_CACHE or the user's cache folder."""
    return cache_root() / kind


def hash_of(facts: Sequence[object]) -> str:
    """The sha256 of JSON values."""
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def most_bytes() -> int:
    """Size limit in bytes. Raises UserError if FINETUNE_CACHE_GB is not a number."""
    setting = os.environ.get("FINETUNE_CACHE_GB", str(DEFAULT_GB))
    try:
        return int(float(setting) * 1e9)
    except (ValueError, OverflowError) as error:
        raise UserError(f"FINETUNE_CACHE_GB is '{setting}'", "Set it to a number of gigabytes, such as 20") from error


@dataclass(frozen=True)
class Entry:
    """A folder of the cache: files, a lock, and facts with the checksums of the files.

    The facts are written last, so that the remains of a killed process are not an entry. Their modification time is the
    time of the last use.
    """

    folder: Path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Creates the folder and locks it; removes the remains of a process that was killed while it wrote.

        Raises UserError for a symbolic link in it, and for a file that cannot be read or written meanwhile.
        """
        require_no_links(self.folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self.folder / LOCK):
                remove_scratch(self.folder)
                yield
        except OSError as error:
            raise UserError(
                f"{self.folder}: the cache cannot be used ({error.strerror})",
                "Free some space, or name another folder: FINETUNE_CACHE=FOLDER",
            ) from error

    def ensure(self, make: Callable[[], object]) -> None:
        """Calls `make`, which writes and seals the files, unless they are complete; a second process waits."""
        with self.locked():
            if self.facts() is None:
                make()
            self.touch()

    def facts(self) -> Facts | None:
        """The sealed facts; None without them, or if a file is missing or damaged."""
        facts = self._sealed()
        return facts if facts[SUMS] and all(map(self.holds, facts[SUMS])) else None

    def holds(self, name: str) -> bool:
        """Whether a file exists and has the checksum that it was sealed with."""
        file = self.folder / name
        return file.is_file() and self._sealed()[SUMS].get(name) == sha256_of(file)

    def seal(self, names: Collection[str], **facts: object) -> None:
        """Writes the facts, with the checksums of these files and of existing files that were sealed before."""
        for name in names:
            sync(self.folder / name)
        sums = self._sealed()[SUMS] | {name: sha256_of(self.folder / name) for name in names}
        existing = {name: checksum for name, checksum in sums.items() if (self.folder / name).is_file()}
        write_atomically(self.folder / FACTS, json.dumps({**facts, SUMS: existing}) + "\n")

    def touch(self) -> None:
        """Marks the entry as used now."""
        with suppress(FileNotFoundError):
            os.utime(self.folder / FACTS)

    def make_room(self, need: int, *, spare: int = SPARE_BYTES, evict: bool = True) -> bool:
        """Evicts least recently used entries until `need` bytes fit into the cache and leave `spare` bytes of the disk.

        Returns whether they fit. Entries in use by another process stay, and so do text and weights of the last day,
        which a run may open again. If evicting all others would not be enough, none is evicted.
        """
        kinds = [folder for kind in KINDS if (folder := self.folder.parents[1] / kind).is_dir()]
        entries = [path for kind in kinds for path in kind.iterdir() if path.is_dir() and not path.is_symlink()]
        sizes = {path: sum(map(_size, _files(path))) for path in entries}
        others = [path for path in entries if evict and path != self.folder and not _is_open(path)]
        free = min(most_bytes() - sum(sizes.values()), shutil.disk_usage(self.folder).free - spare)
        if need > free + sum(sizes[path] for path in others):
            return False
        for path in sorted(others, key=_used):
            if need <= free:
                break
            with suppress(Timeout, FileNotFoundError, FileExistsError), FileLock(path / LOCK, timeout=0):
                for file in _files(path):
                    file.unlink(missing_ok=True)
                free += sizes[path]
        return need <= free

    def require_room(self, need: int, *, what: str) -> None:
        """`make_room` for bytes that a run needs, sparing none of the disk. Raises UserError if they do not fit."""
        if not self.make_room(need, spare=0):
            raise UserError(
                f"{self.folder}: {what}, for which the disk or the cache (FINETUNE_CACHE_GB is "
                f"{most_bytes() / 1e9:g}) has no room",
                "Set FINETUNE_CACHE_GB to more, free some space, or name a folder on another disk: "
                "FINETUNE_CACHE=FOLDER",
            )

    def _sealed(self) -> Facts:
        try:
            facts = json.loads((self.folder / FACTS).read_text(encoding="utf-8"))
            return {**facts, SUMS: dict(facts[SUMS])}
        except (FileNotFoundError, ValueError, LookupError, TypeError, RecursionError):
            return {SUMS: {}}


def entry(kind: CacheKind, fingerprint: str) -> Entry:
    """The entry of a fingerprint, a hash of all that decides its content."""
    return Entry(cache_folder(kind) / fingerprint[:20])


def _files(folder: Path) -> list[Path]:
    """All files without the lock: a process that waits for the lock must not get a deleted file."""
    return [Path(path, name) for path, _, names in os.walk(folder) for name in names if name != LOCK]


def _size(file: Path) -> int:
    with suppress(FileNotFoundError):  # another process may remove it meanwhile
        return file.stat().st_size
    return 0


def _used(folder: Path) -> float:
    """The time of the last use; a folder that was never finished counts as the oldest."""
    with suppress(FileNotFoundError):
        return (folder / FACTS).stat().st_mtime
    return 0.0


def _is_open(folder: Path) -> bool:
    return folder.parent.name in REOPENED and time.time() - _used(folder) < DAY
