"""Signals that become exceptions, wherever they arrive."""

import os
import signal
import time

import pytest
from support.signals import installed

from finetune.runs import process


def test_a_signal_during_imports_is_held_back_until_their_end() -> None:
    """C code would turn the exception into an ImportError, which optional imports swallow."""
    done = False
    with pytest.raises(process.Interrupted) as stopped, installed(), process.held():
        os.kill(os.getpid(), signal.SIGTERM)
        done = True
    assert (done, stopped.value.exit_code) == (True, 143)
    assert process.stopped_by() is None


def test_an_exception_that_other_code_made_of_a_signal_is_known_for_one() -> None:
    with installed():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except process.Interrupted as error:
            with pytest.raises(ImportError):
                raise ImportError("initialization failed") from error
        stopped = process.stopped_by()
    assert stopped is not None
    assert stopped.exit_code == 130


def test_a_command_that_only_exits_is_not_killed_any_more() -> None:
    with installed():
        process.ignore()
        os.kill(os.getpid(), signal.SIGTERM)


class Signalled:
    """Sends this process a signal when it is collected, where Python ignores exceptions."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


def test_a_signal_in_a_finalizer_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(process.Interrupted) as stopped, installed():
        Signalled()
        time.sleep(10)
    assert stopped.value.exit_code == 143
    assert capsys.readouterr().err == ""
