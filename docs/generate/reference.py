"""Tables and lists that are made from the code: commands, settings, the record, metrics, findings, formats, options."""

import inspect
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from pydantic import BaseModel
from tables import FOLDER

from finetune.analysis.table import Cells, markdown_table
from finetune.checks import all_checks
from finetune.cli import app as cli
from finetune.cli.door import module_of
from finetune.data.detect import BY_SUFFIX, FORMATS
from finetune.gone import gone
from finetune.models.families import FAMILIES
from finetune.runs.recipe import LARGEST, Recipe
from finetune.runs.record import RunRecord
from finetune.runs.resolve import allowed_values
from finetune.runs.settings import recipe_files
from finetune.task_types.columns import OPTIONS
from finetune.task_types.declared import declared_options
from finetune.task_types.registry import available
from finetune.task_types.types import own_types

MEANING_KO: dict[str, str] = tomllib.loads((FOLDER / "findings_ko.toml").read_text(encoding="utf-8"))
LAST_STOP = re.compile(r"(?<!\.)\.$")  # of a meaning
NEEDED = " [required]"  # which the usage shows of an argument
SHARED = 3  # commands that have an option with one meaning, from which on a brief list has it once
READ_FIRST = (  # fields of a record
    *("recipe", "rows", "truncated", "findings", "notes", "headline", "scores", "baselines", "margins", "metrics"),
    *("chosen", "epochs", "learned"),
)
SEVERITY_KO = {"error": "오류", "warning": "경고", "note": "참고"}


def blocks() -> dict[str, str]:
    """The blocks, by marker."""
    return {
        "commands": commands(),
        "settings": settings(),
        "options": options(),
        "record": record(),
        "commands-in-brief": commands_in_brief(),
        "columns": columns(),
        "record-in-brief": record(READ_FIRST),
        "recipes": _names([*recipe_files()]),
        "metrics": metrics(),
        "formats": formats(),
        "checks": findings(["finding", "severity", "meaning"]),
        "checks-ko": findings(["코드", "심각도", "뜻"], korean=True),
        "families": ", ".join(family.title for family in FAMILIES.values()),
        "types": _names(own_types()),
        "suffixes": _names(sorted(BY_SUFFIX)),
    }


def _names(names: Sequence[str] | dict[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def command_line() -> Iterator[tuple[str, Any, Any]]:
    """(name, command, its context) of each command of the application: the one place that knows how it is declared."""
    group: Any = typer.main.get_command(cli.app)
    for name in sorted(group.list_commands(None)):
        context = group.get_command(None, name).make_context(name, [], resilient_parsing=True)
        yield name, context.command, context


def commands() -> str:
    """A heading, what it does, its usage and its options, for each command."""
    parts = list[str]()
    for name, usage, does, records in _commands():
        table = markdown_table(
            ["argument or option", "meaning"], [[f"`{typed}`", meaning] for typed, meaning in records]
        )
        parts += [f"## finetune {name}", does, f"`finetune {name} {usage}`", table]
    return "\n\n".join(parts)


def _commands() -> Iterator[tuple[str, str, str, list[tuple[str, str]]]]:
    """(name, usage, what it does, (argument or option, meaning) of each) of each command."""
    for name, command, context in command_line():
        usage = re.sub(r"[{}]", "", " ".join(command.collect_usage_pieces(context)))
        records = filter(None, (parameter.get_help_record(context) for parameter in command.params))
        yield name, usage, command.help, [(_cell(typed), _cell(meaning)) for typed, meaning in records]


def commands_in_brief() -> str:
    """The options that several commands have; then a line for each command, with its own and what `--json` prints."""
    listed, everywhere = [*_commands()], {"--quiet", "--json"}
    counts = Counter(record for *_, records in listed for record in records if record[0] not in everywhere)
    shared = {record for record, count in counts.items() if count >= SHARED}
    lines = list[Cells]()
    for name, usage, does, records in listed:
        options = [
            f"`{typed}`"
            + f" {LAST_STOP.sub('', meaning if typed.startswith('-') else meaning.removesuffix(NEEDED))}"
            * ((typed, meaning) not in shared)
            for typed, meaning in records
            if typed not in everywhere
        ]
        prints = _cell(inspect.getdoc(getattr(module_of(name), "as_json", _path_alone)) or "")
        lines.append([f"`{name} {usage.removeprefix('[OPTIONS] ')}`", does, "; ".join(options), prints])
    table = markdown_table(["command", "what it does", "arguments and options", "`--json` prints"], lines)
    several = [f"- `{typed}` {meaning}" for typed, meaning in sorted(shared)]
    return "\n".join([*several, "", table])


def _path_alone() -> None:
    """`path`: the page that was written."""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", ", ").split())


def settings() -> str:
    """One line per setting of a recipe: default, what it may be, and its meaning."""
    lines = list[Cells]()
    for key, model, name in _settings(Recipe, ""):
        field = model.model_fields[name]
        default = field.get_default()
        text = "none" if default is None else default if isinstance(default, str) else json.dumps(default, default=str)
        allowed = _cell(allowed_values(model, name).replace(f"{LARGEST:,}", "2⁶³ - 1"))
        lines.append([f"`{key}`", "" if field.is_required() else f"`{text}`", allowed, field.description or ""])
    return markdown_table(["setting", "default", "allowed", "meaning"], lines)


def _settings(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, type[BaseModel], str]]:
    """(dotted key, its class, its field) of all settings that are not themselves tables of settings."""
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _settings(inner, f"{prefix}{name}.")
        elif name not in ("grid", "options"):
            yield f"{prefix}{name}", model, name


def options() -> str:
    """One line per option of the task types, with its default."""
    classes: dict[type, list[str]] = {}
    for own in own_types().values():
        classes.setdefault(own.task_class, []).append(own.name)
    lines = [
        [_names(names), f"`{option.name}`", "–" if option.default is None else option.default, option.meaning]
        for task_class, names in classes.items()
        for option in declared_options(task_class)
    ]
    return markdown_table(["task type", "option", "default", "meaning"], lines)


def columns() -> str:
    """One line per option of a user's data."""
    return "\n".join(f"- `{name}=` {meaning}" for name, meaning in OPTIONS.items() if not gone(name))


def record(names: Sequence[str] = tuple(RunRecord.model_fields)) -> str:
    """One line per field of a record, of all or of these."""
    types = RunRecord.model_json_schema()["properties"]
    lines = list[Cells]()
    for name in names:
        field = RunRecord.model_fields[name]
        if field.description is None:
            raise ValueError(f"RunRecord.{name} has no description, which the reference shows")
        allowed = types[name].get("anyOf", [types[name]])
        lines.append([f"`{name}`", " or ".join(part.get("type", "object") for part in allowed), field.description])
    return markdown_table(["field", "type", "meaning"], lines)


def metrics() -> str:
    """One line per shipped task: the metrics that its scores have, the headline first, without those of one label."""
    lines = [
        [
            f"`{name}`",
            type(task).__name__.removesuffix("Task"),
            _names([metric.name for metric in task.metrics if "/" not in metric.name]),
        ]
        for name, task in sorted(available().items())
    ]
    return markdown_table(["task", "task type", "metrics"], lines)


def formats() -> str:
    """One line per file format, in the order in which content is tried."""
    lines = [
        [form.title, _names([suffix for suffix in form.suffixes if BY_SUFFIX.get(suffix) is form]) or "only read"]
        for form in FORMATS
    ]
    return markdown_table(["format", "written to files that end with"], lines)


def findings(head: Sequence[str], *, korean: bool = False) -> str:
    """One line per issue that a check can report: code, severity (and worst severity), meaning."""
    lines = list[Cells]()
    for issue in all_checks.every_issue():
        grades = [SEVERITY_KO[grade] if korean else grade for grade in (issue.severity, issue.worst) if grade]
        lines.append([f"`{issue.code}`", ", ".join(grades), MEANING_KO[issue.code] if korean else issue.meaning])
    return markdown_table(head, lines)
