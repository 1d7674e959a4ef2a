"""Devices: what torch is asked for."""

from collections.abc import Iterator

import pytest
import torch

from finetune.models.device import set_deterministic


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    set_deterministic(False)


def test_deterministic_refuses_what_may_differ_from_run_to_run() -> None:
    set_deterministic(True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.backends.cudnn.deterministic
    set_deterministic(False)
    assert not torch.are_deterministic_algorithms_enabled()
