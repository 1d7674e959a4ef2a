"""The command line: commands by name, of which a module is imported when it is called, so that `--help` is instant."""

import os
import sys
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from finetune.cli.terminal import echo, print_error
from finetune.errors import UserError

COMMANDS = {  # name: help
    "run": "Train, score and save: `finetune run glue-mrpc model=minilm train.learning_rate=2e-4`.",
    "evaluate": "Score a fine-tuned checkpoint without training: `finetune evaluate RUN mrpc`.",
    "score": "Score a file of answers, without a model: `finetune score squad-v1 predictions.json`.",
    "compare": "Whether a difference is more than chance: `finetune compare RUN RUN`.",
    "table": "Show our scores next to the published ones, from records alone: `finetune table glue`.",
    "features": "Write an encoder's hidden states of texts: `finetune features minilm a.csv --pool mean -o a.npz`.",
    "submission": "Predict GLUE's test sets for its server: `finetune submission mrpc ... -o glue.zip`.",
    "predict": "Answer every row of a file: `finetune predict RUN new.csv -o out.csv`.",
    "init": "Print a first recipe for your data: `finetune init data.csv > my.toml`.",
    "ls": "List recipes, tasks and runs.",
    "show": "Show a recipe with all its settings, or a run with its scores and predictions.",
    "report": "Write an HTML page about runs: scores, curves, mistakes: `finetune report RUN -o report.html`.",
    "cp": "Copy a recipe to edit.",
    "check": "Check what a run would use, or what is wrong with data: `finetune check reviews.csv --fix fixed.csv`.",
}
RECIPES = ("init", "ls", "show", "cp")  # the commands of recipes.py; each of the others has a file of its name


class OnDemand(TyperCommand):
    """A command of which the name and the help are known; its module is imported when it is called."""

    def make_context(self, *given: Any, **extra: Any) -> Any:
        """The context of the real command, which is then what runs."""
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
    """Runs the command line; a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except UserError as error:
        print_error(error)
        sys.exit(2)
    except SystemExit as ended:
        if ended.code == 130:  # what typer makes of a keyboard interrupt
            echo("interrupted; the same command, without --force, resumes where it stopped", err=True)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at exit
        sys.exit(1)
