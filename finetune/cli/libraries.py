"""Imports torch and transformers, which takes seconds, with a message."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from finetune.cli.terminal import say
from finetune.runs import process
from finetune.runs.process import first_process


def load_libraries(doing: str = "") -> None:
    """Imports the libraries, after printing `doing` on standard error.

    Silences progress bars and warnings of transformers and the Hub client.
    """
    if doing and first_process() and "torch" not in sys.modules:
        say(doing, err=True)
    with process.held(), _uncollected():
        import torch  # noqa: F401 - first: where it is absent, the error is one line, and transformers prints nothing
        import transformers.masking_utils  # with torch's compiler; and the rest that every model needs
        import transformers.modeling_utils
        from huggingface_hub.utils import logging

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Imports without the garbage collector, which would look through all of their objects again and again: a quarter
    of the time. What was imported stays, so that it need not be looked through later either, nor for a second at exit.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was:
            gc.enable()
