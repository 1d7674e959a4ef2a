"""Atomic writes: after a crash at any moment, or a power cut, a file has its old content or the new one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from finetune.data.paths import require_output
from finetune.errors import UserError


@contextmanager
def scratch_file(file: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it replaces the file at the end, and is removed if writing fails."""
    scratch = file.with_name(f".{file.name}.tmp")
    try:
        yield scratch
        replace_synced(scratch, file)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def replace_synced(scratch: Path, file: Path) -> None:
    """Renames a complete file, after its content has reached the disk, and then the name."""
    sync(scratch)
    scratch.replace(file)
    sync(file.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open folders
    opened = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def remove_scratch(folder: Path) -> None:
    """Removes what `scratch_file` left in a folder and those in it when its process was killed."""
    for left in folder.rglob(".*.tmp"):
        left.unlink(missing_ok=True)


@contextmanager
def output_file(file: Path, *, remedy: str = "Choose another file") -> Iterator[Path]:
    """`scratch_file` for a file that a user named. Raises UserError where it cannot be written."""
    require_output(file)
    try:
        with scratch_file(file) as scratch:
            yield scratch
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror})", remedy) from error


def write_atomically(file: Path, text: str) -> None:
    """Replaces the file's text atomically, in UTF-8."""
    with scratch_file(file) as scratch:
        scratch.write_text(text, encoding="utf-8")
