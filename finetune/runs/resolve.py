"""From settings to runs: reads a recipe, explains its faults, expands its grid, and gives each run its id."""

import hashlib
import itertools
import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from finetune.data.paths import from_here
from finetune.errors import UserError, nearest, shown_value
from finetune.gone import gone, gone_setting, without_defaults
from finetune.runs.recipe import LONGEST_KEY, Recipe, Train, setting_fields
from finetune.runs.settings import flat, read_toml, require_shallow

MOST_FAULTS = 10  # listed in a message
OPTION = "It must be a text, a number, true or false, a list of texts or of numbers, or a table of texts"
SHOULD = re.compile(r"^\w+ should ")  # how pydantic's messages begin
VARIANT = "variant"  # the key whose values are tables of settings set together
SETTINGS_SHOWN = 5
MOST_RUNS = 10_000  # of one recipe
PERCENTAGES, SHARES = "Give percentages, such as 10%,25%,50%,100%", "Give shares, such as [0.1, 0.25, 0.5, 1]"
FEWEST_SIZES, MOST_SIZES = 2, 20
SEEN_BY_LOGISTIC = {"solver", "precision"}  # of the settings of `train`
OptionNames = Callable[[str], Sequence[str]]  # from a task's name to the options that a recipe for it may set


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
    """The recipe with paths of data and encoder relative as by `from_here`, since others may get the run's files."""
    named = {name: getattr(recipe, name) for name in ("task", "model", "tokenizer")}
    distil = recipe.distil.model_copy(update={"text": from_here(recipe.distil.text)})
    return recipe.model_copy(update={**_from_here(named), "options": _from_here(recipe.options), "distil": distil})


def _from_here(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: from_here(value) if isinstance(value, str) else value for key, value in settings.items()}


def with_settings(
    recipe: Recipe, settings: Mapping[str, Any], *, origin: str, options: OptionNames | None = None
) -> Recipe:
    """The recipe with dotted keys (`train.epochs`) replaced. Raises one UserError with every fault."""
    table = recipe.model_dump(exclude_unset=True)
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
    """The dotted key, without the index in its value and the types that pydantic tried."""
    parts = [str(part)[:LONGEST_KEY] for part in fault["loc"]]
    depth = 2 if parts[:1] == ["options"] else 1 if parts and parts[0] in setting_fields() else 2
    whole = fault["type"] == "extra_forbidden" or parts[:1] == ["grid"]
    return ".".join(parts if whole else parts[:depth])[:LONGEST_KEY]


def _explained(key: str, faults: Sequence[ErrorDetails], options: Sequence[str]) -> tuple[str, str]:
    """(the key and its value, the values that are allowed) of a setting that pydantic refused."""
    first = faults[0]
    kind, value = first["type"], first["input"]
    shown = f"'{key}' is {shown_value(value)}"
    messages = [*dict.fromkeys(fault["msg"] for fault in faults)]
    if key.startswith("options."):
        is_time = isinstance(value, date | time)
        return (f"'{key}' is a date or a time", f'Quote it: "{value}"') if is_time else (shown, OPTION)
    if kind == "extra_forbidden":
        inner = [*flat(value, f"{key}.")] if isinstance(value, dict) else []
        key = inner[0][:LONGEST_KEY] if len(inner) == 1 else key
        remedy = nearest_key(key, options).strip() or f"The keys are {', '.join([*setting_fields(), *options])}"
        taken_out = gone_setting(key)
        return (taken_out.what, taken_out.way_out) if taken_out else (f"unknown key '{key}'", remedy)
    if kind == "missing":
        return f"'{key}' is missing", "Set it"
    if kind == "value_error":  # of several settings together
        return f"{key}: {messages[0].removeprefix('Value error, ')}".removeprefix(": "), ""
    if kind == "literal_error" and (retired := gone(str(value))):
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
    bounds = [
        f"{word} {format(schema[key], ',' if isinstance(schema[key], int) else 'g')}"
        for key, word in words.items()
        if key in schema
    ]
    sizes = {"maxLength": "characters", "maxItems": "values"}
    bounds += [f"of at most {schema[key]:,} {unit}" for key, unit in sizes.items() if key in schema]
    return f"{noun} {' and '.join(bounds)}".strip()


def set_by(grid: Mapping[str, Any]) -> list[str]:
    """The full names of a grid's settings, each setting of its variants once: `options.fold` also for `fold`."""
    variants = grid.get(VARIANT)
    tables = [table for table in variants if isinstance(table, dict)] if isinstance(variants, list) else []
    in_variants = dict.fromkeys(key for table in tables for key in flat(table))
    return [*map(full_name, in_variants), *(full_name(key) for key in grid if key != VARIANT)]


def require_set_once(settings: Mapping[str, Any], names: Iterable[str], *, origin: str) -> None:
    """Raises UserError for a setting that a grid sets too: one of `names`, as `fold`, `options.fold` or in a table."""
    if both := sorted({full_name(key) for key in (*settings, *flat(settings))} & set(names)):
        raise UserError(f"{origin}: its [grid] also sets {', '.join(both)}", "Give it in one of the two places")


def full_name(key: str) -> str:
    """`options.fold` for an option given as `fold`; any other key unchanged."""
    return key if "." in key or key in Recipe.model_fields else f"options.{key}"


def expand(
    recipe: Recipe, *, seeds: int = 1, shares: Sequence[float] = (), origin: str, options: OptionNames | None = None
) -> list[Recipe]:
    """The recipe of each combination of the grid's values, for each of `shares` and for `seeds` seeds from its own on.

    A grid's values are checked like any other setting. Raises UserError for an empty list, a wrong value, a setting
    that two of its keys set, and more than MOST_RUNS runs.
    """
    axes = dict(recipe.grid)
    variants = axes.get(VARIANT, [])
    if not all(isinstance(variant, dict) for variant in variants):
        raise UserError(
            f"{origin}: grid.{VARIANT} is not a list of tables", f'Write {VARIANT} = [{{ layers = "last" }}]'
        )
    names = set_by(axes)
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise UserError(
            f"{origin}: [grid] sets {', '.join(twice[:SETTINGS_SHOWN])} in two places", "Remove one of them"
        )
    sizes = [*map(len, axes.values()), max(1, len(shares)), seeds]
    if max(itertools.accumulate(sizes, operator.mul)) > MOST_RUNS:  # before any recipe is built
        raise UserError(
            f"{origin}: [grid] and `seeds` ask for {'x'.join(map(str, sizes[:SETTINGS_SHOWN]))} runs or more, and "
            f"{MOST_RUNS:,} is the most",
            "Remove values or seeds",
        )
    if shares:
        if "train_share" in names or recipe.train_share != 1:
            raise UserError(f"{origin}: `data_sizes` and 'train_share' exclude each other", "Give one of the two")
        axes["train_share"] = list(shares)
    if seeds > 1:
        if "seed" in names:
            raise UserError(f"{origin}: `seeds` and a grid over 'seed' exclude each other", "Give one of the two")
        axes["seed"] = list(range(recipe.seed, recipe.seed + seeds))
    for key, values in axes.items():
        if not values:
            raise UserError(f"{origin}: grid.{key} is an empty list", "Give it values, or remove the key")
    single, recipes = recipe.model_copy(update={"grid": {}}), []
    for combination in itertools.product(*axes.values()):
        point = dict(zip(axes, combination, strict=True))
        point |= flat(point.pop(VARIANT, {}))
        recipes.append(with_settings(single, point, origin=f"{origin} [grid]", options=options))
    return recipes


def require_different(recipes: Sequence[Recipe]) -> None:
    """Raises UserError for runs that differ only in settings without effect on the result: they show no spread.

    The logistic solver is deterministic: seeds and most settings of `train` do not affect it.
    """
    unused = {"seed", "init_seed", "data_seed", *(f"train.{name}" for name in {*Train.model_fields} - SEEN_BY_LOGISTIC)}
    first: dict[str, dict[str, Any]] = {}
    for settings in (flat(recipe.model_dump()) for recipe in recipes if recipe.train.solver == "logistic"):
        key = repr({name: value for name, value in settings.items() if name not in unused})
        earlier = first.setdefault(key, settings)
        if names := " and ".join(name for name in settings if settings[name] != earlier[name]):
            raise UserError(
                f"train.solver = 'logistic' gives the same result for every {names}",
                f"Give one {names}, without `seeds` or a [grid] over it",
            )


def shares_of(sizes: str | Iterable[Any]) -> list[float]:
    """The shares, over 0 to 1, in increasing order, of numbers or of percentages with commas between them.

    Raises UserError for anything else, and for a single one.
    """
    remedy = PERCENTAGES if isinstance(sizes, str) else SHARES
    if not isinstance(sizes, Iterable):
        raise UserError(f"`data_sizes`: {shown_value(sizes)} is not a list", SHARES)
    shares = set()
    for size in sizes.split(",") if isinstance(sizes, str) else sizes:
        number, sign, after = size.strip().partition("%") if isinstance(size, str) else (size, "%", "")
        try:
            if after or not sign:
                raise ValueError
            share = float(number) / (100 if isinstance(size, str) else 1)
        except (TypeError, ValueError):
            raise UserError(f"`data_sizes`: {shown_value(size)} is not a percentage or share", remedy) from None
        if not 0 < share <= 1:
            raise UserError(f"`data_sizes`: {size} is not over 0% and at most 100%", remedy)
        shares.add(share)
    if not FEWEST_SIZES <= len(shares) <= MOST_SIZES:
        what = f"`data_sizes`: {shown_value(sizes)} has {len(shares)}, not {FEWEST_SIZES} to {MOST_SIZES}"
        raise UserError(what, remedy)
    return sorted(shares)


def run_id(
    recipe: Recipe,
    *,
    task: str,
    version: int,
    data: str,
    weights: str,
    precision: str,
    options: Mapping[str, Any] = MappingProxyType({}),
    columns: Mapping[str, Any] = MappingProxyType({}),
    taught: Mapping[str, Any] = MappingProxyType({}),
    task_file: str | None = None,
) -> str:
    """Ten hex digits: a hash of all that decides the result.

    Settings at their defaults are left out, so that a new setting keeps old ids; so are the names of recipe and model,
    the output folder, the number of processes, gradient checkpointing and the versions of libraries.

    `task` is its name, and `task_file` a hash of the file that declares it, if a user wrote one. `options` are those
    not at their defaults. `columns` is what the model keeps of a user's columns. `taught` has hashes of the teachers
    and of their text.
    """
    left_out: Any = {
        **dict.fromkeys(("task", "model", "tokenizer", "seed", "init_seed", "data_seed", "options", "grid"), True),
        "train": {"precision", "gradient_checkpointing"},
        "distil": {"teacher", "text", "weak"},
    }
    settings = recipe.model_dump(exclude_defaults=True, exclude=left_out)
    facts = {"options": options, "columns": columns, "taught": taught}
    decides = {
        "settings": {key: value for key, value in settings.items() if value != {}},
        "seeds": recipe.seeds,
        "task": [task, version, *([task_file] if task_file else [])],
        "data": data,
        "weights": weights,
        "precision": precision,
        **{name: dict(values) for name, values in facts.items() if values},
    }
    canonical = json.dumps(decides, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:10]
