"""The command line of a command, made of its function: the signature is what is typed, the docstring the help."""

import inspect
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from finetune.api.parameters import Cli
from finetune.errors import UserError, nearest

KINDS = (bool, str, Path, int, float)  # of what is typed, the first that a parameter takes
WORDS = "settings"  # of a command that takes settings, and names no list itself
TERMINAL = {
    "quiet": Annotated[bool, typer.Option("--quiet", help="Show no progress.")],
    "as_json": Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")],
}


def module_of(name: str) -> ModuleType:
    """The module with the function of a command, `shown`, and sometimes `as_json` and `exit_code`."""
    return import_module(f"finetune.commands.{name.replace('-', '_')}")


def function_of(name: str) -> Callable[..., Any]:
    """The function of a command, which is also `finetune.NAME`."""
    function: Callable[..., Any] = getattr(module_of(name), name.replace("-", "_"))
    return function


@cache
def takes_settings(name: str) -> bool:
    """Whether a command takes the settings of a recipe, as key=value."""
    return any(
        parameter.kind is parameter.VAR_KEYWORD
        for parameter in inspect.signature(function_of(name)).parameters.values()
    )


def command_line(name: str) -> Callable[..., None]:
    """The function that typer calls: it asks where data is ambiguous, calls the command, and prints its result."""
    function, shown = function_of(name), module_of(name).shown
    ours, display = _parameters(function), _parameters(shown)
    typed = [parameter for parameter in (*ours.values(), *list(display.values())[1:]) if not _mark(parameter).python]
    several = next((parameter for parameter in typed if parameter.kind is parameter.VAR_POSITIONAL), None)
    settings = {parameter.name for parameter in typed if _mark(parameter).setting}
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in typed)
    listed = several.name if several is not None else WORDS if settings or anything else None

    def called(quiet: bool = False, as_json: bool = False, **options: Any) -> None:
        words, values = list(options.pop(listed, None) or ()) if listed else [], dict[str, Any]()
        if words and (settings or anything):
            words, values = _split(words)
            for key in values:
                if key not in settings and (not anything or key in ours):
                    near = nearest(key, list(settings))
                    names_listed = f"{near}Its settings are {', '.join(sorted(settings))}"
                    how_to = f"`finetune {name} --help` lists the options" if anything else names_listed
                    raise UserError(f"'{key}' is not a setting of {name}", how_to)
        if words and several is None:
            raise UserError(f"'{words[0]}' is not a setting", f"Write key=value; `finetune {name} --help` shows how")
        names = [
            options.pop(parameter.name)
            for parameter in typed
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and several is not None
        ]
        how = {parameter: options.pop(parameter) for parameter in [*display][1:] if parameter in options}
        from finetune.cli.printing import print_result

        print_result(
            module_of(name), lambda chosen: function(*names, *words, **(options | chosen)), values, how,
            given=options, quiet=quiet, as_json=as_json,
        )  # fmt: skip

    helps = _described(function) | _described(shown)
    mine = [
        _typed(parameter, helps.get(parameter.name, ""))
        for parameter in typed
        if parameter.kind is not parameter.VAR_KEYWORD and (_mark(parameter).names or not _mark(parameter).setting)
    ]
    if listed == WORDS:
        help_text = (
            ", ".join(f"{parameter}=..." for parameter in sorted(settings))
            if not anything
            else "Settings as key=value."
        )
        argument = Annotated[list[str] | None, typer.Argument(help=help_text)]
        place = sum(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in typed)
        mine.insert(place, inspect.Parameter(WORDS, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=argument))
    mine += [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for key, kind in TERMINAL.items()
    ]
    called.__signature__ = inspect.Signature(mine)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in mine}
    return called


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


def _mark(parameter: inspect.Parameter) -> Cli:
    """The mark of a parameter's annotation, or of its own default."""
    return next((mark for mark in get_args(parameter.annotation)[1:] if isinstance(mark, Cli)), Cli())


def _kind(annotation: Any) -> Any:
    """The type of what is typed: of several the plainest."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    kinds = get_args(annotation) if get_origin(annotation) is not Literal and get_args(annotation) else (annotation,)
    for kind in KINDS:
        if kind in kinds:
            return kind
    return next((literal for literal in kinds if get_origin(literal) is Literal), str)


def _typed(parameter: inspect.Parameter, described: str) -> inspect.Parameter:
    """A parameter as typer reads it: an argument if Python takes it by place, else an option."""
    mark, kind = _mark(parameter), _kind(parameter.annotation)
    help_text = described if mark.help is None else mark.help
    keyword, default = inspect.Parameter.KEYWORD_ONLY, parameter.default if mark.default is None else mark.default
    if parameter.kind is parameter.VAR_POSITIONAL:
        how: Any = typer.Argument(help=help_text, autocompletion=_complete if mark.recipes else None)
        needed = mark.least == 1
        annotation: Any = Annotated[list[str], how] if needed else Annotated[list[str] | None, how]
        return parameter.replace(kind=keyword, default=parameter.empty if needed else None, annotation=annotation)
    if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
        how = typer.Argument(help=help_text, autocompletion=_complete if mark.recipes else None)
    else:
        names = mark.names or (f"--{parameter.name.replace('_', '-')}",)
        how = typer.Option(*names, help=help_text, min=mark.least)
    if default is None:
        kind = kind | None
    return parameter.replace(kind=keyword, default=default, annotation=Annotated[kind, how])


def read_typed(parameter: inspect.Parameter, typed: Any) -> Any:
    """What was typed for a parameter as its type, or the default.

    Raises ValueError for another type, and LookupError without a parameter that is needed.
    """
    if isinstance(typed, bool):
        return typed
    if not isinstance(typed, str | list | tuple) or typed == ():
        if parameter.default is parameter.empty:
            raise LookupError
        return parameter.default
    kind, least = _kind(parameter.annotation), get_args(parameter.annotation)[1].min
    if get_origin(kind) is Literal and typed not in get_args(kind):
        raise ValueError(f"{typed!r} is not one of {', '.join(map(repr, get_args(kind)))}.")
    if kind not in (int, float):
        return Path(str(typed)) if kind is Path else typed
    try:
        number = kind(typed)
    except ValueError:
        raise ValueError(f"{typed!r} is not a valid {'integer' if kind is int else 'number'}") from None
    if least is not None and not number >= least:
        raise ValueError(f"Input should be greater than or equal to {least:g}")
    return number


def _described(function: Callable[..., Any]) -> dict[str, str]:
    """What the docstring says of each argument."""
    texts = dict[str, str]()
    section = re.search(r"\n *Args:\n(.*?)(?:\n\n|\Z)", inspect.getdoc(function) or "", re.DOTALL)
    name = ""
    for line in section[1].splitlines() if section else ():
        if begins := re.match(r" {4}\*{0,2}(\w+): (.*)", line):
            name = begins[1]
            texts[name] = begins[2]
        else:
            texts[name] += f" {line.strip()}"
    return {name: text.replace("`", "") for name, text in texts.items()}


def _split(words: list[str]) -> tuple[list[str], dict[str, Any]]:
    from finetune.training.targets import split_arguments

    return split_arguments(words)


def _complete(incomplete: str) -> list[str]:
    from finetune.runs.recipe import setting_fields
    from finetune.runs.settings import recipe_files

    names = (*recipe_files(), *(f"{key}=" for key in setting_fields()))
    return [name for name in names if name.startswith(incomplete)]
