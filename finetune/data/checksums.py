"""Checksums (SHA-256) that are saved with files, so that damaged ones are detected when they are read."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from finetune.data.atomic import write_atomically
from finetune.data.paths import paths_in, require_file
from finetune.errors import UserError

NAME = re.compile(r"(\w{1,100}/)?[\w.-]{1,100}", re.ASCII)  # of a file in the same folder, or in one within
CHECKSUMS = "checksums.json"  # of the other files in its folder
ABOUT = "README.md"  # tells about the others, and may be written again


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal; cached until the file changes."""
    return _sha256(file, *state_of(file))


def state_of(file: Path) -> tuple[int, ...]:
    """Numbers that differ once a file was changed in this process's time: a copy may keep size and time of change, but
    not its place on the disk and the time that the system notes.
    """
    stat = file.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns, stat.st_ino


@lru_cache(maxsize=256)
def _sha256(file: Path, *_: int) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def content_hash(path: Path) -> str:
    """The sha256 of a file, or of all files in a folder or a list; cached until they change."""
    if len(parts := paths_in(path)) > 1:
        return hashlib.sha256("".join(map(content_hash, parts)).encode()).hexdigest()
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        facts = "".join(f"{file.relative_to(path)}:{content_hash(file)};" for file in files)
        return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()
    return sha256_of(require_file(path))


def checksums_of(folder: Path) -> dict[str, str]:
    """The checksum of each file in a folder, by name, without hidden files, CHECKSUMS and ABOUT."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] != ".")
    return {file.name: sha256_of(file) for file in files if file.name not in (CHECKSUMS, ABOUT)}


def write_checksums(folder: Path) -> None:
    """Writes the checksums of a folder's files into it, for `verify_folder`; of folders within too, unless they have
    their own.
    """
    sums = checksums_of(folder)
    for within in sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] != "."):
        if not (within / CHECKSUMS).exists():
            sums |= {f"{within.name}/{name}": checksum for name, checksum in checksums_of(within).items()}
    write_atomically(folder / CHECKSUMS, json.dumps(sums, indent=1) + "\n")


def verify_folder(folder: Path, *, remedy: str) -> None:
    """Raises UserError where a file differs from the checksum saved in its folder; nothing where none were saved."""
    saved = folder / CHECKSUMS
    if not saved.is_file():
        return
    try:
        expected = json.loads(saved.read_text(encoding="utf-8"))
        damaged = not isinstance(expected, dict) or not all(map(NAME.fullmatch, expected))
    except (ValueError, OSError, RecursionError):
        damaged = True
    if damaged:
        raise UserError(f"{saved}: is damaged", remedy)
    verify(folder, expected, remedy=remedy)


def verify(folder: Path, expected: Mapping[str, str], *, remedy: str) -> None:
    """Raises UserError that names the first file in a folder that is missing or has another checksum."""
    for name, checksum in expected.items():
        file = folder / name
        if not file.is_file():
            raise UserError(f"{file}: is missing", remedy)
        if sha256_of(file) != checksum:
            raise UserError(f"{file}: is damaged (its checksum is not the one saved with it)", remedy)
