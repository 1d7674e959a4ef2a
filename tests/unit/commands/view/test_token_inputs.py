"""What `finetune view` shows of tokens before the first layer, in every family and for odd texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from finetune.commands.view.encoder import loaded_encoder
from finetune.commands.view.look import look, token_inputs
from finetune.commands.view.page import render_view
from finetune.commands.view.word_vectors import sentences_of

PAIR = ["the cat sat on the road", "a dog ran"]
BANK = sentences_of("bank", None)[8:12]
WITHOUT_SEGMENTS = {"distilbert", "modernbert", "mpnet", "eurobert", "deberta", "deberta-v2", "esm"}
WITHOUT_POSITIONS = {"modernbert", "deberta", "deberta-v2", "roformer", "eurobert", "nomic_bert", "gte"}


def seen_inputs(folder: Path, texts: list[str]) -> tuple[Any, Any]:
    encoder = loaded_encoder(str(folder), out=Path("results"))
    return encoder, token_inputs(encoder, texts, encoder.encode(texts))


def test_the_parts_of_each_family_add_up(tiny_encoder: Path) -> None:
    """Rows of the tables of transformers' own model, and what its first layer gets."""
    encoder, found = seen_inputs(tiny_encoder, PAIR)
    kind = encoder.model.config.model_type
    model = transformers.AutoModel.from_pretrained(tiny_encoder, attn_implementation="eager").eval()
    inputs = encoder.encode(PAIR)
    with torch.no_grad():
        states = model(**inputs, output_hidden_states=True).hidden_states
    tokens = len(found.ids)
    assert np.abs(found.given - states[0][0, :tokens].numpy()).max() < 1e-6
    parts = found.parts
    table = model.get_input_embeddings().weight[inputs["input_ids"][0]].detach().numpy()
    assert np.abs(parts["token"] - table).max() < 1e-6
    assert ("segment" in parts) == (kind not in WITHOUT_SEGMENTS), kind
    assert ("position" in parts) == (kind not in WITHOUT_POSITIONS), kind
    assert len(found.numbers) == tokens
    assert [word for word in found.words if word] == " ".join(PAIR).split()
    assert found.numbers[0] == -1
    assert sorted({*found.numbers}) == list(range(-1, len(found.words)))


def test_a_wrong_part_is_not_shown(tiny_bert: Path) -> None:
    """The table of positions, of which another row is added than was looked up."""
    encoder, found = seen_inputs(tiny_bert, PAIR)
    assert list(found.parts) == ["token", "segment", "position"]
    encoder.model.embeddings.LayerNorm.register_forward_pre_hook(lambda _module, given: (given[0] + 1,))
    wrong = token_inputs(encoder, PAIR, encoder.encode(PAIR))
    assert wrong.parts == {}


def test_words_and_their_pieces(tiny_bert: Path) -> None:
    encoder, found = seen_inputs(tiny_bert, ["The \N{DOG FACE} unlocked, cat", "배가"])
    assert list(found.words) == ["The", "\N{DOG FACE}", "unlocked", ",", "cat", "배가"]
    tokens = encoder.shown_tokens(found.ids)
    of_word = [token for token, number in zip(tokens, found.numbers, strict=True) if number == 2]
    assert "".join(token.removeprefix("##") for token in of_word) == "unlocked"
    assert [found.words[number] for number, unknown in zip(found.numbers, found.unknown, strict=True) if unknown] == [
        *("\N{DOG FACE}", "배가")
    ]


ODD = {
    "emoji": ["the \N{DOG FACE}\N{ZERO WIDTH JOINER}\N{BLACK HEART} cat \U0001f468\u200d\U0001f469\u200d\U0001f467"],
    "right to left": ["שלום עולם", "مرحبا بالعالم"],
    "one letter": ["a"],
    "punctuation": ["!?"],
    "controls": ["the\u200b cat\x07 sat"],
    "mask in the text": ["the [MASK] sat"],
    "markup": ["<b>the</b> & </script> cat"],
    "korean": ["배가 고프다", "밥을 먹었다"],
}


@pytest.mark.parametrize("texts", ODD.values(), ids=ODD)
@pytest.mark.parametrize("family", ["tiny_masked", "tiny_roberta", "tiny_albert"])
def test_odd_texts_give_a_page(texts: list[str], family: str, request: pytest.FixtureRequest) -> None:
    encoder = loaded_encoder(str(request.getfixturevalue(family)), out=Path("results"))
    inside = look(encoder, texts, "bank", BANK)
    assert len(inside.tokens) == len(inside.inputs.numbers) == len(inside.inputs.ids)
    assert not any("\ufffd" in token for token in inside.tokens)
    page = render_view(inside)
    assert page.count("</script>") == 2
    assert 'id="token-table"' in page


def test_bytes_that_are_a_part_of_a_character_are_shown_as_bytes(tiny_roberta: Path) -> None:
    encoder = loaded_encoder(str(tiny_roberta), out=Path("results"))
    ids = encoder.tokenizer(" \N{DOG FACE}")["input_ids"][1:-1]
    shown = encoder.shown_tokens(ids)
    found = "".join(token for token in shown if token != "Ġ").replace("Ġ", "")
    assert bytes.fromhex(found.replace("<", " ").replace(">", " ")).endswith("\N{DOG FACE}".encode())
