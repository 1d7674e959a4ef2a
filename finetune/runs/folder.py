"""The folder of a run: its files, its lock, and its completion."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from finetune.data.atomic import write_atomically
from finetune.errors import UserError
from finetune.runs.recipe import Recipe
from finetune.runs.record import RunRecord, load_record


class RunFolder:
    """`<out>/<task>/<id>`: recipe, events, predictions, model, and record.json, which exists once the run is done."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record_file = path / "record.json"
        self.events = path / "events.jsonl"
        self.checkpoint = path / "checkpoint.pt"
        self.model = path / "model"

    @classmethod
    def of(cls, out: Path, task: str, run: str) -> "RunFolder":
        """The folder of a run under a results folder."""
        return cls(out / folder_name(task) / run)

    def predictions(self, split: str) -> Path:
        """The predictions file of one split."""
        return self.path / f"predictions-{split}.parquet"

    def record(self) -> RunRecord | None:
        """The record of a finished run, None where there is none. Raises UserError where it is damaged."""
        return load_record(self.record_file) if self.record_file.is_file() else None

    @contextmanager
    def locked(self, *, restart: bool) -> Iterator[None]:
        """Creates the folder and locks it for this process; `restart` deletes what an earlier attempt left.

        Raises UserError where the folder cannot be written, or another process holds the lock.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".lock")
            lock.acquire(blocking=False)
            if restart:
                self.record_file.unlink(missing_ok=True)
                self.checkpoint.unlink(missing_ok=True)
        except Timeout as error:
            raise UserError(
                f"{self.path}: another process is running this recipe (lock held)", "Wait for it, or stop it"
            ) from error
        except OSError as error:
            raise UserError(
                f"{self.path}: cannot be written ({error.strerror})", "Choose another folder with --out"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def finish(self, record: RunRecord, recipe: Recipe, drawn: Mapping[str, Sequence[str]]) -> None:
        """Writes the recipe, the ids of sampled splits, and the record last; removes the checkpoint."""
        write_atomically(self.path / "recipe.toml", recipe.to_toml())
        if drawn:
            write_atomically(self.path / "split.json", json.dumps(drawn) + "\n")
        write_atomically(self.record_file, record.model_dump_json(indent=2) + "\n")
        self.checkpoint.unlink(missing_ok=True)


def folder_name(task: str) -> str:
    """The folder name of a task's runs: the task's name, with a hyphen for each sign that is not a letter or digit."""
    kept = (
        c if unicodedata.category(c)[0] in "LMN" or c in "._-" else "\0" for c in unicodedata.normalize("NFC", task)
    )
    return re.sub("\0+", "-", "".join(kept)).strip("-.") or "task"


def data_name(path: str) -> str:
    """The name of the task for a file or folder of data: `reviews.csv`, or `korsts-data` for a folder."""
    resolved = Path(path).resolve()
    return f"{resolved.name}-data" if resolved.is_dir() else resolved.name
