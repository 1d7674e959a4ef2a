"""Pretrained weights."""

from pathlib import Path

import pytest

from finetune.models.pretrained import MINILM_SHA256, resolve


def test_weights_that_were_tampered_with_are_refused(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finetune.models.pretrained.MINILM_SHA256", MINILM_SHA256[::-1])
    with pytest.raises(Exception, match=f"its sha256 is {MINILM_SHA256}, not the published"):
        resolve("minilm")
