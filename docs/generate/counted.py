"""What can be set, counted: settings, options of task types and of commands, and how many recipes and pages name each.

Pages of reference/, which name everything, are not read.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from reference import command_line
from tables import FOLDER

from finetune.analysis.table import Cells, markdown_table
from finetune.runs.recipe import setting_fields
from finetune.task_types.declared import declared_options
from finetune.task_types.types import own_types

DOCS, RECIPES = FOLDER.parent, FOLDER.parents[1] / "recipes"
PARTS = ("tutorials", "how-to", "explanation")
WITHIN = ("grid", "options", "variant")  # tables of a recipe whose keys are as those outside of them


def counted() -> str:
    """How many there are, what nothing names, and a table each."""
    pages = [file.read_text(encoding="utf-8") for part in PARTS for file in (DOCS / part).glob("*.md")]
    recipes = [
        file.read_text(encoding="utf-8")
        for folder in (".", "presets", "spaces")
        for file in (RECIPES / folder).glob("*.toml")
    ]
    keys = [" ".join(f"{key}=" for key in _keys(tomllib.loads(text))) for text in recipes]
    settings, options, of_commands = _settings(), _options(), _commands()
    kinds = {"setting of a recipe": settings, "option of a task type": options, "option of commands": of_commands}
    tables, nowhere = list[str](), list[str]()
    for kind, patterns in kinds.items():
        rows = list[Cells]()
        for name, pattern in patterns.items():
            in_recipes = _naming(pattern, recipes if name.startswith("--") else keys)
            on_pages = _naming(pattern, pages)
            rows.append([f"`{name}`", in_recipes or "–", on_pages or "–"])
            nowhere += [] if in_recipes or on_pages else [f"`{name}`"]
        tables.append(markdown_table([kind, "recipes", "pages"], rows))
    commands = {name: sum(one.param_type_name == "option" for one in made.params) for name, made, _ in command_line()}
    first = (
        f"A recipe has {len(settings)} settings, task types have {len(options)} options, and {len(commands)} commands "
        f"have {len(of_commands)}, counted in each command {sum(commands.values())}."
    )
    return "\n\n".join([f"{first} Named by no recipe and on no page are {', '.join(nowhere)}.", *tables])


def _naming(pattern: str, texts: Iterable[str]) -> int:
    return sum(re.search(pattern, text, re.MULTILINE) is not None for text in texts)


def _keys(value: Any, at: str = "") -> Iterator[str]:
    """The keys of a recipe, those of its grid too, and the settings in a text such as "pretrain train.updates=1"."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _keys(inner, key if at in ("", *WITHIN) else f"{at}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner, at)
    elif isinstance(value, str):
        yield from re.findall(r"([\w.]+)=", value)
    yield at


def _settings() -> dict[str, str]:
    """What names a setting: `key=`, `key` as code, and in a table `key = ` in TOML or `"key"` in Python."""
    patterns = dict[str, str]()
    for key in setting_fields():
        table, _, name = key.rpartition(".")
        inside = rf"|^\[{table}\]\n(?:.+\n)*?{name} ?=|{table}=\{{[^}}]*\"{name}\"" if table else ""
        if key not in WITHIN:
            patterns[key] = rf"(?<![\w.-]){re.escape(key)}(?:`| ?= ?|\"\s*:){inside}"
    return patterns


def _options() -> dict[str, str]:
    names = (option.name for own in own_types().values() for option in declared_options(own.task_class))
    return {name: rf"(?<![\w.-]){name}(?: ?= ?|\"\s*:)" for name in names}


def _commands() -> dict[str, str]:
    """What names an option of commands: it is typed, or given in a call from Python."""
    patterns = dict[str, str]()
    for _, command, _ in command_line():
        for option in command.params:
            if option.param_type_name == "option":
                typed = "|".join(option.opts)
                patterns[option.opts[-1]] = rf"(?<![\w-])(?:{typed})(?![\w-])|finetune\.\w+\([^\n]*\b{option.name}="
    return patterns
