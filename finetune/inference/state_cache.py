"""The folder of cached states: where it is, how much it may hold, and what goes when that is not enough.

It is `$FINETUNE_CACHE` (default `~/.cache/finetune`) and holds at most `$FINETUNE_CACHE_GB`. In it each set of states
has a folder with a lock, and with a file that says of what they are and by its time when they were used last.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from finetune.errors import UserError

DEFAULT_GB = 20.0
SPARE_BYTES = 1 << 30  # that are left on the disk
FACTS, LOCK = "states.json", ".lock"


def cache_folder() -> Path:
    """Where states are kept."""
    named = os.environ.get("FINETUNE_CACHE")
    return (Path(named) if named else Path.home() / ".cache" / "finetune") / "states"


def most_bytes() -> int:
    """How much the cache may hold. Raises UserError for a limit that is no number."""
    given = os.environ.get("FINETUNE_CACHE_GB", str(DEFAULT_GB))
    try:
        return int(float(given) * 1e9)
    except (ValueError, OverflowError) as error:
        raise UserError(f"FINETUNE_CACHE_GB is '{given}'", "Set it to a number of gigabytes, such as 20") from error


def fits(folder: Path, need: int) -> bool:
    """Whether there is room for so many bytes more in a set's folder, with all that is there now."""
    held = sum(map(_size, _folders(folder.parent)))
    return held + need <= most_bytes() and need + SPARE_BYTES <= shutil.disk_usage(folder).free


def make_room(folder: Path, need: int) -> bool:
    """Empties the folders used longest ago until so many bytes fit into this one; whether they do.

    Those that another process is using stay. Where emptying all would not do either, none is emptied.
    """
    others = sorted((other for other in _folders(folder.parent) if other != folder), key=_used)
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


def _folders(cache: Path) -> Iterator[Path]:
    return (path for path in cache.iterdir() if path.is_dir())


def _files(folder: Path) -> list[Path]:
    """All but the lock, which stays where it is: who waits for it must not get one that is gone.

    Here and below, what another process removes while this one looks is not there.
    """
    try:
        return [file for file in folder.iterdir() if file.name != LOCK]
    except FileNotFoundError:
        return []


def _size(folder: Path) -> int:
    return sum(found.st_size for found in map(_look, _files(folder)) if found is not None)


def _used(folder: Path) -> float:
    """When; a folder that was never finished counts as used before all others."""
    found = _look(folder / FACTS)
    return 0.0 if found is None else found.st_mtime


def _look(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None
