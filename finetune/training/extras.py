"""A run on its way, and what a recipe may add to it: an addition is an `Extra`, and EXTRAS says who asks for which."""

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
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead
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

Fit = Callable[[Trainer, Sequence[Feature], DevEvaluation], tuple[Progress, Evaluated]]  # trains, and predicts dev


class Extra:
    """An optional part of a run. Each method gets the run at one place on its way, and may change it."""

    def before_reading(self, run: "RunState") -> None:
        """The encoder's weights are there, unless it is new; the task may still change."""

    def after_reading(self, run: "RunState") -> None:
        """The rows are there, and the run's id is not."""

    def after_building(self, run: "RunState") -> None:
        """The model is there, and nothing of the run is written: what does not fit is refused here."""

    def before_training(self, run: "RunState") -> None:
        """`inputs`, `objective` and `fit` say how the run trains."""

    def after_scoring(self, run: "RunState") -> None:
        """In all processes: adds to `baselines`, and to `facts`, which are fields of `RunRecord`."""

    def after_saving(self, run: "RunState") -> None:
        """In one process: the model is in `folder`, and the record is not."""


@dataclass(kw_only=True)
class RunState:
    """What is known of a run so far; `plan_run`, `build_run`, `run` and then its extras fill it, from top to bottom.

    `data` is a fingerprint of all rows, `known` has the keys of rows that the runs were trained on from which this one
    begins, `taught` has hashes of what is learned besides labels, and `rows_learned` are the rows of `inputs`: what the
    model reads of each split in training. `notes` are of the rows and how they fit, `facts` are fields of the record.
    `home` is where the run is once it is finished, `folder` where it is written.
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
    known: Mapping[str, Keys] = field(default_factory=dict)
    taught: Mapping[str, str] = field(default_factory=dict)
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
    found: Evaluated = field(init=False)
    baselines: dict[str, Answers] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    home: RunFolder = field(init=False)
    folder: RunFolder = field(init=False)

    def note(self, *texts: str) -> None:
        """Says what is noteworthy after the run has begun, and keeps it for the record."""
        for text in texts:
            self.watch(Note(text))
            self.notes.append(text)

    @cached_property
    def id(self) -> str:
        """The run's id: ten hex digits."""
        return run_id(
            self.recipe, task=self.task.name, version=self.task.version, data=self.data,
            weights=self.weights.fingerprint, precision=self.precision,
            options=changed_options(self.default, self.task), columns=columns_of(self.task), taught=self.taught,
            task_file=registry.file_hash(self.recipe.task),
        )  # fmt: skip

    @property
    def built_recipe(self) -> Recipe:
        """The recipe as its model is built."""
        return self.recipe.model_copy(update={"pooling": self.pooling})

    @cached_property
    def tokens(self) -> Sequence[str]:
        """The tokens that the rows of any split have, and a tokenizer may lack."""
        return self.task.new_tokens(chain.from_iterable(self.rows.values()))

    @property
    def rows(self) -> dict[str, Sequence[Row]]:
        """The rows of each split."""
        return {split: loaded.rows for split, loaded in self.splits.items()}

    @property
    def train_rows(self) -> Sequence[Row]:
        """The rows of the training split."""
        return self.splits[self.task.train_split].rows


class FrozenEncoder(Extra):
    """`frozen`: the hidden states of a split are computed once, and read in each epoch."""

    def after_building(self, run: RunState) -> None:
        """Raises UserError where training changes the encoder."""
        require_labels_alone(run, "frozen=true")

    def before_training(self, run: RunState) -> None:
        """Has hidden states read in place of tokens."""
        from finetune.inference.hidden_states import with_states

        if not run.model.reads_both:
            weights = ":".join([run.weights.fingerprint, *map(str, run.recipe.keep_layers)])
            for split, features in run.inputs.items():
                run.inputs[split] = with_states(features, run.engine, weights=weights, precision=run.precision)


def require_labels_alone(run: RunState, setting: str) -> None:
    """Raises UserError where pre-training is to leave the encoder as it is."""
    if run.model.head.pretrains:
        raise UserError(f"{setting}: pre-training on a text changes the encoder", "Leave it out, or set lora")


class Lora(Extra):
    """`lora`: trains low-rank matrices; with `adapter` they are saved next to the model, which has them merged."""

    def before_reading(self, run: RunState) -> None:
        """Raises UserError without the package for it."""
        from finetune.models.lora import require_peft

        require_peft()

    def after_saving(self, run: RunState) -> None:
        """Writes the adapter into the model's folder."""
        from finetune.models.lora import save_adapter

        if run.recipe.adapter:
            save_adapter(run.model, run.folder.model / "adapter", run.recipe, base=run.weights.loadable)


# Module and class of what a recipe asks for, in the order in which they get the run. Modules are imported when asked.
EXTRAS: tuple[tuple[Callable[[Recipe], object], str, str], ...] = (
    (lambda recipe: recipe.keep_labels, "keep_labels", "KeepLabels"),
    (lambda _: True, "few_rows", "LinearProbe"),  # which looks at how many there are
    (lambda recipe: recipe.distil.teachers, "teacher", "Teacher"),
    (lambda recipe: recipe.frozen, "extras", "FrozenEncoder"),
    (lambda recipe: recipe.train.solver == "logistic", "few_rows", "LogisticHead"),
    (lambda recipe: recipe.train.solver == CONTRASTIVE, "contrastive", "ContrastiveStep"),
    (lambda recipe: recipe.lora, "extras", "Lora"),
)


def extras_of(recipe: Recipe) -> list[Extra]:
    """New extras of a run, as its recipe asks for them."""
    return [
        getattr(import_module(f"finetune.training.{module}"), name)()
        for is_asked, module, name in EXTRAS
        if is_asked(recipe)
    ]
