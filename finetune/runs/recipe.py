"""Recipe: the settings of a run, one TOML file; its keys, their types, limits and defaults."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from finetune.data.paths import from_here
from finetune.errors import UserError, shown_value
from finetune.gone import without_defaults
from finetune.runs.recipe_faults import LONGEST_KEY, lora_faults, refused
from finetune.runs.recipe_tables import LARGEST, LONGEST_NAME, Distil, HeldOut, Seed, Settings, Train
from finetune.runs.toml import flat, read_toml, require_shallow, to_toml

# Defined here so that reading a recipe does not need torch.
Layers = Literal[
    "embeddings", "second-to-last", "last", "sum-last-4", "concat-last-4", "sum-all", "weighted-sum-last-4",
    "weighted-sum-all"
]  # fmt: skip
TextVector = Literal["family", "cls", "mean", "unit", "auto"]


NEW = "new:"  # and the size of an untrained encoder
WIDEST_LSTM = 4_096

Layer = Annotated[int, Field(ge=-1_000, le=1_000)]
OptionNames = Callable[[str], Sequence[str]]  # from a task's name to the options that a recipe for it may set


def is_new(model: str) -> bool:
    """Whether a model's name asks for an untrained encoder."""
    return model.startswith(NEW)


def no_options(_: str) -> Sequence[str]:
    """For recipes whose options are in `[options]`."""
    return ()


class Recipe(Settings):
    """One run, or with `[grid]` several."""

    task: str = Field(max_length=LONGEST_NAME, description="a task's name, or FILE.py:NAME")
    model: str = Field(
        "google-bert/bert-base-uncased",
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
    train: Train = Train()
    held_out: HeldOut = HeldOut()
    distil: Distil = Distil()
    grid: dict[str, list[Any]] = Field({}, description="key = [values]: one run for each combination")

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        if fault := next(self._faults(), None):
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        """What is wrong with settings together. With a grid, LoRA and updates are checked at each of its points."""
        train, out = self.train, "leave one of them out"
        if not self.grid:
            yield from lora_faults(self.model_dump())
        if train.gradient_checkpointing and self.frozen:
            yield "train.gradient_checkpointing and frozen: a frozen encoder has no gradients; leave it out"
        if self.keep_labels and train.solver != "adam":
            yield f"keep_labels and train.solver {train.solver}, which fits a new head; {out}"
        if self.distil.teachers and train.solver != "adam":
            yield f"distil and train.solver {train.solver}, which learns labels alone; {out}"
        if self.bilstm and self.pooling in ("cls", "mean", "unit"):
            yield f"pooling {self.pooling} and a BiLSTM, which pools by itself; {out}"

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
    table = {**without_defaults(table)}
    if isinstance(table.get("grid"), dict):
        table = table | {"grid": flat(table["grid"])}
    known = _known_options(table, options)
    if moved := {key: table.pop(key) for key in [*table] if key in known}:
        table["options"] = table.get("options", {}) | moved
    try:
        return Recipe.model_validate(table)
    except ValidationError as error:
        raise refused(Recipe, origin, error, known) from None


def _known_options(table: dict[str, Any], options: OptionNames) -> Sequence[str]:
    """The options of the task, which is resolved only where a key is not a recipe setting."""
    task = table.get("task")
    if not isinstance(task, str) or not isinstance(table.get("options", {}), dict):
        return ()
    if set(table) <= set(Recipe.model_fields):
        return ()
    try:
        return options(task)
    except UserError:  # the run raises it later
        return ()


def recipe_from_here(recipe: Recipe) -> Recipe:
    """The recipe with relative paths of data and encoder, as `from_here` gives them: its run's files are passed on."""
    named = {"task": recipe.task, "model": recipe.model, "tokenizer": recipe.tokenizer}
    distil = recipe.distil.model_copy(update=_from_here({"text": recipe.distil.text}))
    return recipe.model_copy(update={**_from_here(named), "options": _from_here(recipe.options), "distil": distil})


def _from_here(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: from_here(value) if isinstance(value, str) else value for key, value in settings.items()}
