"""Signals as the command line handles them."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from finetune.runs import process


@contextmanager
def installed() -> Iterator[None]:
    """The handlers of the command line."""
    before, hook = [(number, signal.getsignal(number)) for number in process.SIGNALS], sys.unraisablehook
    try:
        process.install()
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before:
            signal.signal(number, handler)
