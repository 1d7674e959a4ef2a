"""The command line. A command's module is imported only when it is called, so that `--help` is instant."""

import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from finetune.cli.terminal import echo, first_process, print_error
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
    "init": "Print a recipe for your data: `finetune init data.csv > my.toml`.",
    "ls": "List recipes, tasks and runs.",
    "show": "Show a recipe with all its settings, or a run with its scores and predictions.",
    "report": "Write an HTML report of runs: scores, curves, errors: `finetune report RUN -o report.html`.",
    "cp": "Copy a recipe to edit.",
    "check": "Check data or a recipe before training: `finetune check reviews.csv --fix fixed.csv`.",
}
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
    """Runs the command line; a UserError is one line on standard error and exit code 2."""
    try:
        with interrupts.raised():
            app()
    except UserError as error:
        print_error(error)
        sys.exit(2)
    except interrupts.Interrupted as stopped:
        if first_process():
            echo(f"{stopped}: the same command {'resumes' if stopped.where else 'can be repeated'}", err=True)
        sys.exit(stopped.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python prints an error at exit
        sys.exit(1)
