"""The one writer of files: after a crash at any moment, or a power cut, a file has its old content or the new one.

Content goes into a scratch file first. Its name is random and it must not exist, since a folder may be a stranger's,
with symbolic links under every name that could be guessed. It is locked while its process lives: what has no lock was
left by one that was killed, and goes when the same file is written again.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from finetune.data.paths import require_output
from finetune.errors import UserError

if sys.platform != "win32":
    import fcntl

MOST_NAME = 200  # bytes of a file's name that are in its scratch file's, for file systems that allow 255
NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def scratch_file(file: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it replaces the file at the end, and is removed if writing fails."""
    remove_left(file)
    scratch = _scratch_name(file)
    opened = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY | NO_LINK, 0o666)
    try:
        with _locked(opened):
            yield scratch
            replace_synced(scratch, file)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Yields a temporary folder; its files are moved into `folder` at the end, and removed if writing fails.

    They get the mode that the umask gives, since safetensors lets no one else read what it writes.
    """
    folder.mkdir(exist_ok=True)
    with temporary_folder(folder / "files") as scratch:
        yield scratch
        settle(scratch)
        for file in scratch.iterdir():
            file.replace(folder / file.name)
        sync(folder)


@contextmanager
def temporary_folder(place: Path) -> Iterator[Path]:
    """Yields a new hidden folder next to `place`, which is removed at the end unless it was renamed."""
    remove_left(place)
    scratch = _scratch_name(place)
    scratch.mkdir(parents=True)
    try:
        with nullcontext() if sys.platform == "win32" else _locked(os.open(scratch, os.O_RDONLY)):
            yield scratch
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


def replace_folder(scratch: Path, folder: Path) -> None:
    """Renames a complete folder, in place of one that is there, which is whole until then and removed afterwards."""
    with temporary_folder(folder) as aside:
        before = aside / folder.name
        if folder.exists():
            folder.rename(before)
        try:
            scratch.rename(folder)
        except OSError:
            if before.exists():
                before.rename(folder)
            raise
        sync(folder.parent)


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
        require_no_link(file)


def require_no_link(file: Path) -> None:
    """Raises UserError where a file or folder of ours is a symbolic link."""
    if file.is_symlink():
        raise UserError(f"{file}: is a symbolic link, and nothing is written or deleted through one", "Remove the link")


def remove_left(file: Path) -> None:
    """Removes the scratch files and folders of a file or folder that killed processes left, but not those in use."""
    name = re.compile(re.escape(_beginning(file)) + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError):
        for left in filter(lambda one: name.fullmatch(one.name), file.parent.iterdir()):
            _remove_unlocked(left)


def _remove_unlocked(left: Path) -> None:
    """Removes a scratch file or folder unless a process has locked it; a link or a pipe is not one of ours."""
    if sys.platform == "win32" or left.is_symlink() or not (left.is_file() or left.is_dir()):
        return
    with suppress(OSError), _closing(os.open(left, os.O_RDONLY | NO_LINK)) as opened:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextmanager
def _locked(opened: int) -> Iterator[None]:
    """Locks an open scratch file or folder, where the system has locks, and closes it at the end.

    It waits for a process that looks whether it is locked. Windows could not rename an open file.
    """
    if sys.platform == "win32":
        os.close(opened)
        yield
        return
    with _closing(opened):
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield


@contextmanager
def _closing(opened: int) -> Iterator[int]:
    try:
        yield opened
    finally:
        os.close(opened)


def _scratch_name(file: Path) -> Path:
    """A new hidden name in the file's folder that no one can guess: `.NAME.RANDOM.tmp`.

    It is absolute, since pyarrow takes other names for addresses (`s3:/runs`) or for somebody's home (`~/runs`).
    """
    return file.absolute().with_name(f"{_beginning(file)}{os.urandom(8).hex()}.tmp")


def _beginning(file: Path) -> str:
    return f".{os.fsencode(file.name)[:MOST_NAME].decode(errors='ignore')}."


def _is_scratch(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")
