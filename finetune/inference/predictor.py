"""`Predictor`: a trained model with its task; from records to rows, features, predictions and cells."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from finetune.data.paths import exists
from finetune.data.records import Record
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.inference.answer_rows import (
    ERROR,
    PredictedRow,
    PythonRows,
    ahead,
    rows_of_records,
    value_in_line,
    windows,
)
from finetune.inference.export_facts import ExportFacts, is_export, read_export_facts
from finetune.inference.unsure import Unsure, unsure_of
from finetune.models import pretrained
from finetune.models.feature import Feature
from finetune.models.fingerprint import fingerprint_of
from finetune.models.folder_checks import require_config, saved_settings
from finetune.models.pretrained import ModelFiles
from finetune.runs.events import Note, Watcher, unwatched
from finetune.runs.folder import RunFolder, with_results
from finetune.runs.lookup import find_run, latest_words, no_run, runs_of
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.declared import metric_names
from finetune.task_types.options import configured, task_options
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import encode_rows
from finetune.task_types.run_task import named_by
from finetune.task_types.task import Task
from finetune.task_types.types import layout_from, named_type, trained_task

if TYPE_CHECKING:
    from finetune.inference.engine import Engine
    from finetune.inference.exported_engine import ExportedEngine

DEFAULT_LENGTH = 128
ENCODING = Lock()  # a tokenizer must not be used by two threads at once
NOT_A_ROW = (UserError, ValueError, TypeError, OverflowError)  # what encoding and predicting raise for a bad row


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """A trained model with its task. `unsure` leaves predictions out; `exported` are the facts of an export.

    Call it with the inputs of a row, or with a list of rows. Inputs depend on the task type: a text, or a tuple or
    mapping of a pair; a question and a context; a text, or `tokens=[...]`; a context and a list of choices.
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

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The prediction for a row, e.g. a label as `value`; for a list of rows a list of predictions.

        Raises UserError for invalid inputs.
        """
        is_list = len(inputs) == 1 and not named and isinstance(inputs[0], list)
        if is_list:
            rows = [self._row_in_list(number, item) for number, item in enumerate(inputs[0], 1)]
        else:
            rows = [self.row(*inputs, **named)]
        try:
            answers = self.answers(rows)
        except (TypeError, ValueError) as error:  # from a library, for text that is not Unicode
            raise UserError(f"{self.task.name} cannot read the text ({first_line(error)})", "Pass texts") from error
        return answers if is_list else answers[0]

    def _row_in_list(self, number: int, item: Any) -> Row:
        try:
            return self.row(item if isinstance(item, Mapping) else self.python_rows.arranged(item))
        except UserError as error:
            raise UserError(f"row {number} of the list: {error.what}", error.way_out) from error

    def row(self, *inputs: Any, **named: Any) -> Row:
        """The row of these inputs. Raises UserError for invalid ones."""
        return self.python_rows.called(inputs, named)

    @cached_property
    def python_rows(self) -> PythonRows:
        """Turns Python values into rows."""
        return PythonRows(self.task, self.layout)

    def predict(self, rows: Iterable[Any] | Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        """Predictions for many rows, as `finetune predict` writes them; a row without a prediction has `error`.

        A row is a text, a tuple of inputs, or a mapping by the columns of the training data. `rows` is a list, a
        Dataset, a DataFrame, or a mapping of columns; anything else raises UserError.
        """
        return list(self.cells_of(self.python_rows.rows_in(rows)))

    def predict_lines(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The prediction for each line as it arrives: a JSON object by column name, or tab-separated inputs."""
        for line in lines:
            try:
                yield from self.cells_of([value_in_line(line)])
            except NoRow as why:
                yield {ERROR: str(why)}

    def cells_of(self, rows: Iterable[Any], *, first: int = 0) -> Iterator[dict[str, Any]]:
        """The cells of the prediction for each row, a Python value; `first` is as in `predicted`."""
        for window in self.predicted(self.python_rows.records(rows), first=first):
            yield from map(self.cells, window)

    def predicted(
        self, records: Iterable[tuple[Record, Layout]], *, skip: int = 0, first: int = 0
    ) -> Iterator[list[PredictedRow]]:
        """Predictions for records with their columns, window by window and in order, after the first `skip` records.

        The first window has `first` records, by default FIRST_WINDOW; memory holds two windows at most. A record
        without a prediction has an error. On a GPU a thread reads and encodes the next window meanwhile.
        """
        encoded = map(self._encoded, windows(records, skip=skip, first=first))
        for window, features in ahead(encoded) if self.engine.overlaps else encoded:
            self._predict([predicted for predicted in window if predicted.row is not None], features)
            yield window

    def _encoded(self, records: Sequence[tuple[Record, Layout]]) -> tuple[list[PredictedRow], Sequence[Feature] | None]:
        """The rows of a window and their features; these are None if a row cannot be encoded."""
        window = rows_of_records(self.task, records)
        rows = [predicted.row for predicted in window if predicted.row is not None]
        try:
            return window, self.encoded(rows) if rows else None
        except NOT_A_ROW:
            return window, None

    def _predict(self, window: Sequence[PredictedRow], features: Sequence[Feature] | None = None) -> None:
        """Adds predictions to rows. A window that fails is halved until the failing row is alone; it gets the error."""
        rows = [cast(Row, predicted.row) for predicted in window]
        try:
            answers = self.answers_and_truncated(rows, *([] if features is None else [features]))
        except NOT_A_ROW as error:
            if half := len(rows) // 2:
                self._predict(window[:half])
                self._predict(window[half:])
            else:
                window[0].error = error.what if isinstance(error, UserError) else first_line(error)
            return
        for predicted, answer, truncated in zip(window, *answers, strict=True):
            predicted.answer, predicted.truncated = answer, truncated

    def cells(self, predicted: PredictedRow) -> dict[str, Any]:
        """A prediction as cells of an output file by column, numbers with 6 digits; or its error."""
        if predicted.answer is None:
            return {ERROR: predicted.error}
        row = cast(Row, predicted.row)
        cells = named_type(predicted.layout.shape).cells(self.task, predicted.layout, predicted.answer, row)
        if self.unsure is not None:
            cells = self.unsure.cells(cells, self.task, self.engine.labels, row, predicted.answer)
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

        `features` may be the result of `encoded` for these rows.
        """
        if not rows:
            return [], []
        with self.engine.undisturbed():
            features = self.encoded(rows) if features is None else features
            truncated = {feature.row for feature in features if feature.truncated}
            answers = self.task.decode(self.engine.logits(features), features, rows)
        return answers, [number in truncated for number in range(len(rows))]

    def answering(self, model: str, *, coverage: float | None, risk: float | None, out: Path) -> "Predictor":
        """A predictor that leaves out predictions of low confidence. Raises as `unsure_of` does."""
        unsure = unsure_of(model, self.task, self.engine.labels, coverage=coverage, risk=risk, out=out)
        if unsure is None:
            return self
        # An interrupted file is resumed with the same threshold alone.
        return replace(self, unsure=unsure, fingerprint=f"{self.fingerprint} coverage {coverage} risk {risk}")

    @property
    def torch_engine(self) -> "Engine":
        """The engine with the torch model. Raises UserError for an export, which has none."""
        require_weights(str(self.folder), self.exported)
        return cast("Engine", self.engine)


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """A trained model that is not loaded yet: its name, its files, and the settings that its run saved.

    `candidates` are all runs of a name that is a task or data; the model is of the first.
    """

    name: str
    files: ModelFiles
    settings: dict[str, Any]
    candidates: Sequence[RunFolder] = ()
    exported: ExportFacts | None = None

    @property
    def layout(self) -> Layout | None:
        """The columns of a user's data on which it was trained; None for any other task."""
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
        require_weights(self.name, self.exported)
        return Path(self.files.folder)

    def task(self, named: Task | None = None) -> Task:
        """The task on which it was trained. For a checkpoint without a run, and a task in a file, it has to be `named`.

        A task that declares no `inputs` gets the columns of its training rows. Raises UserError for an unknown task.
        """
        if named is None and self.layout is not None:
            return trained_task(self.layout, name=self.task_name)
        task = named or named_by(self.name, self.task_name)
        return replace(task, inputs=task.inputs or tuple(self.settings.get("inputs", ())))


def require_weights(folder: str, facts: ExportFacts | None) -> None:
    """Raises UserError for an export, where hidden states or weights are needed."""
    if facts is not None:
        raise UserError(
            f"{folder} is an export, which predicts and has no hidden states or weights to train",
            f"Name the run that it was made from: {facts.source.run}",
        )


def saved(model: str | Path, *, out: str | Path = "results") -> SavedRun:
    """The model of a run, or any fine-tuned checkpoint, by any name that `load` takes. Raises UserError without one."""
    name, out = str(model), Path(out)
    candidates, exported = list[RunFolder](), None
    if is_export(name):
        exported = read_export_facts(Path(name))
        files = ModelFiles(name=name, folder=Path(name), fingerprint=fingerprint_of(Path(name)))
    else:
        run = find_run(name, out)
        candidates = [] if run else runs_of(name, out)
        run = run or next(iter(candidates), None)
        if run is None and not exists(name) and name in metric_names():
            raise UserError(
                f"there is no finished run of {name} in {out}", f"Train one: {with_results('run', name, out=out)}"
            )
        try:
            files = pretrained.resolve(str(run.require_model()) if run else name)
        except pretrained.NotFound as error:
            raise UserError(
                f"'{name}' is not a run in {out}, a folder, or a model that can be fetched ({error.why})",
                no_run(name, out).way_out,
            ) from error
    settings = saved_settings(require_config(files.folder))
    return SavedRun(name=name, files=files, settings=settings, candidates=candidates, exported=exported)


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
    run = saved(model, out=out)
    if run.candidates:
        watch(Note(latest_words(run.name, run.candidates)))
    settings, folder, task = run.settings, Path(run.files.folder), run.task(task)
    options = task_options(task)
    task = configured(task, {key: value for key, value in settings.get("options", {}).items() if key in options})
    engine: Engine | ExportedEngine
    if run.exported is not None:
        from finetune.inference.exported_engine import load_exported

        engine, tokenizer = load_exported(folder, run.exported, device=device, watch=watch)
    else:
        from finetune.inference.engine import load_engine

        engine, tokenizer = load_engine(run.name, folder, settings, head=task.head, device=device, watch=watch)
    return Predictor(
        task=task, engine=engine, tokenizer=tokenizer, max_length=settings.get("max_length", DEFAULT_LENGTH),
        fingerprint=run.files.fingerprint, layout=run.layout, folder=folder, exported=run.exported,
    )  # fmt: skip
