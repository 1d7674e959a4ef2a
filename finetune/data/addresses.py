"""Files by address: paths, patterns and folders, here or on any file system that fsspec knows (`s3://`, `hf://`)."""

import os.path
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any

from finetune.errors import UserError, first_line

PATTERN = re.compile(r"[*?\[]")
HIDDEN = (".", "_")  # begins names that are no data, as `_SUCCESS` and `.crc`
VERSIONS = ("ETag", "etag", "md5Hash", "checksum", "blob_id", "version_id", "mtime", "LastModified", "last_modified",
            "updated", "created")  # fmt: skip  # of a file, as file systems call what changes with it


@dataclass(frozen=True, kw_only=True)
class Stored:
    """A file that was found: its address, its path below the folder of all, its size in bytes, and its version."""

    address: str
    name: str
    size: int
    version: str


def is_remote(address: str) -> bool:
    """Whether an address names a file system, as `s3://bucket/file` does."""
    return "://" in address


def has_wildcards(address: str) -> bool:
    """Whether an address has wildcards."""
    return PATTERN.search(address) is not None


def found_files(addresses: Iterable[str], *, suffix: str) -> list[Stored]:
    """The files at these addresses, sorted by name; of folders and patterns those with this suffix, at any depth.

    Raises UserError for an address that is not found or lists nothing, an address on another file system than the
    first, two files of one name, and a file system whose package is not installed.
    """
    found: set[str] = set()
    folders: list[str] = []
    files: Any = None
    for address in addresses:
        system, path = _file_system(address)
        if files is not None and system.protocol != files.protocol:
            raise UserError(f"{address}: is on another file system than the first input", "Predict it separately")
        files = system
        folder, here = _listed(address, system, path, suffix)
        folders.append(folder)
        found |= here
    root = posixpath.commonpath(folders)
    with naming(root):
        return [_stored(files, path, root) for path in sorted(found)]


@contextmanager
def readable(address: str) -> Iterator[str | IO[bytes]]:
    """What pyarrow reads a file from: the path of a local one, else an open file."""
    system, path = _file_system(address)
    if _is_local(system):
        yield path
        return
    with system.open(path, "rb") as file:
        yield file


@contextmanager
def naming(address: str) -> Iterator[None]:
    """Turns every error of reading into a UserError that names the address: drivers raise classes of their own."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{address}: cannot be read ({_reason(error)})", "Check that it is complete") from error


def version_now(address: str) -> tuple[int, str]:
    """The size and version of a file now. Raises UserError for one that cannot be read."""
    with naming(address):
        system, path = _file_system(address)
        system.invalidate_cache()
        return _version(system.info(path))


def _listed(address: str, system: Any, path: str, suffix: str) -> tuple[str, set[str]]:
    """The folder of an address, and the paths of the files there."""
    with naming(address):
        if system.isdir(path):
            folder, found = path, set(system.find(path))
        elif system.exists(path):
            if not path.endswith(suffix):
                raise UserError(f"{address}: is not a {suffix} file", "Name a file of another format alone")
            return posixpath.dirname(path), {path}
        elif has_wildcards(path):
            folder, found = _fixed(path), set(_matching(system, path))
        else:
            raise UserError(f"{address}: no such file", "Check its name")
    files = {name for name in found if _is_data(name, folder, suffix)}
    if not files:
        raise UserError(f"{address}: no {suffix} file", "Check the address")
    return folder, files


def _matching(system: Any, pattern: str) -> Iterator[str]:
    """The files that match a pattern, and those in folders that match it."""
    for path, facts in system.glob(pattern, detail=True).items():
        yield from system.find(path) if facts["type"] == "directory" else [path]


def _is_data(path: str, folder: str, suffix: str) -> bool:
    parts = path.removeprefix(folder).strip("/").split("/")
    return path.endswith(suffix) and not any(part.startswith(HIDDEN) for part in parts)


def _fixed(pattern: str) -> str:
    """The folder before the first wildcard of a pattern."""
    return posixpath.dirname(pattern[: PATTERN.search(pattern).start()])  # type: ignore[union-attr]


def _stored(system: Any, path: str, root: str) -> Stored:
    size, version = _version(system.info(path))
    address = path if _is_local(system) else system.unstrip_protocol(path)
    return Stored(address=address, name=path.removeprefix(root).lstrip("/"), size=size, version=version)


def _version(facts: Mapping[str, Any]) -> tuple[int, str]:
    key = next((key for key in VERSIONS if facts.get(key)), "")
    value = facts.get(key, "")
    return int(facts.get("size") or 0), f"{key} {value.isoformat() if isinstance(value, datetime) else value}"


def _is_local(system: Any) -> bool:
    return "file" in ((system.protocol,) if isinstance(system.protocol, str) else system.protocol)


def _file_system(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path there. Raises UserError where fsspec has no package for it."""
    from fsspec.core import url_to_fs
    from fsspec.registry import known_implementations

    kind = address.partition("://")[0]
    try:
        system, path = url_to_fs(address if is_remote(address) else os.path.abspath(address))  # noqa: PTH100
    except ImportError as error:
        module = known_implementations.get(kind, {}).get("class", "").partition(".")[0]
        package = error.name or module if module == "fsspec" else module or error.name
        raise UserError(
            f"{address}: the package that reads {kind}:// is not installed", f"pip install {package}"
        ) from error
    except ValueError as error:
        raise UserError(f"{address}: {_reason(error)}", "Name a path, s3://, gs://, hf:// or the like") from error
    return system, str(path)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or first_line(error)
