"""Write-ahead journal of predicted rows, so that an interrupted prediction resumes."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from filelock import FileLock, Timeout

from finetune.errors import UserError

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
    """Predicted rows, one JSON object a line, in a hidden file next to the output until the output is written."""

    def __init__(self, output: Path, *, of: str) -> None:
        self.file = output.with_name(f".{output.name}.part.jsonl")
        self.lock = FileLock(output.with_name(f".{output.name}.lock"))
        self.of = of

    def __enter__(self) -> int:
        """Opens the file after the last complete line of an earlier attempt; returns the number of rows before it."""
        try:
            self.lock.acquire(blocking=False)
            done, size = self._earlier()
            self.opened = self.file.open("r+b" if size else "wb")
            self.opened.truncate(size)
            self.opened.seek(size)
            if not size:
                self._write([{"of": self.of}])
        except Timeout as error:
            raise UserError(
                f"{self.file}: another process is writing this file (lock held)", "Wait for it, or stop it"
            ) from error
        except OSError as error:
            raise UserError(f"{self.file}: cannot be written ({error.strerror})", "Choose another output") from error
        return done

    def __exit__(self, *_: object) -> None:
        self.opened.close()
        Path(self.lock.lock_file).unlink(missing_ok=True)
        self.lock.release()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self.file.open(encoding="ascii") as lines:
            next(lines)
            yield from map(DECODE, lines)

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes some rows and syncs them to disk."""
        try:
            self._write(rows)
        except OSError as error:
            raise UserError(
                f"{self.file}: cannot be written ({error.strerror})", "Free space, and run it again"
            ) from error

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

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.opened.write("".join(ENCODE(row) + "\n" for row in rows).encode())
        self.opened.flush()
        os.fsync(self.opened.fileno())

    def _earlier(self) -> tuple[int, int]:
        """(rows, bytes) of the complete lines of an earlier attempt; (0, 0) if that was of something else."""
        if not self.file.is_file():
            return 0, 0
        with self.file.open("rb") as lines:
            first = next(lines, b"")
            if first != (json.dumps({"of": self.of}) + "\n").encode():
                return 0, 0
            rows, size = 0, len(first)
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                rows, size = rows + 1, size + len(line)
        return rows, size
