"""Task, the contract of everything that can be trained, and how a task is found by its name."""

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from finetune.data.rows import Row, Rows
from finetune.errors import UserError, first_line, nearest

if TYPE_CHECKING:
    import numpy as np
    from transformers import PreTrainedTokenizerBase

    from finetune.data.source import Source
    from finetune.metrics.sums import Counted
    from finetune.models.backbone import Backbone, Head
    from finetune.models.batch import Feature


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model says of one row: the value in the gold's own terms, and how probable each choice is.

    Where the value is a list of tags, there is one probability for each of its items.
    """

    value: Any
    probabilities: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """Turns rows into features and logits into scored answers, and names its head.

    A task of your own is an instance of one of the shapes in `finetune.heads`, or a subclass of this with every
    method below. `name` is its name on the command line, `version` is raised whenever its results may change.
    `metrics` names the scores, the first is the headline (`group/metric` are shown by group); `dev_splits` are what
    a run is scored on, the first decides. `options` names the fields, of the task or of its reader, that a recipe
    may set; those that every task of the shape has (`own_options`) need no mention. `row_type` is the dataclass of
    its rows, with which saved predictions are read again. With `cross_fits` each row of dev is scored with what
    `calibrate` chose on other rows of dev.
    """

    name: str
    version: int = 1
    options: tuple[str, ...] = ()
    metrics: tuple[str, ...]
    dev_splits: tuple[str, ...] = ("dev",)
    train_split: str = "train"
    row_type: ClassVar[type | None] = None
    own_options: ClassVar[tuple[str, ...]] = ()
    cross_fits: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """The options are those of the shape that this task has, and its own."""
        others = (name for name in self.options if name not in self.own_options)
        object.__setattr__(self, "options", tuple(dict.fromkeys((*self.shape_options(), *others))))

    @abstractmethod
    def load(self, source: "Source", split: str) -> Rows:
        """The rows of a split. Raises UserError where they are not found or malformed."""

    @abstractmethod
    def encode(self, rows: Sequence[Row], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> "list[Feature]":
        """Features in the order of the rows; a row may give several."""

    @abstractmethod
    def head(self, backbone: "Backbone") -> "Head":
        """A new head, its weights yet to be initialised."""

    @abstractmethod
    def decode(
        self, logits: "Sequence[np.ndarray]", features: "Sequence[Feature]", rows: Sequence[Row]
    ) -> list[Answer]:
        """One answer a row, in the order of the rows. `logits` has one array a feature, without padding."""

    @abstractmethod
    def gold(self, rows: Sequence[Row]) -> list[Answer]:
        """The right answers, so that `score(gold(rows), rows)` is perfect."""

    @abstractmethod
    def score(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, float]:
        """Every metric by its name."""

    # What follows, a shape may leave as it is.

    def shape_options(self) -> tuple[str, ...]:
        """Those of `own_options` that this task has."""
        return self.own_options

    def seen(self, train: Sequence[Row]) -> "Task":
        """The task as its training rows make it, for what a head must know of them."""
        return self

    def fault(self, row: Row) -> str:
        """What is wrong with a row, in words, as `has no words`; empty where nothing is."""
        return ""

    def checked(self, loaded: Rows) -> Rows:
        """The same rows. Raises UserError that names the first one with a fault."""
        for row in loaded.rows:
            if fault := self.fault(row):
                raise UserError(f"{loaded.origin}: row '{row.id}' {fault}", "Mend that row")
        return loaded

    def fits(self, value: Any, row: Row) -> bool:
        """Whether a value could be the answer to a row."""
        return True

    def baselines(self, train: Sequence[Row], rows: Sequence[Row]) -> dict[str, list[Answer]]:
        """Answers of cheap methods, by the method's name."""
        return {}

    def baseline_remarks(self, train: Sequence[Row]) -> list[str]:
        """What a user should know of these methods and training rows."""
        return []

    def counted(self, answers: Sequence[Answer], rows: Sequence[Row]) -> "dict[str, Counted]":
        """Those of the metrics that are functions of sums over rows, for resampling; `score` gives the same values."""
        return {}

    def calibrate(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Options that are chosen on the first dev split once a model is trained, and saved with it."""
        return {}

    def decided(self, answers: Sequence[Answer]) -> list[Answer]:
        """The same answers as the task's options decide them now, from their probabilities: for `cross_fits`."""
        return list(answers)

    def remarks(self, answers: Sequence[Answer], rows: Sequence[Row]) -> list[str]:
        """What a user should know of these answers, beyond their scores."""
        return []

    def official_files(self, answers: Sequence[Answer], rows: Sequence[Row]) -> dict[str, Any]:
        """Further files in which a field keeps such answers: JSON values by the file's name."""
        return {}

    def cells(self, answer: Answer, row: Row) -> dict[str, Any]:
        """An answer as the cells that `finetune predict` adds to a row, by the column's name: the value alone."""
        return {"answer": answer.value}

    def row(self, *inputs: Any) -> Row:
        """A row without gold, made of what a user gives `finetune.load(RUN)(...)`."""
        raise UserError(f"the task {self.name} does not say how to make a row", "Give it a method `row`")

    def lost(self, max_length: int) -> str:
        """What is true of rows with a feature that is truncated, in words that go after `3 rows`."""
        return f"are longer than max_length {max_length} and lost their end"

    def shown_label(self, feature: "Feature", tokens: Sequence[str]) -> str:
        """A feature's label as `finetune check` shows it, beside the feature's tokens."""
        return str(feature.label)


def find(name: str) -> Task:
    """The task of that name, or NAME in `FILE.py:NAME`, whose code runs: only for names that the user gave.

    Raises UserError that names the nearest.
    """
    if not in_file(name):
        return installed(name)
    file, _, attribute = name.rpartition(":")
    return _named(_load_file(Path(file)), attribute, origin=file)


def in_file(name: str) -> bool:
    """Whether a task's name is `FILE.py:NAME`."""
    return name.rpartition(":")[0].endswith(".py")


def installed(name: str) -> Task:
    """The task of that name of the package or of a plugin. Raises UserError that names the nearest."""
    tasks = available()
    if name not in tasks:
        raise UserError(
            f"unknown task '{name}'", f"{nearest(name, list(tasks))}The tasks are {', '.join(sorted(tasks))}"
        )
    return tasks[name]


def file_hash(name: str) -> str | None:
    """A hash of the file of `FILE.py:NAME`; None for a task of the package or of a plugin, which has a version."""
    return hashlib.sha256(Path(name.rpartition(":")[0]).read_bytes()).hexdigest() if in_file(name) else None


def available() -> dict[str, Task]:
    """All tasks of the package and of installed plugins (entry points of the group `finetune.tasks`), by name."""
    origins: dict[str, str] = {}
    tasks: dict[str, Task] = {}
    for module in [*_own_modules(), *_plugin_modules()]:
        for task in _tasks_of(module):
            origin = module.__file__ or module.__name__
            if task.name in tasks:
                raise UserError(
                    f"two tasks are called '{task.name}': in {origins[task.name]} and in {origin}", "Rename one"
                )
            tasks[task.name], origins[task.name] = task, origin
    return tasks


def _own_modules() -> list[ModuleType]:
    folder = Path(__file__).parents[1] / "tasks"
    if not folder.is_dir():
        raise UserError(
            f"{folder} is not a folder: this checkout was made without symbolic links",
            "Clone again with `git -c core.symlinks=true clone`, or install the wheel",
        )
    names = sorted(module.name for module in pkgutil.iter_modules([str(folder)]))
    return [_imported(f"finetune.tasks.{name}", where=str(folder / f"{name}.py")) for name in names]


def _plugin_modules() -> list[ModuleType]:
    return [_imported(entry.value, where=f"plugin {entry.name}") for entry in entry_points(group="finetune.tasks")]


def _imported(module: str, *, where: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:  # whatever a task's author wrote may fail in any way
        raise UserError(f"{where}: cannot be imported ({first_line(error)})", "Mend or remove it") from error


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UserError(f"{path}: no such task file", "Give `task` as FILE.py:NAME, the path seen from here")
    name = f"finetune_task_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # a .py file always has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"{path}: cannot be imported ({first_line(error)})", "Mend the file") from error
    return module


def _tasks_of(module: ModuleType) -> list[Task]:
    tasks = getattr(module, "TASKS", None)
    if not isinstance(tasks, list) or not all(isinstance(task, Task) for task in tasks):
        raise UserError(f"{module.__file__}: has no list of tasks", "End the file with `TASKS = [...]`")
    return tasks


def _named(module: ModuleType, name: str, *, origin: str) -> Task:
    tasks = {task.name: task for task in _tasks_of(module)}
    if name not in tasks:
        raise UserError(f"{origin}: has no task '{name}'", f"{nearest(name, list(tasks))}It has {', '.join(tasks)}")
    return tasks[name]
