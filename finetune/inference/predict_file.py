"""`finetune predict`: file to file in constant memory, rows in order, resumable after an interruption."""

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from finetune.data.file_format import FileFormat
from finetune.data.messages import percent, so_many
from finetune.data.reading import first_rows, reading_notes, records, survey
from finetune.data.records import Record
from finetune.data.writing import ESCAPED, encoding_note, holds_columns, output_format, require_writable, write_rows
from finetune.inference.answer_rows import ERROR, Answered, answer_windows, free_name, windows, with_answer
from finetune.inference.asked import UNSURE
from finetune.inference.file_scores import scores_of
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for, require_output_for, require_settings
from finetune.inference.predictor import Predictor
from finetune.inference.ranks import RANK, query_in, ranks_of
from finetune.inference.shift_note import MOST_ROWS, shift_notes
from finetune.runs.environment import versions
from finetune.runs.events import Note, RowsPredicted, Watcher
from finetune.runs.predictions import PREDICTION
from finetune.storage.journal import Journal
from finetune.task_types.columns import Layout
from finetune.task_types.trained_form import form_for


@dataclass(kw_only=True)
class Prediction:
    """Result of predicting a file: format, rows, failed and truncated rows, seconds, and scores if it has labels.

    `unsure` counts what was left out, if that was asked for: rows, or labels or entities of them.
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

    @property
    def answered(self) -> int:
        """Rows predicted now, not before an interruption."""
        return self.rows - self.resumed

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
            "rows_per_second": self.answered / max(self.seconds, 1e-9),
            "scores": self.scores,
            "notes": self.notes,
        }


def predict_file(
    predictor: Predictor, path: Path, output: Path, *, options: Mapping[str, str], watch: Watcher, escape: bool = False
) -> Prediction:
    """Predicts every row of a file, and writes all its columns with the predictions to `output`, in order; of a ranking
    each query's passages by their rank.

    Resumes an interrupted attempt. Predictions that a spreadsheet would run as a formula get an apostrophe in CSV and
    TSV; with `escape`, so do the file's own cells. Raises UserError for a file that cannot be read or written, and
    where the model's text columns are missing.
    """
    started = time.perf_counter()
    require_settings(options)
    kind = known_type(predictor.task)
    columns = {name: value for name, value in options.items() if name not in ("encoding", "sheet")}
    form = form_for(path, predictor.layout, options, inputs=predictor.task.inputs)
    require_output_for(path, output, force=True)
    watch(Note(f"{path}: {form}"))
    sample = first_rows(path, form, most=SAMPLE_ROWS)
    layout, notes = layout_for(kind, predictor.layout, sample, columns, inputs=predictor.task.inputs)
    layout = kind.with_spelling(layout, sample.columns)
    total, taken = survey(path, form)
    require_writable(output, output_format(output, {*taken, PREDICTION}, like=form), rows=total)
    found = Prediction(format=str(form), notes=[*reading_notes(path, form), *notes])
    sampled, step = list[tuple[Record, Answered]](), max(1, total // MOST_ROWS)
    with Journal(output, of=_fingerprint(predictor, path, form, layout)) as journal:
        found.resumed = journal.rows
        if journal.note:
            found.notes.append(f"{output}: {journal.note}: predicted again")
        if journal.rows:
            watch(Note(f"{so_many(journal.rows)} predicted before; resuming after them"))
        coming = windows(records(path, form), skip=journal.rows)
        for window, answered in answer_windows(predictor, layout, coming):
            sampled += list(zip(window, answered, strict=True))[::step]
            rows = (with_answer(record, one, taken) for record, one in zip(window, answered, strict=True))
            journal.add(rows, truncated=sum(one.truncated for one in answered))
            rate = (journal.rows - found.resumed) / (time.perf_counter() - started)
            watch(RowsPredicted(done=journal.rows, total=max(journal.rows, total), rate=rate))
        found.rows, found.truncated = journal.rows, journal.truncated
        error = free_name(ERROR, taken)
        names, found.failed = journal.names(error=error)
        written: Iterable[Mapping[str, Any]] = journal
        if kind.ranked:
            written, names = RankedRows(journal, layout, taken), with_rank(names, taken)
        added = [name for name in names if name not in taken]
        escaped = write_rows(output, written, names, escaped=names if escape else added, like=form)
        found.notes += [note] if (note := encoding_note(output, form)) else []
        found.notes += [f"{output}: {so_many(escaped, 'cell')} {ESCAPED}"] if escaped else []
        if found.failed and not holds_columns(output, form):
            reason = next(row[error] for row in journal if error in row)
            found.notes.append(f"{output}: has no column for errors; the first row without a prediction {reason}")
        found.unsure = count_left_out(predictor, journal, free_name(UNSURE, taken))
        if layout.label:
            given = (_answer_in(row, taken) for row in journal)
            labelled = zip(records(path, form), given, strict=True)
            found.scores = scores_of(predictor.task, layout, labelled, found.notes)
        journal.delete()
    found.notes += predictor.unsure.notes if predictor.unsure else ()
    if found.truncated:
        found.notes.append(_truncation_note(found, predictor.task.truncation_note(predictor.max_length)))
    found.notes += shift_notes(predictor, layout, sampled, str(path))
    found.seconds = time.perf_counter() - started
    return found


def count_left_out(predictor: Predictor, rows: Iterable[Mapping[str, Any]], column: str) -> int | None:
    """The number of rows, labels or entities that are not answered; None where all are."""
    if predictor.unsure is None or not predictor.unsure.abstains:
        return None
    cells = (row.get(column) for row in rows)
    return sum(len(cell) if isinstance(cell, list) else cell is not None for cell in cells)


def _answer_in(row: Mapping[str, Any], taken: Collection[str]) -> Any:
    """The cell of a row's prediction; None where it was left out."""
    whole = row.get(free_name(UNSURE, taken))
    return None if whole is not None and not isinstance(whole, list) else row.get(free_name(PREDICTION, taken))


def _truncation_note(found: Prediction, lost: str) -> str:
    return f"{found.truncated:,} of {so_many(found.rows)} ({percent(found.truncated / found.rows)}) {lost}"


def _fingerprint(predictor: Predictor, path: Path, form: FileFormat, layout: Layout) -> str:
    """A hash of what decides the output: the file's path, size and time, its encoding, the model and its task, the
    columns, versions of libraries, device type and precision.
    """
    stat = path.stat()
    facts = [str(path.resolve()), stat.st_size, stat.st_mtime_ns, layout.label, form.encoding, str(form.layout)]
    return sha256(json.dumps([*facts, *model_facts(predictor, layout)]).encode()).hexdigest()


def model_facts(predictor: Predictor, layout: Layout) -> list[Any]:
    """What decides the predictions of given rows: model, task, text columns, versions, device type and precision."""
    facts: list[Any] = [predictor.fingerprint, layout.text, predictor.task.name, predictor.task.version, versions()]
    facts.append(PREDICTION)  # rows of older versions have the column `answer`
    return [*facts, *predictor.engine.computes_in]


class RankedRows:
    """Predicted rows in the order of their ranks, which may be iterated twice; `taken` are the file's own columns."""

    def __init__(self, journal: Journal, layout: Layout, taken: Collection[str]) -> None:
        self.journal, self.taken = journal, taken
        score = free_name(PREDICTION, taken)
        self.ranks = ranks_of((query_in(layout, row), row.get(score)) for row in journal)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        name = free_name(RANK, self.taken)
        for number, row in zip(self.ranks.order, self.journal.in_order(self.ranks.order), strict=True):
            yield row | {name: self.ranks.places[number]}


def with_rank(names: Sequence[str], taken: Collection[str]) -> list[str]:
    """The columns of the output, with the rank after the score."""
    after = names.index(score) + 1 if (score := free_name(PREDICTION, taken)) in names else len(names)
    return [*names[:after], free_name(RANK, taken), *names[after:]]
