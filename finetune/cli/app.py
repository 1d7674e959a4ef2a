"""The command line. A command's module is imported only when it is called, so that `--help` is instant."""

import io
import os
import sys
import traceback
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from finetune.cli.terminal import echo, first_process, print_error, print_warnings
from finetune.errors import UserError
from finetune.runs import interrupts

COMMANDS = {  # name: help
    "run": "Train, score and save: `finetune run glue-mrpc model=minilm train.learning_rate=2e-4`.",
    "evaluate": "Score a fine-tuned checkpoint without training: `finetune evaluate RUN mrpc`.",
    "score": "Score a file of predictions, without a model: `finetune score squad-v1 predictions.json`.",
    "compare": "Test whether two runs differ significantly: `finetune compare RUN RUN`.",
    "table": "Compare scores of finished runs with published ones: `finetune table glue`.",
    "features": "Extract embeddings: `finetune features minilm a.csv --pool mean -o a.npz`.",
    "submission": "Predict the GLUE test sets for the GLUE server: `finetune submission mrpc ... -o glue.zip`.",
    "predict": "Predict every row of a file: `finetune predict RUN new.csv -o out.csv`.",
    "explain": 'Show what each word adds to a prediction: `finetune explain RUN "a good film"`.',
    "view": 'Write a page that shows the inside of an encoder: `finetune view minilm "a text" "another"`.',
    "init": "Print a recipe for your data: `finetune init data.csv > my.toml`.",
    "ls": "List recipes, tasks and runs.",
    "show": "Show a recipe with all its settings, or a run with its scores and predictions.",
    "report": "Write an HTML report of runs: scores, curves, errors: `finetune report RUN -o report.html`.",
    "cp": "Copy a recipe to edit.",
    "check": "Check data or a recipe before training: `finetune check reviews.csv --fix fixed.csv`.",
}
UsageError: Any = typer.BadParameter.__mro__[
    2
]  # click's error of any kind, of which newer versions of typer have their own
RECIPES = ("init", "ls", "show", "cp")  # the commands of recipes.py; every other has a module of its name


class OnDemand(TyperCommand):
    """A command with a name and help, whose module is imported when it is called."""

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """The context of the real command, which then runs."""
        assert self.name is not None
        module = import_module(f"finetune.cli.{'recipes' if self.name in RECIPES else self.name}")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(help=self.help)(getattr(module, self.name))
        return typer.main.get_command(alone).make_context(*given, **extra)


class Commands(TyperGroup):
    """All commands, on demand."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: OnDemand(name, help=what) for name, what in COMMANDS.items()}


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def finetune() -> None:
    """Fine-tune BERT-family encoders: one command from a task to a model, its scores and every prediction."""


def main() -> None:
    """Runs the command line; an error that the user can fix is one line on standard error and exit code 2."""
    print_warnings()
    interrupts.install()
    try:
        _require_utf_8(sys.argv[1:])
        code = app(standalone_mode=False)
        interrupts.ignore()
        sys.exit(code)
    except UserError as error:
        print_error(error)
        sys.exit(2)
    except UsageError as error:
        _print_usage_error(error)
        sys.exit(error.exit_code)
    except typer.Abort:
        echo("aborted", err=True)
        sys.exit(1)
    except interrupts.Interrupted as stopped:
        _exit_stopped(stopped)
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:  # of a file that no code below expects to fail
        if error.filename is None:  # standard output, if it is a file on a full disk
            _discard_output()
        print_error(_in_words(error))
        sys.exit(2)
    except Exception:
        if stopped_by := interrupts.stopped_by():
            _exit_stopped(stopped_by)
        echo(traceback.format_exc(), err=True)  # a fault of ours, whose text may hold control characters too
        sys.exit(1)


def _exit_stopped(stopped: interrupts.Interrupted) -> NoReturn:
    """Says at which point a signal stopped the command."""
    if first_process():
        echo(f"{stopped}: the same command {'resumes' if stopped.where else 'can be repeated'}", err=True)
    sys.exit(stopped.exit_code)


def _require_utf_8(arguments: list[str]) -> None:
    """Raises UserError for an argument that could not be written to a record or printed."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"the argument '{argument}' is not UTF-8", "Rename the file that it names") from None


def _print_usage_error(error: Any) -> None:
    """Prints what typer says of wrong options, and how to call the command."""
    shown = io.StringIO()
    error.show(file=shown)
    echo(shown.getvalue(), err=True, nl=False)


def _in_words(error: OSError) -> UserError:
    place = "an output cannot be written" if error.filename is None else error.filename
    return UserError(f"{place}: {error.strerror or error}", "Check the name, its permissions and the free space")


def _discard_output() -> None:
    """Lets what is left of standard output go nowhere, else Python prints an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
