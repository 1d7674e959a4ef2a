"""The one writer of files: after a crash at any moment, or a power cut, a file has its old content or the new one.

Content goes into a scratch file first. Its name is random and it must not exist, since a folder may be a stranger's,
with symbolic links under every name that could be guessed.
"""

import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from finetune.data.paths import require_output
from finetune.errors import UserError

if sys.platform != "win32":
    import fcntl

MOST_NAME = 200  # bytes of a file's name that are in its scratch file's, for file systems that allow 255


@contextmanager
def scratch_file(file: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it replaces the file at the end, and is removed if writing fails."""
    scratch = scratch_name(file)
    opened = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o666)
    if not (locked := _lock(opened)):
        os.close(opened)  # else Windows could not rename it
    try:
        yield scratch
        replace_synced(scratch, file)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    finally:
        if locked:
            os.close(opened)


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder; its files are moved into `folder` at the end, and removed if writing fails.

    They get the mode that the umask gives, since safetensors lets no one else read what it writes.
    """
    folder.mkdir(exist_ok=True)
    scratch = scratch_name(folder / "files")
    scratch.mkdir()
    try:
        yield scratch
        settle(scratch)
        for file in scratch.iterdir():
            file.replace(folder / file.name)
        sync(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def settle(folder: Path) -> None:
    """Gives each file of a folder the mode that the umask gave the folder, and waits until it is on the disk."""
    mode = folder.stat().st_mode & 0o666
    for file in filter(Path.is_file, folder.iterdir()):
        file.chmod(mode)
        sync(file)


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
    """Removes what writers left in a locked folder and those in it when their process was killed."""
    for path, folders, files in os.walk(folder):  # which does not follow links
        for name in [name for name in folders if _is_scratch(name)]:
            folders.remove(name)
            shutil.rmtree(Path(path, name), ignore_errors=True)
        for name in filter(_is_scratch, files):
            Path(path, name).unlink(missing_ok=True)


@contextmanager
def require_written(file: Path, *, remedy: str = "Choose another file") -> Iterator[None]:
    """Raises UserError where a file cannot be written within."""
    require_output(file)
    try:
        yield
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror})", remedy) from error


@contextmanager
def written_file(file: Path) -> Iterator[Path]:
    """`scratch_file` for a file in a folder that a user named. Raises UserError where it cannot be written."""
    with require_written(file), scratch_file(file) as scratch:
        yield scratch


def write_atomically(file: Path, text: str) -> None:
    """Replaces the file's text atomically, in UTF-8."""
    with scratch_file(file) as scratch:
        scratch.write_text(text, encoding="utf-8")


def require_no_links(folder: Path) -> None:
    """Raises UserError where a folder of ours, or anything in it, is a symbolic link: what we write or delete there
    would be elsewhere.
    """
    inside = (Path(path, name) for path, folders, files in os.walk(folder) for name in (*folders, *files))
    for file in (folder, *inside):
        if file.is_symlink():
            raise UserError(
                f"{file}: is a symbolic link, and nothing is written or deleted through one", "Remove the link"
            )


def scratch_name(file: Path) -> Path:
    """A new hidden name in the file's folder that no one can guess: `.NAME.RANDOM.tmp`."""
    return file.with_name(f"{_beginning(file)}{secrets.token_hex(8)}.tmp")


def left_of(file: Path) -> list[Path]:
    """What writers of a file or folder left next to it, or are writing."""
    name = re.compile(re.escape(_beginning(file)) + r"[0-9a-f]{16}\.tmp")
    return [left for left in file.parent.iterdir() if name.fullmatch(left.name) and not left.is_symlink()]


def remove_left(file: Path) -> None:
    """Removes the scratch files of a file that killed processes left: those that no process has locked."""
    for left in filter(Path.is_file, left_of(file)):
        with suppress(OSError), left.open("rb") as opened:
            if _lock(opened.fileno()):
                left.unlink()


def _lock(opened: int) -> bool:
    """Locks an open file, until it is closed; False where another process has it, or the system has no locks."""
    if sys.platform == "win32":
        return False
    with suppress(OSError):
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _beginning(file: Path) -> str:
    return f".{os.fsencode(file.name)[:MOST_NAME].decode(errors='ignore')}."


def _is_scratch(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")
