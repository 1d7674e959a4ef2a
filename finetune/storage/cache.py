"""The cache on disk of what runs share: its folder, size limit and eviction (least recently used first).

It is `$FINETUNE_CACHE` (default `~/.cache/finetune`) and holds at most `$FINETUNE_CACHE_GB`. Only trained vocabularies
and the tokenizers of untrained encoders are neither counted nor evicted: they are small, and a run loads them by their
path at any time. Each entry is a folder with a lock and a file of facts, whose modification time is that of the last
use.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from filelock import FileLock, Timeout

from finetune.data.atomic import remove_scratch, require_no_links
from finetune.data.outputs import cache_root
from finetune.errors import UserError

DEFAULT_GB = 20.0
SPARE_BYTES = 1 << 30  # to leave free on the disk
FACTS, LOCK = "facts.json", ".lock"
DAY = 86_400  # seconds
CacheKind = Literal["states", "features", "texts", "tokens", "corpora", "untrained", "vocabularies"]
SMALL = ("untrained", "vocabularies")
KINDS = tuple(kind for kind in get_args(CacheKind) if kind not in SMALL)  # that are counted and evicted


def cache_folder(kind: CacheKind) -> Path:
    """The folder of all entries of a kind, in FINETUNE_CACHE or the user's cache folder."""
    return cache_root() / kind


def entry(kind: CacheKind, fingerprint: str) -> Path:
    """The folder of an entry, by a hash of all that decides its content."""
    return cache_folder(kind) / fingerprint[:20]


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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Creates an entry's folder and locks it; removes what a process that was killed while writing left.

    Raises UserError for a symbolic link in it.
    """
    require_no_links(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK):
        remove_scratch(folder)
        yield


@contextmanager
def required(folder: Path) -> Iterator[None]:
    """`locked`, for an entry that a run cannot do without: raises UserError where it cannot be read or written."""
    try:
        with locked(folder):
            yield
    except OSError as error:
        raise UserError(
            f"{folder}: the cache cannot be used ({error.strerror})", "Set FINETUNE_CACHE=FOLDER"
        ) from error


def fits(folder: Path, need: int, *, spare: int = SPARE_BYTES) -> bool:
    """Whether `need` more bytes fit into the cache without evicting anything, and leave `spare` bytes of the disk."""
    held = sum(map(_size, _entries(folder)))
    return held + need <= most_bytes() and need + spare <= shutil.disk_usage(folder).free


def make_room(folder: Path, need: int, *, spare: int = SPARE_BYTES) -> bool:
    """Evicts least recently used entries until `need` bytes fit into this one; returns whether they do.

    Entries in use by another process stay, as does text of the last day. If evicting all others would not be enough,
    none is evicted. What a run cannot do without leaves no bytes to spare.
    """
    entries = list(_entries(folder))
    stay = {one for one in entries if one == folder or _may_be_read(one)}
    others = sorted((one for one in entries if one not in stay), key=_used)
    free = shutil.disk_usage(folder).free + sum(map(_size, others))
    if sum(map(_size, stay)) + need > most_bytes() or need + spare > free:
        return False
    for oldest in others:
        if fits(folder, need, spare=spare):
            break
        try:
            with FileLock(oldest / LOCK, timeout=0):
                for file in _files(oldest):
                    file.unlink(missing_ok=True)
        except (Timeout, FileNotFoundError, FileExistsError):  # another process uses it, or removes or makes it
            continue
    return fits(folder, need, spare=spare)


def require_room(folder: Path, need: int, *, what: str) -> None:
    """`make_room` for what a run cannot do without. Raises UserError where it does not fit."""
    if not make_room(folder, need, spare=0):
        raise UserError(
            f"{folder}: {what}, for which the disk or the cache (FINETUNE_CACHE_GB is {most_bytes() / 1e9:g}) has no "
            "room",
            "Set FINETUNE_CACHE_GB to more, free some space, or name a folder on another disk: FINETUNE_CACHE=FOLDER",
        )


def _entries(folder: Path) -> Iterator[Path]:
    """All entries of the cache that this entry's folder is in."""
    kinds = (folder.parents[1] / kind for kind in KINDS)
    return (path for kind in kinds if kind.is_dir() for path in kind.iterdir() if _is_own_folder(path))


def _is_own_folder(path: Path) -> bool:
    """Not a link, through which files elsewhere would be evicted."""
    return path.is_dir() and not path.is_symlink()


def _files(folder: Path) -> list[Path]:
    """Every file but the lock: a process that waits for it must not get a deleted one.

    Files that another process removes meanwhile are skipped.
    """
    try:
        return [file for file in folder.iterdir() if file.name != LOCK]
    except FileNotFoundError:
        return []


def _may_be_read(folder: Path) -> bool:
    """Whether a run may open an entry's file again: text is a stream, what others hold is in memory or mapped."""
    return folder.parent.name == "corpora" and time.time() - _used(folder) < DAY


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
