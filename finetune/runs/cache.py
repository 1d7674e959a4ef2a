"""The cache on disk of what runs share: its folder, size limit and eviction (least recently used first).

It is `$FINETUNE_CACHE` (default `~/.cache/finetune`) and holds at most `$FINETUNE_CACHE_GB`, over all kinds of entries.
Each entry is a folder with a lock and a file of facts, whose modification time is that of the last use.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from finetune.errors import UserError

DEFAULT_GB = 20.0
SPARE_BYTES = 1 << 30  # to leave free on the disk
FACTS, LOCK = "facts.json", ".lock"
KINDS = ("states", "features")


def cache_folder(kind: Literal["states", "features"]) -> Path:
    """The folder of all entries of a kind, in FINETUNE_CACHE or the user's cache folder."""
    named = os.environ.get("FINETUNE_CACHE")
    return (Path(named) if named else Path.home() / ".cache" / "finetune") / kind


def most_bytes() -> int:
    """Size limit in bytes. Raises UserError where FINETUNE_CACHE_GB is not a number."""
    given = os.environ.get("FINETUNE_CACHE_GB", str(DEFAULT_GB))
    try:
        return int(float(given) * 1e9)
    except (ValueError, OverflowError) as error:
        raise UserError(f"FINETUNE_CACHE_GB is '{given}'", "Set it to a number of gigabytes, such as 20") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Creates an entry's folder and locks it; removes what a process that was killed while writing left."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK):
        for left in folder.glob(".*.tmp"):
            left.unlink(missing_ok=True)
        yield


def fits(folder: Path, need: int) -> bool:
    """Whether `need` more bytes fit into the cache without evicting anything."""
    held = sum(map(_size, _entries(folder)))
    return held + need <= most_bytes() and need + SPARE_BYTES <= shutil.disk_usage(folder).free


def make_room(folder: Path, need: int) -> bool:
    """Evicts least recently used entries until `need` bytes fit into this one; returns whether they do.

    Entries in use by another process stay. If evicting all would not be enough, none is evicted.
    """
    others = sorted((other for other in _entries(folder) if other != folder), key=_used)
    free = shutil.disk_usage(folder).free + sum(map(_size, others))
    if _size(folder) + need > most_bytes() or need + SPARE_BYTES > free:
        return False
    for oldest in others:
        if fits(folder, need):
            break
        try:
            with FileLock(oldest / LOCK, timeout=0):
                for file in _files(oldest):
                    file.unlink(missing_ok=True)
        except (Timeout, FileNotFoundError):  # another process uses it, or has removed it
            continue
    return fits(folder, need)


def _entries(folder: Path) -> Iterator[Path]:
    """All entries of the cache that this entry's folder is in."""
    kinds = (folder.parents[1] / kind for kind in KINDS)
    return (path for kind in kinds if kind.is_dir() for path in kind.iterdir() if path.is_dir())


def _files(folder: Path) -> list[Path]:
    """Every file but the lock: a process that waits for it must not get a deleted one.

    Files that another process removes meanwhile are skipped.
    """
    try:
        return [file for file in folder.iterdir() if file.name != LOCK]
    except FileNotFoundError:
        return []


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
