"""The one writer of files: after a crash at any moment, or a power cut, a file has its old content or the new one.

Content goes into a scratch file first. Its name is random and it must not exist, since a folder may be a stranger's,
with symbolic links under every name that could be guessed. It is locked while its process lives: what has no lock was
left by one that was killed, and goes when the same file is written again.

Which files of a user's we wrote is noted in the cache, with size and time: so a command can be repeated, also where the
format has no room for a mark, and a file that was edited since is the user's again.
"""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from glob import glob
from pathlib import Path

from finetune.data.paths import exists, is_file, is_folder, is_pattern, require_output
from finetune.errors import UserError

if sys.platform != "win32":
    import fcntl

NAME_CHARS = 50  # of a file's name that are in its scratch file's, for file systems that allow 255 bytes
PAGE = (".html",)
OF_A_RUN = ("record.json", "events.jsonl")
CONFIGS = ("config.json", "adapter_config.json")
WITH_A_CONFIG = ("*.safetensors*", "pytorch_model*", "tokenizer*.json", "vocab.*")
MOST_NOTES = 10_000


@contextmanager
def scratch_file(file: Path) -> Iterator[Path]:
    """Yields a temporary path in the same folder; it replaces the file at the end, and is removed if writing fails."""
    scratch = _scratch_name(file)
    opened = os.open(scratch, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        with _locked(opened):
            yield scratch
            sync(scratch)
            scratch.replace(file)
            sync(file.parent)
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
        for file in filter(Path.is_file, sorted(scratch.rglob("*"))):
            place = folder / file.relative_to(scratch)
            place.parent.mkdir(exist_ok=True)
            file.replace(place)
            sync(place.parent)
        sync(folder)


@contextmanager
def temporary_folder(place: Path) -> Iterator[Path]:
    """Yields a new hidden folder next to `place`, which is removed at the end unless it was renamed."""
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
    for file in filter(Path.is_file, folder.rglob("*")):
        file.chmod(mode)
        sync(file)


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
    """Removes scratch files of killed processes from a locked folder and its subfolders."""
    for path, folders, files in os.walk(folder):  # which does not follow links
        for name in [name for name in (*folders, *files) if name.startswith(".") and name.endswith(".tmp")]:
            _remove(Path(path, name))


@contextmanager
def written_file(file: Path, *, remedy: str = "Choose another file") -> Iterator[Path]:
    """`scratch_file` for a file in a folder that a user named. Raises UserError where it cannot be written."""
    require_output(file)
    try:
        with scratch_file(file) as scratch:
            yield scratch
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror})", remedy) from error


@contextmanager
def output_file(file: Path, *, remedy: str = "Choose another file") -> Iterator[Path]:
    """`written_file` for a file that a user named, which is noted before it gets its name, so that a command that is
    killed in between can be repeated.
    """
    with written_file(file, remedy=remedy) as scratch:
        yield scratch
        with suppress(OSError):  # without a cache it is as one of the user's
            note = _note(file, scratch)
            note.parent.mkdir(parents=True, exist_ok=True)
            note.touch()  # an empty file, which no kill can leave half-written
            if len(notes := list(note.parent.iterdir())) > MOST_NOTES:
                min(notes, key=lambda path: path.stat().st_mtime).unlink()


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


def cache_root() -> Path:
    """The folder of everything that is cached: FINETUNE_CACHE, or in the user's cache folder."""
    named = os.environ.get("FINETUNE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "finetune"


def require_place(file: Path) -> None:
    """Raises UserError, before any work, where a file cannot be written: as `require_output`, and for its folder."""
    require_output(file)
    folder = file.absolute().parent
    if not is_folder(folder):
        raise UserError(f"{file}: cannot be written (no such folder)", "Create the folder, or choose another file")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{file}: cannot be written (its folder is read-only)", "Choose another file")


def require_replaceable_output(
    file: Path, *, endings: Collection[str] = ("",), reads: Iterable[object] = (), force: bool = False
) -> None:
    """Raises UserError, before any work, where a command may not write a file.

    It has another ending than the command's files, cannot be written, is in the folder of a model or a run, or is one
    of what the command reads (`reads`: paths and patterns; other names are passed over); or, without `force`, it is
    there and we did not write it.
    """
    require_place(file)
    if not file.name.lower().endswith(tuple(endings)):
        raise UserError(f"{file}: is written as {', '.join(endings)}", "Name a file with that suffix")
    folder = file.absolute().parent
    model = any(is_file(folder / name) for name in CONFIGS) and any(any(folder.glob(name)) for name in WITH_A_CONFIG)
    if model or (file.suffix.lower() not in PAGE and any(is_file(folder / name) for name in OF_A_RUN)):
        raise UserError(f"{file}: is in the folder of a {'model' if model else 'run'}", "Choose another folder")
    if not exists(file):
        return
    for read in _files_of(reads):
        if exists(read) and file.samefile(read):
            raise UserError(f"{file}: output would overwrite the input", "Name another file")
    if not force and not _is_ours(file):
        raise UserError(
            f"{file} already exists, and was not written by this command, or was edited since",
            "Name another file, or replace it with `force`",
        )


def _files_of(reads: Iterable[object]) -> Iterator[Path]:
    """The files that names of data stand for: of a folder all but those that we wrote."""
    for path in (Path(read).expanduser() for read in reads if read and isinstance(read, str | Path)):
        if is_pattern(path):
            yield from map(Path, glob(str(path), recursive=True))  # noqa: PTH207
        elif is_folder(path):
            yield from (file for file in path.rglob("*") if is_file(file) and not _is_ours(file))
        else:
            yield path


def _is_ours(file: Path) -> bool:
    with suppress(OSError):
        return _note(file, file).is_file()
    return False


def _note(file: Path, written: Path) -> Path:
    """The path of a note: a hash of the file's path, size and time."""
    look = written.stat()
    facts = os.fsencode(file.parent.resolve() / file.name) + f" {look.st_size} {look.st_mtime_ns}".encode()
    return cache_root() / "outputs" / hashlib.sha256(facts).hexdigest()[:20]


def _scratch_name(file: Path) -> Path:
    """A new hidden name in the file's folder that no one can guess, `.NAME.RANDOM.tmp`; what killed processes left
    under such a name is removed.

    It is absolute, since pyarrow takes other names for addresses (`s3:/runs`) or for somebody's home (`~/runs`).
    """
    beginning = f".{file.name[:NAME_CHARS]}."
    with suppress(OSError):
        for left in file.parent.iterdir():
            if re.fullmatch(re.escape(beginning) + r"[0-9a-f]{16}\.tmp", left.name):
                with suppress(OSError):
                    _remove_unlocked(left)
    return file.absolute().with_name(f"{beginning}{os.urandom(8).hex()}.tmp")


def _remove_unlocked(left: Path) -> None:
    """Removes a scratch file or folder unless a process has locked it; a link or a pipe is not one of ours."""
    if sys.platform == "win32" or left.is_symlink() or not (left.is_file() or left.is_dir()):
        return
    opened = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(left)
    finally:
        os.close(opened)


def _remove(left: Path) -> None:
    shutil.rmtree(left, ignore_errors=True) if left.is_dir() and not left.is_symlink() else left.unlink(missing_ok=True)


@contextmanager
def _locked(opened: int) -> Iterator[None]:
    """Locks an open scratch file or folder and closes it at the end, where the system has locks.

    It waits for a process that looks whether it is locked. Windows could not rename an open file.
    """
    if sys.platform == "win32":
        os.close(opened)
        yield
        return
    try:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
