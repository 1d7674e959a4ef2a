"""The tables of a recipe: `[train]`, `[held_out]` and `[distil]`; their keys, types, limits and defaults."""

import math
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

PARTS = 10  # of a run whose length is in updates
LARGEST = 2**63 - 1  # what TOML, numpy and torch's seeds take
FEWEST_TO_CONTRAST = 4  # rows, two of each of two labels
CONTRASTIVE = "contrastive"  # the solver that trains the encoder on pairs of rows
LONGEST_NAME = 4_096  # characters of a path on Linux

Seed = Annotated[int, Field(ge=0, le=LARGEST)]


class Settings(BaseModel):
    """Immutable settings: unknown keys are errors, and a string is not converted to a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)


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
        """With a length in updates where its epochs make fewer than `least_updates` of so many features."""
        short = self.epochs * math.ceil(features / self.batch_size) < self.least_updates
        return self.model_copy(update={"updates": self.least_updates}) if short and self.updates is None else self

    def warmup_updates(self, updates: int) -> int:
        """How many of so many updates are the warm-up."""
        return math.ceil(self.warmup * updates)

    @property
    def parts(self) -> int:
        """How often a run is scored: after each epoch, or after each tenth of its updates."""
        return scored_parts(self.updates, self.epochs, self.solver)[1]

    @property
    def part(self) -> str:
        """What a run is scored after, in a word."""
        return scored_parts(self.updates, self.epochs, self.solver)[0]

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
    weak: bool = Field(False, description="take a teacher that is no better than its own baselines")

    @property
    def teachers(self) -> tuple[str, ...]:
        """The names of the teachers."""
        return tuple(name for part in self.teacher.split(",") if (name := part.strip()))

    @model_validator(mode="after")
    def _has_a_teacher(self) -> Self:
        set_alone = sorted(self.model_fields_set - {"teacher"}) if not self.teachers else []
        if changed := [name for name in set_alone if getattr(self, name) != type(self).model_fields[name].default]:
            raise ValueError(f"{', '.join(changed)} without a teacher; give distil.teacher=RUN")
        return self
