"""The numbers of `finetune view` are those of transformers, in every family."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from support.runs import as_csv, trained_run

from finetune.commands.view.encoder import loaded_encoder
from finetune.commands.view.look import look
from finetune.commands.view.word_vectors import built_in_words, sentences_of, word_vectors
from finetune.errors import UserError
from finetune.models import backbone
from finetune.models.model_folder import load_encoder

PAIR = ["the cat sat on the road", "a dog ran"]
BANK = sentences_of("bank", None)[8:12]


def test_attention_is_those_of_transformers(tiny_encoder: Path) -> None:
    model = transformers.AutoModel.from_pretrained(tiny_encoder, attn_implementation="eager").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_encoder)
    encoder = loaded_encoder(str(tiny_encoder), out=Path("results"))
    if model.config.model_type == "big_bird":
        with pytest.raises(UserError, match="its family returns no attention weights"):
            look(encoder, PAIR, "bank", BANK)
        return
    inside = look(encoder, PAIR, "bank", BANK)
    inputs = encoder.encode(PAIR)
    assert inputs["input_ids"][0].tolist() == tokenizer(*PAIR)["input_ids"]
    with torch.no_grad():
        theirs = model(**inputs, output_attentions=True, output_hidden_states=True)
    weights = torch.cat(theirs.attentions).numpy()
    assert np.abs(inside.attention.weights - weights).max() < 1e-6


def test_word_vectors_are_hidden_states_of_transformers(tiny_encoder: Path) -> None:
    encoder = loaded_encoder(str(tiny_encoder), out=Path("results"))
    found = word_vectors(encoder, "bank", BANK)
    sentence = BANK[1]
    encoded = encoder.tokenizer(sentence.text, return_tensors="pt", return_token_type_ids=False)
    word = {
        place
        for character in range(sentence.start, sentence.end)
        if (place := encoded.char_to_token(character)) is not None
    }
    model = transformers.AutoModel.from_pretrained(tiny_encoder, attn_implementation="eager").eval()
    with torch.no_grad():
        states = model(**encoded, output_hidden_states=True).hidden_states
    for layer, state in enumerate(states):
        assert np.abs(found.layers[layer, 1] - state[0, sorted(word)].mean(0).numpy()).max() < 1e-6
    assert np.abs(found.context_free - found.context_free[0]).max() < 1e-6


def test_what_a_head_does_is_measured(tiny_bert: Path) -> None:
    attention = look(loaded_encoder(str(tiny_bert), out=Path("results")), PAIR, "bank", BANK).attention
    row = attention.weights[1, 0]
    size = len(row)
    assert attention.entropy[1, 0] == pytest.approx(-(row * np.log2(row)).sum(1).mean(), rel=1e-5)
    far = sum(row[i, j] * abs(i - j) for i in range(size) for j in range(size)) / size
    assert attention.distance[1, 0] == pytest.approx(far, rel=1e-5)
    assert attention.on_separators[1, 0] == pytest.approx(row[:, attention.separators].sum(1).mean(), rel=1e-5)
    assert attention.separators.sum() == 2


def test_the_encoder_of_a_model_in_our_own_format_is_read(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backbone, "LSTM_WIDTH", 24)
    (tmp_path / "a.csv").write_text(as_csv(("text", "label"), *((f"the cat {i}", "ab"[i % 2]) for i in range(20))))
    run = trained_run(tmp_path / "results", tmp_path / "a.csv", tiny_bert, **{"train.epochs": 1, "bilstm": True})
    encoder, missing = load_encoder(run / "model")
    original, _ = load_encoder(tiny_bert)
    same = [name for name in original.state_dict() if name in encoder.state_dict()]
    assert len(same) > 20
    assert [name for name in missing if not name.startswith("pooler")] == []


def test_too_long_and_empty_texts(tiny_bert: Path) -> None:
    encoder = loaded_encoder(str(tiny_bert), out=Path("results"))
    with pytest.raises(UserError, match="64"):
        encoder.encode(["the cat " * 40])
    with pytest.raises(UserError, match="empty"):
        encoder.encode([" "])


def test_sentences_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("a\tThe Bat flew.\nno such word\nb\t  a bat broke\nbats and a bat\n", encoding="utf-8")
    found = sentences_of("bat", file)
    assert [(one.meaning, one.text[one.start : one.end], one.start) for one in found] == [
        ("a", "Bat", 4),
        ("b", "bat", 2),
        ("", "bat", 11),
    ]
    with pytest.raises(UserError, match="owl"):
        sentences_of("owl", file)
    with pytest.raises(UserError, match="bank"):
        sentences_of("bnk", None)


@pytest.mark.parametrize("word", built_in_words())
def test_every_built_in_sentence_has_its_word_and_a_meaning(word: str) -> None:
    found = sentences_of(word, None)
    assert len({one.text for one in found}) == len(found) >= 16
    assert all(one.text[one.start : one.end].lower() == word for one in found)
    meanings = [one.meaning for one in found]
    assert min(map(meanings.count, meanings)) >= 7


@pytest.mark.parametrize("word", ["bank", "spring"])
def test_minilm_has_the_meanings_of_a_word_in_two_places(word: str, minilm: Path) -> None:
    from finetune.commands.view.page import project

    found = look(loaded_encoder(str(minilm), out=Path("results")), PAIR, word, sentences_of(word, None)).word
    meanings = [one.meaning for one in found.sentences]
    stages = [project(vectors, meanings) for vectors in (found.context_free, *found.layers)]
    assert np.abs(stages[0]["points"]).max() == 0
    assert stages[-1]["neighbours"] >= 0.9
    assert max(stage["silhouette"] or 0 for stage in stages) > 0.5
