"""The plan of a prediction of many files, which is also its manifest: inputs, shards, and what became of them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, ValidationError

from finetune.data.atomic import write_atomically
from finetune.data.paths import read_small
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.types import layout_from

MANIFEST, STATE = "manifest.json", ".predict"  # in the output's folder
MOST_BYTES = 1 << 30  # of a manifest; one of 100,000 shards has 50 MB


Saved = TypeVar("Saved", bound=BaseModel)


class Busy(UserError):
    """Another process predicts this shard."""


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Shard(_Saved):
    """Row groups `groups[0]` to `groups[1]` (not included) of a file: `rows` rows from number `first` (from 0)."""

    file: str
    number: int
    groups: tuple[int, int]
    first: int
    rows: int

    @property
    def key(self) -> str:
        """`a.parquet/00003`."""
        return f"{self.file}/{self.number:05}"


class ShardResult(_Saved):
    """A predicted shard: its rows, those without a prediction, those truncated; the SHA-256 of what was read of its
    rows, of their predictions (as JSON), and of the scratch file that holds them.
    """

    rows: int
    failed: int
    truncated: int
    read: str
    predictions: str
    scratch: str


class WrittenFile(_Saved):
    """A written file: its rows, size and SHA-256, and the results of its shards."""

    rows: int
    bytes: int
    sha256: str
    shards: tuple[ShardResult, ...]


class InputFile(_Saved):
    """An input: its `name` below the folder of all, which is that of its output too; its address, size, version and
    columns when the prediction began; and its output, or why it has none.
    """

    name: str
    address: str
    size: int
    version: str
    columns: tuple[str, ...] = ()
    shards: tuple[Shard, ...] = ()
    output: WrittenFile | None = None
    error: str = ""

    @property
    def rows(self) -> int:
        """Its number of rows; 0 where it cannot be read."""
        return sum(shard.rows for shard in self.shards)

    @property
    def taken(self) -> set[str]:
        """Names that no column of predictions has: its columns, and those of its path (`year=2026/a.parquet`)."""
        return {*self.columns, *(part.partition("=")[0] for part in self.name.split("/")[:-1] if "=" in part)}


class Manifest(_Saved):
    """What is saved: a hash of what decides the predictions, the columns that the model reads, and all inputs.

    `complete`: every row of every input is in the outputs, once.
    """

    model: str
    layout: dict[str, Any]
    rows: int
    complete: bool
    files: tuple[InputFile, ...]


class Plan:
    """What is to be predicted into a folder, and where the state of each part is. Safe to pickle and to share."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.files = {file.name: file for file in manifest.files}

    @property
    def layout(self) -> Layout:
        """The columns that the model reads."""
        return layout_from(self.manifest.layout)

    @property
    def state(self) -> Path:
        """The folder of journals, locks and results, which is removed when all is done."""
        return self.folder / STATE

    @property
    def shards(self) -> Iterator[Shard]:
        """Every shard of the inputs that have no output yet."""
        return (shard for file in self.manifest.files if file.output is None for shard in file.shards)

    def left(self) -> list[Shard]:
        """The shards that are not predicted yet."""
        if self.is_finished():
            return []
        return [shard for shard in self.shards if self.result(shard) is None]

    def read(self, file: InputFile) -> list[str]:
        """The columns of a file that the model reads."""
        wanted = {source_column(name, file.columns) for name in (*self.layout.text, *self.layout.rest)}
        return [name for name in file.columns if name in wanted]

    def place(self, shard: Shard, suffix: str) -> Path:
        """A file of a shard's state."""
        return self.state / shard.file / f"{shard.number:05}{suffix}"

    def result(self, shard: Shard) -> ShardResult | None:
        """The result of a shard that is predicted; None for another."""
        if self.is_finished():
            output = self.output(self.files[shard.file])
            return None if output is None else output.shards[shard.number]
        return _parsed(ShardResult, self.place(shard, ".json"))

    def save_result(self, shard: Shard, result: ShardResult) -> None:
        """Marks a shard as predicted."""
        write_atomically(self.place(shard, ".json"), result.model_dump_json())

    def output(self, file: InputFile) -> WrittenFile | None:
        """The output of a file that is written; None for another."""
        if self.is_finished():
            return load_plan(self.folder).files[file.name].output
        return file.output or _parsed(WrittenFile, self.state / file.name / "output.json")

    def is_finished(self) -> bool:
        """Whether a process, this one or another, has finished everything, and the manifest says all."""
        return not self.state.is_dir()

    def remove_state(self) -> None:
        """Removes the folder of the state, all of it at once for other processes that look there."""
        old = self.state.with_name(f"{STATE}.old")
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):  # another process has removed it
            self.state.rename(old)
        shutil.rmtree(old, ignore_errors=True)

    def save_output(self, file: InputFile, output: WrittenFile) -> None:
        """Marks a file as written."""
        write_atomically(self.state / file.name / "output.json", output.model_dump_json())

    def forget(self, file: InputFile) -> None:
        """Removes the state of a file, which is then predicted from its first row."""
        shutil.rmtree(self.state / file.name, ignore_errors=True)

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

    def save(self, manifest: Manifest) -> "Plan":
        """Writes the manifest, and returns its plan."""
        with self.locked("manifest", wait=True):
            write_atomically(self.folder / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
        return Plan(self.folder, manifest)


def source_column(name: str, columns: tuple[str, ...]) -> str:
    """The column that holds a cell of this name, which may be a field of an object: `a` for `a.b`; else empty."""
    while name not in columns:
        name, dot, _ = name.rpartition(".")
        if not dot:
            return ""
    return name


def load_plan(folder: Path) -> Plan:
    """The plan of an output's folder. Raises UserError where it has none."""
    found = saved_manifest(folder)
    if found is None:
        raise UserError(f"{folder / MANIFEST}: no such file", "Run the command that predicts into this folder")
    return Plan(folder, found)


def saved_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None without one. Raises UserError for one that is damaged."""
    file = folder / MANIFEST
    if not file.exists():
        return None
    try:
        return Manifest.model_validate_json(read_small(file, most=MOST_BYTES))
    except ValidationError as error:
        raise UserError(f"{file}: is damaged", "Remove its folder, or predict into another") from error


def shards_of(name: str, groups: tuple[int, ...], *, rows: int) -> Iterator[Shard]:
    """Shards of whole row groups, of at least so many rows each but for the last; none for a file without rows."""
    begin = first = number = 0
    for end in range(1, len(groups) + 1):
        size = sum(groups[begin:end])
        if size >= rows or (size and end == len(groups)):
            yield Shard(file=name, number=number, groups=(begin, end), first=first, rows=size)
            begin, first, number = end, first + size, number + 1


def _parsed(kind: type[Saved], file: Path) -> Saved | None:
    """What a file of the state holds; None without it."""
    try:
        return kind.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
