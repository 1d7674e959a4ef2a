"""Records as files: written with a checksum, read one at a time or as a list.

A list of runs takes the few fields that it shows, without pydantic: 10,000 records are read in seconds.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from finetune.data.atomic import write_atomically
from finetune.data.paths import is_folder, read_small
from finetune.errors import UserError
from finetune.gone import without_defaults
from finetune.metrics.metric import Metric, find_metric, plain_metrics
from finetune.runs.settings import Lineage

if TYPE_CHECKING:
    from finetune.runs.record import RunRecord

MOST_RECORD_BYTES = 16_000_000  # ours have 13,000, and 100 epochs with 1,000 labels some millions
MOST_REASON = 300  # characters of the reason why a record is refused
MOST_FAULTS = 1_000  # of a record, that are looked at
REMEDY = "Run its recipe again with `force`, or delete its folder"
TEXTS = ("task", "id", "model", "headline", "finished")  # fields of a listed run
Read = TypeVar("Read")


class DamagedRecord(UserWarning):
    """A record that cannot be read is left out of a list or table of many."""


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
    """The fields of a record as JSON has them, for lists of many. A right checksum spares it the other checks.

    Raises UserError as `load_record` does.
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
    """Every record under a results folder, by task and time; warns of damaged ones."""
    records = [record for _, record in readable_records(record_files(out))]
    return sorted(records, key=lambda record: (record.task, record.finished))


def records_on(data: str, out: Path) -> list["RunRecord"]:
    """The records of runs on rows with this fingerprint, the latest last; warns of damaged ones."""
    files = [file for file in record_files(out) if data.encode() in file.read_bytes()]  # else 10,000 take seconds
    records = [record for _, record in readable_records(files) if record.data == data]
    return sorted(records, key=lambda record: record.finished)


def readable_records(files: Iterable[Path]) -> Iterator[tuple[Path, "RunRecord"]]:
    """(file, record) of each file that can be read; a damaged one is left out with a DamagedRecord warning."""
    return _readable(files, load_record)


def _readable(files: Iterable[Path], read: Callable[[Path], Read]) -> Iterator[tuple[Path, Read]]:
    for file in files:
        try:
            yield file, read(file)
        except UserError as error:
            warnings.warn(f"{error}; it is left out", DamagedRecord, stacklevel=2)


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


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """A finished run: fields of its record, and `score`, the headline score on the first split."""

    file: Path
    task: str
    id: str
    task_version: int
    model: str
    recipe: Mapping[str, Any]
    options: Mapping[str, Any]
    chosen: list[str]
    data_origin: Mapping[str, str]
    data_files: Mapping[str, str]
    lineage: Lineage | None
    metrics: Mapping[str, Mapping[str, Any]]
    headline: str
    score: float
    finished: str

    @classmethod
    def read(cls, file: Path) -> Self:
        """The run of a record. Raises UserError for one that is damaged."""
        try:
            return cls._of(file, plain_record(file))
        except (ValueError, LookupError, TypeError, AttributeError):  # not of the form that its checksum promises
            return cls._of(file, load_record(file).model_dump())

    @classmethod
    def _of(cls, file: Path, record: Mapping[str, Any]) -> Self:
        score = next(iter(record["scores"].values()))[record["headline"]]
        lineage, texts = record.get("lineage"), {name: record[name] for name in TEXTS}
        if not all(isinstance(text, str) for text in texts.values()) or "seed" not in record["recipe"]:
            raise TypeError
        return cls(
            file=file, score=math.nan if score is None else float(score),
            lineage=None if lineage is None else Lineage.of(lineage),
            recipe=record["recipe"], task_version=record["task_version"], chosen=record.get("chosen", []),
            **{name: record.get(name, {}) for name in ("options", "data_origin", "data_files", "metrics")},
            **texts,
        )  # fmt: skip

    def metric(self, name: str) -> Metric:
        """The metric of a score: how it is shown and compared."""
        return find_metric(name, (Metric(key, **saved) for key, saved in self.metrics.items()))


def listed_runs(files: Iterable[Path]) -> list[ListedRun]:
    """The runs of these records, by task and time; a damaged one is left out with a DamagedRecord warning."""
    runs = (run for _, run in _readable(files, ListedRun.read))
    return sorted(runs, key=lambda run: (run.task, run.finished))


def finished_runs(out: Path) -> list[ListedRun]:
    """All finished runs under a results folder, by task and time."""
    return listed_runs(record_files(out))
