"""The plan of a prediction of many files: inputs, their shards, and which are done.

A shard or a file is done when its Parquet file is whole: that is renamed into place at the end, and names in its footer
what it holds the predictions of. So nothing else is kept, and every process finds the same by looking at the disk.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from finetune.errors import UserError
from finetune.task_types.columns import Layout

STATE = ".predict"  # in the output's folder: what shards have, until their file's output is written
MARK = b"finetune"  # the key of a footer's metadata


class Busy(UserError):
    """Another process predicts this shard."""


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Row groups `groups[0]` to `groups[1]` (not included) of a file, which have `rows` rows."""

    file: str
    number: int
    groups: tuple[int, int]
    rows: int

    @property
    def key(self) -> str:
        """`a.parquet/00003`."""
        return f"{self.file}/{self.number:05}"


@dataclass(frozen=True, kw_only=True)
class Marked:
    """What a written file says of itself: a hash of what it holds the predictions of, the number of its rows without a
    prediction, of those truncated, and of what was left out as `unsure`, if that was asked for.
    """

    of: str
    failed: int
    truncated: int
    unsure: int | None = None

    def added_to(self, schema: Any) -> Any:
        """The schema of a file that says this in its footer."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return schema.with_metadata({**(schema.metadata or {}), MARK: json.dumps(said)})


@dataclass(frozen=True, kw_only=True)
class InputFile:
    """An input: its `name` below the folder of all, which is that of its output too; its address, size, version and
    columns when the prediction began; its shards, or why it cannot be read.
    """

    name: str
    address: str
    size: int
    version: str
    columns: tuple[str, ...] = ()
    shards: tuple[Shard, ...] = ()
    error: str = ""

    @property
    def rows(self) -> int:
        """Its number of rows; 0 where it cannot be read."""
        return sum(shard.rows for shard in self.shards)

    @property
    def taken(self) -> set[str]:
        """Names that no column of predictions has: its columns, and those of its path (`year=2026/a.parquet`)."""
        return {*self.columns, *(part.partition("=")[0] for part in self.name.split("/")[:-1] if "=" in part)}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be predicted into a folder, by which model (a hash), and which of it is done. Safe to pickle."""

    folder: Path
    model: str
    layout: Layout  # the columns that the model reads
    files: Mapping[str, InputFile]  # by name

    @property
    def rows(self) -> int:
        """The number of rows of all inputs."""
        return sum(file.rows for file in self.files.values())

    @property
    def state(self) -> Path:
        """The folder of journals, locks and scratch files."""
        return self.folder / STATE / self.model[:16]

    def left(self) -> list[Shard]:
        """The shards that are not predicted yet."""
        files = [file for file in self.files.values() if self.output(file) is None]
        return [shard for file in files for shard in file.shards if self.result(shard) is None]

    def of(self, file: InputFile, shard: Shard | None = None) -> str:
        """A hash of what decides the predictions of a file or one of its shards."""
        facts = [self.model, file.size, file.version, shard and shard.groups]
        return sha256(json.dumps(facts).encode()).hexdigest()

    def read(self, file: InputFile) -> list[str]:
        """The columns of a file that the model reads."""
        wanted = {source_column(name, file.columns) for name in (*self.layout.inputs, *self.layout.rest)}
        return [name for name in file.columns if name in wanted]

    def place(self, shard: Shard, suffix: str) -> Path:
        """A file of a shard's state."""
        return self.state / shard.file / f"{shard.number:05}{suffix}"

    def result(self, shard: Shard) -> Marked | None:
        """What is known of a shard whose scratch file is whole; None for another."""
        found = _read_mark(self.place(shard, ".parquet"))
        return found if found and found.of == self.of(self.files[shard.file], shard) else None

    def output(self, file: InputFile) -> Marked | None:
        """What is known of a file whose output is written; None for another.

        Raises UserError for an output of something else.
        """
        output = self.folder / file.name
        if not output.exists():  # first, since another process may write it now
            return None
        found = _read_mark(output)
        if found is None or found.of != self.of(file):
            raise UserError(
                f"{output}: already exists, and is of another model, library version, kind of device or precision, or"
                " its input has changed, or it is damaged",
                "Predict into another folder, or remove it",
            )
        return found

    def remove_state(self) -> None:
        """Removes the folder of the state; a process that still looks there finds the outputs first."""
        shutil.rmtree(self.folder / STATE, ignore_errors=True)

    @contextmanager
    def locked(self, name: str, *, wait: bool) -> Iterator[None]:
        """Holds the lock of a shard or file. Raises Busy where another process has it, unless `wait`."""
        lock = self.state / f"{name}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(lock, timeout=-1 if wait else 0):
                yield
        except Timeout as error:
            raise Busy(f"{name}: another process predicts it", "Wait for it") from error


def all_unsure(every: Iterable[Marked]) -> int | None:
    """What was left out of several; None where that was not asked for."""
    counts = [one.unsure for one in every if one.unsure is not None]
    return sum(counts) if counts else None


def source_column(name: str, columns: tuple[str, ...]) -> str:
    """The column that holds a cell of this name, which may be a field of an object: `a` for `a.b`; else empty."""
    while name not in columns:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return ""
    return name


def shards_of(name: str, groups: tuple[int, ...], *, rows: int) -> Iterator[Shard]:
    """Shards of whole row groups, of at least so many rows each but for the last; none for a file without rows."""
    begin = number = 0
    for end in range(1, len(groups) + 1):
        size = sum(groups[begin:end])
        if size >= rows or (size and end == len(groups)):
            yield Shard(file=name, number=number, groups=(begin, end), rows=size)
            begin, number = end, number + 1


def _read_mark(file: Path) -> Marked | None:
    """What a Parquet file says of itself; None where there is none, or one that is not whole or not ours."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(file.absolute()).metadata or {}
        return Marked(**json.loads(metadata[MARK]))
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        return None
