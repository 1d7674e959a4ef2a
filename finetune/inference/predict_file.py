"""`finetune predict`: file to file in constant memory, rows in order, resumable after an interruption."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from finetune.data.detect import detect
from finetune.data.file_format import FileFormat
from finetune.data.formats.registry import BY_SUFFIX
from finetune.data.messages import so_many
from finetune.data.paths import exists, is_folder, require_output
from finetune.data.reading import first_rows, records, survey
from finetune.data.table import Table
from finetune.data.writing import ESCAPED, require_writable, write_rows
from finetune.errors import UserError
from finetune.inference.answer_rows import ERROR, answer_records, free_name, windows, with_answer
from finetune.inference.file_scores import scores_of
from finetune.inference.journal import Journal
from finetune.inference.predictor import Predictor
from finetune.runs.environment import versions
from finetune.runs.events import Note, RowsPredicted, Watcher
from finetune.task_types.columns import Layout
from finetune.task_types.guess import guess, named_columns
from finetune.task_types.types import type_of

SAMPLE = 1_000  # rows from which columns are inferred


@dataclass(kw_only=True)
class Prediction:
    """Result of predicting a file: format, rows, failed and truncated rows, seconds, and scores if it has labels."""

    format: str = ""
    rows: int = 0
    failed: int = 0
    truncated: int = 0
    resumed: int = 0
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
            "resumed": self.resumed,
            "seconds": self.seconds,
            "rows_per_second": self.answered / max(self.seconds, 1e-9),
            "scores": self.scores,
            "notes": self.notes,
        }


def predict_file(
    predictor: Predictor, path: Path, output: Path, *, options: Mapping[str, str], watch: Watcher, escape: bool = False
) -> Prediction:
    """Predicts every row of a file, and writes all its columns with the predictions to `output`, in order.

    Resumes an interrupted attempt. Predictions that a spreadsheet would run as a formula get an apostrophe in CSV and
    TSV; with `escape`, so do the file's own cells. Raises UserError for a file that cannot be read or written, and
    where the model's text columns are missing.
    """
    started = time.perf_counter()
    columns = {name: value for name, value in options.items() if name != "encoding"}
    form = detect(path, options.get("encoding", ""))
    _require_other(output, path)
    watch(Note(f"{path}: {form}"))
    layout, notes = layout_for(predictor, first_rows(path, form, most=SAMPLE), columns)
    total, taken = survey(path, form)
    require_writable(output, {*taken, "answer"}, rows=total)
    found = Prediction(format=str(form), notes=[*form.encoding_notes(path), *notes])
    with Journal(output, of=_fingerprint(predictor, path, form, layout)) as journal:
        found.resumed = journal.rows
        if journal.note:
            found.notes.append(f"{output}: {journal.note}: predicted again")
        if journal.rows:
            watch(Note(f"{so_many(journal.rows)} predicted before; resuming after them"))
        for window in windows(records(path, form), skip=journal.rows):
            answered = answer_records(predictor, layout, window)
            rows = (with_answer(record, one, taken) for record, one in zip(window, answered, strict=True))
            journal.add(rows, truncated=sum(one.truncated for one in answered))
            rate = (journal.rows - found.resumed) / (time.perf_counter() - started)
            watch(RowsPredicted(done=journal.rows, total=max(journal.rows, total), rate=rate))
        found.rows, found.truncated = journal.rows, journal.truncated
        names, found.failed = journal.names(error=free_name(ERROR, taken))
        escaped = write_rows(output, journal, names, escaped=names if escape else {*names} - taken)
        found.notes += [f"{output}: {so_many(escaped, 'cell')} {ESCAPED}"] if escaped else []
        if layout.label:
            labelled = zip(records(path, form), (row.get(free_name("answer", taken)) for row in journal), strict=True)
            found.scores = scores_of(predictor.task, layout, labelled, found.notes)
        journal.delete()
    if found.truncated:
        found.notes.append(_truncation_note(found, predictor.task.lost(predictor.max_length)))
    found.seconds = time.perf_counter() - started
    return found


def _require_other(output: Path, path: Path) -> None:
    require_output(output)
    if not is_folder(output.absolute().parent):
        raise UserError(f"{output}: cannot be written (no such folder)", "Create the folder, or choose another file")
    if exists(output) and output.samefile(path):
        raise UserError(f"{output}: output would overwrite the input", "Name another file with -o")


def _truncation_note(found: Prediction, lost: str) -> str:
    return f"{found.truncated:,} of {so_many(found.rows)} ({100 * found.truncated / found.rows:.2g} %) {lost}"


def default_output(path: Path) -> Path:
    """`new.predicted.csv` in this folder for `new.csv`; JSON Lines for an unknown suffix."""
    gzip = ".gz" * (path.suffix == ".gz")
    plain = Path(path.name.removesuffix(gzip))
    known = plain.suffix.lower() in BY_SUFFIX
    return Path(
        f"{plain.stem if known else plain.name}.predicted{plain.suffix if known else '.jsonl'}{gzip if known else ''}"
    )


def layout_for(predictor: Predictor, sample: Table, options: Mapping[str, str]) -> tuple[Layout, list[str]]:
    """The columns that are the model's inputs: those of training if present, else inferred; and notes on that.

    Raises UserError for a missing column, and if the number of texts differs from training.
    """
    kind = type_of(predictor.task)
    if kind is None:
        raise UserError(f"the task {predictor.task.name} has no known data type", "Use it in Python: finetune.load")
    if unknown := [name for name in options if name not in ("text", "label")]:
        raise UserError(
            f"unknown setting '{unknown[0]}'", "Set text=COLUMN, label=COLUMN or encoding=NAME; all columns are kept"
        )
    columns = set(sample.columns)
    trained = predictor.layout
    if trained is not None and "text" not in options and set(trained.text) <= columns:
        given = named_columns(options["label"], sample.columns, "label", sample) if options.get("label") else []
        kept = tuple(given) or (trained.label if set(trained.label) <= columns else ())
        return replace(trained, label=kept, id=""), []
    if not columns:
        raise UserError(f"{sample.path}: none of its first rows can be read", "Check it with `finetune check`")
    found = guess(sample, {**options, "shape": kind.name}, labelled="label" in options)
    if trained is not None:
        wanted = len(trained.text)
        if wanted != len(found.text) and not kind.any_columns:
            raise UserError(
                f"{sample.path}: has no column {' and '.join(trained.text)}, on which the model was trained",
                f"Name the input column{'s' * (wanted > 1)}: text=COLUMN{',COLUMN' * (wanted > 1)}",
            )
        kept = trained.label if "label" not in options and set(trained.label) <= columns else found.label
        found = replace(trained, text=found.text, label=kept, group="", rest=found.rest)
    return replace(found, id=""), [f"text column: {', '.join(found.text)} (text=COLUMN names another)"]


def _fingerprint(predictor: Predictor, path: Path, form: FileFormat, layout: Layout) -> str:
    """A hash of what decides the output: the file's path, size and time, its encoding, the model and its task, the
    columns, versions of libraries, device type and precision.
    """
    stat, accelerator = path.stat(), predictor.engine.accelerator
    facts = [str(path.resolve()), stat.st_size, stat.st_mtime_ns, predictor.fingerprint, layout.text, layout.label]
    facts += [form.encoding, predictor.task.name, predictor.task.version, versions()]
    facts += [accelerator.device.type, accelerator.mixed_precision]
    return sha256(json.dumps(facts).encode()).hexdigest()
