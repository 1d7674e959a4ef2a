"""Records as files: written with a checksum, read one at a time or all of a results folder."""

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from finetune.data.atomic import write_atomically
from finetune.data.paths import is_folder, read_small
from finetune.errors import UserError
from finetune.metrics.scores import plain_metrics
from finetune.runs.record import RunRecord

MOST_BYTES = 16_000_000  # of a record.json; ours have 13,000, and 100 epochs with 1,000 labels some millions
MOST_REASON = 300  # characters of what is wrong with a record
MOST_NAME = 100  # characters of a metric in a message
MOST_FAULTS = 1_000  # of a record, that are looked at
REMEDY = "Run its recipe again with `force`, or delete its folder"


class DamagedRecord(UserWarning):
    """A record that cannot be read, and is left out of what is made of many."""


def write_record(file: Path, record: RunRecord) -> None:
    """Writes a record with its checksum."""
    text = record.model_copy(update={"checksum": ""}).model_dump_json(indent=2) + "\n"
    write_atomically(file, text.replace(_checksum_line(""), _checksum_line(_checksum(text))))


def load_record(file: Path) -> RunRecord:
    """Reads a record. Raises UserError for one that is damaged or of another format."""
    content = read_small(file, most=MOST_BYTES, remedy=REMEDY)
    try:
        record = RunRecord.model_validate_json(content)
        if record.checksum:
            text = content.decode("utf-8").replace(_checksum_line(record.checksum), _checksum_line(""))
            if _checksum(text) != record.checksum:
                raise UserError(f"{file}: is damaged or was edited (its checksum is wrong)", REMEDY)
        _require_whole(record)
    except ValidationError as error:
        raise _damaged(file, _first_fault(error)) from None
    except ValueError as error:
        raise _damaged(file, str(error)) from None
    return record


def all_records(out: Path) -> list[RunRecord]:
    """Every record under a results folder, by task and time; warns of those that cannot be read."""
    found = [record for _, record in readable_records(_record_files(out))]
    return sorted(found, key=lambda record: (record.task, record.finished))


def records_on(data: str, out: Path) -> list[RunRecord]:
    """The records of runs on rows with this fingerprint, the latest last; warns of those that cannot be read."""
    files = [file for file in _record_files(out) if data.encode() in file.read_bytes()]  # else 10,000 take seconds
    found = [record for _, record in readable_records(files) if record.data == data]
    return sorted(found, key=lambda record: record.finished)


def readable_records(files: Iterable[Path]) -> Iterator[tuple[Path, RunRecord]]:
    """(file, record) of each file that can be read; a damaged one is left out with a DamagedRecord warning."""
    for file in files:
        try:
            yield file, load_record(file)
        except UserError as error:
            warnings.warn(f"{error}; it is left out", DamagedRecord, stacklevel=2)


def _record_files(out: Path) -> list[Path]:
    return sorted(out.glob("*/*/record.json")) if is_folder(out) else []


def _checksum_line(value: str) -> str:
    return f'"checksum": "{value}"'


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _require_whole(record: RunRecord) -> None:
    """Raises ValueError where a split has no rows, no baselines, or not each metric."""
    if not record.scores:
        raise ValueError("it has no scores")
    metrics = {record.headline, *plain_metrics(record.scores[record.first_split])}
    for split, scores in record.scores.items():
        if split not in record.rows or split not in record.baselines:
            raise ValueError(f"it has no rows or baselines of {split}")
        for method, of_method in {"": scores, **record.baselines[split]}.items():
            if missing := sorted((metrics if not method else {*plain_metrics(scores)}) - of_method.keys()):
                raise ValueError(f"{split} {method} has no score {missing[0][:MOST_NAME]!r}")


def _first_fault(error: ValidationError) -> str:
    """The first fault; of very many, whose list would take a gigabyte, their number alone."""
    if error.error_count() > MOST_FAULTS:
        return f"{error.error_count():,} faults"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")[:MOST_REASON]


def _damaged(file: Path, reason: str) -> UserError:
    return UserError(f"{file}: is not a whole record of a run ({reason})", REMEDY)
