"""`run --track`: the settings, losses and scores of a run, sent to Accelerate's trackers."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from finetune.errors import UserError, first_line, nearest
from finetune.runs.events import AlreadyDone, Done, EpochDone, Event, Note, Started, Training, Updates, Watcher
from finetune.runs.recipe import Recipe
from finetune.runs.record import names_only

NAMES = ("tensorboard", "mlflow", "wandb", "trackio", "aim", "clearml", "comet_ml", "dvclive", "swanlab")
# Calls are made between updates, so a server that is down must fail soon: by default it takes minutes.
ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "WANDB_SILENT": "true",
    "WANDB_INIT_TIMEOUT": "20",
}
RUN_ARGUMENTS: dict[str, Callable[[str], dict[str, Any]]] = {  # of a tracker's class, from the id of the run
    "mlflow": lambda run: {"run_name": run},
    "wandb": lambda run: {"id": run, "name": run, "resume": "allow"},
    "trackio": lambda run: {"name": run, "resume": "allow"},
}


def tracker_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names in `tensorboard,mlflow` or in a list. Raises UserError if one is unknown, or not installed."""
    parts = names.split(",") if isinstance(names, str) else names
    cleaned = tuple(dict.fromkeys(name for part in parts if (name := part.strip())))
    for name in cleaned:
        if name not in NAMES:
            raise UserError(f"there is no tracker '{name}'", f"{nearest(name, list(NAMES))}Give {', '.join(NAMES)}")
        if find_spec(name) is None:
            package = name.replace("_", "-")
            raise UserError(f"the tracker '{name}' needs a package that is not installed", f"pip install {package}")
    return cleaned


@contextmanager
def tracked(names: Sequence[str], watch: Watcher) -> Iterator[Watcher]:
    """A watcher that passes events to `watch`, and sends those of one run to trackers."""
    tracking = Tracking(names, watch)
    try:
        yield tracking if names else watch
    finally:
        tracking.send(lambda tracker: tracker.finish())


class Tracking:
    """Sends events to trackers, in the thread of the run. One that fails is left out from then on, with a note."""

    def __init__(self, names: Sequence[str], then: Watcher) -> None:
        self.names, self.then = names, then
        self.trackers: dict[str, Any] = {}  # Accelerate's, by name; opened when training begins
        self.folder, self.settings = Path(), dict[str, Any]()
        self.update, self.examples = 0, 0.0  # so far; examples of an update

    def __call__(self, event: Event) -> None:
        """Passes an event on, then sends its numbers."""
        self.then(event)
        match event:
            case AlreadyDone():
                self.then(Note(f"{', '.join(self.names)}: not sent, for the run is finished; `force` trains it again"))
            case Started():
                recipe = Recipe.model_validate(event.recipe).model_dump(exclude={"grid"})
                self.folder, self.settings = Path(event.folder).resolve(), dict(_flat(names_only(recipe), "."))
            case Training():
                self.update, self.examples = event.done, event.examples * event.epochs / max(event.updates, 1)
                self._open()
            case Updates():
                self.update = event.update
                speed = self.examples * len(event.losses) / max(event.seconds, 1e-9)
                rate = event.rates[-1] if event.rates else None
                numbers = {"train/loss": fmean(event.losses), "train/learning_rate": rate}
                self._log(numbers | {"train/examples_per_second": speed})
            case EpochDone(result=result):
                losses = {"epoch": result.epoch, "train/epoch_loss": result.loss, "dev/loss": result.dev_loss}
                self._log(losses | dict(_flat(result.scores, "/")))
            case Done():
                self._log({f"final/{name}": score for name, score in _flat(event.scores, "/")})

    def send(self, call: Callable[[Any], object]) -> None:
        """Calls a function with each tracker."""
        for name in list(self.trackers):
            try:
                with redirect_stdout(sys.stderr):  # some print
                    call(self.trackers[name])
            except (Exception, SystemExit) as error:  # whatever a library raises
                del self.trackers[name]
                self.then(Note(f"{name} is left out: {first_line(error).rstrip('. ')}; training continues"))

    def _open(self) -> None:
        """Starts the trackers, and sends the settings."""
        from accelerate.tracking import LOGGER_TYPE_TO_CLASS

        for variable, value in ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
        run, task = self.folder.name, self.folder.parent.name
        if "trackio" in self.names:  # it prints when Python exits too, where standard output may be JSON
            vars(import_module("trackio.run"))["print"] = partial(print, file=sys.stderr)
        for name in self.names:
            kind = LOGGER_TYPE_TO_CLASS[name]
            arguments = RUN_ARGUMENTS[name](run) if name in RUN_ARGUMENTS else {}
            if kind.requires_logging_directory:
                arguments["logging_dir"] = str(self.folder.parents[1] / name)
            # TensorBoard has no projects: its name of a run is a path
            self.trackers[name] = kind(f"{task}/{run}" if name == "tensorboard" else task, **arguments)
        self.send(lambda tracker: tracker.start())
        self.send(lambda tracker: tracker.store_init_configuration(self.settings))

    def _log(self, numbers: Mapping[str, Any]) -> None:
        """Sends the finite numbers, under names that MLflow takes too."""
        finite = {re.sub(r"[^\w.\- /]", "_", name): value for name, value in numbers.items()
                  if value is not None and isfinite(value)}  # fmt: skip
        if finite:
            self.send(lambda tracker: tracker.log(finite, step=self.update))


def _flat(values: Mapping[str, Any], separator: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested values under joined names; what is neither a number nor a text is written as JSON."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, separator, f"{prefix}{name}{separator}")
        else:
            plain = isinstance(value, str | int | float)
            yield f"{prefix}{name}", value if plain else json.dumps(value, ensure_ascii=False, default=str)
