"""Calls from Python: errors and Ctrl-C reach the caller plainly."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

from finetune.errors import UserError, without_training
from finetune.runs.process import Interrupted, installed

P = ParamSpec("P")
T = TypeVar("T")


def plainly(function: Callable[P, T]) -> Callable[P, T]:
    """A function of the API: a UserError comes without the errors that led to it, Interrupted as KeyboardInterrupt."""

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except UserError as error:
            raise error.with_traceback(None) from None
        except ModuleNotFoundError as error:
            if lacking := without_training(error):
                raise lacking from None
            raise
        except Interrupted as stopped:
            if installed():  # by the command line, which says where it stopped
                raise
            raise KeyboardInterrupt(f"{stopped}: the same call resumes") from None

    return called


def command(name: str) -> Any:
    """The module of that command's function, imported when a method needs it."""
    return import_module(f"finetune.commands.{name}")
