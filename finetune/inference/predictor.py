"""Predictor: a trained model with its task, the one way from records to rows, features, predictions and cells."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast, overload

from finetune.data.paths import exists
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.inference.answer_rows import ERROR, PredictedRow, ahead, rows_of_records, windows
from finetune.inference.exported.export_facts import ExportFacts, is_export, read_export_facts
from finetune.inference.python_rows import PythonRows, value_in_line
from finetune.inference.unsure import Unsure, unsure_of
from finetune.models import pretrained
from finetune.models.feature import Feature
from finetune.models.fingerprint import fingerprint_of
from finetune.models.folder_checks import require_config, saved_settings
from finetune.models.pretrained import ModelFiles
from finetune.runs.events import Note, Watcher, unwatched
from finetune.runs.folder import RunFolder, with_results
from finetune.runs.lookup import find_run, latest_words, no_run, runs_of
from finetune.task_types import registry
from finetune.task_types.columns import Layout
from finetune.task_types.options import configured, task_options
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import encode_rows
from finetune.task_types.row_issues import NoRow
from finetune.task_types.run_task import named_by
from finetune.task_types.task import Task
from finetune.task_types.types import layout_from, named_type, trained_task

if TYPE_CHECKING:
    from finetune.inference.engine import Engine
    from finetune.inference.exported.engine import ExportedEngine

DEFAULT_LENGTH = 128
ENCODING = Lock()  # a tokenizer must not be used by two threads at once
NOT_A_ROW = (UserError, ValueError, TypeError, OverflowError)  # what encoding and predicting raise for a bad row


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """A trained model with its task; `unsure` leaves predictions out. `folder` has its files, `exported` what
    that says of itself where it is an export.

    Call it with one row's inputs, which depend on the task type, or with a list of rows: a text, or a tuple or mapping
    of a pair; a question and a context; a text, or `tokens=[...]`; a context and a list of choices.
    """

    task: Task
    engine: "Engine | ExportedEngine"
    tokenizer: Any
    max_length: int
    fingerprint: str
    layout: Layout | None = None
    unsure: Unsure | None = None
    folder: Path | None = None
    exported: ExportFacts | None = None

    @overload
    def __call__(self, rows: list[Any], /) -> list[Answer]: ...

    @overload
    def __call__(self, *inputs: Any, **named: Any) -> Answer: ...

    def __call__(self, *inputs: Any, **named: Any) -> Answer | list[Answer]:
        """The prediction for one row, e.g. a label as `value`; for a list of rows a list of them.

        Raises UserError for invalid inputs.
        """
        several = len(inputs) == 1 and not named and isinstance(inputs[0], list)
        rows = self._rows_in_list(inputs[0]) if several else [self.row(*inputs, **named)]
        try:
            answers = self.answers(rows)
        except (TypeError, ValueError) as error:  # from a library, for text that is not Unicode
            raise UserError(f"{self.task.name} cannot read the text ({first_line(error)})", "Pass texts") from error
        return answers if several else answers[0]

    def _rows_in_list(self, every: Sequence[Any]) -> list[Row]:
        rows = list[Row]()
        for number, given in enumerate(every, start=1):
            try:
                rows.append(self.row(given if isinstance(given, Mapping) else self.python_rows.arranged(given)))
            except UserError as error:
                raise UserError(f"row {number} of the list: {error.what}", error.way_out) from error
        return rows

    def row(self, *inputs: Any, **named: Any) -> Row:
        """The row of these inputs. Raises UserError for invalid ones."""
        return self.python_rows.called(inputs, named)

    @cached_property
    def python_rows(self) -> PythonRows:
        """How its rows are given in Python."""
        return PythonRows(self.task, self.layout)

    def predict(self, rows: Iterable[Any] | Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        """Predictions for many rows, as `finetune predict` writes them; a row without one has `error`.

        A row is a text, a tuple of inputs, or a mapping by the column names of the training data. `rows` is a list, a
        Dataset, a DataFrame, or a mapping of columns; anything else raises UserError.
        """
        return list(self.cells_of(self.python_rows.rows_in(rows)))

    def predict_lines(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The prediction for each line as it arrives: a JSON object by column name, or tab-separated inputs."""
        for line in lines:
            try:
                (cells,) = self.cells_of([value_in_line(line)])
            except NoRow as why:
                cells = {ERROR: str(why)}
            yield cells

    def cells_of(self, rows: Iterable[Any], *, first: int = 0) -> Iterator[dict[str, Any]]:
        """The cells of the prediction for each Python value that is a row; `first` is as in `predicted`."""
        for window in self.predicted(self.python_rows.records(rows), first=first):
            yield from map(self.cells, window)

    def predicted(
        self, records: Iterable[tuple[Record, Layout]], *, skip: int = 0, first: int = 0
    ) -> Iterator[list[PredictedRow]]:
        """Predictions for records with their columns, window by window and in order, without the first windows, of
        `skip` records; the first window has `first` if it is given, and memory holds two at most.

        A record without a prediction has an error. On a GPU a thread reads and encodes the next window meanwhile.
        """
        encoded = map(self._encoded, windows(records, skip=skip, first=first))
        for window, features in ahead(encoded) if self.engine.overlaps else encoded:
            self._predict([one for one in window if one.row is not None], features)
            yield window

    def _encoded(self, records: Sequence[tuple[Record, Layout]]) -> tuple[list[PredictedRow], Sequence[Feature] | None]:
        """The rows of a window and their features; None for these where a row cannot be encoded."""
        window = rows_of_records(self.task, records)
        rows = [one.row for one in window if one.row is not None]
        try:
            return window, self.encoded(rows) if rows else None
        except NOT_A_ROW:
            return window, None

    def _predict(self, some: Sequence[PredictedRow], features: Sequence[Feature] | None = None) -> None:
        """Adds predictions to rows; a batch with a failing row is halved until that row is alone, and gets an error."""
        rows = [cast(Row, one.row) for one in some]
        try:
            found = self.answers_and_truncated(rows, *([] if features is None else [features]))
        except NOT_A_ROW as error:
            half = len(rows) // 2
            if half:
                self._predict(some[:half])
                self._predict(some[half:])
            else:
                some[0].error = error.what if isinstance(error, UserError) else first_line(error)
            return
        for one, answer, truncated in zip(some, *found, strict=True):
            one.answer, one.truncated = answer, truncated

    def cells(self, one: PredictedRow) -> dict[str, Any]:
        """A prediction as cells of an output file by the column's name, numbers with 6 digits; or its error."""
        if one.answer is None:
            return {ERROR: one.error}
        kind, given = named_type(one.layout.shape), (one.layout, one.answer, one.row)
        if self.unsure is None:
            cells = kind.cells(self.task, *given)
        else:
            cells = self.unsure.cells(self.task, self.engine.labels, kind, *given)
        return {name: float(f"{cell:.6g}") if isinstance(cell, float) else cell for name, cell in cells.items()}

    def encoded(self, rows: Sequence[Row]) -> Sequence[Feature]:
        """The features of rows, for `answers_and_truncated`. Raises UserError for rows that cannot be encoded."""
        with ENCODING:
            return encode_rows(self.task, rows, self.tokenizer, self.max_length, self.engine.most_tokens)

    def answers(self, rows: Sequence[Row]) -> list[Answer]:
        """One prediction a row. Raises UserError for rows that cannot be encoded."""
        return self.answers_and_truncated(rows)[0]

    def answers_and_truncated(
        self, rows: Sequence[Row], features: Sequence[Feature] | None = None
    ) -> tuple[list[Answer], list[bool]]:
        """One prediction a row, and whether the row was truncated to `max_length`. Raises as `answers` does.

        `features` are those that `encoded` returned for these rows, if it was called before.
        """
        if not rows:
            return [], []
        with self.engine.undisturbed():
            features = self.encoded(rows) if features is None else features
            truncated = {feature.row for feature in features if feature.truncated}
            answers = self.task.decode(self.engine.logits(features), features, rows)
        return answers, [number in truncated for number in range(len(rows))]

    def answering(self, model: str, *, coverage: float | None, risk: float | None, out: Path) -> "Predictor":
        """The predictor of this model that leaves out what it is not sure of. Raises as `unsure_of` does."""
        unsure = unsure_of(model, self.task, self.engine.labels, coverage=coverage, risk=risk, out=out)
        if unsure is None:
            return self
        asked = f"{self.fingerprint} coverage {coverage} risk {risk}"  # of what may be resumed
        return replace(self, unsure=unsure, fingerprint=asked)

    @property
    def torch_engine(self) -> "Engine":
        """The engine, which has the model itself. Raises UserError for an export, which has its answers alone."""
        if self.exported is not None:
            raise only_answers(str(self.folder), self.exported)
        return cast("Engine", self.engine)


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """A trained model that is not loaded yet: its name, its files, and the settings that its run saved.

    `candidates` are all runs of the name, if that is a task or data; the model is that of the first.
    """

    name: str
    files: ModelFiles
    settings: dict[str, Any]
    candidates: Sequence[RunFolder] = ()
    exported: ExportFacts | None = None

    @property
    def layout(self) -> Layout | None:
        """The columns of the user's data that it was trained on; None for any other task."""
        return layout_from(self.settings["layout"]) if "layout" in self.settings else None

    @property
    def task_name(self) -> str:
        """The run's task. Raises UserError for a checkpoint without a run."""
        if "task" not in self.settings:
            raise UserError(f"{self.name}: its task is unknown", "Name the task, or a model that `finetune run` saved")
        return str(self.settings["task"])

    @property
    def trained_folder(self) -> Path:
        """The folder of its weights. Raises UserError for an export."""
        if self.exported is not None:
            raise only_answers(self.name, self.exported)
        return Path(self.files.folder)

    def task(self) -> Task:
        """The task that it was trained on. Raises UserError for a checkpoint of no run, and for a task in a file."""
        if self.layout is not None:
            return trained_task(self.layout, name=self.task_name)
        return self.with_inputs(named_by(self.name, self.task_name))

    def with_inputs(self, task: Task) -> Task:
        """The task with the names of its texts, which its training rows had where it declares none."""
        return replace(task, inputs=task.inputs or tuple(self.settings.get("inputs", ())))


def saved(model: str | Path, *, out: str | Path = "results") -> SavedRun:
    """The model of a run, or any fine-tuned checkpoint, by any name that `load` takes. Raises UserError for none."""
    name, out = str(model), Path(out)
    candidates, exported = list[RunFolder](), None
    if is_export(name):
        exported = read_export_facts(Path(name))
        files = ModelFiles(name=name, folder=Path(name), fingerprint=fingerprint_of(Path(name)))
    else:
        run = find_run(name, out)
        candidates = [] if run else runs_of(name, out)
        files = _files_of(name, run or next(iter(candidates), None), out)
    settings = saved_settings(require_config(files.folder))
    return SavedRun(name=name, files=files, settings=settings, candidates=candidates, exported=exported)


def _files_of(name: str, run: RunFolder | None, out: Path) -> ModelFiles:
    """The files of a run's model, or of a model by its name. Raises UserError for none."""
    if run is None and not exists(name) and name in registry.metric_names():
        raise UserError(
            f"there is no finished run of {name} in {out}", f"Train one: {with_results('run', name, out=out)}"
        )
    try:
        return pretrained.resolve(str(run.require_model()) if run else name)
    except pretrained.NotFound as error:
        raise UserError(
            f"'{name}' is not a run in {out}, a folder, or a model that can be fetched ({error.why})",
            no_run(name, out).way_out,
        ) from error


def only_answers(folder: str, facts: ExportFacts) -> UserError:
    """The error for what needs a model's hidden states or weights, and is asked of its export."""
    return UserError(
        f"{folder} is an export, which predicts and has no hidden states or weights to train",
        f"Name the run that it was made from: {facts.source.run}",
    )


def load_predictor(
    model: str | Path,
    *,
    task: Task | None = None,
    out: str | Path = "results",
    watch: Watcher = unwatched,
    device: str | None = None,
) -> Predictor:
    """Loads the model of a run (its folder, a prefix of its id, or its task), or any fine-tuned checkpoint.

    `task` is for checkpoints without a run, and for tasks in a file. Raises UserError for a model without a trained
    head or without a task.
    """
    found = saved(model, out=out)
    if found.candidates:
        watch(Note(latest_words(found.name, found.candidates)))
    settings = found.settings
    task = found.task() if task is None else found.with_inputs(task)
    known = {key: value for key, value in settings.get("options", {}).items() if key in task_options(task)}
    task = configured(task, known)
    folder = Path(found.files.folder)
    engine: Engine | ExportedEngine
    if found.exported is not None:
        from finetune.inference.exported.engine import load_exported

        engine, tokenizer = load_exported(folder, found.exported, device=device, watch=watch)
    else:
        from finetune.inference.engine import load_engine

        engine, tokenizer = load_engine(found.name, folder, settings, head=task.head, device=device, watch=watch)
    return Predictor(
        task=task,
        engine=engine,
        tokenizer=tokenizer,
        max_length=settings.get("max_length", DEFAULT_LENGTH),
        fingerprint=found.files.fingerprint,
        layout=found.layout,
        folder=folder,
        exported=found.exported,
    )
