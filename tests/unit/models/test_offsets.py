"""Which characters tokens have: every letter of a text is of a token, with any tokenizer."""

from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from finetune.models.tokenizers.encoding import character_offsets
from finetune.task_types.span.questions import SpanRow, encode_questions

TEXTS = ["Jan Kos lives in San Jose, California.", "I am 7 a, b.", " two  spaces", "서울 3동, 한국어!", "naïve café"]


@pytest.fixture
def late() -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that splits at spaces first, so that offsets begin at a word's second character."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    words = ["Ġl", "iv", "Ġliv"]
    vocabulary = {token: number for number, token in enumerate([*special, *alphabet, *words])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ġ", "l"), ("i", "v"), ("Ġl", "iv")]))
    steps = [pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(add_prefix_space=True), pre_tokenizers.Punctuation()]
    backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {"bos": 0, "pad": 1, "eos": 2, "unk": 3, "mask": 4} | {"cls": 0, "sep": 2}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **{f"{name}_token": special[i] for name, i in names.items()}
    )


def assert_covered(text: str, tokenizer: PreTrainedTokenizerFast) -> None:
    encoded = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    found = character_offsets(text, encoded["offset_mapping"])
    covered = {place for start, end in found.tolist() for place in range(start, end)}
    assert {place for place, character in enumerate(text) if character.isalnum()} <= covered
    assert (np.diff(found, axis=0) >= 0).all()


@pytest.mark.parametrize("text", TEXTS)
def test_every_letter_is_of_a_token(text: str, tiny_vocabulary: Path) -> None:
    assert_covered(text, AutoTokenizer.from_pretrained(tiny_vocabulary))


@pytest.mark.parametrize("text", TEXTS)
def test_with_offsets_that_begin_late_too(text: str, late: PreTrainedTokenizerFast) -> None:
    encoded = late("Jan lives", add_special_tokens=False, return_offsets_mapping=True)
    assert (5, 7) in encoded["offset_mapping"]  # `iv` of `Ġliv`
    assert_covered(text, late)


@pytest.mark.parametrize("answer", ["San Jose", "Jan", "lives", "California", "Jose"])
def test_an_answer_begins_with_its_first_letter(answer: str, late: PreTrainedTokenizerFast) -> None:
    text = TEXTS[0]
    row = SpanRow(id="1", question="who?", context=text, answers=(answer,), start=text.index(answer))
    (feature,) = encode_questions([row], late, 128, stride=64, most_asked=16)
    first, last = feature.label
    place = feature.note["place"]
    assert text[feature.note["starts"][first - place] : feature.note["ends"][last - place]] == answer
