"""Records as files: written with a checksum, read one at a time or all of a results folder."""

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finetune.data.atomic import write_atomically
from finetune.data.paths import is_folder, read_small
from finetune.errors import UserError
from finetune.gone import without_defaults
from finetune.metrics.metric import plain_metrics

if TYPE_CHECKING:
    from finetune.runs.record import RunRecord

MOST_RECORD_BYTES = 16_000_000  # ours have 13,000, and 100 epochs with 1,000 labels some millions
MOST_REASON = 300  # characters of the reason why a record is refused
MOST_FAULTS = 1_000  # of a record, that are looked at
REMEDY = "Run its recipe again with `force`, or delete its folder"


class DamagedRecord(UserWarning):
    """A record that cannot be read, and is left out of what is made of many."""


def write_record(file: Path, record: "RunRecord") -> None:
    """Writes a record with its checksum."""
    text = record.model_copy(update={"checksum": ""}).model_dump_json(indent=2) + "\n"
    write_atomically(file, text.replace(_line(""), _line(hashlib.sha256(text.encode()).hexdigest())))


def load_record(file: Path) -> "RunRecord":
    """Reads a record. Raises UserError for one that is damaged or of another format."""
    from pydantic import ValidationError

    from finetune.runs.record import RunRecord

    content = read_small(file, most=MOST_RECORD_BYTES, remedy=REMEDY)
    try:
        record = RunRecord.model_validate_json(content)
        if record.checksum and not _is_sealed(content, record.checksum):
            raise UserError(f"{file}: is damaged or was edited (its checksum is wrong)", REMEDY)
        _require_whole(record)
    except ValidationError as error:
        reason = f"{error.error_count():,} faults"  # of very many the list would take a gigabyte
        if error.error_count() <= MOST_FAULTS:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")[:MOST_REASON]
        raise _damaged(file, reason) from None
    except ValueError as error:
        raise _damaged(file, str(error)[:MOST_REASON]) from None
    return record


def plain_record(file: Path) -> dict[str, Any]:
    """The fields of a record as JSON has them, for lists of many: one with the checksum that we write is not checked
    further. Raises UserError as `load_record` does.
    """
    content = read_small(file, most=MOST_RECORD_BYTES, remedy=REMEDY)
    try:
        record: dict[str, Any] = json.loads(content)
        if record["checksum"] and _is_sealed(content, record["checksum"]):
            return record | {"recipe": without_defaults(record["recipe"])}
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return load_record(file).model_dump()


def all_records(out: Path) -> list["RunRecord"]:
    """Every record under a results folder, by task and time; warns of those that cannot be read."""
    records = [record for _, record in readable_records(record_files(out))]
    return sorted(records, key=lambda record: (record.task, record.finished))


def records_on(data: str, out: Path) -> list["RunRecord"]:
    """The records of runs on rows with this fingerprint, the latest last; warns of those that cannot be read."""
    files = [file for file in record_files(out) if data.encode() in file.read_bytes()]  # else 10,000 take seconds
    records = [record for _, record in readable_records(files) if record.data == data]
    return sorted(records, key=lambda record: record.finished)


def readable_records(files: Iterable[Path]) -> Iterator[tuple[Path, "RunRecord"]]:
    """(file, record) of each file that can be read; a damaged one is left out with a DamagedRecord warning."""
    for file in files:
        try:
            yield file, load_record(file)
        except UserError as error:
            warn_of_damage(error)


def warn_of_damage(error: UserError) -> None:
    """Says that a record is left out."""
    warnings.warn(f"{error}; it is left out", DamagedRecord, stacklevel=3)


def record_files(out: Path, folder: str = "*") -> list[Path]:
    """The records under a results folder, or of the folder of one task in it."""
    return sorted(out.glob(f"{folder}/*/record.json")) if is_folder(out) else []


def _line(checksum: str) -> str:
    return f'"checksum": "{checksum}"'


def _is_sealed(content: bytes, checksum: str) -> bool:
    text = content.replace(_line(checksum).encode(), _line("").encode())
    return hashlib.sha256(text).hexdigest() == checksum


def _require_whole(record: "RunRecord") -> None:
    """Raises ValueError where a split has no rows, no baselines, or not each metric."""
    if not record.scores:
        raise ValueError("it has no scores")
    metrics = {record.headline, *plain_metrics(record.scores[record.first_split])}
    for split, scores in record.scores.items():
        if split not in record.rows or split not in record.baselines:
            raise ValueError(f"it has no rows or baselines of {split}")
        for method, values in {"": scores, **record.baselines[split]}.items():
            if missing := sorted(({*plain_metrics(scores)} if method else metrics) - values.keys()):
                raise ValueError(f"{split} {method} has no score {missing[0]!r}")


def _damaged(file: Path, reason: str) -> UserError:
    return UserError(f"{file}: is not a whole record of a run ({reason})", REMEDY)
