"""Calls from Python: nothing is printed that was not asked for."""

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def without_hints() -> Iterator[None]:
    """Silences the warning of tqdm, when it is first imported in a notebook, that its bars need another package."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="IProgress not found")
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Imports transformers, and silences progress bars and warnings, its own and the Hub client's, until the end.

    Then they are restored, and so is the state of torch, numpy and Python (`isolated_torch_state`).
    """
    with without_hints():
        from finetune.models.caller_state import isolated_torch_state  # first: without torch, transformers would print

        from huggingface_hub.utils import logging as hub  # isort: skip
        from transformers.utils import logging  # isort: skip

    with isolated_torch_state(), _silent(logging, hub):
        yield


def quiet_for(model: str | Path) -> AbstractContextManager[None]:
    """`quiet` for what is done with a model: with an export, whose engine has no such state and imports neither torch
    nor transformers, only numpy's.
    """
    from finetune.inference.export_facts import is_export
    from finetune.models.feature import default_numpy_errors

    return default_numpy_errors() if is_export(model) else quiet()


@contextmanager
def _silent(logging: Any, hub: Any) -> Iterator[None]:
    bars, verbosity, of_hub = logging.is_progress_bar_enabled(), logging.get_verbosity(), hub.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    hub.set_verbosity_error()
    try:
        yield
    finally:
        if bars:
            logging.enable_progress_bar()
        logging.set_verbosity(verbosity)
        hub.set_verbosity(of_hub)
