"""Batches are made while a GPU computes the one before, in memory from which it copies by itself."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from support.toys import cat_task
from support.training import PLAIN, build

from finetune.inference import engine as engines
from finetune.inference.engine import Engine
from finetune.models import batch as batches
from finetune.models.batch import Batch


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The tensors that were pinned; without a GPU torch has no such memory."""
    found = list[torch.Tensor]()

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor.clone()

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    return found


def test_the_next_batch_is_made_before_logits_are_waited_for(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, features = build(cat_task(), tiny_bert, PLAIN)
    whole = trainer.engine.logits(features)
    seen = list[str]()

    def noted(name: str, letter: str) -> None:
        before = getattr(Engine, name)

        def method(*given: Any) -> Any:
            seen.append(letter)
            return before(*given)

        monkeypatch.setattr(Engine, name, method)

    for name, letter in (("_collated", "made"), ("_reader_of", "started"), ("_unpadded", "read")):
        noted(name, letter)
    monkeypatch.setitem(engines.BATCH_TOKENS, "cpu", 200)
    parts = trainer.engine.logits(features)
    count = seen.count("made")
    assert count > 2
    assert seen == ["made", *["started", "made", "read"] * (count - 1), "started", "read"]
    np.testing.assert_allclose(parts, whole, atol=1e-5)


def test_batches_for_a_gpu_are_pinned_and_others_are_not(tiny_bert: Path, pinned: list[torch.Tensor]) -> None:
    trainer, features = build(cat_task(), tiny_bert, PLAIN)
    plain = trainer.engine.batch(features[:8])
    assert not pinned
    device = SimpleNamespace(device=torch.device("cuda"))
    engine = Engine(model=trainer.model, accelerator=device, pad_id=trainer.engine.pad_id, watch=print)  # type: ignore[arg-type]
    found = engine._collated(features[:8]).by_name()
    assert len(pinned) == len(found) == len(plain.by_name())
    width = plain.attention_mask.shape[1]
    assert torch.equal(found["input_ids"][:, :width], plain.by_name()["input_ids"])


def test_large_tensors_are_not_pinned(pinned: list[torch.Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_PINNED", 1_000)
    mask, states = torch.ones(2, 3), torch.ones(2, 3, 2, 64)
    found = Batch(input_ids=None, attention_mask=mask, states=states).pinned()
    assert [each is mask for each in pinned] == [True]
    assert found.states is states
