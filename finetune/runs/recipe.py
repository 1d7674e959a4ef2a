"""Recipe: the settings of a run, one TOML file; its keys, their types, limits and defaults."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from finetune.errors import UserError, shown_value
from finetune.runs.lora_settings import lora_fault
from finetune.runs.recipe_faults import LONGEST_KEY, refused
from finetune.runs.toml import flat, read_toml, require_shallow, to_toml

# Defined here so that reading a recipe does not need torch.
Layers = Literal[
    "embeddings",
    "second-to-last",
    "last",
    "sum-last-4",
    "concat-last-4",
    "sum-all",
    "weighted-sum-last-4",
    "weighted-sum-all",
]
TextVector = Literal["family", "cls", "mean", "auto"]
Schedule = Literal[
    "linear", "cosine", "cosine_with_restarts", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"
]


NEW = "new:"  # and the size of an untrained encoder
PARTS = 10  # of a run whose length is in updates
LARGEST = 2**63 - 1  # what TOML, numpy and torch's seeds take
WIDEST_LSTM = 4_096
FEWEST_TO_CONTRAST = 4  # rows, two of each of two labels
CONTRASTIVE = "contrastive"  # the solver that trains the encoder on pairs of rows
LONGEST_NAME = 4_096  # characters of a path on Linux

Layer = Annotated[int, Field(ge=-1_000, le=1_000)]
Seed = Annotated[int, Field(ge=0, le=LARGEST)]
OptionNames = Callable[[str], Sequence[str]]  # from a task's name to the options that a recipe for it may set


def is_new(model: str) -> bool:
    """Whether a model's name asks for an untrained encoder."""
    return model.startswith(NEW)


def no_options(_: str) -> Sequence[str]:
    """For recipes whose options are in `[options]`."""
    return ()


class Settings(BaseModel):
    """Immutable settings: unknown keys are errors, and a string is not converted to a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def scored_parts(updates: int | None, epochs: int, solver: str = "adam") -> tuple[str, int]:
    """What a run is scored after, `epoch` or `part`, and how often: a part is a tenth of the updates.

    After a contrastive step once: before it the head is not fitted.
    """
    if solver == CONTRASTIVE:
        return "part", 1
    return ("epoch", epochs) if updates is None else ("part", min(PARTS, updates))


class Train(Settings):
    """The `[train]` table. Defaults are the paper's (Devlin et al. 2019, section 4.1 and appendix A.2), except for
    `bias_correction`, whose absence in the original optimizer makes runs on small data fail (Mosbach et al. 2021).
    """

    batch_size: int = Field(
        32,
        ge=1,
        le=65_536,
        description="features an update (rows, where each makes one), over all processes and accumulated parts",
    )
    epochs: int = Field(3, ge=1, le=10_000, description="passes over the training rows")
    updates: int | None = Field(
        None,
        ge=1,
        le=10_000_000,
        description="length in updates, instead of epochs; scored after each tenth",
    )
    least_updates: int = Field(0, ge=0, le=1_000_000, description="the length in updates, where `epochs` make fewer")
    solver: Literal["adam", "logistic", "contrastive"] = Field(
        "adam",
        description="logistic: scikit-learn's, on a frozen encoder; contrastive: first the encoder by Adam, on pairs "
        "of rows of equal and of different labels",
    )
    learning_rate: float = Field(2e-5, ge=1e-12, le=10, description="the peak, reached at the end of the warm-up")
    schedule: Schedule = Field("linear", description="what the learning rate does after the warm-up")
    warmup: float = Field(0.1, ge=0, le=1, description="share of the updates with a rising learning rate")
    weight_decay: float = Field(0.01, ge=0, le=100, description="not applied to biases and LayerNorm")
    adam_epsilon: float = Field(1e-6, ge=1e-20, le=1, description="added to the denominator of an update")
    bias_correction: bool = Field(True, description="false: Adam as in the original BERT code")
    clip_norm: float = Field(1.0, ge=1e-6, le=1e9, description="largest norm of an update's gradient")
    accumulation: int = Field(
        1, ge=1, le=65_536, description="parts of at least one row in which a batch goes through the model"
    )
    gradient_checkpointing: bool = Field(
        False,
        description="keep the input of each layer alone, and compute the rest twice: less memory, slower, the same "
        "gradients",
    )
    layer_decay: float = Field(
        1.0, ge=0.001, le=1, description="factor of the learning rate from each layer to the one below it"
    )
    dropout: float | None = Field(
        None,
        ge=0,
        le=0.99,
        description="every dropout; default: as the checkpoint says, none where new:SIZE is pre-trained",
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field("auto", description="auto: bf16 where it is native")
    select: Literal["last", "best"] = Field("last", description="which epoch's weights are the result")
    patience: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="stop after so many epochs without a better score; `select` says with which weights",
    )

    def lengthened(self, features: int) -> "Train":
        """With a length in updates where its epochs make fewer than `least_updates` of so many features."""
        short = self.epochs * math.ceil(features / self.batch_size) < self.least_updates
        return self.model_copy(update={"updates": self.least_updates}) if short and self.updates is None else self

    @property
    def parts(self) -> int:
        """How often a run is scored: after each epoch, or after each tenth of its updates."""
        return scored_parts(self.updates, self.epochs, self.solver)[1]

    @property
    def part(self) -> str:
        """What a run is scored after, in a word."""
        return scored_parts(self.updates, self.epochs, self.solver)[0]

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if self.updates is not None and "epochs" in self.model_fields_set:
            raise ValueError(f"updates {self.updates} and epochs {self.epochs} are both set; leave one of them out")
        return self

    @model_validator(mode="after")
    def _batches_have_pairs(self) -> Self:
        if self.solver == CONTRASTIVE and self.batch_size // self.accumulation < FEWEST_TO_CONTRAST:
            raise ValueError(
                f"solver contrastive compares the rows of a part of a batch, and batch_size {self.batch_size} in "
                f"{self.accumulation} parts has fewer than {FEWEST_TO_CONTRAST} in each"
            )
        return self

    @model_validator(mode="after")
    def _parts_have_rows(self) -> Self:
        if self.accumulation > self.batch_size:
            raise ValueError(
                f"accumulation {self.accumulation} is more parts than batch_size {self.batch_size} has rows"
            )
        return self


class HeldOut(Settings):
    """The `[held_out]` table: training rows that runs leave out, so that a search can score its winner on them."""

    share: float = Field(0.0, ge=0, le=0.9, description="share of the training rows to leave out, stratified by label")
    fold: int = Field(0, ge=0, le=1_000, description="which of the parts of that size, counted from 0")
    seed: Seed = Field(42, description="what the parts depend on")

    @model_validator(mode="after")
    def _fold_exists(self) -> Self:
        if (self.fold + 1) * self.share > 1 + 1e-9:
            raise ValueError(f"fold {self.fold} of parts of {self.share:g} is beyond the end of the rows")
        return self


class Distil(Settings):
    """The `[distil]` table: what a student learns of a teacher's answers, next to the labels (Hinton et al. 2015)."""

    teacher: str = Field(
        "",
        max_length=LONGEST_NAME,
        description="a run, whose answers the student learns; several with commas: the mean of their probabilities",
    )
    temperature: float = Field(
        2.0, ge=0.05, le=100, description="divides the logits of both; 1: the probabilities as they are"
    )
    weight: float = Field(0.5, ge=0, le=1, description="share of the answers in the loss; the rest is the labels'")
    text: str = Field(
        "", max_length=LONGEST_NAME, description="a file of rows without labels, on which only the teacher counts"
    )
    states: bool = Field(
        False, description="learn the teacher's hidden states and attention too; both read the same tokens"
    )
    soft: bool = Field(
        False, description="learn the columns p(LABEL), or `confidence`, of your data; without a teacher"
    )
    confidence: str = Field(
        "", max_length=LONGEST_NAME, description="with soft: the column with the probability of each row's label"
    )
    weak: bool = Field(False, description="take a teacher that is no better than its own baselines")

    @property
    def teachers(self) -> tuple[str, ...]:
        """The names of the teachers."""
        return tuple(name for part in self.teacher.split(",") if (name := part.strip()))

    @property
    def given(self) -> bool:
        """Whether a run learns anything but labels."""
        return bool(self.teachers) or self.soft

    @model_validator(mode="after")
    def _has_answers(self) -> Self:
        set_alone = sorted(self.model_fields_set - {"soft", "teacher"}) if not self.given else []
        if changed := [name for name in set_alone if getattr(self, name) != type(self).model_fields[name].default]:
            raise ValueError(f"{', '.join(changed)} without a teacher; give distil.teacher=RUN, or distil.soft=true")
        if self.teachers and self.soft:
            raise ValueError("teacher and soft are both set; leave one of them out")
        if self.soft and (self.text or self.states):
            raise ValueError("text and states need a teacher; leave them out, or give distil.teacher=RUN")
        if self.confidence and not self.soft:
            raise ValueError("confidence is for soft labels; set distil.soft=true too")
        return self


class Recipe(Settings):
    """One run, or with `[grid]` several."""

    task: str = Field(max_length=LONGEST_NAME, description="a task's name, or FILE.py:NAME")
    model: str = Field(
        "google-bert/bert-base-uncased",
        max_length=LONGEST_NAME,
        description="a Hub name, a folder, minilm, a run or a recipe, or new:SIZE, which is untrained",
    )
    max_length: int = Field(128, ge=4, le=131_072, description="tokens in a sequence, [CLS] and [SEP] included")
    tokenizer: Annotated[str, Field(max_length=LONGEST_NAME)] | Annotated[int, Field(ge=16, le=10_000_000)] = Field(
        "",
        description="the vocabulary of model=new:SIZE: a folder, its tokenizer.json, or the number of tokens of one "
        "that is trained on the text; default: 8,192",
    )
    seed: Seed = Field(42, description="what all randomness depends on")
    init_seed: Seed | None = Field(None, description="seed of the head's initial weights; default: seed")
    data_seed: Seed | None = Field(None, description="seed of the order of rows and of dropout; default: seed")
    frozen: bool = Field(False, description="frozen encoder (feature-based); only new layers are trained")
    layers: Layers | Annotated[list[Layer], Field(max_length=100)] = Field(
        "last", description="hidden layers that the head reads; a list of indices is concatenated"
    )
    bilstm: bool | Annotated[int, Field(ge=2, le=WIDEST_LSTM)] = Field(
        False, description="a BiLSTM of two layers before the head; a number is its width, true is 768"
    )
    pooling: TextVector = Field(
        "family",
        description="the vector of a text that the head reads: family: as the paper (BERT: [CLS] through its pooler); "
        "cls: that of [CLS]; mean: the mean over its tokens; auto: what the encoder was trained with, where rows are "
        "few or the encoder is frozen, else family",
    )
    keep_layers: list[Layer] = Field(
        [],
        max_length=100,
        description="the layers that the encoder keeps, counted from 0 as in the names of its weights; default: all",
    )
    freeze_layers: int = Field(0, ge=0, le=1_000, description="freeze the embeddings and so many first layers")
    reinit_layers: int = Field(0, ge=0, le=1_000, description="re-initialise so many last layers and the pooler")
    lora: int = Field(0, ge=0, le=1_024, description="rank of LoRA, trained instead of the encoder's weights; 0: none")
    lora_targets: list[Annotated[str, Field(max_length=LONGEST_KEY)]] = Field(
        [], max_length=100, description="linear layers that LoRA adapts; default: query and value of each layer"
    )
    lora_alpha: int | None = Field(
        None, ge=1, le=65_536, description="LoRA is multiplied by alpha / rank; default: twice the rank"
    )
    lora_dropout: float = Field(0.0, ge=0, le=0.99, description="dropout of what LoRA reads")
    adapter: bool = Field(False, description="save LoRA in peft's form too, in model/adapter")
    keep_labels: bool | Literal["shared"] = Field(
        False,
        description="with a run as model: its head too, and all its labels; shared: those that the new rows have too",
    )
    rehearse: float = Field(
        0.0, ge=0, le=1, description="with keep_labels: share of that run's training rows to train on too"
    )
    deterministic: bool = Field(False, description="only algorithms that give the same bits on a GPU; slower")
    limit: int | None = Field(
        None, ge=1, le=LARGEST, description="rows of each split to use, sampled with a fixed seed"
    )
    train_share: float = Field(
        1.0,
        gt=0,
        le=1,
        description="share of the training rows to use, stratified by label",
    )
    options: dict[str, str | int | float | bool | list[float] | list[str] | dict[str, str]] = Field(
        {}, description="options of the task"
    )
    train: Train = Train()
    held_out: HeldOut = HeldOut()
    distil: Distil = Distil()
    grid: dict[str, list[Any]] = Field({}, description="key = [values]: one run for each combination")

    @model_validator(mode="after")
    def _lora_fits(self) -> Self:
        """With a grid, each of its points is checked instead."""
        if not self.grid and (fault := lora_fault(self.model_dump())):
            raise ValueError(fault)
        return self

    @model_validator(mode="after")
    def _has_gradients(self) -> Self:
        if self.train.gradient_checkpointing and self.frozen:
            raise ValueError("train.gradient_checkpointing and frozen: a frozen encoder has no gradients; leave it out")
        return self

    @model_validator(mode="after")
    def _keeps_a_head(self) -> Self:
        if self.rehearse and not self.keep_labels:
            raise ValueError(f"rehearse {self.rehearse:g} without keep_labels=true; set it, or leave rehearse out")
        if self.keep_labels and self.train.solver != "adam":
            raise ValueError(
                f"keep_labels and train.solver {self.train.solver}, which fits a new head; leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _rehearses_labels(self) -> Self:
        if self.rehearse and self.distil.soft:
            raise ValueError("rehearse and distil.soft: the old rows have no soft labels; leave one of them out")
        return self

    @model_validator(mode="after")
    def _can_be_taught(self) -> Self:
        if self.distil.given and self.train.solver != "adam":
            raise ValueError(
                f"distil and train.solver {self.train.solver}, which learns labels alone; leave one of them out"
            )
        if self.distil.states and (self.frozen or self.train.gradient_checkpointing):
            other = "frozen" if self.frozen else "train.gradient_checkpointing"
            raise ValueError(f"distil.states and {other}: layers cannot be learned; leave one of them out")
        return self

    @model_validator(mode="after")
    def _pooled_once(self) -> Self:
        if self.bilstm and self.pooling in ("cls", "mean"):
            raise ValueError(f"pooling {self.pooling} and a BiLSTM, which pools by itself; leave one of them out")
        return self

    @property
    def tokenizer_folder(self) -> str:
        """The folder of `tokenizer`; empty where it is trained on the text."""
        return "" if isinstance(self.tokenizer, int) else self.tokenizer

    @property
    def seeds(self) -> tuple[int, int]:
        """(init_seed, data_seed) as they apply."""
        return (
            self.seed if self.init_seed is None else self.init_seed,
            self.seed if self.data_seed is None else self.data_seed,
        )

    def to_toml(self) -> str:
        """The recipe as a TOML file, with every setting that was set."""
        return to_toml(self.model_dump(exclude_unset=True, exclude_none=True))

    def with_settings(self, settings: dict[str, Any], *, origin: str, options: OptionNames = no_options) -> "Recipe":
        """A copy with dotted keys (`train.epochs`) replaced. Raises one UserError with every fault."""
        table = self.model_dump(exclude_unset=True)
        for key, value in settings.items():
            *parents, last = key.split(".")
            inner = table
            for parent in parents:
                inner = inner.setdefault(parent, {})
                if not isinstance(inner, dict):
                    raise UserError(
                        f"{origin}: cannot set {shown_value(key)}: {shown_value(parent)} is a value, not a section"
                    )
            inner[last] = value
        return parse(table, origin=origin, options=options)


def load_recipe(path: Path, *, options: OptionNames = no_options) -> Recipe:
    """Reads a recipe file. Raises UserError for TOML that does not parse and for every fault in its settings."""
    return parse(read_toml(path), origin=str(path), options=options)


def parse(table: dict[str, Any], *, origin: str, options: OptionNames = no_options) -> Recipe:
    """Checks a table of settings; all faults are reported at once, as one UserError.

    An option of the task, which `options` names, may be among the recipe's own keys (`fold = 1`) or in `[options]`.
    """
    require_shallow(table, origin=origin)
    if isinstance(table.get("grid"), dict):
        table = table | {"grid": flat(table["grid"])}
    known = _known_options(table, options)
    moved = {key: table[key] for key in table if key in known}
    if moved:
        rest = {key: value for key, value in table.items() if key not in moved}
        table = rest | {"options": rest.get("options", {}) | moved}
    try:
        return Recipe.model_validate(table)
    except ValidationError as error:
        raise refused(Recipe, origin, error, known) from None


def _known_options(table: dict[str, Any], options: OptionNames) -> Sequence[str]:
    """The options of the task, which is resolved only where a key is not a recipe setting."""
    task = table.get("task")
    if set(table) <= set(Recipe.model_fields) or not isinstance(task, str):
        return ()
    if not isinstance(table.get("options", {}), dict):
        return ()
    try:
        return options(task)
    except UserError:  # the run raises it later
        return ()
