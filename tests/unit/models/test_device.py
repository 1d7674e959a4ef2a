"""Devices: what torch is asked for."""

from collections.abc import Iterator

import pytest
import torch

from finetune.errors import UserError
from finetune.models.device import build_accelerator, resolve_precision, set_deterministic


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


@pytest.mark.parametrize(("isa", "precision"), [("", "bf16"), ("AVX512_CORE_AMX", "bf16"), ("avx2", "fp32")])
def test_bf16_is_native_where_onednn_may_use_it(isa: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", isa)
    assert resolve_precision("auto", torch.device("cpu")) == precision


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RANK": "x"}, "RANK is 'x'"),
        ({"RANK": "0", "WORLD_SIZE": "two"}, "WORLD_SIZE is 'two'"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "not MASTER_ADDR and MASTER_PORT"),
        ({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}, "not MASTER_PORT"),
    ],
)
def test_half_of_what_a_launcher_sets_is_one_error(
    variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=words):
        build_accelerator(torch.device("cpu"), "fp32")
