"""How long a command takes to start."""

import os

from support.cli import Finetune


def test_help_is_instant(finetune: Finetune) -> None:
    """In seconds of the processor, which other work on the machine does not lengthen."""
    seconds = []
    for _ in range(5):
        before = os.times()
        assert "evaluate" in finetune("--help").stdout
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert min(seconds) < 0.3
