"""Pretrained weights."""

from pathlib import Path

import pytest
from huggingface_hub import DryRunFileInfo

from finetune.errors import UserError
from finetune.models.pretrained import MINILM_SHA256, resolve


def test_weights_that_were_tampered_with_are_refused(minilm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finetune.models.pretrained.MINILM_SHA256", MINILM_SHA256[::-1])
    with pytest.raises(Exception, match=f"its sha256 is {MINILM_SHA256}, not the published"):
        resolve("minilm")


@pytest.mark.parametrize(
    ("size", "cached", "refused"), [(10**6, False, False), (10**12, True, False), (10**12, False, True)]
)
def test_a_repository_that_does_not_fit_is_refused_before_it_is_fetched(
    size: int, cached: bool, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []

    def fetch(name: str, *, dry_run: bool = False, **_: object) -> object:
        fetched.append(dry_run)
        file = DryRunFileInfo(
            commit_hash="c", file_size=size, filename="model.safetensors", local_path="", is_cached=cached,
            will_download=not cached,
        )  # fmt: skip
        return [file] if dry_run else str(tmp_path)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    with pytest.raises(UserError, match=r"1,000\.0 GB.*smaller encoder" if refused else "lacks config.json"):
        resolve("somebody/model")
    assert fetched == ([True] if refused else [True, False])


def test_what_transformers_loads_is_the_name_or_where_minilm_is(minilm: Path, tiny_bert: Path) -> None:
    assert resolve("minilm").loadable == str(minilm)
    assert resolve(str(tiny_bert)).loadable == str(tiny_bert)
