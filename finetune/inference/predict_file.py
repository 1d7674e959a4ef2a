"""`finetune predict`: file to file in constant memory, rows in order, resumable after an interruption."""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from finetune.data.messages import percent, places, so_many
from finetune.data.reading import reading_notes, records, survey
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.data.writing import ESCAPED, holds_columns, output_format, require_writable, write_rows
from finetune.inference.answer_rows import ERROR, free_name
from finetune.inference.predict_plan import (
    ColumnsRead,
    columns_read,
    known_type,
    require_output_for,
    require_settings,
)
from finetune.inference.predictor import Predictor
from finetune.inference.unsure import UNSURE
from finetune.runs.events import Note, RowsPredicted, Watcher
from finetune.runs.folder import PREDICTION
from finetune.runs.process import versions
from finetune.storage.journal import Journal
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.parts import Answer
from finetune.task_types.task import Task
from finetune.task_types.types import LABELS_SHOWN, UnknownLabels, named_type, row_of

SCORED = ("gold", "answers")  # fields of a row that metrics use


@dataclass(kw_only=True)
class Prediction:
    """Result of predicting a file: format, numbers of rows, seconds, and scores if it has labels.

    `unsure` counts the rows that `--risk` or `--coverage` left out.
    """

    format: str = ""
    rows: int = 0
    failed: int = 0
    truncated: int = 0
    resumed: int = 0
    unsure: int | None = None
    seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def facts(self, output: Path) -> dict[str, Any]:
        """JSON values, with the name of the output."""
        return {
            "output": str(output),
            "format": self.format,
            "rows": self.rows,
            "errors": self.failed,
            "truncated": self.truncated / max(1, self.rows),
            **({} if self.unsure is None else {"unsure": self.unsure}),
            "resumed": self.resumed,
            "seconds": self.seconds,
            "rows_per_second": (self.rows - self.resumed) / max(self.seconds, 1e-9),
            "scores": self.scores,
            "notes": self.notes,
        }


def predict_file(
    predictor: Predictor, path: Path, output: Path, *, options: Mapping[str, str], watch: Watcher, escape: bool = False
) -> Prediction:
    """Predicts every row of a file, and writes its columns with the predictions to `output`, in order; passages by
    rank within their query.

    Resumes an interrupted attempt. In CSV and TSV, predictions that a spreadsheet would run as a formula get an
    apostrophe; with `escape`, so do the file's own cells. Raises UserError for a file that cannot be read or written,
    and for missing text columns.
    """
    started = time.perf_counter()
    require_settings(options)
    task = predictor.task
    require_output_for(path, output, force=True)
    file = columns_read(path, known_type(task), predictor.layout, options, inputs=task.inputs)
    form, layout = file.form, file.layout
    watch(Note(f"{path}: {form}"))
    total, taken = survey(path, form)
    require_writable(output, output_format(output, {*taken, PREDICTION}, like=form), rows=total)
    notes, scores, unsure = [*reading_notes(path, form), *file.notes], dict[str, float](), None
    prediction, error, left_out = (free_name(name, taken) for name in (PREDICTION, ERROR, UNSURE))
    with Journal(output, of=_fingerprint(predictor, path, file)) as journal:
        resumed = journal.rows
        if journal.note:
            notes.append(f"{output}: {journal.note}: predicted again")
        if resumed:
            watch(Note(f"{so_many(resumed)} predicted before; resuming after them"))
        for window in predictor.predicted(((record, layout) for record in records(path, form)), skip=resumed):
            rows = (
                row.record.values | {free_name(name, taken): cell for name, cell in predictor.cells(row).items()}
                for row in window
            )
            journal.add(rows, truncated=sum(row.truncated for row in window))
            rate = (journal.rows - resumed) / (time.perf_counter() - started)
            watch(RowsPredicted(done=journal.rows, total=max(journal.rows, total), rate=rate))
        names, failed = journal.names(error=error)
        added = [name for name in names if name not in taken]
        escaped = write_rows(output, journal, names, escaped=names if escape else added, like=form)
        notes += [f"{output}: {so_many(escaped, 'cell')} {ESCAPED}"] if escaped else []
        if failed and not holds_columns(output, form):
            reason = next(row[error] for row in journal if error in row)
            notes.append(f"{output}: has no column for errors; the first row without a prediction {reason}")
        if predictor.unsure:
            unsure = sum(left_out in row for row in journal)
        if layout.label:
            unanswered = left_out if predictor.unsure else error
            cells = (None if unanswered in row else row.get(prediction) for row in journal)
            scores = scores_of(task, layout, zip(records(path, form), cells, strict=True), notes)
        journal.delete()
    notes += predictor.unsure.notes if predictor.unsure else ()
    if journal.truncated:
        share = f"{journal.truncated:,} of {so_many(journal.rows)} ({percent(journal.truncated / journal.rows)})"
        notes.append(f"{share} {task.truncated.format(max_length=predictor.max_length)}")
    return Prediction(
        format=str(form), rows=journal.rows, failed=failed, truncated=journal.truncated, resumed=resumed,
        unsure=unsure, seconds=time.perf_counter() - started, scores=scores, notes=notes,
    )  # fmt: skip


def _fingerprint(predictor: Predictor, path: Path, file: ColumnsRead) -> str:
    """A hash of all that decides the output: file, encoding, columns, model, task, libraries, device, precision."""
    stat, layout, task = path.stat(), file.layout, predictor.task
    facts: list[Any] = [str(path.resolve()), stat.st_size, stat.st_mtime_ns]
    facts += [layout.label, file.form.encoding, str(file.form.layout)]
    facts += [predictor.fingerprint, layout.text, task.name, task.version, versions()]
    facts += [PREDICTION, *predictor.engine.computes_in]  # rows of older versions have the column `answer`
    return sha256(json.dumps(facts).encode()).hexdigest()


class CompactRows(Sequence[Any]):
    """Rows or predictions in little memory: equal values are stored once, except for numbers; `make` turns a value into
    an item.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make
        self.values, self.unique = list[Any](), dict[str, Any]()

    def append(self, value: Any) -> None:
        """Appends a value."""
        self.values.append(value if isinstance(value, float) else self.unique.setdefault(repr(value), value))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Any) -> Any:
        """An item, or a list for a slice."""
        return list(map(self.make, self.values[index])) if isinstance(index, slice) else self.make(self.values[index])


def scores_of(task: Task, layout: Layout, labelled: Iterable[tuple[Record, Any]], notes: list[str]) -> dict[str, float]:
    """Scores over the rows with a label and a prediction; adds notes on rows without a label that is known."""
    unknown, kind = UnknownLabels(task=task, layout=layout), named_type(layout.shape)
    scored_by = [task.scored_by] if task.scored_by else []
    left_out: dict[str, list[tuple[int, int]]] = {"without a label": [], "with a label that cannot be read": []}
    unlabelled, unreadable = left_out.values()
    bare: Row | None = None  # where labels are numbers, and nothing else of a row is read
    rows = CompactRows(lambda value: replace(bare, gold=value) if bare else value)
    answers = CompactRows(lambda value: Answer(value=value))
    for record, cell in labelled:
        if cell is None:
            continue
        location = (record.row, record.line)
        try:
            row = row_of(layout, record)
        except NoRow:
            unreadable.append(location)
            continue
        label = task.labels_of([row])[0].value
        if label is None:
            unlabelled.append(location)
        elif not unknown.adds(row, location):
            if isinstance(label, float) and not rows and not scored_by:
                bare = without_texts(row)
            rows.append(label if bare else without_texts(row, but=scored_by))
            answers.append(kind.value(task, layout, cell, row))
    if not rows:  # a file without labels
        unlabelled.clear()
    for what, where in left_out.items():
        if where:
            notes.append(f"{so_many(len(where))} {what} ({places(where, most=LABELS_SHOWN)}); not scored")
    notes += [f"{note}; not scored" for note in unknown.notes()]
    return task.score(answers, rows) if rows else {}


def without_texts(row: Row, *, but: Collection[str] = ()) -> Row:
    """The row without the texts that metrics do not use; the fields in `but` stay."""
    values = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in (*SCORED, *but)}
    return replace(row, **{name: type(value)() for name, value in values.items() if type(value) in (str, tuple)})
