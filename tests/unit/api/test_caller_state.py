"""What a program has set in torch, or does in threads, neither changes a run nor is changed by it."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from support.runs import REVIEWS

import finetune
from finetune.data.checksums import sha256_of

FRAME = pd.DataFrame(REVIEWS, columns=["review", "mark"])
TEXTS = list(FRAME["review"][:5])
TRAIN = {"epochs": 1, "batch_size": 8, "precision": "fp32"}


@contextmanager
def double() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@contextmanager
def exact() -> Iterator[None]:
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("medium")
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")


STATES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "no grad": torch.no_grad,
    "inference mode": torch.inference_mode,
    "float64": double,
    "another device": lambda: torch.device("meta"),
    "exact": exact,
    "numpy raises": lambda: np.errstate(all="raise"),
}


@pytest.fixture
def trained(tiny_bert: Path, tmp_path: Path) -> Callable[..., finetune.Run]:
    def train(out: str, **settings: Any) -> finetune.Run:
        given = {"max_length": 16, "device": "cpu", "train": TRAIN, "model": str(tiny_bert)} | settings
        return finetune.run(FRAME, out=tmp_path / out, **given)

    return train


def result(run: finetune.Run) -> tuple[Any, ...]:
    """All that a run decides: id, scores, weights."""
    return run.id, run.record.scores, sha256_of(run.folder / "model" / "model.safetensors")


def state() -> list[Any]:
    """What a program may have set, as texts."""
    return [
        *(torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled()),
        *(torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"), torch.get_num_threads()),
        *(torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(), np.geterr()),
        *(torch.random.default_generator.get_state().tolist(), str(np.random.get_state()), random.getstate()),
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("name", STATES)
def test_a_run_neither_takes_nor_changes_the_callers_state(name: str, trained: Callable[..., finetune.Run]) -> None:
    plain = trained("plain")
    expected = plain.model.predict(TEXTS)
    with STATES[name]():
        before = state()
        run = trained("polluted")
        found = run.model.predict(TEXTS)
        one = run.model(TEXTS[0]).value
        assert state() == before
    assert result(run) == result(plain)
    if name != "exact":  # how precisely a program's own predictions multiply is what it has set
        assert found == expected
    assert one == expected[0]["prediction"]


def test_half_precision_within_the_callers_autocast(trained: Callable[..., finetune.Run]) -> None:
    half = TRAIN | {"precision": "bf16"}
    plain = trained("plain", train=half)
    with torch.autocast("cpu", torch.bfloat16), torch.autocast("cpu", torch.bfloat16):
        run = trained("polluted", train=half)
        assert torch.autocast_decrement_nesting() == 1
        torch.autocast_increment_nesting()
    assert result(run) == result(plain)


def test_what_a_callback_sets_in_torch_holds_until_it_returns(trained: Callable[..., finetune.Run]) -> None:
    plain, called = trained("plain"), []

    def sets(event: Any) -> None:
        called.append(event)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.use_deterministic_algorithms(True)

    before = state()
    run = trained("set", callbacks=sets)
    assert called
    assert (result(run), state()) == (result(plain), before)


@pytest.mark.nightly
def test_trainings_in_threads_are_those_of_one_after_the_other(trained: Callable[..., finetune.Run]) -> None:
    alone = [result(trained("alone", seed=seed)) for seed in (1, 2)]
    with ThreadPoolExecutor() as threads:
        together = list(threads.map(lambda seed: result(trained("together", seed=seed)), (1, 2)))
    assert together == alone
