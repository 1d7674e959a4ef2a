"""The state of a run, and its optional parts: each is an `Extra`, and `EXTRAS` says which settings ask for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from accelerate import Accelerator

from finetune.data.rows import Row, Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.inference.hidden_states import with_states
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead
from finetune.models.lora import require_peft, save_adapter
from finetune.models.pretrained import ModelFiles
from finetune.runs.events import Note, Watcher
from finetune.runs.folder import RunFolder
from finetune.runs.recipe import CONTRASTIVE, Recipe
from finetune.runs.record import DataFinding
from finetune.runs.resolve import run_id
from finetune.runs.settings import Lineage
from finetune.task_types import registry
from finetune.task_types.options import changed_options
from finetune.task_types.resolved_run import ResolvedRun
from finetune.task_types.shared_rows import Keys
from finetune.task_types.task import Task
from finetune.task_types.types import columns_of
from finetune.training.checkpoints import Progress
from finetune.training.evaluation import Answers, DevEvaluation, Evaluated
from finetune.training.passes import Objective
from finetune.training.trainer import Trainer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Fit = Callable[[Trainer, Sequence[Feature], DevEvaluation], tuple[Progress, Evaluated]]


class Extra:
    """An optional part of a run. Each method is called at one point of the run, and may change its state."""

    def before_reading(self, run: "RunState") -> None:
        """The encoder's files are known, unless it is new; the task may be replaced."""

    def after_reading(self, run: "RunState") -> None:
        """The rows are read; what changes the run's id has to be set here."""

    def after_building(self, run: "RunState") -> None:
        """The model is built, nothing is written: the place to raise UserError for what does not fit."""

    def before_training(self, run: "RunState") -> None:
        """The place to change `inputs`, `objective` and `fit`, which say how the run trains."""

    def after_scoring(self, run: "RunState") -> None:
        """In all processes: the place to add `baselines`, and `facts`, which are fields of `RunRecord`."""

    def after_saving(self, run: "RunState") -> None:
        """In one process: the model is in `folder`, the record is not written yet."""


@dataclass(kw_only=True)
class RunState:
    """The state of a run; `plan_run`, `build_run`, `run` and the extras fill it from top to bottom.

    - `data`: a fingerprint of all rows; `pooling`: the recipe's, with `auto` resolved.
    - `earlier_rows`: by run, the keys of the rows on which the encoder, or a teacher, was trained.
    - `teaching`: hashes of the teachers and their text, a part of the run's id.
    - `rows_learned`: the rows of `inputs[train_split]`; `inputs` are the features that the model reads, by split.
    - `notes`: on the rows and the encoder; `facts`: fields of the record.
    - `cheap`: predictions of the task's baselines by split, in the main process; `baselines`: of the extras'.
    - `home`: the folder of the finished run; `folder`: where it is written until then.
    """

    resolved: ResolvedRun
    recipe: Recipe
    task: Task
    default: Task
    source: Source
    device: torch.device
    precision: str
    watch: Watcher
    extras: Sequence[Extra]

    weights: ModelFiles = field(init=False)
    vocabulary: str = ""
    splits: dict[str, Rows] = field(default_factory=dict)
    data: str = ""
    pooling: str = ""
    lineage: Lineage | None = None
    earlier_rows: Mapping[str, Keys] = field(default_factory=dict)
    teaching: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[DataFinding, ...] = ()
    rows_learned: Sequence[Row] = ()

    accelerator: Accelerator = field(init=False)
    model: EncoderWithHead = field(init=False)
    new_weights: list[str] = field(init=False)
    tokenizer: "PreTrainedTokenizerBase" = field(init=False)
    features: dict[str, Sequence[Feature]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    engine: Engine = field(init=False)
    inputs: dict[str, Sequence[Feature]] = field(default_factory=dict)
    objective: Objective | None = None
    fit: Fit = Trainer.fit

    progress: Progress = field(init=False)
    evaluation: DevEvaluation = field(init=False)
    evaluated: Evaluated = field(init=False)
    cheap: dict[str, Answers] = field(default_factory=dict)
    baselines: dict[str, Answers] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    home: RunFolder = field(init=False)
    folder: RunFolder = field(init=False)

    def note(self, *texts: str) -> None:
        """Shows notes, once the run has started, and keeps them for the record."""
        for text in texts:
            self.watch(Note(text))
            self.notes.append(text)

    @cached_property
    def id(self) -> str:
        """The run's id: ten hex digits."""
        return run_id(
            self.recipe, task=self.task.name, version=self.task.version, data=self.data,
            weights=self.weights.fingerprint, precision=self.precision,
            options=changed_options(self.default, self.task), columns=columns_of(self.task), taught=self.teaching,
            task_file=registry.file_hash(self.recipe.task),
        )  # fmt: skip

    @property
    def built_recipe(self) -> Recipe:
        """The recipe with `pooling` resolved, from which the model is built."""
        return self.recipe.model_copy(update={"pooling": self.pooling})

    @cached_property
    def tokens(self) -> Sequence[str]:
        """The task's own tokens, such as markers of spans, in the rows of all splits."""
        return self.task.new_tokens(chain.from_iterable(self.rows.values()))

    @property
    def rows(self) -> dict[str, Sequence[Row]]:
        """The rows of each split."""
        return {split: loaded.rows for split, loaded in self.splits.items()}

    @property
    def train_rows(self) -> Sequence[Row]:
        """The rows of the training split, without those that an `Extra` adds to `rows_learned`."""
        return self.splits[self.task.train_split].rows


class FrozenEncoder(Extra):
    """`frozen`: the hidden states of a split are computed once, and read in each epoch."""

    def after_building(self, run: RunState) -> None:
        """Raises UserError for pre-training, which changes the encoder."""
        require_no_pretraining(run, "frozen=true")

    def before_training(self, run: RunState) -> None:
        """Replaces tokens by hidden states."""
        if not run.model.reads_both:
            weights = ":".join([run.weights.fingerprint, *map(str, run.recipe.keep_layers)])
            for split, features in run.inputs.items():
                run.inputs[split] = with_states(features, run.engine, weights=weights, precision=run.precision)


def require_no_pretraining(run: RunState, setting: str) -> None:
    """Raises UserError for pre-training with a `setting` that keeps the encoder unchanged."""
    if run.model.head.pretrains:
        raise UserError(f"{setting}: pre-training on a text changes the encoder", "Leave it out, or set lora")


class Lora(Extra):
    """`lora`: low-rank matrices are trained, and merged into the saved model; `adapter` also saves them alone."""

    def before_reading(self, run: RunState) -> None:
        """Raises UserError where peft is not installed."""
        require_peft()

    def after_saving(self, run: RunState) -> None:
        """Writes the adapter into the model's folder."""
        if run.recipe.adapter:
            save_adapter(run.model, run.folder.model / "adapter", run.recipe, base=run.weights.loadable)


# When a recipe asks for an extra, its module and its class, in the order of their calls. A module that no recipe asks
# for is not imported.
EXTRAS: tuple[tuple[Callable[[Recipe], object], str, str], ...] = (
    (lambda recipe: recipe.keep_labels, "keep_labels", "KeepLabels"),
    (lambda _: True, "few_rows", "LinearProbe"),  # it looks at the number of rows itself
    (lambda recipe: recipe.distil.teachers, "teacher", "Teacher"),
    (lambda recipe: recipe.frozen, "extras", "FrozenEncoder"),
    (lambda recipe: recipe.train.solver == "logistic", "few_rows", "LogisticHead"),
    (lambda recipe: recipe.train.solver == CONTRASTIVE, "contrastive", "ContrastiveStep"),
    (lambda recipe: recipe.lora, "extras", "Lora"),
)


def extras_of(recipe: Recipe) -> list[Extra]:
    """New extras for a run of this recipe."""
    return [
        getattr(import_module(f"finetune.training.{module}"), name)() for wants, module, name in EXTRAS if wants(recipe)
    ]
