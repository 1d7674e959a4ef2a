"""Recipe: the settings of a run, their types, limits and defaults. It is one TOML file; `resolve` reads it."""

import math
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo

from finetune.runs.settings import MODEL, to_toml

PARTS = 10  # of a run whose length is in updates
LARGEST = 2**63 - 1  # what TOML, numpy and torch's seeds take
FEWEST_TO_CONTRAST = 4  # rows, two of each of two labels
CONTRASTIVE = "contrastive"  # the solver that trains the encoder on pairs of rows
LONGEST_NAME = 4_096  # characters of a path on Linux

WIDEST_LSTM = 4_096
LONGEST_KEY = 100  # characters of a key in a message
Layers = Literal[
    "embeddings", "second-to-last", "last", "sum-last-4", "concat-last-4", "sum-all", "weighted-sum-last-4",
    "weighted-sum-all"
]  # fmt: skip
TextVector = Literal["family", "cls", "mean", "unit", "auto"]
Seed = Annotated[int, Field(ge=0, le=LARGEST)]
Layer = Annotated[int, Field(ge=-1_000, le=1_000)]


class Settings(BaseModel):
    """Immutable settings: unknown keys are errors, and a string is not converted to a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


def scored_parts(updates: int | None, epochs: int, solver: str = "adam") -> tuple[str, int]:
    """(`epoch` or `part`, after each of which a run is scored; their number). A part is a tenth of the updates.

    A contrastive run is scored once: before the head is fitted there is nothing to score.
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
        None, ge=1, le=10_000_000, description="length in updates, instead of epochs; scored after each tenth"
    )
    least_updates: int = Field(0, ge=0, le=1_000_000, description="the length in updates, where `epochs` make fewer")
    solver: Literal["adam", "logistic", "contrastive"] = Field(
        "adam",
        description="adam: AdamW; logistic: scikit-learn's, on a frozen encoder; contrastive: first the encoder by "
        "Adam, on pairs of rows of equal and of different labels",
    )
    learning_rate: float = Field(2e-5, ge=1e-12, le=10, description="the peak, reached at the end of the warm-up")
    schedule: Literal["linear", "cosine", "constant"] = Field(
        "linear", description="what the learning rate does after the warm-up"
    )
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
        """With a length in updates, if the epochs over so many features make fewer than `least_updates`."""
        short = self.epochs * math.ceil(features / self.batch_size) < self.least_updates
        return self.model_copy(update={"updates": self.least_updates}) if short and self.updates is None else self

    def warmup_updates(self, updates: int) -> int:
        """The number of warm-up updates in a run of `updates`."""
        return math.ceil(self.warmup * updates)

    @property
    def parts(self) -> tuple[str, int]:
        """`scored_parts` of these settings."""
        return scored_parts(self.updates, self.epochs, self.solver)

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        batch = f"batch_size {self.batch_size}"
        if self.updates is not None and "epochs" in self.model_fields_set:
            raise ValueError(f"updates {self.updates} and epochs {self.epochs} are both set; leave one of them out")
        if self.solver == CONTRASTIVE and self.batch_size // self.accumulation < FEWEST_TO_CONTRAST:
            raise ValueError(
                f"solver contrastive compares the rows of a part of a batch, and {batch} in {self.accumulation} parts "
                f"has fewer than {FEWEST_TO_CONTRAST} in each"
            )
        if self.accumulation > self.batch_size:
            raise ValueError(f"accumulation {self.accumulation} is more parts than {batch} has rows")
        return self


class HeldOut(Settings):
    """The `[held_out]` table: training rows that runs leave out, so that a search can score its winner on them."""

    share: float = Field(0.0, ge=0, le=0.9, description="share of the training rows to leave out, stratified by label")
    seed: Seed = Field(42, description="which rows these are")


class Distil(Settings):
    """The `[distil]` table: a student learns a teacher's answers next to the labels (Hinton et al. 2015)."""

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
    weak: bool = Field(False, description="take a teacher that is no better than its own baselines")

    @property
    def teachers(self) -> tuple[str, ...]:
        """The names in `teacher`."""
        return tuple(filter(None, map(str.strip, self.teacher.split(","))))

    @model_validator(mode="after")
    def _has_a_teacher(self) -> Self:
        fields = type(self).model_fields
        changed = [name for name in sorted(self.model_fields_set) if getattr(self, name) != fields[name].default]
        if changed and not self.teachers:
            raise ValueError(f"{', '.join(changed)} without a teacher; give distil.teacher=RUN")
        return self


class Recipe(Settings):
    """One run, or with `[grid]` several."""

    task: str = Field(max_length=LONGEST_NAME, description="a task's name, or FILE.py:NAME")
    model: str = Field(
        MODEL,
        max_length=LONGEST_NAME,
        description="a Hub name, a folder, minilm, a run or a recipe; or new:SIZE, which is untrained",
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
        "cls: that of [CLS]; mean: the mean over its tokens; unit: that mean at length 1; auto: what the encoder was "
        "trained with, where rows are few or the encoder is frozen, else family",
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
    deterministic: bool = Field(False, description="only algorithms that give the same bits on a GPU; slower")
    limit: int | None = Field(
        None, ge=1, le=LARGEST, description="rows of each split to use, sampled with a fixed seed"
    )
    train_share: float = Field(1.0, gt=0, le=1, description="share of the training rows to use, stratified by label")
    options: dict[str, str | int | float | bool | list[float] | list[str] | dict[str, str]] = Field(
        {}, description="options of the task"
    )
    train: Train = Field(default_factory=Train)
    held_out: HeldOut = Field(default_factory=HeldOut)
    distil: Distil = Field(default_factory=Distil)
    grid: dict[str, list[Any]] = Field({}, description="key = [values]: one run for each combination")

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        """Raises ValueError for settings that exclude each other. LoRA's are checked at each point of a grid."""
        solver, out, lora = self.train.solver, "leave one of them out", f"lora = {self.lora} with"
        has_lora, pooled = self.lora and not self.grid, self.pooling in ("cls", "mean", "unit")
        changed = [name for name in ("lora_targets", "lora_alpha", "lora_dropout", "adapter") if getattr(self, name)]
        faults = {
            f"'{next(iter(changed), '')}' does nothing without LoRA: set a rank, such as lora = 8, or leave it out": (
                changed and not self.lora and not self.grid
            ),
            f"{lora} frozen = true: nothing of a frozen encoder is trained; {out}": has_lora and self.frozen,
            f"{lora} reinit_layers = {self.reinit_layers}: the new layers would stay random; {out}": (
                has_lora and self.reinit_layers
            ),
            f"{lora} train.solver = 'logistic': it trains the output layer alone; {out}": (
                has_lora and solver == "logistic"
            ),
            "adapter = true with layers, bilstm or pooling, which transformers lacks: leave adapter out, or these": (
                has_lora and self.adapter and (self.layers != "last" or self.bilstm or pooled)
            ),
            "train.gradient_checkpointing and frozen: a frozen encoder has no gradients; leave it out": (
                self.train.gradient_checkpointing and self.frozen
            ),
            f"keep_labels and train.solver {solver}, which fits a new head; {out}": (
                self.keep_labels and solver != "adam"
            ),
            f"distil and train.solver {solver}, which learns labels alone; {out}": (
                self.distil.teachers and solver != "adam"
            ),
            f"pooling {self.pooling} and a BiLSTM, which pools by itself; {out}": self.bilstm and pooled,
        }
        for fault, is_wrong in faults.items():
            if is_wrong:
                raise ValueError(fault)
        return self

    @property
    def tokenizer_folder(self) -> str:
        """The folder of `tokenizer`; empty if it is trained on the text."""
        return "" if isinstance(self.tokenizer, int) else self.tokenizer

    @property
    def seeds(self) -> tuple[int, int]:
        """(init_seed, data_seed), by default `seed`."""
        init, data = (self.seed if seed is None else seed for seed in (self.init_seed, self.data_seed))
        return init, data

    def to_toml(self) -> str:
        """The recipe as a TOML file, with every setting that was set."""
        return to_toml(self.model_dump(exclude_unset=True, exclude_none=True))


@cache
def setting_fields() -> dict[str, FieldInfo]:
    """The declaration of every setting by its dotted key."""
    fields = dict[str, FieldInfo]()
    for name, field in Recipe.model_fields.items():
        table = field.annotation
        if isinstance(table, type) and issubclass(table, BaseModel):
            fields |= {f"{name}.{key}": inner for key, inner in table.model_fields.items()}
        else:
            fields[name] = field
    return fields
