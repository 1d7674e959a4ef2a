"""`finetune check RUN FILE`: whether the rows of a file look like those that a model was trained and scored on."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.commands.check.shift_words import Change, changes
from finetune.data.messages import percent, shown, so_many
from finetune.data.paths import exists, is_file
from finetune.data.reading import first_rows, reading_notes, records
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.data.source import content_hash
from finetune.errors import UserError, nearest
from finetune.inference.predict_plan import SAMPLE_ROWS, known_type, layout_for, require_settings
from finetune.inference.predictor import Predictor, load_predictor
from finetune.inference.shift.alike import ENOUGH, Tested, compared_to, distances, shift_tests
from finetune.inference.shift.measures import Measures, row_parts
from finetune.inference.shift.reference import (
    MOST_ROWS,
    PREDICTIONS,
    STATES,
    Measurer,
    Reference,
    load_reference,
    sample,
)
from finetune.metrics.two_sample import energy_test
from finetune.runs.events import Watcher, Working, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import named_run, near_files
from finetune.runs.predictions import read_lines
from finetune.task_types.columns import Layout
from finetune.task_types.prediction_lines import row_of_line
from finetune.task_types.row_builder import row_of
from finetune.task_types.row_issues import NoRow
from finetune.task_types.trained_form import form_for

if TYPE_CHECKING:
    import pandas as pd

UNUSABLE = 0.05  # share of rows that cannot be predicted, above which it is a shift
FARTHEST = 5
CHARS_SHOWN = 80
OWN_FILE = "the model was trained on this file: its texts alone are compared, not how sure the model is of them"
SPARE = 4  # rows read for each that is compared: some share a context


@dataclass(frozen=True, kw_only=True)
class FarRow:
    """A row that is unlike the reference; `distance` is 1 for a usual one."""

    row: int
    line: int
    distance: float
    text: str


@dataclass(frozen=True, kw_only=True)
class ShiftReport:
    """What `finetune.check_new` returns.

    Example: `finetune.check_new(run, df).shifted`

    Attributes:
        file: The file.
        rows: How many of its rows were compared, a sample at random.
        reference: How many rows they were compared to.
        level: The share of alarms where nothing has changed.
        changes: What was compared, with its p value by Holm's method and how it was and is.
        farthest: The rows that are least like those of the reference.
        notes: What else was found, such as columns that seem swapped.
        unusable: The share of rows that cannot be predicted.
    """

    file: str
    rows: int
    reference: int
    level: float
    changes: tuple[Change, ...]
    farthest: tuple[FarRow, ...]
    notes: tuple[str, ...]
    unusable: float

    @property
    def shifted(self) -> list[str]:
        """The names of what has changed."""
        found = [change.name for change in self.changes if change.p <= self.level]
        return [*found, *(["unusable rows"] if self.unusable > UNUSABLE else [])]

    @property
    def verdict(self) -> str:
        """Whether the rows look like those that the model was scored on."""
        what = ", ".join(self.shifted)
        return f"does not look like the rows that the model was scored on: {what}" if what else "looks alike"

    @property
    def frame(self) -> "pd.DataFrame":
        """A row for each thing that was compared; `shifted` says whether it has changed."""
        import pandas as pd

        rows = [(one.name, one.name in self.shifted, one.p, one.was, one.now) for one in self.changes]
        return pd.DataFrame(rows, columns=["name", "shifted", "p", "was", "now"])

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "file": self.file, "alike": not self.shifted, "shifted": self.shifted, "rows": self.rows,
            "reference_rows": self.reference, "level": self.level, "unusable": self.unusable,
            "changes": {change.name: change.as_json() for change in self.changes},
            "farthest": [vars(one) for one in self.farthest], "notes": list(self.notes),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<ShiftReport of {so_many(self.rows)} next to {self.reference} of dev: {self.verdict}>"


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """A sample of a file's rows with the records they were made from, why others make none, and how it was read."""

    layout: Layout
    records: Sequence[Record]
    rows: Sequence[Row]
    faults: Sequence[str]
    notes: Sequence[str]

    @property
    def unusable(self) -> float:
        """The share of the sample that makes no row."""
        return len(self.faults) / max(1, len(self.faults) + len(self.rows))


def shift_of(
    model: str,
    file: Path,
    options: Mapping[str, Any],
    *,
    out: Path,
    level: float,
    device: str | None = None,
    watch: Watcher = unwatched,
) -> ShiftReport:
    """Compares a sample of a file's rows with the reference of a run's model.

    Raises UserError for a file without the model's columns or without a row, and for a model without a reference.
    """
    require_settings(options)
    if "temperature" in options:
        raise UserError("temperature= does not apply to `check`", "Leave it out")
    if not exists(str(file)):
        near = nearest(str(file), near_files(str(file)))
        raise UserError(f"{file}: there is no such file", f"{near}Name a data file")
    predictor = load_predictor(model, out=out, watch=watch, device=device)
    read = new_rows(predictor, file, {name: str(value) for name, value in options.items()})
    measurer = measurer_of(predictor)
    watch(Working("comparing rows"))
    reference = reference_of(predictor, measurer, model, out)
    chosen = sample(predictor.task, read.rows)
    rows = [read.rows[index] for index in chosen]
    measures = measurer.of_rows(rows, reference.labels)
    known = is_trained_on(model, file, out)
    if known:  # on these rows the model is more confident than on others, which the rows have not caused
        measures = {name: values for name, values in measures.items() if name not in (STATES, PREDICTIONS)}
    old = compared_to(reference)
    every = shift_tests(old, measures)
    places = [(read.records[index].row, read.records[index].line) for index in chosen]
    texts = [" ".join(row_parts(predictor.task, row)) for row in rows]
    return ShiftReport(
        file=str(file), rows=len(rows), reference=reference.rows, level=level,
        changes=tuple(changes(every, old, measures, reference.labels)),
        farthest=tuple(_farthest(reference, measures, places, texts)),
        notes=(*[OWN_FILE] * known, *_notes(read, rows, reference, every, old, measures, level)),
        unusable=0.0 if known else read.unusable,
    )  # fmt: skip


def is_trained_on(model: str, file: Path, out: Path) -> bool:
    """Whether a file is the one that a model was trained on, as the record of its run knows it."""
    run = named_run(model, out)
    record = None if run is None else run.record()
    return record is not None and is_file(file) and record.data_files.get("train") == content_hash(file)


def measurer_of(predictor: Predictor) -> Measurer:
    """What measures rows for a loaded model."""
    return Measurer(
        task=predictor.task, engine=replace(predictor.torch_engine, watch=unwatched), tokenizer=predictor.tokenizer,
        max_length=predictor.max_length,
    )  # fmt: skip


def reference_of(predictor: Predictor, measurer: Measurer, model: str, out: Path) -> Reference:
    """The reference of a model; for a run of an older version, which stored none, from its saved predictions for dev.

    Raises UserError where there is neither.
    """
    assert predictor.folder is not None
    if (stored := load_reference(predictor.folder)) is not None:
        return stored
    if predictor.engine.pretrains:
        raise UserError(
            f"{model} was pre-trained on text, and has no labelled rows to compare with", "Name a run of a task"
        )
    run = named_run(model, out)
    if run is None:
        raise UserError(
            f"{predictor.folder}: has no reference.npz, with measures of the rows that it was scored on",
            "Name a run of this version, or its folder with the predictions for dev",
        )
    return _from_predictions(measurer, run)


def _from_predictions(measurer: Measurer, run: RunFolder) -> Reference:
    """The reference from a run's saved rows of dev. Raises UserError where they are missing."""
    record = run.record()
    assert record is not None
    lines = read_lines(run, record.first_split)
    rows = [row_of_line(measurer.task, line, run.path) for line in lines]
    rows = [rows[index] for index in sample(measurer.task, rows)]
    return measurer.reference([], rows, measurer.answers(rows, measurer.of_texts(rows)[1]))


def new_rows(predictor: Predictor, file: Path, options: Mapping[str, str]) -> NewRows:
    """A sample of a file's rows, without labels. Raises UserError where none can be predicted."""
    kind = known_type(predictor.task)
    form = form_for(file, predictor.layout, options, inputs=predictor.task.inputs)
    columns = {name: value for name, value in options.items() if name not in ("encoding", "sheet")}
    first = first_rows(file, form, most=SAMPLE_ROWS)
    layout, _ = layout_for(kind, predictor.layout, first, columns, inputs=predictor.task.inputs)
    bare = kind.without_labels(layout, predictor.task)
    kept, rows, faults = list[Record](), list[Row](), list[str]()
    for record in _drawn(records(file, form), SPARE * MOST_ROWS):
        try:
            row = row_of(bare, record)
            if fault := predictor.task.fault(row):
                raise NoRow(fault)
        except NoRow as why:
            faults.append(f"row {record.row} {why}")
            continue
        rows.append(row)
        kept.append(record)
    if not rows:
        raise UserError(f"{file}: has no row that can be predicted: {faults[0]}", "Check it with `finetune check`")
    return NewRows(layout=layout, records=kept, rows=rows, faults=faults, notes=reading_notes(file, form))


def _drawn(coming: Iterator[Record], most: int) -> list[Record]:
    """So many records at random, in their order, whatever their number (reservoir sampling)."""
    drawn, kept = random.Random(0), list[Record]()
    for number, record in enumerate(coming):
        if number < most:
            kept.append(record)
        elif (place := drawn.randrange(number + 1)) < most:
            kept[place] = record
    return sorted(kept, key=lambda record: record.row)


def _farthest(
    reference: Reference, new: Measures, places: Sequence[tuple[int, int]], texts: Sequence[str]
) -> Iterator[FarRow]:
    """The rows with the most distant hidden states, the farthest first; none where those of dev or of the rows are not
    known.
    """
    if STATES not in reference.dev or STATES not in new:
        return
    far = distances(reference.dev[STATES], new[STATES])
    for index in np.argsort(-far, kind="stable")[:FARTHEST].tolist():
        row, line = places[index]
        yield FarRow(row=row, line=line, distance=float(far[index]), text=shown(texts[index], CHARS_SHOWN))


def _notes(
    read: NewRows,
    rows: Sequence[Row],
    reference: Reference,
    every: Sequence[Tested],
    old: Measures,
    new: Measures,
    level: float,
) -> Iterator[str]:
    """How the rows were read, what explains a change, and what limits the tests."""
    yield from read.notes
    if read.faults:
        yield f"{percent(read.unusable)} of the rows cannot be predicted; the first: {read.faults[0]}"
    if any(one.name == "columns" and one.corrected <= level for one in every) and seem_swapped(old, new):
        first, second = read.layout.text[:2] if len(read.layout.text) > 1 else ("the first text", "the second text")
        yield f"'{first}' and '{second}' seem swapped: the other way round they are nearer to those of training"
    if STATES not in reference.dev:
        yield "texts alone are compared: the model has learned the rows of dev too, after they were scored"
    for count, what in ((len(rows), "the file"), (reference.rows, "dev")):
        if count < ENOUGH:
            yield f"{what} has {so_many(count)}: with so few only large changes are found"


def seem_swapped(old: Measures, new: Measures) -> bool:
    """Whether the two texts of the new rows fit better the other way round."""
    given, half = new["columns"], new["columns"].shape[1] // 2
    now = energy_test(old["columns"], given, permutations=1).distance
    other = energy_test(old["columns"], np.roll(given, half, axis=1), permutations=1).distance
    return other < now / 2
