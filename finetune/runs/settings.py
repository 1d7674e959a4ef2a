"""Settings without their declarations: TOML, read with bounds and written one setting a line; defaults; lineage.

Lists of records need these, but neither the declarations of `recipe` nor pydantic.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from typing import Any, Self

from finetune.data.paths import read_small_text
from finetune.errors import UserError, first_line

MOST_BYTES = 1_000_000  # of a file; built-in recipes have 1,000
DEEPEST_TABLES = 10  # tables and lists in each other
MOST_DOTS = 50  # of a key; tomllib needs memory that is quadratic in them
MODEL = "google-bert/bert-base-uncased"  # of a recipe that names none
# Settings whose value is the name of a column, a label, a file, a model or the like.
NAMES = (
    "task", "model", "preset", "text", "label", "id", "group", "keep", "drop", "order", "levels", "dev", "test",
    "split", "encoding", "sheet", "shape", "choices_by", "span_ends", "distil.teacher", "distil.text",
)  # fmt: skip
# The defaults that `recipe` declares, without task, options and grid.
DEFAULTS: dict[str, Any] = {
    "model": MODEL,
    "max_length": 128,
    "tokenizer": "",
    "seed": 42,
    "init_seed": None,
    "data_seed": None,
    "frozen": False,
    "layers": "last",
    "bilstm": False,
    "pooling": "family",
    "keep_layers": [],
    "freeze_layers": 0,
    "reinit_layers": 0,
    "lora": 0,
    "lora_targets": [],
    "lora_alpha": None,
    "lora_dropout": 0.0,
    "adapter": False,
    "keep_labels": False,
    "deterministic": False,
    "limit": None,
    "train_share": 1.0,
    "train.batch_size": 32,
    "train.epochs": 3,
    "train.updates": None,
    "train.least_updates": 0,
    "train.solver": "adam",
    "train.learning_rate": 2e-05,
    "train.schedule": "linear",
    "train.warmup": 0.1,
    "train.weight_decay": 0.01,
    "train.adam_epsilon": 1e-06,
    "train.bias_correction": True,
    "train.clip_norm": 1.0,
    "train.accumulation": 1,
    "train.gradient_checkpointing": False,
    "train.layer_decay": 1.0,
    "train.dropout": None,
    "train.precision": "auto",
    "train.select": "last",
    "train.patience": None,
    "held_out.share": 0.0,
    "held_out.seed": 42,
    "distil.teacher": "",
    "distil.temperature": 2.0,
    "distil.weight": 0.5,
    "distil.text": "",
    "distil.weak": False,
}
SEEDS = ("seed", "init_seed", "data_seed")
PREFIX = "lineage."
RUN_ID = r"^\w[\w.-]{0,99}$"  # part of a path
RECIPES = Path(__file__).parents[1] / "recipes"
NEW = "new:"  # and the size of an untrained encoder
NO_KEY = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*")  # quoted, or a comment: dots in these nest nothing


def is_new(model: str) -> bool:
    """Whether a model's name asks for an untrained encoder."""
    return model.startswith(NEW)


def read_toml(path: Path) -> dict[str, Any]:
    """The table in a file. Raises UserError for one that cannot be read, is too large or too deep, or is not TOML."""
    text = read_small_text(path, most=MOST_BYTES)
    try:
        return parse_toml(text, origin=str(path))
    except ValueError as error:
        raise UserError(
            f"{path}: is not TOML ({first_line(error)})", "Compare with `finetune init glue-mrpc`"
        ) from error


def parse_toml(text: str, *, origin: str) -> dict[str, Any]:
    """The table in a text. Raises ValueError if it is not TOML, and UserError if it is nested too deep."""
    if any(part.count(".") > MOST_DOTS for part in re.split(r"[=\n,\[\]{}]", NO_KEY.sub("", text))):
        raise _too_deep(origin)
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(origin) from None
    require_shallow(table, origin=origin)
    return table


def require_shallow(table: dict[str, Any], *, origin: str) -> None:
    """Raises UserError for tables and lists that are nested too deep to be walked through."""
    level: list[Any] = [table]
    for _ in range(DEEPEST_TABLES):
        level = [inner for value in level for inner in (value.values() if isinstance(value, dict) else value)]
        level = [value for value in level if isinstance(value, dict | list)]
    if level:
        raise _too_deep(origin)


def override_value(key: str, text: str) -> Any:
    """The value in `key=value`: read as TOML if it is TOML (2e-5, true, ["a"]), else a plain string.

    Names of columns, labels, files and models (NAMES) are kept as typed, without quotes around them: a column may be
    called 2024. No other setting is a date or a time.
    """
    try:
        value = parse_toml(f"value = {text}", origin="command line")["value"]
    except ValueError:
        return text
    named = key.removeprefix("options.") in NAMES and not isinstance(value, str)
    return text if named or isinstance(value, date | time) else value


def typed_value(key: str, value: Any) -> str:
    """A value for `key=value`: a text is quoted if it would be read as a number or a date."""
    if isinstance(value, str) and override_value(key, value) == value:
        return value
    return toml_line("value", value).removeprefix("value = ")


def typed_settings(settings: Mapping[str, Any]) -> list[str]:
    """Settings for the command line: `label=mark`."""
    return [f"{key}={typed_value(key, value)}" for key, value in settings.items()]


def to_toml(table: dict[str, Any]) -> str:
    """A table of plain values and nested tables as TOML, one setting per line."""
    lines = [toml_line(key, value) for key, value in table.items() if not isinstance(value, dict)]
    for name, inner in table.items():
        if isinstance(inner, dict) and inner:
            lines += ["", f"[{name}]", *(toml_line(key, value) for key, value in inner.items())]
    return "\n".join(lines) + "\n"


def toml_line(key: str, value: Any) -> str:
    """`key = value`, on one line also for lists and tables in them, which tomli_w would break."""
    import tomli_w

    if not isinstance(value, list | dict):
        return tomli_w.dumps({key: value}).rstrip("\n")
    if isinstance(value, dict):
        whole = "{ " + ", ".join(toml_line(name, inner) for name, inner in value.items()) + " }" if value else "{}"
    else:
        whole = "[" + ", ".join(toml_line("_", item).removeprefix("_ = ") for item in value) + "]"
    return tomli_w.dumps({key: 0}).rstrip("0\n") + whole


def _too_deep(origin: str) -> UserError:
    return UserError(f"{origin}: tables or lists are nested more than {DEEPEST_TABLES} deep", "Remove the inner ones")


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys: TOML reads `train.epochs = [1, 2]` as a table in a table."""
    settings: dict[str, Any] = {}
    for key, value in table.items():
        settings |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return settings


def recipe_files() -> dict[str, Path]:
    """The built-in recipes by name."""
    if not RECIPES.is_dir():
        raise UserError(
            f"{RECIPES} is not a folder: this checkout was made without symbolic links",
            "Clone again with `git -c core.symlinks=true clone`, or install the wheel",
        )
    return {file.stem: file for file in sorted(RECIPES.glob("*.toml"))}


def recipe_titles() -> dict[str, str]:
    """Task and model of each built-in recipe, by its name."""
    tables = {name: read_toml(file) for name, file in recipe_files().items()}
    return {name: f"{table['task']} with {table.get('model', MODEL)}" for name, table in tables.items()}


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """An earlier run, from whose encoder a run started.

    `settings` are not at their default (dotted keys). `model` and `weights` are its initial encoder, and
    `lineage` is the run which saved that encoder, if one did.
    """

    run: str
    task: str
    task_version: int
    data: str
    model: str
    weights: str
    precision: str
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    lineage: "Lineage | None" = None

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012 - read from the class by pydantic

    def __post_init__(self) -> None:
        if not re.match(RUN_ID, self.run) or self.seed < 0:
            raise ValueError("lineage is not of a run")

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """The lineage in a record's JSON."""
        inner = facts.get("lineage")
        return cls(**{**facts, "lineage": inner and cls.of(inner)})

    @property
    def checkpoint(self) -> str:
        """The name of the encoder from which the first run started."""
        return self.model if self.lineage is None else self.lineage.checkpoint

    @property
    def settings_without_seeds(self) -> dict[str, Any]:
        """All that decides the encoder's weights, without the seeds of each run of the lineage."""
        facts = {name: getattr(self, name) for name in ("task", "task_version", "data", "precision")}
        settings = {key: value for key, value in self.settings.items() if key not in SEEDS}
        initial: Any = encoder_of(self.model, self.weights, self.settings.get("tokenizer"))
        if self.lineage is not None:
            initial = self.lineage.settings_without_seeds
        return facts | {"settings": settings, "initial": initial}

    @property
    def flat(self) -> dict[str, Any]:
        """Dotted keys that runs can be selected by: `lineage.task`, `lineage.train.epochs`, `lineage.model`."""
        facts = {**self.settings, **{name: getattr(self, name) for name in ("run", "task", "model", "seed")}}
        facts |= {} if self.lineage is None else self.lineage.flat
        return {f"{PREFIX}{key}": value for key, value in facts.items()}

    @property
    def words(self) -> str:
        """`minilm, trained on corpus.txt (0a1b2c3d4e), then on mrpc (1b2c3d4e5f)`."""
        before = f"{self.model}, trained" if self.lineage is None else f"{self.lineage.words}, then"
        return f"{before} on {self.task} ({self.run})"


def encoder_of(model: str, weights: str, tokenizer: str | int | None) -> str:
    """The identity of an encoder that no run saved: the hash of its weights, or the size of an untrained one.

    A size, as a vocabulary trained on a share of the text differs by seed, and the hash with it.
    """
    return model if is_new(model) and not (isinstance(tokenizer, str) and tokenizer) else weights


def is_run_specific(key: str) -> bool:
    """Whether a dotted key is the seed or the id of a run of a lineage."""
    return key.startswith(PREFIX) and key.rpartition(PREFIX)[2] in ("run", *SEEDS)


def lineage_words(lineage: Lineage | None) -> Mapping[str, str]:
    """`{"encoder": ...}` for a table of facts; empty without a lineage."""
    return {} if lineage is None else {"encoder": lineage.words}
