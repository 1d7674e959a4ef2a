"""The folder of a run: its files, lock and completion, and its predictions in Parquet files."""

import json
import os
import platform
import re
import shlex
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.atomic import remove_scratch, require_no_link, require_no_links, sync, write_atomically, written_file
from finetune.data.checksums import CHECKSUMS, checksums_of, sha256_of, verify
from finetune.data.paths import fixed_folder, is_pattern, paths_in, require_own_folder
from finetune.errors import UserError
from finetune.runs.record_files import load_record, write_record

if TYPE_CHECKING:
    from finetune.runs.record import RunRecord

RESULTS = Path("results")  # the folder of runs, where no other is named
RECORD = "record.json"
EXPORT = "export.json"  # in the folder of an exported model
HOLDER = ".holder"  # who has the lock
NEW = "new"  # in a finished run's folder: the run that will replace it
WAIT_SECONDS = 0.5
NOT_READ = ("n_best",)  # the largest column, if it exists; it is never displayed
PREDICTION, OLDER = "prediction", "answer"  # the column, and its name in the files of older runs
NEEDED = ("id", "gold", PREDICTION)
PredictionLine = dict[str, Any]
Writer = Callable[[Path], AbstractContextManager[Path]]


def with_results(*words: str, out: Path) -> str:
    """The command to type, with the folder of the runs if it is not the usual one."""
    return shlex.join(["finetune", *words, *(() if out == RESULTS else ("--out", str(out)))])


class RunFolder:
    """`<out>/<task>/<id>`: recipe, events, predictions, model, and record.json, which exists once it is done."""

    def __init__(self, path: Path) -> None:
        # A path of one word has no parents, and with `..` they are not the folders above. Links stay links.
        plain = len(path.parents) > 1 and ".." not in path.parts
        self.path = path if plain else Path(os.path.abspath(path))  # noqa: PTH100
        self.record_file = self.path / RECORD
        self.events = self.path / "events.jsonl"
        self.checkpoints = self.path / "checkpoints"
        self.model = self.path / "model"
        self.locked_file = 0  # the inode of the lock while this process has it

    @classmethod
    def of(cls, out: Path, task: str, run: str) -> "RunFolder":
        """The folder of a run under a results folder."""
        return cls(out / folder_name(task) / run)

    @property
    def attempt(self) -> "RunFolder":
        """The folder to train in: this one; if it holds a finished run, a folder inside, which `publish` moves here."""
        if not self.record_file.is_file() and not (self.path / NEW).is_dir():
            return self
        (self.path / NEW).mkdir(exist_ok=True)
        return RunFolder(self.path / NEW)

    def predictions(self, split: str) -> Path:
        """The predictions file of one split."""
        return self.path / f"predictions-{split}.parquet"

    def record(self) -> "RunRecord | None":
        """The record of a finished run, else None. Raises UserError for a damaged one."""
        return load_record(self.record_file) if self.record_file.is_file() else None

    def verify(self, name: str) -> None:
        """Raises UserError if a file of the finished run differs from the checksum in its record."""
        if (record := self.record()) is not None and name in record.files:
            verify(self.path, {name: record.files[name]}, remedy="Run the recipe again with `force`")

    def require_model(self) -> Path:
        """The folder of the finished run's model. Raises UserError if it is missing or not the run's."""
        if not self.model.is_dir():
            raise UserError(f"{self.path}: its model is missing", "Weights are not in git: run it with `force`")
        self.verify(f"{self.model.name}/{CHECKSUMS}")
        return self.model

    @contextmanager
    def locked(self, *, wait: bool, tell: Callable[[str], object] = lambda _: None) -> Iterator[None]:
        """Creates the folder, locks it for this process, and finishes or removes the remains of killed processes.

        With `wait` it calls `tell` and waits until another process releases the lock. Raises UserError for
        a locked folder without `wait`, and for one that cannot be written, is an address, or is, has or is in a link.
        """
        from filelock import FileLock, Timeout

        lock, holder = FileLock(self.path / ".lock"), self.path / HOLDER
        require_own_folder(self.path)
        require_no_link(self.path.parent)  # the task's
        require_no_links(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(blocking=False)
            except Timeout as error:
                name = "another process"
                with suppress(OSError):
                    name = holder.read_text(encoding="utf-8").strip() or name
                state = f"{self.path}: this run is being trained by {name}"
                if not wait:
                    raise UserError(state, "Wait until it is finished, or stop it") from error
                tell(f"{state}; waiting for its record")
                lock.acquire(poll_interval=WAIT_SECONDS)
            self.locked_file = (self.path / ".lock").stat().st_ino
            remove_scratch(self.path)
            self.publish()
            write_atomically(holder, f"process {os.getpid()} on {platform.node()}\n")
        except OSError as error:
            lock.release()
            raise UserError(
                f"{self.path}: cannot be written or locked ({error.strerror})", "Choose another folder with `out`"
            ) from error
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()

    def clean(self) -> None:
        """Removes the remains of a process that was killed after it finished the run, unless another has the lock."""
        if any((self.path / name).exists() for name in (HOLDER, NEW)):
            with suppress(UserError), self.locked(wait=False):
                pass  # to lock it has removed them

    def require_locked(self) -> None:
        """Raises UserError if the folder was removed, or replaced by another, since it was locked."""
        lock = self.path / ".lock"
        if not lock.is_file() or lock.stat().st_ino != self.locked_file:
            raise UserError(f"{self.path}: was removed while the run was trained", "Run the same command again")

    def finish(self, record: "RunRecord", recipe: str, drawn: Mapping[str, Sequence[str]]) -> None:
        """Writes the recipe (TOML), the ids of sampled splits, and last the record, with the checksums of all files."""
        write_atomically(self.path / "recipe.toml", recipe)
        if drawn:
            write_atomically(self.path / "split.json", json.dumps(drawn) + "\n")
        changing = (RECORD, self.events.name)
        sums = {name: sum for name, sum in checksums_of(self.path).items() if name not in changing}
        sums[f"{self.model.name}/{CHECKSUMS}"] = sha256_of(self.model / CHECKSUMS)
        write_record(self.record_file, record.model_copy(update={"files": sums}))

    def publish(self) -> None:
        """Replaces the finished run by a newer one that `attempt` holds, if that is finished; can be repeated.

        The old record goes first and the new one comes last, so that a record never describes files of another run.
        """
        new = RunFolder(self.path / NEW)
        if not new.record_file.is_file():
            with suppress(OSError):  # not there, or not finished
                new.path.rmdir()
            return
        shutil.rmtree(new.checkpoints, ignore_errors=True)
        self.record_file.unlink(missing_ok=True)
        for old in self.path.iterdir():
            if old.name != NEW and not old.name.startswith(".") and (new.path / old.name).exists():
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        for file in sorted(new.path.iterdir(), key=lambda file: file.name == RECORD):
            file.replace(self.path / file.name)
        new.path.rmdir()
        sync(self.path)


def is_locked(folder: Path) -> bool:
    """Whether a process, on this machine or another, has the lock of a run's folder."""
    from filelock import FileLock, Timeout

    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return True
    lock.release()
    return False


def folder_name(task: str) -> str:
    """The folder name of a task's runs: the task's name, with hyphens for signs that are not letters or digits."""
    normal = unicodedata.normalize("NFC", task)
    signs = (sign if unicodedata.category(sign)[0] in "LMN" or sign in "._-" else "\0" for sign in normal)
    return re.sub("\0+", "-", "".join(signs)).strip("-.") or "task"


def data_name(path: str) -> str:
    """The task's name for data: `reviews.csv`; `korsts-data` for a folder, or a pattern of files in it."""
    if len(parts := paths_in(path)) > 1:
        return ",".join(part.name for part in parts)
    resolved = fixed_folder(path).resolve() if is_pattern(path) else Path(path).resolve()
    return f"{resolved.name}-data" if resolved.is_dir() else resolved.name


def write_predictions(
    file: Path, lines: Sequence[Mapping[str, Any]], official: Mapping[str, Any], *, writer: Writer = written_file
) -> None:
    """Writes one line per row, and in the same folder the files of the task's official format.

    `writer` is `output_file` for files that a user named. Raises UserError for a folder that cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writer(file) as scratch:
        pq.write_table(pa.Table.from_pylist(lines), scratch)
    pa.default_memory_pool().release_unused()
    for name, content in official.items():
        with writer(file.with_name(name)) as scratch:
            scratch.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_predictions(file: Path, *, without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The lines of `write_predictions`, without the columns `without`.

    Raises UserError for a missing or damaged file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not file.is_file():
        raise UserError(f"{file}: no predictions found", "They are not kept in git; run the recipe again with `force`")
    RunFolder(file.parent).verify(file.name)
    try:
        with pq.ParquetFile(file.absolute()) as opened:  # pq.read_table imports pyarrow.dataset and pandas
            columns = [name for name in opened.schema_arrow.names if name not in without]
            table = opened.read(columns=columns)
            older = {} if PREDICTION in columns else {OLDER: PREDICTION}
            return table.rename_columns([older.get(name, name) for name in columns]).to_pylist()  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: cannot be read ({error})", "Run the recipe again with `force`") from error


def read_lines(folder: RunFolder, split: str) -> list[PredictionLine]:
    """The predictions of a split. Raises UserError for a file that is damaged or lacks a required column."""
    file = folder.predictions(split)
    lines = read_predictions(file, without=NOT_READ)
    if lines and (lacking := [name for name in NEEDED if name not in lines[0]]):
        raise UserError(f"{file}: has no column {' and '.join(lacking)}", "Run the recipe again with `force`")
    return lines
