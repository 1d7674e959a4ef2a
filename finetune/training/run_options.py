"""`RunOptions`: options of a command that do not change results; recipes have those that do. `run --track`: settings,
losses and scores of a run, sent to Accelerate's trackers.
"""

import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

from finetune.data.source import Source
from finetune.errors import UserError, first_line, nearest
from finetune.runs.events import AlreadyDone, Done, EpochDone, Event, Note, Started, Training, Updates, Watcher
from finetune.runs.recipe import Recipe
from finetune.runs.record import names_only
from finetune.runs.settings import flat

TRACKERS: Mapping[str, Callable[[Path], dict[str, Any]]] = {  # from the folder of a run to a tracker's arguments
    "tensorboard": lambda run: {
        "run_name": f"{run.parent.name}/{run.name}",  # TensorBoard has no projects: a run's name is a path
        "logging_dir": run.parents[1] / "tensorboard",
    },
    "mlflow": lambda run: {"experiment_name": run.parent.name, "run_name": run.name},
    "wandb": lambda run: {"run_name": run.parent.name, "id": run.name, "name": run.name, "resume": "allow"},
}
# Calls are made between updates, so a server that is down must fail soon: by default it takes minutes.
ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "WANDB_SILENT": "true",
    "WANDB_INIT_TIMEOUT": "20",
}


@dataclass(frozen=True, kw_only=True)
class Saving:
    """How often checkpoints are written: every so many `updates`, or by default `minutes`; less often where writing
    takes more than a few per cent of the time.
    """

    minutes: float = 2.0
    updates: int | None = None

    def __post_init__(self) -> None:
        """Raises UserError for infinite minutes: no checkpoint would ever be due."""
        if not math.isfinite(self.minutes):
            raise UserError(f"{self.minutes} minutes between checkpoints", "Give a number, such as 2")


EVERY_FEW_MINUTES = Saving()


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where data is read, where runs are written, and how they are trained: the same for all runs of a command.

    `wait` for a run that another process trains, else it is an error. With `force` a finished run is trained again, and
    replaced once the new one is finished. `track` are names of trackers. Above `max_minutes` no run is started.
    """

    source: Source
    out: Path
    device: str | None = None
    force: bool = False
    wait: bool = True
    saving: Saving = EVERY_FEW_MINUTES
    track: tuple[str, ...] = ()
    max_minutes: float | None = None

    def __post_init__(self) -> None:
        """Raises UserError for minutes that are negative or nan."""
        if self.max_minutes is not None and not self.max_minutes >= 0:
            raise UserError(f"`max_minutes` is {self.max_minutes}", "Give a number, such as 5")


def tracker_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """The names in `tensorboard,mlflow` or in a list. Raises UserError if one is unknown or not installed."""
    parts = names.split(",") if isinstance(names, str) else names
    trackers = tuple(dict.fromkeys(name for part in parts if (name := part.strip())))
    for name in trackers:
        if name not in TRACKERS:
            remedy = f"{nearest(name, [*TRACKERS])}Give {', '.join(TRACKERS)}"
            raise UserError(f"there is no tracker '{name}'", remedy)
        if find_spec(name) is None:
            raise UserError(f"the tracker '{name}' needs a package that is not installed", f"pip install {name}")
    return trackers


@contextmanager
def tracked(names: Sequence[str], watch: Watcher) -> Iterator[Watcher]:
    """A watcher that passes the events of one run to `watch`, and to the trackers of these names."""
    tracking = Tracking(names, watch)
    try:
        yield tracking if names else watch
    finally:
        tracking.send(lambda tracker: tracker.finish())


class Tracking:
    """Sends events to trackers, in the thread of the run. One that fails is left out from then on, with a note."""

    def __init__(self, names: Sequence[str], then: Watcher) -> None:
        self.names, self.then, self.update = names, then, 0
        self.trackers: dict[str, Any] = {}  # Accelerate's, by name; opened when training begins
        self.started = Started(folder="", recipe={}, device="")

    def __call__(self, event: Event) -> None:
        """Passes an event on, and sends its numbers."""
        self.then(event)
        match event:
            case AlreadyDone():
                self.then(Note(f"{', '.join(self.names)}: not sent, for the run is finished; `force` trains it again"))
            case Started():
                self.started = event
            case Training():
                self.update = event.done
                self._open()
            case Updates():
                self.update = event.update
                self._log({"train/loss": fmean(event.losses), "train/learning_rate": event.rates[-1]})
            case EpochDone(result=result):
                losses = {"epoch": result.epoch, "train/epoch_loss": result.loss, "dev/loss": result.dev_loss}
                self._log(losses | _by_path(result.scores))
            case Done():
                self._log(_by_path(event.scores, "final/"))

    def send(self, call: Callable[[Any], object]) -> None:
        """Calls a function with each tracker."""
        for name in list(self.trackers):
            try:
                with redirect_stdout(sys.stderr):  # trackers print
                    call(self.trackers[name])
            except (Exception, SystemExit) as error:  # training must not end with a tracker
                del self.trackers[name]
                self.then(Note(f"{name} is left out: {first_line(error).rstrip('. ')}; training continues"))

    def _open(self) -> None:
        from accelerate.tracking import LOGGER_TYPE_TO_CLASS

        for variable, value in ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
        run = Path(self.started.folder).resolve()
        for name in self.names:
            self.trackers[name] = LOGGER_TYPE_TO_CLASS[name](**TRACKERS[name](run))
        recipe = flat(names_only(Recipe.model_validate(self.started.recipe).model_dump(exclude={"grid"})))
        plain = {key: value if isinstance(value, str | int | float) else str(value) for key, value in recipe.items()}
        self.send(lambda tracker: tracker.start())
        self.send(lambda tracker: tracker.store_init_configuration(plain))

    def _log(self, numbers: Mapping[str, Any]) -> None:
        finite = {re.sub(r"[^\w.\- /]", "_", name): value for name, value in numbers.items()  # MLflow's characters
                  if value is not None and math.isfinite(value)}  # fmt: skip
        if finite:
            self.send(lambda tracker: tracker.log(finite, step=self.update))


def _by_path(scores: Mapping[str, Mapping[str, float]], prefix: str = "") -> dict[str, float]:
    return {f"{prefix}{split}/{name}": score for split, by_name in scores.items() for name, score in by_name.items()}
