"""Predictor: a trained model with its task, as `finetune.load(RUN)` returns it and the commands use it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast, overload

from finetune.data.paths import exists
from finetune.data.rows import Row
from finetune.errors import UserError, first_line
from finetune.inference.exported.export_facts import ExportFacts, is_export, read_export_facts
from finetune.inference.logits_engine import LogitsEngine
from finetune.inference.python_rows import answer_values, arranged, called_row
from finetune.inference.unsure import Unsure
from finetune.metrics.temperature import with_temperature
from finetune.models import pretrained
from finetune.models.feature import Feature
from finetune.models.fingerprint import fingerprint_of
from finetune.models.folder_checks import require_config, saved_settings
from finetune.models.pretrained import ModelFiles
from finetune.runs.events import Note, Watcher, unwatched
from finetune.runs.folder import RunFolder, with_results
from finetune.runs.lookup import find_run, latest_words, no_run, runs_of
from finetune.runs.recipe import Recipe
from finetune.task_types import registry
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import DataType
from finetune.task_types.options import configured, option_values
from finetune.task_types.parts import Answer
from finetune.task_types.prepare import encode_rows
from finetune.task_types.run_task import named_by
from finetune.task_types.task import Task
from finetune.task_types.types import layout_from, layout_of, trained_task

if TYPE_CHECKING:
    from finetune.inference.engine import Engine

DEFAULT_LENGTH = 128
ENCODING = Lock()  # a tokenizer must not be used by two threads at once


def settings_for_use(recipe: Recipe, task: Task, precision: str) -> dict[str, Any]:
    """Settings that a saved model needs to predict as in its run; stored in its config under `finetune`."""
    layout = layout_of(task)
    return {
        "task": task.name if layout else recipe.task,
        **({"layout": layout} if layout else {"inputs": task.inputs} if task.inputs else {}),
        **recipe.model_dump(include={"layers", "bilstm", "pooling"}, exclude_defaults=True),
        **({"bare": True} if recipe.train.solver == "logistic" else {}),
        "max_length": recipe.max_length,
        "precision": precision,
        "options": {name: value for name, value in option_values(task).items() if value is not None},
    }


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """A trained model with its task; its probabilities are scaled by `temperature`, and `unsure` leaves some out.
    `folder` is that of its files, `exported` what that says of itself where it is an export.

    Call it with one row's inputs, which depend on the task type, or with a list of rows: a text, or a tuple or mapping
    of a pair; a question and a context; a text, or `tokens=[...]`; a context and a list of choices.
    """

    task: Task
    engine: LogitsEngine
    tokenizer: Any
    max_length: int
    fingerprint: str
    layout: Layout | None = None
    temperature: float = 1.0
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
        if len(inputs) != 1 or named or not isinstance(inputs[0], list):
            return self._called([self.row(*inputs, **named)])[0]
        rows = list[Row]()
        for number, given in enumerate(inputs[0], start=1):
            try:
                rows.append(self.row(given if isinstance(given, Mapping) else arranged(self, given)))
            except UserError as error:
                raise UserError(f"row {number} of the list: {error.what}", error.way_out) from error
        return self._called(rows)

    def row(self, *inputs: Any, **named: Any) -> Row:
        """The row of these inputs. Raises UserError for invalid ones."""
        return called_row(self, inputs, named)

    def _called(self, rows: Sequence[Row]) -> list[Answer]:
        try:
            return self.answers(rows)
        except (TypeError, ValueError) as error:  # from a library, for text that is not Unicode
            raise UserError(f"{self.task.name} cannot read the text ({first_line(error)})", "Pass texts") from error

    def answers(self, rows: Sequence[Row]) -> list[Answer]:
        """One prediction a row. Raises UserError for rows that cannot be encoded."""
        return self.answers_and_truncated(rows)[0]

    def cells(self, kind: DataType, layout: Layout, answer: Answer, row: Row) -> dict[str, Any]:
        """A prediction as cells of an output file, by the column's name."""
        if self.unsure is None:
            return kind.cells(self.task, layout, answer, row)
        return self.unsure.cells(self.task, self.engine.labels, kind, layout, answer, row)

    @property
    def overlaps(self) -> bool:
        """Whether a thread encodes rows while the model predicts others."""
        return self.engine.overlaps

    @property
    def torch_engine(self) -> "Engine":
        """The engine, which has the model itself. Raises UserError for an export, which has its answers alone."""
        if self.exported is not None:
            raise only_answers(str(self.folder), self.exported)
        return cast("Engine", self.engine)

    def encoded(self, rows: Sequence[Row]) -> Sequence[Feature]:
        """The features of rows, for `answers_and_truncated`. Raises UserError for rows that cannot be encoded."""
        with ENCODING:
            return encode_rows(self.task, rows, self.tokenizer, self.max_length, self.engine.most_tokens)

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
            return self._answered(rows, features)

    def _answered(self, rows: Sequence[Row], features: Sequence[Feature]) -> tuple[list[Answer], list[bool]]:
        truncated = {feature.row for feature in features if feature.truncated}
        answers = self.task.decode(self.engine.logits(features), features, rows)
        if self.temperature != 1:
            answers = [
                replace(one, probabilities=with_temperature(one.probabilities or (), self.temperature))
                for one in answers
            ]
        return answers, [number in truncated for number in range(len(rows))]

    def predict(self, rows: Iterable[Any] | Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        """Predictions for many rows, as `finetune predict` writes them; a row without one has `error`.

        A row is a text, a tuple of inputs, or a mapping by the column names of the training data. `rows` is a list, a
        Dataset, a DataFrame, or a mapping of columns; anything else raises UserError.
        """
        return answer_values(self, rows)


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
    if is_export(name):
        return _saved_export(name, Path(name))
    named = find_run(name, out)
    candidates = [] if named else runs_of(name, out)
    found = named or next(iter(candidates), None)
    if found is None and not exists(name) and name in registry.available():
        raise UserError(
            f"there is no finished run of {name} in {out}", f"Train one: {with_results('run', name, out=out)}"
        )
    try:
        files = pretrained.resolve(str(found.require_model()) if found else name)
    except pretrained.NotFound as error:
        raise UserError(
            f"'{name}' is not a run in {out}, a folder, or a model that can be fetched ({error.why})",
            no_run(name, out).way_out,
        ) from error
    return SavedRun(
        name=name, files=files, settings=saved_settings(require_config(files.folder)), candidates=candidates
    )


def _saved_export(name: str, folder: Path) -> SavedRun:
    """The model of an export's folder."""
    facts = read_export_facts(folder)
    return SavedRun(
        name=name,
        files=ModelFiles(name=name, folder=folder, fingerprint=fingerprint_of(folder)),
        settings=saved_settings(require_config(folder)),
        exported=facts,
    )


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
    known = {key: value for key, value in settings.get("options", {}).items() if key in task.options}
    task = configured(task, known)
    engine, tokenizer = _engine(found, task, device=device, watch=watch)
    return Predictor(
        task=task,
        engine=engine,
        tokenizer=tokenizer,
        max_length=settings.get("max_length", DEFAULT_LENGTH),
        fingerprint=found.files.fingerprint,
        layout=found.layout,
        folder=Path(found.files.folder),
        exported=found.exported,
    )


def _engine(found: SavedRun, task: Task, *, device: str | None, watch: Watcher) -> tuple[LogitsEngine, Any]:
    """The engine of a saved model, and its tokenizer."""
    folder = Path(found.files.folder)
    if found.exported is not None:
        from finetune.inference.exported.engine import load_exported

        return load_exported(folder, found.exported, device=device, watch=watch)
    from finetune.inference.on_torch import load_on_torch

    return load_on_torch(found.name, folder, found.settings, task=task, device=device, watch=watch)
