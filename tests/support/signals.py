"""Signals as the command line handles them."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from finetune.runs import interrupts


@contextmanager
def installed() -> Iterator[None]:
    """The handlers of the command line."""
    before, hook = [(number, signal.getsignal(number)) for number in interrupts.SIGNALS], sys.unraisablehook
    try:
        interrupts.install()
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before:
            signal.signal(number, handler)
