"""Recipe: the settings of a run, one TOML file; its keys, their types, limits and defaults, and the faults in them."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from finetune.data.paths import from_here
from finetune.errors import UserError, nearest, shown_value
from finetune.gone import gone, gone_setting, without_defaults
from finetune.runs.recipe_tables import LARGEST, LONGEST_NAME, Distil, HeldOut, Seed, Settings, Train
from finetune.runs.toml import MODEL, flat, read_toml, require_shallow, to_toml

# Defined here so that reading a recipe does not need torch.
Layers = Literal[
    "embeddings", "second-to-last", "last", "sum-last-4", "concat-last-4", "sum-all", "weighted-sum-last-4",
    "weighted-sum-all"
]  # fmt: skip
TextVector = Literal["family", "cls", "mean", "unit", "auto"]
WIDEST_LSTM = 4_096
MOST_FAULTS = 10  # listed in a message
LONGEST_KEY = 100  # characters of a key in a message
OPTION = "It must be a text, a number, true or false, a list of texts or of numbers, or a table of texts"
SHOULD = re.compile(r"^\w+ should ")  # how pydantic's messages begin

Layer = Annotated[int, Field(ge=-1_000, le=1_000)]
OptionNames = Callable[[str], Sequence[str]]  # from a task's name to the options that a recipe for it may set


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
        train, out, lora = self.train, "leave one of them out", f"lora = {self.lora} with"
        has_lora, pooled = self.lora and not self.grid, self.pooling in ("cls", "mean", "unit")
        changed = [name for name in ("lora_targets", "lora_alpha", "lora_dropout", "adapter") if getattr(self, name)]
        for is_wrong, fault in (
            (
                changed and not self.lora and not self.grid,
                f"'{next(iter(changed), '')}' does nothing without LoRA: set a rank, such as lora = 8, or leave it out",
            ),
            (has_lora and self.frozen, f"{lora} frozen = true: nothing of a frozen encoder is trained; {out}"),
            (
                has_lora and self.reinit_layers,
                f"{lora} reinit_layers = {self.reinit_layers}: the new layers would stay random; {out}",
            ),
            (
                has_lora and train.solver == "logistic",
                f"{lora} train.solver = 'logistic': it trains the output layer alone; {out}",
            ),
            (
                has_lora and self.adapter and (self.layers != "last" or self.bilstm or pooled),
                "adapter = true with layers, bilstm or pooling, which transformers lacks: leave adapter out, or these",
            ),
            (
                train.gradient_checkpointing and self.frozen,
                "train.gradient_checkpointing and frozen: a frozen encoder has no gradients; leave it out",
            ),
            (
                self.keep_labels and train.solver != "adam",
                f"keep_labels and train.solver {train.solver}, which fits a new head; {out}",
            ),
            (
                self.distil.teachers and train.solver != "adam",
                f"distil and train.solver {train.solver}, which learns labels alone; {out}",
            ),
            (self.bilstm and pooled, f"pooling {self.pooling} and a BiLSTM, which pools by itself; {out}"),
        ):
            if is_wrong:
                raise ValueError(fault)
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

    def with_settings(self, settings: dict[str, Any], *, origin: str, options: OptionNames | None = None) -> "Recipe":
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


def load_recipe(path: Path, *, options: OptionNames | None = None) -> Recipe:
    """Reads a recipe file. Raises UserError for TOML that does not parse and for every fault in its settings."""
    return parse(read_toml(path), origin=str(path), options=options)


def parse(table: dict[str, Any], *, origin: str, options: OptionNames | None = None) -> Recipe:
    """Checks a table of settings; all faults are reported at once, as one UserError.

    An option of the task, which `options` names, may be among the recipe's own keys (`fold = 1`) or in `[options]`.
    """
    require_shallow(table, origin=origin)
    table = without_defaults(table)
    names: Sequence[str] = ()
    if isinstance(table.get("grid"), dict):
        table["grid"] = flat(table["grid"])
    task, in_table = table.get("task"), table.get("options", {})
    if options and isinstance(task, str) and isinstance(in_table, dict) and not table.keys() <= setting_fields().keys():
        with suppress(UserError):  # of an unknown task: the run raises it later
            names = options(task)
    if moved := {key: table.pop(key) for key in [*table] if key in names}:
        table["options"] = in_table | moved
    try:
        return Recipe.model_validate(table)
    except ValidationError as error:
        raise _refused(origin, error, names) from None


def recipe_from_here(recipe: Recipe) -> Recipe:
    """The recipe with relative paths of data and encoder, as `from_here` gives them: its run's files are passed on."""
    named = {"task": recipe.task, "model": recipe.model, "tokenizer": recipe.tokenizer}
    distil = recipe.distil.model_copy(update=_from_here({"text": recipe.distil.text}))
    return recipe.model_copy(update={**_from_here(named), "options": _from_here(recipe.options), "distil": distil})


def _from_here(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: from_here(value) if isinstance(value, str) else value for key, value in settings.items()}


@cache
def setting_fields() -> dict[str, FieldInfo]:
    """Every dotted key of a recipe that is not a table, with its declaration."""
    fields = dict[str, FieldInfo]()
    for name, field in Recipe.model_fields.items():
        table = field.annotation
        if isinstance(table, type) and issubclass(table, BaseModel):
            fields |= {f"{name}.{key}": inner for key, inner in table.model_fields.items()}
        else:
            fields[name] = field
    return fields


def nearest_key(key: str, options: Sequence[str] = ()) -> str:
    """`Did you mean 'train.epochs'? ` for a key that is close to a setting, to its last word or to an option."""
    names = [*setting_fields(), *options]
    short = {name.rpartition(".")[2]: name for name in names} | {"lr": "train.learning_rate"}
    return f"Did you mean '{short[key]}'? " if key in short else nearest(key, names) or nearest(key, [*short])


def _refused(origin: str, error: ValidationError, options: Sequence[str]) -> UserError:
    """The faults of a recipe: one on the same line, several on a line each, of many the first and their number."""
    faults = dict[str, list[ErrorDetails]]()
    for fault in error.errors(include_url=False):
        faults.setdefault(_key(fault), []).append(fault)
    texts = [_explained(key, faults[key], options) for key in [*faults][:MOST_FAULTS]]
    if len(faults) == 1:
        return UserError(f"{origin}: {texts[0][0]}", texts[0][1])
    more = [f"and {len(faults) - MOST_FAULTS:,} more"] * (len(faults) > MOST_FAULTS)
    return UserError("\n  - ".join([f"{origin}: ", *(". ".join(filter(None, text)) for text in texts), *more]))


def _key(fault: ErrorDetails) -> str:
    """The dotted key, without the place in its value and the kinds of values that were tried."""
    parts = [str(part)[:LONGEST_KEY] for part in fault["loc"]]
    depth = 2 if parts[:1] == ["options"] else 1 if parts and parts[0] in setting_fields() else 2
    whole = fault["type"] == "extra_forbidden" or parts[:1] == ["grid"]
    return ".".join(parts if whole else parts[:depth])[:LONGEST_KEY]


def _explained(key: str, faults: Sequence[ErrorDetails], options: Sequence[str]) -> tuple[str, str]:
    """(the key and its value, the values that are allowed) of a setting that pydantic refused."""
    first = faults[0]
    value, shown = first["input"], f"'{key}' is {shown_value(first['input'])}"
    messages = [*dict.fromkeys(fault["msg"] for fault in faults)]
    if key.startswith("options."):
        is_time = isinstance(value, date | time)
        return (f"'{key}' is a date or a time", f'Quote it: "{value}"') if is_time else (shown, OPTION)
    if first["type"] == "extra_forbidden":
        inner = [*flat(value, f"{key}.")] if isinstance(value, dict) else []
        key = inner[0][:LONGEST_KEY] if len(inner) == 1 else key
        remedy = nearest_key(key, options).strip() or f"The keys are {', '.join([*setting_fields(), *options])}"
        taken_out = gone_setting(key)
        return (taken_out.what, taken_out.way_out) if taken_out else (f"unknown key '{key}'", remedy)
    if first["type"] == "missing":
        return f"'{key}' is missing", "Set it"
    if first["type"] == "value_error":  # of several settings together
        return f"{key}: {messages[0].removeprefix('Value error, ')}".removeprefix(": "), ""
    if first["type"] == "literal_error" and (retired := gone(str(value))):
        return retired.what, retired.way_out
    if key in setting_fields():
        table, _, name = key.rpartition(".")
        inner_table = Recipe.model_fields[table].annotation if table else Recipe
        return shown, f"It must be {allowed_values(cast('type[BaseModel]', inner_table), name)}"
    return shown, f"It should {' or '.join(SHOULD.sub('', message) for message in messages)}"


def allowed_values(kind: type[BaseModel], name: str) -> str:
    """The values that a field allows: `a whole number of at least 1`."""
    schema = kind.model_json_schema()["properties"][name]
    options = schema.get("anyOf", [schema])
    return " or ".join(_allowed_kind(option) for option in options if option.get("type") != "null")


def _allowed_kind(schema: dict[str, Any]) -> str:
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
