"""Write-ahead journal of predicted rows, so that an interrupted prediction resumes."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from finetune.data.atomic import require_no_links
from finetune.data.values import flat_cell
from finetune.errors import UserError

OTHER = "an earlier attempt was of another file, model, version or device, or is damaged"
DIGITS = len(sha256().hexdigest())


class Journal:
    """Predicted rows, in a hidden file next to the output until the output is written.

    A window of rows is a line: its checksum, and `[rows, truncated rows]` as JSON, so that a window that was cut off or
    damaged is detected. The first line is `of`, a hash of all that decides the predictions. After opening, `rows` and
    `truncated` count the rows of complete windows, and `note` describes dropped rows.
    """

    def __init__(self, output: Path, *, of: str) -> None:
        self.file = output.with_name(f".{output.name}.part.jsonl")
        self.lock = FileLock(output.with_name(f".{output.name}.lock"))
        self.first = (json.dumps({"of": of}) + "\n").encode()
        self.rows = self.truncated = 0
        self.note = ""

    def __enter__(self) -> "Journal":
        """Opens the file after the last whole window of an earlier attempt, or a new one."""
        for file in (self.file, Path(self.lock.lock_file)):
            require_no_links(file)
        try:
            self.lock.acquire(blocking=False)
            size = self._earlier()
            self.opened = self.file.open("r+b" if size else "wb")
            self.opened.truncate(size)
            self.opened.seek(size)
            if not size:
                self._write(self.first)
        except Timeout as error:
            raise UserError(
                f"{self.file}: another process is writing this file (lock held)", "Wait for it, or stop it"
            ) from error
        except OSError as error:
            raise UserError(f"{self.file}: cannot be written ({error.strerror})", "Choose another output") from error
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.close()
        Path(self.lock.lock_file).unlink(missing_ok=True)
        self.lock.release()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self.file.open("rb") as file:
            for _, rows, _ in _windows(file):
                yield from rows

    def add(self, rows: Iterable[Mapping[str, Any]], *, truncated: int) -> None:
        """Writes a window of rows, of which some were truncated, and syncs it to disk. Dates become texts."""
        window = list(rows)
        content = json.dumps([window, truncated], default=flat_cell).encode()
        try:
            self._write(sha256(content).hexdigest().encode() + content + b"\n")
        except OSError as error:
            raise UserError(
                f"{self.file}: cannot be written ({error.strerror})", "Free space, and run it again"
            ) from error
        self.rows += len(window)
        self.truncated += truncated

    def names(self, *, error: str) -> tuple[list[str], int]:
        """Column names by first appearance, the error column last; and the number of rows with an error."""
        names: dict[str, None] = {}
        failed = 0
        for row in self:
            failed += error in row
            names |= dict.fromkeys(row)
        names.pop(error, None)
        return [*names, *[error] * (failed > 0)], failed

    def delete(self) -> None:
        """Deletes the file."""
        self.file.unlink(missing_ok=True)

    def _write(self, content: bytes) -> None:
        self.opened.write(content)
        self.opened.flush()
        os.fsync(self.opened.fileno())

    def _earlier(self) -> int:
        """Counts the rows of an earlier attempt's whole windows; returns their bytes, 0 for another `of`."""
        if not self.file.is_file():
            return 0
        with self.file.open("rb") as file:
            end = len(self.first)
            first = file.read(end)
            if first != self.first:
                self.note = "" if self.first.startswith(first) else OTHER
                return 0
            file.seek(0)
            for size, rows, truncated in _windows(file):
                end += size
                self.rows += len(rows)
                self.truncated += truncated
        if end < self.file.stat().st_size:
            self.note = f"what an earlier attempt wrote after row {self.rows:,} is incomplete or damaged"
        return end


def _windows(file: IO[bytes]) -> Iterator[tuple[int, list[dict[str, Any]], int]]:
    """(bytes, rows, truncated rows) of each window, up to the first that is incomplete or whose checksum differs."""
    file.readline()
    for line in file:
        checksum, content = line[:DIGITS], line[DIGITS:-1]
        if not line.endswith(b"\n") or checksum != sha256(content).hexdigest().encode():
            return
        rows, truncated = json.loads(content)
        yield len(line), rows, truncated
