"""A tokenizer without transformers encodes as transformers' own, where it says that it does."""

import json
from pathlib import Path

import pytest

from finetune.errors import UserError
from finetune.models.tokenizers.encoding import template_of
from finetune.models.tokenizers.load import FastTokenizer, load_fast_tokenizer, load_tokenizer

TEXTS = ["the cat sat", "", "The CAT's 한국어 Ａ 12", "the [MASK] [SEP] cat " * 9, "dog"]
PAIRS = ["a dog ran", "the", "", "cat " * 30, "the dog sat on the cat"]
NUMBERS = ("cls_token_id", "sep_token_id", "pad_token_id", "mask_token_id", "unk_token_id")


def test_it_encodes_as_transformers_does(tiny_vocabulary: Path, tmp_path: Path) -> None:
    """As a run saves it: texts and pairs, whole and cut, with what codecs ask for."""
    theirs = load_tokenizer(tiny_vocabulary)
    theirs.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text((tiny_vocabulary / "config.json").read_text())
    ours, theirs = load_fast_tokenizer(tmp_path), load_tokenizer(tmp_path)
    for name in NUMBERS:
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.model_max_length == theirs.model_max_length
    assert ours.get_vocab() == theirs.get_vocab()
    assert ours.get_added_vocab() == theirs.get_added_vocab()
    assert ("token_type_ids" in ours.model_input_names) == ("token_type_ids" in theirs.model_input_names)
    for pair in (False, True):
        assert template_of(ours, pair=pair) == template_of(theirs, pair=pair)
    every = {"return_special_tokens_mask": True, "return_offsets_mapping": True, "verbose": False}
    for pairs in (None, PAIRS):
        for options in (every, every | {"add_special_tokens": False}, {"truncation": True, "max_length": 12}):
            one, other = ours(TEXTS, pairs, **options), theirs(TEXTS, pairs, **options)
            for name in one:
                assert [list(each) for each in one[name]] == [list(each) for each in other[name]]
            assert ("token_type_ids" in one) == ("token_type_ids" in other)
            cut = [bool(encoding.overflowing) for encoding in one.encodings]
            assert cut == [bool(encoding.overflowing) for encoding in other.encodings]


@pytest.mark.parametrize("family", ["tiny_bert", "tiny_roberta", "tiny_distilbert", "tiny_electra"])
def test_the_families_that_most_use_need_no_transformers(
    family: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder: Path = request.getfixturevalue(family)
    load_tokenizer(folder).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    assert isinstance(load_fast_tokenizer(tmp_path), FastTokenizer)


def test_a_damaged_one_is_one_line(tiny_bert: Path, tmp_path: Path) -> None:
    load_tokenizer(tiny_bert).save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text((tiny_bert / "config.json").read_text())
    file = tmp_path / "tokenizer.json"
    table = json.loads(file.read_text())
    file.write_text(json.dumps(table | {"model": {"type": "WordPiece", "vocab": []}}))
    with pytest.raises(UserError, match="tokenizer cannot be loaded"):
        load_fast_tokenizer(tmp_path)
