"""What makes a CPU faster, and what bounds its memory."""

import os
from pathlib import Path

import pytest
import torch
from transformers import AutoModel

from finetune.models.kernels import attention as kernel
from finetune.models.kernels import cpu


def test_little_compiled_code_is_kept_unless_the_environment_says_otherwise(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited, chosen = cpu.COMPILED
    monkeypatch.delenv(limited, raising=False)
    monkeypatch.setenv(chosen, "7")
    encoder = AutoModel.from_pretrained(tiny_bert)
    cpu.speed_up(encoder, encoder)
    assert int(os.environ[limited]) <= 64
    assert os.environ[chosen] == "7"


def test_attention_over_long_texts_is_the_same_without_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 2, 9, 4)
    mask = torch.zeros(2, 1, 9, 9).masked_fill(torch.rand(2, 1, 1, 9) < 0.3, torch.finfo(torch.float32).min)
    expected, _ = kernel.attention(torch.nn.Identity(), query, key, value, mask, scaling=0.5)
    monkeypatch.setattr(kernel, "MOST_IN_TWO", 8)
    monkeypatch.setattr(torch, "softmax", None)
    found, _ = kernel.attention(torch.nn.Identity(), query, key, value, mask, scaling=0.5)
    assert torch.allclose(found, expected, atol=1e-6)
    mask[0] = torch.finfo(torch.float32).min  # padding that reads padding
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = kernel.attention(torch.nn.Identity(), query, key, value, mask, scaling=0.5)
    assert found.isfinite().all()
    assert torch.allclose(found[1].float(), expected[1], atol=0.05)
