"""A trained model that answers: `finetune.load(RUN)(...)`, and what `evaluate` and other commands predict with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from transformers import PretrainedConfig

from finetune.data.rows import Row
from finetune.errors import UserError
from finetune.inference.answer_rows import answer_values
from finetune.inference.engine import Engine
from finetune.metrics.temperature import with_temperature
from finetune.models import pretrained
from finetune.models.device import build_accelerator, resolve_device, usable_precision
from finetune.models.kernels import cpu
from finetune.models.pretrained import Weights
from finetune.models.saving import load_config, load_trained
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Note, Watcher, unwatched
from finetune.runs.folder import RunFolder
from finetune.runs.lookup import find_run, latest_words, runs_of
from finetune.runs.recipe import Recipe
from finetune.task_types import registry
from finetune.task_types.columns import Layout
from finetune.task_types.options import configured, option_values
from finetune.task_types.prepare import encode
from finetune.task_types.run_task import named_by
from finetune.task_types.task import Answer, Task
from finetune.task_types.types import inputs_fault, layout_from, layout_of, trained_task

DEFAULT_LENGTH = 128


def settings_for_use(recipe: Recipe, task: Task, precision: str) -> dict[str, Any]:
    """What a saved model must know to answer as it did in its run; they are in its config, under `finetune`."""
    layout = layout_of(task)
    return {
        "task": task.name if layout else recipe.task,
        **({"layout": layout} if layout else {}),
        **recipe.model_dump(include={"layers", "bilstm"}, exclude_defaults=True),
        **({"bare": True} if recipe.train.solver == "logistic" else {}),
        "max_length": recipe.max_length,
        "precision": precision,
        "options": {name: value for name, value in option_values(task).items() if value is not None},
    }


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """A trained model with its task, its probabilities at a temperature.

    Call it with one row's inputs, which depend on the kind of task:

    a text, or two; a question and a context; words, or a text of words; a context and a list of choices.
    """

    task: Task
    engine: Engine
    tokenizer: Any
    max_length: int
    fingerprint: str
    layout: Layout | None = None
    temperature: float = 1.0

    def __call__(self, *inputs: Any) -> Answer:
        """The answer to one row, its `value` in the task's own terms. Raises UserError for inputs that make no row."""
        try:
            signature(self.task.row).bind(*inputs)
        except TypeError as error:
            wanted = ", ".join(signature(self.task.row).parameters)
            raise UserError(f"{self.task.name} cannot answer {len(inputs)} inputs", f"Give it {wanted}") from error
        try:
            row = self.task.row(*inputs)
            if fault := inputs_fault(self.layout, sum(text is not None for text in inputs)) or self.task.fault(row):
                raise UserError(f"the row {fault}", "Give it what is missing")
            return self.answers([row])[0]
        except (TypeError, ValueError, AttributeError) as error:  # of whatever met an input that is no text
            wanted = ", ".join(f"{type(given).__name__}" for given in inputs)
            raise UserError(f"{self.task.name} cannot read inputs of the kind {wanted}", "Give it texts") from error

    def answers(self, rows: Sequence[Row]) -> list[Answer]:
        """One answer a row. Raises UserError for rows that cannot be encoded."""
        return self.answers_and_cuts(rows)[0]

    def answers_and_cuts(self, rows: Sequence[Row]) -> tuple[list[Answer], list[bool]]:
        """One answer a row, and whether the row lost tokens to `max_length`. Raises UserError as `answers` does."""
        if not rows:
            return [], []
        features = encode(self.task, rows, self.tokenizer, self.max_length, self.engine.model.backbone.config)
        cuts = {feature.row for feature in features if feature.truncated}
        answers = self.task.decode(self.engine.logits(features), features, rows)
        if self.temperature != 1:
            answers = [
                replace(one, probabilities=with_temperature(one.probabilities or (), self.temperature))
                for one in answers
            ]
        return answers, [number in cuts for number in range(len(rows))]

    def predict(self, rows: Iterable[Any] | Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
        """The answers to many rows, as `finetune predict` writes them; `error` says why one could not be answered.

        A row is a text, a tuple of inputs, or a mapping by the names of the columns that the model was trained on;
        rows may be in a list, a Dataset, a DataFrame, or a mapping of columns. Raises UserError for what holds no rows.
        """
        return answer_values(self, rows)


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A trained model that is not loaded yet: what was named, its files, and what a run saved of how to use it.

    `candidates` are the runs, where only a task or its data was named; it is the first one.
    """

    name: str
    files: Weights
    config: PretrainedConfig
    settings: dict[str, Any]
    candidates: Sequence[RunFolder]

    @property
    def layout(self) -> Layout | None:
        """The columns of the user's own data that it was trained on; None for any other task."""
        return layout_from(self.settings["layout"]) if "layout" in self.settings else None

    @property
    def task_name(self) -> str:
        """As the run had it. Raises UserError for a checkpoint that no run saved."""
        if "task" not in self.settings:
            raise UserError(
                f"{self.name}: does not say what its task is", "Name the task, or a model that a run of finetune saved"
            )
        return str(self.settings["task"])

    def task(self) -> Task:
        """The task that it was trained on. Raises UserError for a checkpoint of no run, and for a task in a file."""
        if self.layout is not None:
            return trained_task(self.layout, name=self.task_name)
        return named_by(self.name, self.task_name)


def saved(model: str | Path, *, out: str | Path = "results") -> Saved:
    """The model of a run, or any fine-tuned checkpoint, by any name that `load` takes. Raises UserError for none."""
    name, out = str(model), Path(out)
    named = find_run(name, out)
    candidates = [] if named else runs_of(name, out)
    found = named or next(iter(candidates), None)
    if found is None and not Path(name).exists() and name in registry.available():
        raise UserError(f"there is no finished run of {name} in {out}", f"Train one: finetune run {name}")
    if found is not None and not found.model.is_dir():
        raise UserError(f"{found.path}: its model is not here", "Weights are not kept in git: run it with --force")
    try:
        files = pretrained.resolve(str(found.model) if found else name)
    except UserError as error:
        if "/" in name:
            raise
        raise UserError(
            f"'{name}' names no finished run in {out}; and {error.what}",
            "`finetune ls` lists the runs; a model needs a folder, or a network",
        ) from error
    config = load_config(files.folder)
    return Saved(
        name=name,
        files=files,
        config=config,
        settings=getattr(config, "finetune", None) or {},
        candidates=candidates,
    )


def load(
    model: str | Path,
    *,
    task: Task | None = None,
    out: str | Path = "results",
    watch: Watcher = unwatched,
    device: str | None = None,
) -> Predictor:
    """The model of a run (its folder, the beginning of its id, or its task), or any fine-tuned checkpoint.

    `task` is for checkpoints that no run saved, and for tasks in a file. Raises UserError for one without a trained
    head, or without a task.
    """
    found = saved(model, out=out)
    if found.candidates:
        watch(Note(latest_words(found.name, found.candidates)))
    settings = found.settings
    task = found.task() if task is None else task
    known = {key: value for key, value in settings.get("options", {}).items() if key in task.options}
    task = configured(task, known)
    place = resolve_device(device)
    loaded = load_trained(found.files.folder, task.head)
    if len(loaded.head.labels) > 1 and str(found.config.id2label[0]).lower() == "label_0":
        names = ", ".join(loaded.head.labels)
        watch(Note(f"{found.name} does not name its labels: taken to be {names}, in that order"))
    if place.type == "cpu":
        cpu.speed_up(loaded, loaded.backbone.encoder)
    tokenizer = load_tokenizer(found.files.folder)
    engine = Engine(
        model=loaded,
        accelerator=build_accelerator(place, _precision(found, place, watch)),
        pad_id=tokenizer.pad_token_id,
        watch=watch,
    )
    return Predictor(
        task=task,
        engine=engine,
        tokenizer=tokenizer,
        max_length=settings.get("max_length", DEFAULT_LENGTH),
        fingerprint=found.files.fingerprint,
        layout=found.layout,
    )


def _precision(found: Saved, place: torch.device, watch: Watcher) -> str:
    """What it predicts in, with a note where that is not what it was trained in."""
    trained_in = found.settings.get("precision", "auto")
    precision = usable_precision(trained_in, place)
    if trained_in not in (precision, "auto"):
        text = f"{found.name} was trained in {trained_in}, in which this {place.type} does not compute natively"
        watch(Note(f"{text}: it predicts in {precision}"))
    return precision
