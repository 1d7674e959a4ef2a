"""Paths from users and strangers: whether they exist, patterns, and small files as text."""

import os
import re
import shlex
import stat
from glob import glob
from pathlib import Path

from finetune.errors import UserError, first_line

STORE = ".data"  # the folder of rows that were in memory, in the folder of runs
WILDCARD = re.compile(r"[*?\[]")
ADDRESS = re.compile("([a-z][a-z0-9+.-]+):/+(.+)", re.IGNORECASE)  # also as a path, which joins slashes


def is_file(path: str | Path) -> bool:
    """Whether there is a file; False for a name that no file can have, for which `Path.is_file` raises OSError."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: str | Path) -> bool:
    """Whether there is a folder; False for a name that none can have."""
    return os.path.isdir(path)  # noqa: PTH112


def exists(path: str | Path) -> bool:
    """Whether there is anything of that name; False for a name that nothing can have."""
    return os.path.exists(path)  # noqa: PTH110


def paths_in(path: str | Path) -> list[Path]:
    """The files that a name lists with commas between them, as `old.csv,new.csv`; of any other name itself."""
    parts = [Path(part) for part in str(path).split(",") if part]
    return parts if len(parts) > 1 and not exists(path) and any(map(is_file, parts)) else [Path(path)]


def is_remote(address: str) -> bool:
    """Whether an address names a file system, as `s3://bucket/file` does."""
    return "://" in address


def is_pattern(path: str | Path) -> bool:
    """Whether this names files by wildcards: not one that exists, and with a suffix, unlike a pattern of recipes."""
    return bool(WILDCARD.search(str(path)) and Path(path).suffix.lower() not in ("", ".toml")) and not exists(path)


def is_data(target: str) -> bool:
    """Whether a target is a file, folder or pattern of data: whatever exists and is not a recipe."""
    path = Path(target)
    if is_remote(target):  # in which a question mark is not a wildcard
        return False
    data = exists(path) and path.suffix.lower() != ".toml"
    return is_folder(path) or data or is_pattern(path) or len(paths_in(path)) > 1


def matching(pattern: str | Path) -> list[Path]:
    """The files that match a pattern, in order of names. Raises UserError where there are none."""
    files = sorted(path for path in map(Path, glob(str(pattern), recursive=True)) if path.is_file())  # noqa: PTH207 - which has hidden files too
    if not files:
        raise UserError(f"{pattern}: no file matches", "Check the pattern")
    return files


def fixed_folder(pattern: str | Path) -> Path:
    """The folder that a pattern names before its first wildcard."""
    return Path(f"{WILDCARD.split(str(pattern))[0]}*").parent


def from_here(path: str) -> str:
    """An absolute path as a relative one where both it and the current folder are in one folder below the root."""
    here, parts = Path.cwd(), Path(path).parts
    if not Path(path).is_absolute() or ".." in parts or parts[:2] != here.parts[:2]:
        return path
    relative = Path(os.path.relpath(path, here)).as_posix()
    return relative if relative.startswith("..") else f"./{relative}"  # which is never the name of a task or on the Hub


def require_own_folder(folder: Path) -> None:
    """Raises UserError for a folder that a library would look for elsewhere: in somebody's home or on a server."""
    first = next(iter(folder.parts), "")
    if first.startswith("~"):
        raise UserError(f"{folder}: begins with ~, which your shell did not replace", "Give the whole path")
    if len(first) > 2 and first.endswith(":"):
        raise UserError(f"{folder}: is an address, and a folder of this machine is written", "Name a folder")


def require_utf_8(name: str | Path) -> None:
    """Raises UserError for a name that could not be written to a record: Python gives its bytes as lone surrogates."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        raise UserError(f"{name}: the name is not UTF-8", "Rename it") from None


def require_here(path: str | Path) -> None:
    """Raises UserError for a URL, or the address of a file on another machine, where a file on this one is read."""
    match = ADDRESS.fullmatch(str(path))
    if match is None or exists(path):
        return
    address, name = f"{match[1]}://{match[2]}", match[2].partition("?")[0].rpartition("/")[2]
    web = match[1].lower() in ("http", "https")
    how = f": `curl -L -o {shlex.quote(name)} {shlex.quote(address)}`" if web and name else ""
    kind = "a URL" if web else "an address on another machine"
    raise UserError(f"{address} is {kind}, and a file on this one is read", f"Download it first{how}")


def require_file(path: Path) -> Path:
    """The path. Raises UserError where it is not a regular file: reading a pipe or a device may never end."""
    require_here(path)
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        reason = getattr(error, "strerror", None) or first_line(error)
        raise UserError(f"{path}: cannot be read ({reason})", "Check its name and permissions") from error
    if kind == stat.S_IFDIR:
        raise UserError(f"{path}: is a folder, not a regular file", "Name a file in it")
    if kind != stat.S_IFREG:
        remedy = "Write what it yields into a file, and name that"
        raise UserError(f"{path}: is a pipe, a socket or a device, not a regular file", remedy)
    return path


def read_small(file: Path, *, most: int, remedy: str = "Name another file") -> bytes:
    """The content of a file of at most `most` bytes.

    Raises UserError for a folder, a pipe or a device, for a larger file, and for one that cannot be read.
    """
    try:
        with require_file(file).open("rb") as opened:
            content = opened.read(most + 1)
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})", "Check its name and permissions") from error
    if len(content) > most:
        raise UserError(f"{file}: is larger than {most / 1e6:g} MB, the most that is read", remedy)
    return content


def read_small_text(file: Path, *, most: int, encoding: str = "utf-8") -> str:
    """`read_small` as text. Raises UserError for bytes that are not UTF-8 too."""
    try:
        return read_small(file, most=most).decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: byte {error.start} is not UTF-8", "Name a text file, saved as UTF-8") from error


def require_output(file: Path) -> None:
    """Raises UserError where a file that is to be written is a folder, a pipe or a device: it would be replaced."""
    if exists(file) and not is_file(file):
        raise UserError(f"{file}: is not a regular file, so it is not overwritten", "Name another file")
