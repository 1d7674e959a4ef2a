"""Callbacks: functions or objects of the user that receive the events of a run (`finetune.runs.events`)."""

import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

from finetune.api.progress import progress_of
from finetune.errors import UserError, first_line, nearest, shown_value
from finetune.runs.events import Event, Watcher

Callback = Callable[[Event], Any] | object
METHODS = {f"on_{re.sub('(?<!^)(?=[A-Z])', '_', kind.__name__).lower()}": kind for kind in Event.__subclasses__()}
BY_KIND = {kind: name for name, kind in METHODS.items()}


class CallbackFailed(UserWarning):
    """A callback raised an exception; it is not called again, and the run continues without it."""


def watcher_of(progress: bool | None, callbacks: Iterable[Callback] | Callback) -> Watcher:
    """A watcher that shows progress, if that is wanted (`progress_of`), and passes each event to all callbacks.

    A callback is a function of an event, or an object with methods such as `on_epoch_done`. One that raises an
    exception is reported by a warning and not called again. Raises UserError for an object without such methods.
    """
    several = callbacks if isinstance(callbacks, Iterable) and not callable(callbacks) else [callbacks]
    display, active = progress_of(progress), [_function_of(callback) for callback in several]
    if active:
        from finetune.models.caller_state import state_restored_after

    def watch(event: Event) -> None:
        display(event)
        for function in list(active):
            try:
                with chdir(Path.cwd()), state_restored_after():  # a run's paths may be relative
                    function(event)
            except Exception as error:  # whatever the user's code raises
                active.remove(function)
                what = f"a callback failed at the event '{event.name}' ({first_line(error)})"
                warnings.warn(f"{what}: the run continues without it", CallbackFailed, stacklevel=2)

    return watch


def _function_of(callback: Callback) -> Watcher:
    """One function for a callback. Raises UserError for an unknown `on_` method, and for an object without any."""
    named = [name for name in dir(callback) if name.startswith("on_")]
    if unknown := [name for name in named if name not in METHODS]:
        methods = ", ".join(METHODS)
        raise UserError(
            f"the callback {shown_value(callback)} has a method {unknown[0]}, which no event calls",
            f"{nearest(unknown[0], list(METHODS))}The methods are {methods}",
        )
    if named:
        return partial(_call_method, callback)
    if not callable(callback):
        raise UserError(
            f"the callback {shown_value(callback)} is neither a function nor an object with methods for events",
            f"Pass a function of an event, or an object with {', '.join(METHODS)}",
        )
    return callback


def _call_method(callback: object, event: Event) -> None:
    if (name := BY_KIND.get(type(event), "")) and hasattr(callback, name):
        getattr(callback, name)(event)
