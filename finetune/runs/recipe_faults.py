"""Faults in a recipe's settings as messages: the key, what was given, what is allowed, and the nearest key."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from finetune.errors import UserError, nearest, shown_value
from finetune.gone import gone, gone_setting
from finetune.runs.toml import flat

MOST_FAULTS = 10  # listed in a message
LONGEST_KEY = 100  # characters of a key in a message
OPTION = "a text, a number, true or false, a list of texts or of numbers, or a table of texts"
UNION = re.compile(r"\[|\.constrained-")  # in the key of one kind of several that a setting may be


def refused(kind: type[BaseModel], origin: str, error: ValidationError, options: Sequence[str]) -> UserError:
    """The faults of a recipe: one on the same line, several on a line each, of many the first and their number."""
    found = _once_an_option(error.errors(include_url=False))
    faults = list(dict.fromkeys(explain_fault(kind, fault, options) for fault in found[:MOST_FAULTS]))
    if len(faults) == 1 and len(found) <= MOST_FAULTS:
        what, remedy = faults[0]
        return UserError(f"{origin}: {what}", remedy)
    lines = [". ".join(filter(None, fault)) for fault in faults]
    if len(found) > MOST_FAULTS:
        lines.append(f"and {len(found) - MOST_FAULTS:,} more")
    return UserError("\n  - ".join([f"{origin}: ", *lines]))


def _once_an_option(faults: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """The faults, of an option that is of none of several kinds only the first, which has its whole value."""
    of_options = {fault["loc"][1]: fault for fault in reversed(faults) if _is_of_option(fault)}
    return [one for one in faults if not _is_of_option(one) or of_options[one["loc"][1]] is one]


def _is_of_option(fault: ErrorDetails) -> bool:
    return fault["loc"][:1] == ("options",) and len(fault["loc"]) > 1


@cache
def setting_names(kind: type[BaseModel]) -> dict[str, str]:
    """Every dotted key of a recipe's model with its allowed values, for messages and listings."""

    def walk(part: type[BaseModel], prefix: str) -> Iterator[tuple[str, str]]:
        for name, field in part.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                yield from walk(field.annotation, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}", allowed_values(part, name)

    return dict(walk(kind, ""))


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


def nearest_key(kind: type[BaseModel], key: str, options: Sequence[str] = ()) -> str:
    """`Did you mean 'train.epochs'? ` for a key that is close to a setting, to its last word or to an option."""
    ours = [*setting_names(kind), *options]
    short = {name.rsplit(".", 1)[-1]: name for name in ours}
    if key in short:
        return f"Did you mean '{short[key]}'? "
    return nearest(key, ours) or nearest(key, list(short))


def explain_fault(kind: type[BaseModel], fault: ErrorDetails, options: Sequence[str] = ()) -> tuple[str, str]:
    """One pydantic error as text: (the key and what was given, what is allowed). `options` are the task's."""
    names = setting_names(kind)
    key = ".".join(str(part)[:LONGEST_KEY] for part in fault["loc"])[:LONGEST_KEY]
    if _is_of_option(fault):
        return _option_fault(str(fault["loc"][1])[:LONGEST_KEY], fault["input"])
    key = next((name for name in names if key.startswith(f"{name}.") and UNION.search(key)), key)  # one kind of several
    if fault["type"] == "extra_forbidden":
        key = _whole_key(key, fault["input"])
        if taken_out := gone_setting(key):
            return taken_out
        hint = nearest_key(kind, key, options)
        return f"unknown key '{key}'", hint.strip() or f"The keys are {', '.join([*names, *options])}"
    if fault["type"] == "missing":
        return f"'{key}' is missing", f"It must be {names.get(key, 'given')}"
    if fault["type"] == "literal_error" and (was_value := gone(str(fault["input"]))):
        return was_value.what, was_value.way_out
    allowed = names.get(key)
    if fault["type"] == "value_error":  # of several settings together
        return f"{key}: {fault['msg'].removeprefix('Value error, ')}".removeprefix(": "), ""
    if allowed is None:  # a whole table, such as `train = 3`, or a place inside [grid]
        return f"'{key}' is {shown_value(fault['input'])}: {fault['msg'].lower()}", ""
    return f"'{key}' is {shown_value(fault['input'])}", f"It must be {allowed}"


def _option_fault(name: str, given: Any) -> tuple[str, str]:
    if isinstance(given, date | time):
        return f"'options.{name}' is a date or a time", f'Quote it: "{given}"'
    return f"'options.{name}' is {shown_value(given)}", f"It must be {OPTION}"


def _whole_key(key: str, given: Any) -> str:
    """The key with those of the unknown section that it names, if that has one setting: `tran.epochs`."""
    inner = list(flat(given, f"{key}.")) if isinstance(given, dict) else []
    return inner[0][:LONGEST_KEY] if len(inner) == 1 else key


# With their defaults.
NEED_LORA: dict[str, Any] = {"lora_targets": [], "lora_alpha": None, "lora_dropout": 0.0, "adapter": False}


def lora_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the settings of a recipe as far as LoRA is concerned."""
    rank, again = settings["lora"], settings["reinit_layers"]
    if not rank:
        for name in (name for name, default in NEED_LORA.items() if settings[name] != default):
            yield f"'{name}' does nothing without LoRA: set a rank, such as lora = 8, or leave it out"
        return
    for clashes, other, why in (
        (settings["frozen"], "frozen = true", "nothing of a frozen encoder is trained"),
        (again, f"reinit_layers = {again}", "the new layers would stay random"),
        (settings["train"]["solver"] == "logistic", "train.solver = 'logistic'", "it trains the output layer alone"),
    ):
        if clashes:
            yield f"lora = {rank} with {other}: {why}; leave one of them out"
    own = settings["layers"] != "last" or settings["bilstm"] or settings["pooling"] in ("cls", "mean", "unit")
    if settings["adapter"] and own:
        yield "adapter = true with layers, bilstm or pooling, which transformers lacks: leave adapter out, or these"
