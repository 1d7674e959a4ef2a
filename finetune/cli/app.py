"""The command line. A command's module is imported only when it is called, so that `--help` is instant."""

import inspect
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from finetune.cli.door import command_line, read_typed, takes_settings
from finetune.cli.options import set_options
from finetune.cli.terminal import echo, flowed, let_first_print, print_error, print_warnings, say
from finetune.commands import COMMANDS, FIRST, GROUPS
from finetune.errors import UserError, nearest, without_training
from finetune.gone import gone
from finetune.runs import process
from finetune.runs.process import first_process

# click's error of any kind, of which newer versions of typer have their own
UsageError: Any = typer.BadParameter.__mro__[2]


class OnDemand(TyperCommand):
    """A command with a name and help, whose module is imported when it is called."""

    def make_context(self, info_name: str | None, args: list[str], *positional: Any, **extra: Any) -> Any:
        """The context of the real command, which then runs."""
        assert self.name is not None
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        function = command_line(self.name)
        alone.command(cls=WithExamples, help=self.help)(function)
        command: Any = typer.main.get_command(alone)
        command.name, command.typed = self.name, inspect.signature(function).parameters
        set_options(option for parameter in command.params for option in parameter.opts)
        return command.make_context(info_name, args, *positional, **extra)


class WithExamples(TyperCommand):
    """A command whose help begins with the settings that most users need, and ends with its examples."""

    typed: Mapping[str, inspect.Parameter]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads what was typed; typer would import pydantic for that, which takes longer than most commands."""
        values, left, _ = self.make_parser(ctx).parse_args(args=list(args))
        if ctx.resilient_parsing or any(option.is_eager and option.name in values for option in self.get_params(ctx)):
            return super().parse_args(ctx, args)
        parameter: Any
        for parameter in self.params:
            try:
                ctx.params[parameter.name] = read_typed(self.typed[parameter.name], values.get(parameter.name))
            except LookupError:
                name = parameter.name if parameter.param_type_name == "argument" else "' / '".join(parameter.opts)
                ctx.fail(f"Missing {parameter.param_type_name} '{name}'.")
            except ValueError as error:
                raise typer.BadParameter(str(error), ctx=ctx, param=parameter) from None
        if left:
            ctx.fail(f"Got unexpected extra argument(s) ({' '.join(left)})")
        return left

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes settings, then arguments and options."""
        if settings := COMMANDS[ctx.info_name].settings:
            with formatter.section("Settings (`finetune init DATA`: all)"):
                formatter.write_dl(settings)
        super().format_options(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the examples."""
        with formatter.section("Examples"):
            formatter.write(_example_lines(COMMANDS[ctx.info_name].examples, formatter.width))


class Commands(TyperGroup):
    """All commands, on demand, in groups."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the options before a command."""
        for option in self.get_params(ctx):
            if option.default is None:  # of a flag that typer adds, as --help: it would import pydantic to read it
                option.default = False
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> OnDemand | None:
        """The command of that name."""
        return OnDemand(cmd_name, help=COMMANDS[cmd_name].help) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands of each group."""
        width = max(map(len, COMMANDS))
        for group, members in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(f"{name:<{width}}", member.help) for name, member in members.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the first examples, and where there are more."""
        with formatter.section("Examples"):
            formatter.write(_example_lines(FIRST, formatter.width))
        last = "`finetune COMMAND --help` has options and examples of each command."
        formatter.write(f"\n{flowed(last, formatter.width)}\n")

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the first argument. Raises UserError with the nearest name if there is none."""
        name = args[0]
        if name in COMMANDS or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if name.startswith("-"):
            raise _unknown_option(name, ctx)
        if taken_out := gone(name):
            raise taken_out
        if Path(name).exists():
            raise UserError(f"'{name}' is a file, not a command", f"`finetune run {name}` trains on it")
        meant = next((ours for ours, listed in COMMANDS.items() if name in listed.also), "")
        near = f"Did you mean '{meant}'? " if meant else nearest(name, list(COMMANDS))
        remedy = f"{near}`finetune --help` lists the commands"
        raise UserError(f"there is no command '{name}'", remedy)


def _example_lines(examples: Sequence[tuple[str, str]], width: int) -> str:
    typed_width = max(len(typed) for typed, _ in examples)
    fits = all(typed_width + 4 + len(does) <= width for _, does in examples)
    return "".join(
        f"  {typed:<{typed_width}}  {does}\n" if fits else f"  {typed}\n      {does}\n" for typed, does in examples
    )


app = typer.Typer(cls=Commands, invoke_without_command=True, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def finetune(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show versions and the device, and exit.")] = False,
) -> None:
    """Fine-tune BERT-family encoders: one command from a task to a model, its scores and every prediction."""
    if version:
        from finetune.cli.version import version_lines

        say(version_lines())
    elif ctx.invoked_subcommand is None:
        echo(ctx.get_help())


def main() -> None:
    """Runs the command line; an error that the user can fix is one line on standard error and exit code 2."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # it would search all that is installed for them
    print_warnings()
    process.install()
    try:
        _require_docstrings()
        _require_alone()
        _require_utf_8(sys.argv[1:])
        code = app(standalone_mode=False)
        process.ignore()
        sys.exit(code)
    except UserError as error:
        let_first_print()
        print_error(error)
        sys.exit(2)
    except UsageError as error:
        print_error(_as_user_error(error))
        sys.exit(error.exit_code)
    except typer.Abort:
        say("aborted", err=True)
        sys.exit(1)
    except process.Interrupted as stopped:
        _exit_stopped(stopped)
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:  # of a file that no code below expects to fail
        if error.filename is None:  # standard output, if it is a file on a full disk
            _discard_output()
        print_error(_in_words(error))
        sys.exit(2)
    except MemoryError:
        print_error(UserError("the memory ran out", "Close other programs, or use fewer rows or a smaller batch"))
        sys.exit(2)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (lacking := without_training(error)):
            print_error(lacking)
            sys.exit(2)
        if stopped_by := process.stopped_by():
            _exit_stopped(stopped_by)
        echo(traceback.format_exc(), err=True)  # a fault of ours, whose text may hold control characters too
        sys.exit(1)


def _require_docstrings() -> None:
    """Raises UserError under `python -OO`, where importing transformers fails."""
    if sys.flags.optimize > 1:
        raise UserError("Python runs with -OO, without the docstrings that transformers reads", "Use -O, or neither")


def _require_alone() -> None:
    """Raises UserError where the other project whose package is `finetune` is installed too: files of one replace those
    of the other. Folders are listed, since importlib.metadata takes longer to import.
    """
    for folder in map(Path, sys.path):
        if other := next(folder.glob("finetune-*.dist-info"), None):
            raise UserError(
                f"{other}: another project is installed, whose package is called finetune too, so files are mixed up",
                "pip uninstall finetune, then pip install --force-reinstall --no-deps bert-finetune",
            )


def _exit_stopped(stopped: process.Interrupted) -> NoReturn:
    if first_process():
        say(f"{stopped}: the same command {'resumes' if stopped.where else 'can be repeated'}", err=True)
    sys.exit(stopped.exit_code)


def _require_utf_8(arguments: list[str]) -> None:
    """Raises UserError for an argument that could not be written to a record or printed."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"the argument '{argument}' is not UTF-8", "Rename the file that it names") from None


def _as_user_error(error: Any) -> UserError:
    """What typer says of wrong options in one line, with the nearest option and how to see the others."""
    if hasattr(error, "possibilities") and error.ctx is not None:
        return _unknown_option(error.option_name, error.ctx)
    what = str(error.format_message()).strip().rstrip(".").replace("\n", " ").replace("Value error, ", "")
    return UserError(what, f"`{_path(error.ctx)} --help` shows how to call it")


def _unknown_option(name: str, ctx: Any) -> UserError:
    option = name.partition("=")[0]
    if taken_out := gone(option) or gone(f"{ctx.info_name} {option}"):
        return taken_out
    options = [option for parameter in ctx.command.params for option in parameter.opts if option.startswith("--")]
    setting = _as_setting(name) if ctx.info_name in COMMANDS and takes_settings(ctx.info_name) else ""
    near = setting if f" {_key(name)}=VALUE" in setting else _near_option(name, options) or setting
    return UserError(f"there is no option '{name}'", f"{near}`{_path(ctx)} --help` lists the options")


def _near_option(name: str, options: list[str]) -> str:
    """`Did you mean '--out'? `: compared without the dashes, which all options share."""
    near = nearest(name.lstrip("-"), [option.lstrip("-") for option in options])
    return re.sub("'([^']+)'", r"'--\1'", near)


def _as_setting(name: str) -> str:
    """`Did you mean train.epochs=VALUE? ` for an option that is a setting of a recipe, or of the user's data."""
    from finetune.runs.resolve import nearest_key
    from finetune.task_types.columns import OPTIONS

    return re.sub("'([^']+)'", r"\1=VALUE", nearest_key(_key(name), [*OPTIONS]))


def _key(option: str) -> str:
    return option.lstrip("-").partition("=")[0].replace("-", "_")


def _path(ctx: Any) -> str:
    return "finetune" if ctx is None or ctx.parent is None else f"finetune {ctx.info_name}"


def _in_words(error: OSError) -> UserError:
    place = "an output cannot be written" if error.filename is None else error.filename
    return UserError(f"{place}: {error.strerror or error}", "Check the name, its permissions and the free space")


def _discard_output() -> None:
    """Sends the rest of standard output to /dev/null; else Python prints an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
