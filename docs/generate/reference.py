"""Tables of docs/reference/ generated from the code; `python docs/generate/pages.py --write` writes them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import typer
from pydantic import BaseModel

from finetune.analysis.form import Cells, markdown_table
from finetune.cli import app as cli
from finetune.metrics.metric import Metric
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import LARGEST
from finetune.runs.record import RunRecord
from finetune.task_types.registry import available


def commands() -> str:
    """A heading, what it does, its usage and its options, for each command."""
    group: Any = typer.main.get_command(cli.app)
    return "\n\n".join(_command(name, group.commands[name]) for name in sorted(group.commands))


def _command(name: str, on_demand: Any) -> str:
    context = on_demand.make_context(name, [], resilient_parsing=True)
    usage = re.sub(r"[{}]", "", " ".join(context.command.collect_usage_pieces(context)))
    records = [each.get_help_record(context) for each in context.command.params]
    lines = [[f"`{_cell(given)}`", _cell(what)] for given, what in filter(None, records)]
    table = markdown_table(["argument or option", "meaning"], lines)
    return "\n".join([f"## finetune {name}", "", context.command.help, "", f"`finetune {name} {usage}`", "", table])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", ", ").split())


def settings() -> str:
    """One line per setting of a recipe: default, what it may be, and its meaning."""
    head, lines = ["setting", "default", "allowed", "meaning"], list[Cells]()
    for key, kind, name in _settings(Recipe, ""):
        field = kind.model_fields[name]
        default = "" if field.is_required() else f"`{_default(field.get_default())}`"
        allowed = _cell(_allowed(kind, name).replace(f"{LARGEST:,}", "2⁶³ - 1"))
        lines.append([f"`{key}`", default, allowed, field.description or ""])
    return markdown_table(head, lines)


def _settings(kind: type[BaseModel], prefix: str) -> Iterator[tuple[str, type[BaseModel], str]]:
    """(dotted key, its class, its field) of all settings that are not themselves tables of settings."""
    for name, field in kind.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _settings(inner, f"{prefix}{name}.")
        elif name not in ("grid", "options"):
            yield f"{prefix}{name}", kind, name


def _allowed(kind: type[BaseModel], name: str) -> str:
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


def _default(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def record() -> str:
    """One line per field of a record."""
    types = RunRecord.model_json_schema()["properties"]
    head, lines = ["field", "type", "meaning"], list[Cells]()
    for name, field in RunRecord.model_fields.items():
        if field.description is None:
            raise ValueError(f"RunRecord.{name} has no description, which the reference shows")
        options = types[name].get("anyOf", [types[name]])
        kinds = " or ".join(option.get("type", "object") for option in options)
        lines.append([f"`{name}`", kinds, field.description])
    return markdown_table(head, lines)


def metrics() -> str:
    """One line per shipped task: the metrics that its scores have, the headline first."""
    head, lines = ["task", "task type", "metrics"], list[Cells]()
    for name, task in sorted(available().items()):
        names = ", ".join(f"`{metric.name}`" for metric in _plain(task.metrics))
        lines.append([f"`{name}`", type(task).__name__.removesuffix("Task"), names])
    return markdown_table(head, lines)


def _plain(every: tuple[Metric, ...]) -> list[Metric]:
    """Those that are not of one label."""
    return [metric for metric in every if "/" not in metric.name]


def blocks() -> dict[str, str]:
    """The tables, by marker."""
    return {"commands": commands(), "settings": settings(), "record": record(), "metrics": metrics()}
