"""Encoders in the files in which they are published: taken from a folder, and computed as transformers does."""

from pathlib import Path

import pytest
import torch
from support.published import KOBERTS, PUBLISHED, TEXTS

from finetune.models.model_folder import load_encoder
from finetune.models.pretrained import resolve
from finetune.models.tokenizers.load import load_fast_tokenizer, load_tokenizer


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_folder_is_read(name: str, tmp_path: Path) -> None:
    published, folder = PUBLISHED[name], tmp_path / name
    published.write(folder)
    found = resolve(str(folder))
    tokenizer = load_tokenizer(found.folder)
    encoder, new = load_encoder(found.folder)
    assert not [weight for weight in new if "pooler" not in weight]
    encoded = tokenizer(list(TEXTS), return_tensors="pt", padding=True)
    assert encoded["input_ids"].max() < encoder.config.vocab_size
    assert (encoded["input_ids"] == tokenizer.unk_token_id).float().mean() < 0.05
    assert load_fast_tokenizer(found.folder)(list(TEXTS))["input_ids"] == tokenizer(list(TEXTS))["input_ids"]
    torch.manual_seed(0)  # the weights that `write` drew
    shell = published.kind(encoder.config).to(published.dtype).float().eval()
    inputs = {name: encoded[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        expected, computed = shell.base_model(**inputs)[0], encoder(**inputs)[0]
    assert torch.allclose(computed, expected, atol=1e-5)


def test_kobert_has_the_ids_of_bert(tmp_path: Path) -> None:
    for name in ("monologg/kobert", "skt/kobert-base-v1"):
        PUBLISHED[name].write(tmp_path / name)
        tokenizer = load_tokenizer(resolve(str(tmp_path / name)).folder)
        assert tokenizer.convert_ids_to_tokens(list(range(5))) == list(KOBERTS)
        pair = tokenizer("서울은 수도이다", "한강이")
        assert pair["token_type_ids"] == sorted(pair["token_type_ids"]) and set(pair["token_type_ids"]) == {0, 1}
        assert (pair["input_ids"][0], pair["input_ids"][-1]) == (2, 3)
