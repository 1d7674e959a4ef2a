"""A trained model that answers: `finetune.load(RUN)(...)`, and what `evaluate` and other commands predict with."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from finetune import cpu, weights
from finetune import task as tasks
from finetune.device import build_accelerator, resolve_device, resolve_precision
from finetune.errors import UserError
from finetune.events import Watcher, unwatched
from finetune.model import load_config, load_trained
from finetune.options import configured, option_values
from finetune.prepare import encode, load_tokenizer
from finetune.recipe import Recipe, Train
from finetune.targets import find_run, latest_run
from finetune.task import Answer, Row, Task
from finetune.trainer import Trainer

DEFAULT_LENGTH = 128


def settings_for_use(recipe: Recipe, task: Task, precision: str) -> dict[str, Any]:
    """What a saved model must know to answer as it did in its run; they are in its config, under `finetune`."""
    return {
        "task": recipe.task,
        "max_length": recipe.max_length,
        "precision": precision,
        "options": {name: value for name, value in option_values(task).items() if value is not None},
    }


@dataclass(frozen=True, kw_only=True)
class Predictor:
    """A trained model with its task; call it with one row's inputs, which depend on the kind of task:

    a text, or two; a question and a context; words, or a text of words; a context and a list of choices.
    """

    task: Task
    trainer: Trainer
    tokenizer: Any
    max_length: int

    def __call__(self, *inputs: Any) -> Answer:
        """The answer to one row, its `value` in the task's own terms. Raises UserError for inputs that make no row."""
        try:
            signature(self.task.row).bind(*inputs)
        except TypeError as error:
            wanted = ", ".join(signature(self.task.row).parameters)
            raise UserError(f"{self.task.name} cannot answer {len(inputs)} inputs", f"Give it {wanted}") from error
        row = self.task.row(*inputs)
        if fault := self.task.fault(row):
            raise UserError(f"the row {fault}", "Give it what is missing")
        return self.answers([row])[0]

    def answers(self, rows: Sequence[Row]) -> list[Answer]:
        """One answer a row. Raises UserError for rows that cannot be encoded."""
        if not rows:
            return []
        features = encode(self.task, rows, self.tokenizer, self.max_length, self.trainer.model.backbone.config)
        return self.task.decode(self.trainer.predict(features), features, rows)


def load(
    model: str | Path,
    *,
    task: Task | None = None,
    out: Path = Path("results"),
    watch: Watcher = unwatched,
    device: str | None = None,
) -> Predictor:
    """The model of a run (its folder, the beginning of its id, or its task), or any fine-tuned checkpoint.

    `task` is for checkpoints that no run saved. Raises UserError for one without a trained head, or without a task.
    """
    name = str(model)
    found = find_run(name, out) or latest_run(name, out)
    if found is None and not Path(name).exists() and name in tasks.available():
        raise UserError(f"there is no finished run of {name} in {out}", f"Train one: finetune run {name}")
    if found is not None and not found.model.is_dir():
        raise UserError(f"{found.path}: its model is not here", "Weights are not kept in git: run it with --force")
    files = weights.resolve(str(found.model) if found else name)
    config = load_config(files.folder)
    settings: dict[str, Any] = getattr(config, "finetune", None) or {}
    if task is None:
        if "task" not in settings:
            raise UserError(f"{name}: does not say what its task is", "Name the task")
        task = tasks.find(settings["task"])
    known = {key: value for key, value in settings.get("options", {}).items() if key in task.options}
    task = configured(task, known)
    place = resolve_device(device)
    loaded = load_trained(files.folder, task.head)
    if len(loaded.head.labels) > 1 and str(config.id2label[0]).lower() == "label_0":
        watch(
            "note", text=f"{name} does not name its labels: taken to be {', '.join(loaded.head.labels)}, in that order"
        )
    if place.type == "cpu":
        cpu.speed_up(loaded, loaded.backbone.encoder)
    tokenizer = load_tokenizer(files.folder)
    trainer = Trainer(
        model=loaded,
        settings=Train(),
        accelerator=build_accelerator(place, resolve_precision(settings.get("precision", "auto"), place)),
        pad_id=tokenizer.pad_token_id,
        data_seed=0,
        watch=watch,
    )
    length = settings.get("max_length", DEFAULT_LENGTH)
    return Predictor(task=task, trainer=trainer, tokenizer=tokenizer, max_length=length)
