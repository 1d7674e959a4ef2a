"""Write-ahead journal of predicted rows, so that an interrupted prediction resumes."""

import json
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

from filelock import FileLock, Timeout

from finetune.data.atomic import require_no_links
from finetune.errors import UserError

END = "["  # begins the line after a window; rows are objects
OTHER = "an earlier attempt was of another file, model, version or device, or is damaged"
KIND = "\0kind"  # marks a cell of a type that JSON lacks, so that it is read back as that type
KINDS: Mapping[str, Callable[[str], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda text: timedelta(seconds=float(text)),
    "Decimal": Decimal,
}


def _marked(cell: Any) -> Any:
    """A cell of one of KINDS as JSON; any other as text."""
    match cell:
        case datetime():
            return {KIND: "datetime", "is": cell.isoformat(), "zone": getattr(cell.tzinfo, "key", None)}
        case date() | time():
            return {KIND: type(cell).__name__, "is": cell.isoformat()}
        case timedelta():
            return {KIND: "timedelta", "is": str(cell.total_seconds())}
        case Decimal():
            return {KIND: "Decimal", "is": str(cell)}
    return str(cell)


def _unmarked(found: dict[str, Any]) -> Any:
    """The cell that `_marked` wrote; any other object unchanged."""
    if KIND in found:
        with suppress(LookupError, ValueError, TypeError, ArithmeticError):  # the data had this form itself
            cell = KINDS[found[KIND]](found["is"])
            return cell.astimezone(ZoneInfo(found["zone"])) if found.get("zone") else cell
    return found


ENCODE, DECODE = json.JSONEncoder(default=_marked).encode, json.JSONDecoder(object_hook=_unmarked).decode


class Journal:
    """Predicted rows, in a hidden file next to the output until the output is written.

    A row is a JSON object on a line. A window of rows ends with a line `[rows, truncated rows, checksum]`, so that a
    window that was cut off or damaged is found. The first line is a hash of what the predictions depend on (`of`).
    After opening, `rows` and `truncated` count those of the windows that are kept, and `note` says what is not.
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
        with self.file.open(encoding="ascii") as lines:
            next(lines)
            yield from (DECODE(line) for line in lines if not line.startswith(END))

    def in_order(self, order: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yields the rows with these numbers, from 0, in this order."""
        starts, at = array("q"), 0
        with self.file.open("rb") as lines:
            for line in lines:
                if at and not line.startswith(END.encode()):
                    starts.append(at)
                at += len(line)
            for number in order:
                lines.seek(starts[number])
                yield DECODE(lines.readline().decode("ascii"))

    def add(self, rows: Iterable[Mapping[str, Any]], *, truncated: int) -> None:
        """Writes a window of rows, of which some were truncated, and syncs it to disk."""
        lines = [ENCODE(row) + "\n" for row in rows]
        content = "".join(lines).encode()
        try:
            self._write(content + _end(sha256(content).digest(), len(lines), truncated))
        except OSError as error:
            raise UserError(
                f"{self.file}: cannot be written ({error.strerror})", "Free space, and run it again"
            ) from error
        self.rows += len(lines)
        self.truncated += truncated

    def names(self, *, error: str) -> tuple[list[str], int]:
        """Column names by first appearance, the error column last; and the number of rows with an error."""
        names: dict[str, None] = {}
        failed = 0
        for row in self:
            failed += error in row
            if not row.keys() <= names.keys():
                names.update(dict.fromkeys(row))
        return [*(name for name in names if name != error), *([error] if failed else [])], failed

    def delete(self) -> None:
        """Deletes the file."""
        self.file.unlink(missing_ok=True)

    def _write(self, content: bytes) -> None:
        self.opened.write(content)
        self.opened.flush()
        os.fsync(self.opened.fileno())

    def _earlier(self) -> int:
        """Counts the bytes, rows and truncated rows of the whole windows of an earlier attempt; 0 if that was of
        something else.
        """
        if not self.file.is_file():
            return 0
        with self.file.open("rb") as file:
            first = file.read(len(self.first))
            if first != self.first:
                self.note = "" if self.first.startswith(first) else OTHER
                return 0
            size = len(first)
            for length, rows, truncated in _whole_windows(file):
                size += length
                self.rows += rows
                self.truncated += truncated
        if size < self.file.stat().st_size:
            self.note = f"what an earlier attempt wrote after row {self.rows:,} is incomplete or damaged"
        return size


def _whole_windows(file: IO[bytes]) -> Iterator[tuple[int, int, int]]:
    """(bytes, rows, truncated rows) of each window, up to the first that is incomplete or whose checksum differs."""
    content, length, rows = sha256(), 0, 0
    for line in file:
        length += len(line)
        if not line.startswith(END.encode()):
            content.update(line)
            rows += 1
            continue
        try:
            truncated = int(json.loads(line)[1])
        except (ValueError, TypeError, LookupError):
            return
        if line != _end(content.digest(), rows, truncated):
            return
        yield length, rows, truncated
        content, length, rows = sha256(), 0, 0


def _end(digest: bytes, rows: int, truncated: int) -> bytes:
    """The line after a window whose lines have this sha256."""
    checksum = sha256(digest + f"{rows} {truncated}".encode()).hexdigest()
    return (json.dumps([rows, truncated, checksum]) + "\n").encode()
