"""What makes a CPU faster, and what bounds its memory."""

import os
from pathlib import Path

import pytest
from transformers import AutoModel

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
