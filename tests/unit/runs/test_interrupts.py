"""Signals that become exceptions, wherever they arrive."""

import os
import signal
import time

import pytest

from finetune.runs import interrupts


class Signalled:
    """Sends this process a signal when it is collected, where Python ignores exceptions."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


def test_a_signal_in_a_finalizer_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(interrupts.Interrupted) as stopped, interrupts.raised():
        Signalled()
        time.sleep(10)
    assert stopped.value.exit_code == 143
    assert capsys.readouterr().err == ""
