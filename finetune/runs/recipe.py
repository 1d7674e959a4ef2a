"""Recipe: the settings of a run, one TOML file; its keys, their types, limits and defaults."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from finetune.errors import UserError, nearest, shown
from finetune.runs.lora_settings import lora_fault
from finetune.runs.toml import read_toml, require_shallow, to_toml

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
Schedule = Literal[
    "linear", "cosine", "cosine_with_restarts", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"
]


LARGEST = 2**63 - 1  # what TOML, numpy and torch's seeds take
MOST_FAULTS = 10  # listed in a message
LONGEST_KEY = 100  # characters of a key in a message
LONGEST_NAME = 4_096  # characters of a path on Linux

Layer = Annotated[int, Field(ge=-1_000, le=1_000)]
Seed = Annotated[int, Field(ge=0, le=LARGEST)]
OptionNames = Callable[[str], Sequence[str]]  # from a task's name to the options that a recipe for it may set


def no_options(_: str) -> Sequence[str]:
    """For recipes whose options are in `[options]`."""
    return ()


class Settings(BaseModel):
    """Immutable settings: unknown keys are errors, and a string is not converted to a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


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
    solver: Literal["adam", "logistic"] = Field("adam", description="logistic: scikit-learn's, on a frozen encoder")
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
    layer_decay: float = Field(
        1.0, ge=0.001, le=1, description="factor of the learning rate from each layer to the one below it"
    )
    dropout: float | None = Field(None, ge=0, le=0.99, description="every dropout; default: as the checkpoint says")
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field("auto", description="auto: bf16 where it is native")
    select: Literal["last", "best"] = Field("last", description="which epoch's weights are the result")
    patience: int | None = Field(
        None,
        ge=1,
        le=10_000,
        description="stop after so many epochs without a better score; `select` says with which weights",
    )

    @model_validator(mode="after")
    def _parts_have_rows(self) -> Self:
        if self.accumulation > self.batch_size:
            raise ValueError(
                f"accumulation {self.accumulation} is more parts than batch_size {self.batch_size} has rows"
            )
        return self


class Recipe(Settings):
    """One run, or with `[grid]` several."""

    task: str = Field(max_length=LONGEST_NAME, description="a task's name, or FILE.py:NAME")
    model: str = Field(
        "google-bert/bert-base-uncased", max_length=LONGEST_NAME, description="a Hub name, a folder, or minilm"
    )
    max_length: int = Field(128, ge=4, le=131_072, description="tokens in a sequence, [CLS] and [SEP] included")
    seed: Seed = Field(42, description="what all randomness depends on")
    init_seed: Seed | None = Field(None, description="seed of the head's initial weights; default: seed")
    data_seed: Seed | None = Field(None, description="seed of the order of rows and of dropout; default: seed")
    frozen: bool = Field(False, description="frozen encoder (feature-based); only new layers are trained")
    layers: Layers | Annotated[list[Layer], Field(max_length=100)] = Field(
        "last", description="hidden layers that the head reads; a list of indices is concatenated"
    )
    bilstm: bool = Field(False, description="a BiLSTM of two layers, 768 wide, before the head")
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
    grid: dict[str, list[Any]] = Field({}, description="key = [values]: one run for each combination")

    @model_validator(mode="after")
    def _lora_fits(self) -> Self:
        """With a grid, each of its points is checked instead."""
        if not self.grid and (fault := lora_fault(self.model_dump())):
            raise ValueError(fault)
        return self

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
                    raise UserError(f"{origin}: cannot set {shown(key)}: {shown(parent)} is a value, not a section")
            inner[last] = value
        return parse(table, origin=origin, options=options)


def load(path: Path, *, options: OptionNames = no_options) -> Recipe:
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
        raise _refused(origin, error, known) from None


def _refused(origin: str, error: ValidationError, options: Sequence[str]) -> UserError:
    """The faults of a recipe: one on the same line, several on a line each, of many the first and their number."""
    found = error.errors(include_url=False)
    faults = list(dict.fromkeys(explain(fault, options) for fault in found[:MOST_FAULTS]))
    if len(faults) == 1 and len(found) <= MOST_FAULTS:
        what, remedy = faults[0]
        return UserError(f"{origin}: {what}", remedy)
    lines = [". ".join(filter(None, fault)) for fault in faults]
    if len(found) > MOST_FAULTS:
        lines.append(f"and {len(found) - MOST_FAULTS:,} more")
    return UserError("\n  - ".join([f"{origin}: ", *lines]))


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


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys: TOML reads `train.epochs = [1, 2]` as a table in a table."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


@cache
def setting_names() -> dict[str, str]:
    """Every dotted key with its allowed values, for messages and listings."""

    def walk(kind: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
        for name, field in kind.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield from walk(field.annotation, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}", allowed_values(kind, name)

    return dict(walk(Recipe, ""))


def allowed_values(kind: type[BaseModel], name: str) -> str:
    """The values that a field allows: `a whole number of at least 1`."""
    schema = kind.model_json_schema()["properties"][name]
    options = schema.get("anyOf", [schema])
    return " or ".join(_option(option) for option in options if option.get("type") != "null")


def _option(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    noun = {
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "string": "a string",
        "object": "a table of lists",
        "array": "a list",
    }.get(schema.get("type", ""), "a value")
    words = {"minimum": "at least", "exclusiveMinimum": "over", "maximum": "at most", "exclusiveMaximum": "under"}
    bounds = [f"{word} {_bound(schema[key])}" for key, word in words.items() if key in schema]
    sizes = {"maxLength": "characters", "maxItems": "values"}
    bounds += [f"of at most {schema[key]:,} {unit}" for key, unit in sizes.items() if key in schema]
    return f"{noun} {' and '.join(bounds)}".strip()


def _bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def nearest_key(key: str, options: Sequence[str] = ()) -> str:
    """`Did you mean 'train.epochs'? ` for a key that is close to a setting, to its last word or to an option."""
    ours = [*setting_names(), *options]
    short = {name.rsplit(".", 1)[-1]: name for name in ours}
    if key in short:
        return f"Did you mean '{short[key]}'? "
    return nearest(key, ours) or nearest(key, list(short))


def explain(fault: ErrorDetails, options: Sequence[str] = ()) -> tuple[str, str]:
    """One pydantic error as text: (the key and what was given, what is allowed). `options` are the task's."""
    names = setting_names()
    key = ".".join(str(part)[:LONGEST_KEY] for part in fault["loc"])[:LONGEST_KEY]
    key = next((name for name in names if key.startswith(f"{name}.") and "[" in key), key)  # one kind of several
    if fault["type"] == "extra_forbidden":
        key = _whole_key(key, fault["input"])
        hint = nearest_key(key, options)
        return f"unknown key '{key}'", hint.strip() or f"The keys are {', '.join([*names, *options])}"
    if fault["type"] == "missing":
        return f"'{key}' is missing", f"It must be {names.get(key, 'given')}"
    allowed = names.get(key)
    if fault["type"] == "value_error":  # of several settings together
        return f"{key}: {fault['msg'].removeprefix('Value error, ')}".removeprefix(": "), ""
    if allowed is None:  # a whole table, such as `train = 3`, or a place inside [grid]
        return f"'{key}' is {shown(fault['input'])}: {fault['msg'].lower()}", ""
    return f"'{key}' is {shown(fault['input'])}", f"It must be {allowed}"


def _whole_key(key: str, given: Any) -> str:
    """The key with those of the unknown section that it names, if that has one setting: `tran.epochs`."""
    inner = list(flat(given, f"{key}.")) if isinstance(given, dict) else []
    return inner[0][:LONGEST_KEY] if len(inner) == 1 else key
