"""`finetune predict`: file to file in constant memory, every row in its place, and going on after an interruption."""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from finetune.data.answering import ERROR, answer_records, free_name
from finetune.data.cells import NoRow, row_of
from finetune.data.formats import FileFormat, detect, open_bytes
from finetune.data.guess import guess
from finetune.data.layout import Layout
from finetune.data.own import shape_of
from finetune.data.reading import Record, Table, records
from finetune.data.writing import SUFFIXES, write_rows, written_format
from finetune.errors import UserError
from finetune.events import Watcher
from finetune.heads.choice import ChoiceTask
from finetune.predictor import Predictor
from finetune.task import Answer, Row, Task

ENCODE, DECODE = json.JSONEncoder(default=str).encode, json.JSONDecoder().decode
WINDOW = 4_096  # rows that are sorted by length and predicted together
FIRST_WINDOW = 64
SAMPLE = 1_000  # rows that columns are guessed from


@dataclass(kw_only=True)
class Prediction:
    """What came of a file: rows, how many have an error, seconds, and scores where the file has the gold."""

    rows: int = 0
    failed: int = 0
    resumed: int = 0
    seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def facts(self, output: Path) -> dict[str, Any]:
        """As JSON, with the name of the file that was written."""
        return {
            "output": str(output),
            "rows": self.rows,
            "errors": self.failed,
            "resumed": self.resumed,
            "seconds": self.seconds,
            "rows_per_second": (self.rows - self.resumed) / max(self.seconds, 1e-9),
            "scores": self.scores,
            "notes": self.notes,
        }


def predict_file(
    predictor: Predictor, path: Path, output: Path, *, options: Mapping[str, str], watch: Watcher, raw: bool = False
) -> Prediction:
    """Answers every row of a file, and writes all its columns with the answers to another, in the same order.

    What was done when an earlier try was interrupted is kept. Raises UserError for a file that cannot be read or
    written, and where its columns are not what the model reads.
    """
    written_format(output)
    if not output.absolute().parent.is_dir():
        raise UserError(f"{output}: cannot be written (no such folder)", "Make the folder, or choose another file")
    if output.exists() and output.samefile(path):
        raise UserError(f"{output}: is the file that is read", "Name another with -o")
    started = time.perf_counter()
    form = detect(path)
    sample = _sample(path, form)
    layout, notes = layout_for(predictor, sample, options)
    taken = frozenset(sample.columns)
    found = Prediction(notes=notes)
    journal = Journal(output, of=_fingerprint(predictor, path, layout))
    with journal as done:
        found.resumed = done
        if done:
            watch("note", text=f"{done:,} rows were predicted before; going on behind them")
        total = _row_count(path, form)
        for window in _windows(records(path, form), skip=done):
            journal.add(answer_records(predictor, layout, window, taken=taken))
            done += len(window)
            rate = (done - found.resumed) / (time.perf_counter() - started)
            watch("answered", done=done, total=max(done, total), rate=rate)
        found.rows = done
        names, found.failed = journal.names()
        write_rows(output, journal, names, raw=raw)
        if layout.label:
            labelled = zip(records(path, form), (row.get(free_name("answer", taken)) for row in journal), strict=True)
            found.scores = _scores(predictor.task, layout, labelled, found.notes)
        journal.forget()
    found.seconds = time.perf_counter() - started
    return found


def default_output(path: Path) -> Path:
    """`new.predicted.csv` in this folder for `new.csv`; JSON Lines for a name that does not say a format."""
    packed = ".gz" * (path.suffix == ".gz")
    plain = Path(path.name.removesuffix(packed))
    known = plain.suffix.lower() in SUFFIXES
    return Path(
        f"{plain.stem if known else plain.name}.predicted{plain.suffix if known else '.jsonl'}{packed if known else ''}"
    )


class Journal:
    """The rows that are done, one JSON object a line in a file beside the output, until the output is written."""

    def __init__(self, output: Path, *, of: str) -> None:
        self.file = output.with_name(f".{output.name}.part.jsonl")
        self.lock = FileLock(output.with_name(f".{output.name}.lock"))
        self.of = of

    def __enter__(self) -> int:
        """Opens it behind the last whole line of an earlier try of the very same; gives the number of its rows."""
        try:
            self.lock.acquire(blocking=False)
            done, size = self._earlier()
            self.opened = self.file.open("r+b" if size else "wb")
            self.opened.truncate(size)
            self.opened.seek(size)
            if not size:
                self._write([{"of": self.of}])
        except Timeout as error:
            raise UserError(f"{self.file}: another process is at this very file", "Wait for it, or stop it") from error
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
        """Writes some rows, safely on disk when it returns."""
        try:
            self._write(rows)
        except OSError as error:
            raise UserError(
                f"{self.file}: cannot be written ({error.strerror})", "Free space, and run it again"
            ) from error

    def names(self) -> tuple[list[str], int]:
        """Every column in the order of its first appearance, `error` last; and how many rows have an error."""
        names: dict[str, None] = {}
        failed = 0
        for row in self:
            failed += ERROR in row
            if not row.keys() <= names.keys():
                names.update(dict.fromkeys(row))
        return [*(name for name in names if name != ERROR), *([ERROR] if failed else [])], failed

    def forget(self) -> None:
        """Removes the file."""
        self.file.unlink(missing_ok=True)

    def _write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.opened.write("".join(ENCODE(row) + "\n" for row in rows).encode())
        self.opened.flush()
        os.fsync(self.opened.fileno())

    def _earlier(self) -> tuple[int, int]:
        """(rows, bytes) of an earlier try's whole lines; none where it was of something else."""
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


def layout_for(predictor: Predictor, sample: Table, options: Mapping[str, str]) -> tuple[Layout, list[str]]:
    """Which columns of a file the model reads: as in training where they are there, else guessed; and notes on that.

    Raises UserError for a column that is not there, and where the number of texts is another than in training.
    """
    shape = shape_of(predictor.task)
    if shape is None:
        raise UserError(f"the task {predictor.task.name} has a shape of its own", "Use it in Python: finetune.load")
    if unknown := [name for name in options if name not in ("text", "label", "id")]:
        raise UserError(f"unknown setting '{unknown[0]}'", "Set text=COLUMN, label=COLUMN or id=COLUMN")
    columns = set(sample.columns)
    trained = predictor.layout
    if trained is not None and "text" not in options and set(trained.text) <= columns:
        label = options.get("label")
        kept = (label,) if label else trained.label if set(trained.label) <= columns else ()
        return replace(trained, label=kept, id=""), []
    if not columns:
        raise UserError(f"{sample.path}: none of its first rows can be read", "Look at it with `finetune check`")
    found = guess(sample, {**options, "shape": shape})
    wanted = 0 if trained is None else len(trained.text)
    if wanted and wanted != len(found.text) and shape != "choice":
        raise UserError(
            f"{sample.path}: has no column {' and '.join(trained.text if trained else ())}, as there was in training",
            f"Name {'two' if wanted > 1 else 'the one'} to read: text=COLUMN{',COLUMN' * (wanted > 1)}",
        )
    if trained is not None:
        found = replace(found, separator=trained.separator, counted_from=trained.counted_from)
    return replace(found, id=""), [f"read as text: {', '.join(found.text)} (text=COLUMN names another)"]


def _sample(path: Path, form: FileFormat) -> Table:
    """The first rows of a file as a table."""
    some = [record for record in islice(records(path, form), SAMPLE) if not record.fault]
    names = dict.fromkeys(name for record in some for name in record.values)
    columns = {name: [record.values.get(name) for record in some] for name in names}
    rows, lines = [record.row for record in some], [record.line for record in some]
    return Table(path=path, form=form, columns=columns, rows=rows, lines=lines, faults=[])


def _windows(coming: Iterable[Record], *, skip: int) -> Iterator[list[Record]]:
    """Windows that grow from a few rows, so that the first rate is soon seen, to as many as sort well by length."""
    rest = islice(coming, skip, None)
    size = FIRST_WINDOW
    while window := list(islice(rest, size)):
        yield window
        size = min(WINDOW, 2 * size)


def _fingerprint(predictor: Predictor, path: Path, layout: Layout) -> str:
    """Changes with the file, the model and the columns."""
    stat = path.stat()
    facts = [str(path.resolve()), stat.st_size, stat.st_mtime_ns, predictor.fingerprint, layout.text, layout.label]
    return sha256(json.dumps(facts).encode()).hexdigest()


def _row_count(path: Path, form: FileFormat) -> int:
    """About how many rows a file has, for the time left; 0 where that cannot be told at once."""
    if form.kind not in ("delimited", "json-lines"):
        return 0
    with open_bytes(path, packed=form.gzip) as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b"")) - form.header


def _scores(task: Task, layout: Layout, labelled: Iterable[tuple[Record, Any]], notes: list[str]) -> dict[str, float]:
    """The task's scores over the rows that have both gold and answer."""
    rows: list[Row] = []
    answers: list[Answer] = []
    strange: list[int] = []
    for record, value in labelled:
        if value is None:
            continue
        try:
            row = row_of(layout, record)
        except NoRow:
            strange.append(record.row)
            continue
        gold = task.gold([row])[0].value
        if gold is not None and not task.fits(gold, row):
            strange.append(record.row)
        elif gold is not None:
            rows.append(without_texts(row))
            answers.append(Answer(value=value - task.counted_from if isinstance(task, ChoiceTask) else value))
    if strange:
        notes.append(
            f"{len(strange):,} rows, first {strange[0]}, have a label that the model does not know: not scored"
        )
    return task.score(answers, rows) if rows else {}


def without_texts(row: Row) -> Row:
    """The row with its gold alone, so that scoring many rows needs little memory."""
    return replace(row, **{name: "" for name in ("text", "context", "question", "title") if hasattr(row, name)})
