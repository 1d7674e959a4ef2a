"""The words that a pre-trained model predicts are those of transformers."""

from pathlib import Path

import pytest
import torch
import transformers
from support.runs import FinishedRun

from finetune.commands.view.encoder import Encoder, hidden_words, loaded_encoder
from finetune.commands.view.look import look
from finetune.commands.view.word_vectors import sentences_of

PAIR = ["the cat sat", "a [MASK] ran"]
BANK = sentences_of("bank", None)[8:12]


def loaded(folder: Path) -> Encoder:
    return loaded_encoder(str(folder), out=Path("results"))


def test_predictions_are_those_of_transformers(tiny_masked: Path) -> None:
    encoder = loaded(tiny_masked)
    found = look(encoder, PAIR, "bank", BANK).hidden or []
    model = transformers.AutoModelForMaskedLM.from_pretrained(tiny_masked).eval()
    inputs = encoder.encode(PAIR)
    ids = inputs["input_ids"][0].tolist()
    assert [guess["place"] for word in found for guess in word] == [1, 2, 3, 5, 6, 7]
    for (guess,) in found:
        hidden = {name: part.clone() for name, part in inputs.items()}
        hidden["input_ids"][0, guess["place"]] = encoder.tokenizer.mask_token_id
        with torch.no_grad():
            shares = model(**hidden).logits[0, guess["place"]].softmax(-1)
        best = shares.topk(5)
        assert list(guess["tokens"]) == encoder.tokenizer.convert_ids_to_tokens(best.indices.tolist())
        assert list(guess["probabilities"]) == pytest.approx(best.values.tolist(), rel=1e-4)
        if guess["place"] == 6:  # the text has [MASK] there
            assert (guess["probability"], guess["rank"]) == (None, None)
            continue
        own = ids[guess["place"]]
        assert guess["probability"] == pytest.approx(float(shares[own]), rel=1e-4)
        assert guess["rank"] == shares.argsort(descending=True).tolist().index(own) + 1


def test_all_pieces_of_a_word_are_hidden_at_once(tiny_masked: Path) -> None:
    encoder = loaded(tiny_masked)
    inside = look(encoder, ["the catz sat"], "bank", BANK)
    (pieces,) = [word for word in (inside.hidden or []) if len(word) > 1]
    with torch.no_grad():
        inputs = encoder.encode(["the catz sat"])
        inputs["input_ids"][0, [guess["place"] for guess in pieces]] = encoder.tokenizer.mask_token_id
        logits = transformers.AutoModelForMaskedLM.from_pretrained(tiny_masked).eval()(**inputs).logits[0]
    for guess in pieces:
        assert guess["probabilities"][0] == pytest.approx(float(logits[guess["place"]].softmax(-1).max()), rel=1e-4)


def test_there_are_none_of_a_model_that_was_not_trained_to(
    tiny_bert: Path, tiny_masked: Path, finished_run: FinishedRun
) -> None:
    for folder in (tiny_bert, finished_run("sentence")):
        assert look(loaded(folder), ["the cat"], "bank", BANK).hidden is None
    encoder = loaded(tiny_masked)
    assert hidden_words(encoder, encoder.encode(["a"]), [-1, 0, -1])
    encoder.model.config.is_decoder = True
    assert hidden_words(encoder, {}, []) is None
    encoder.model.config.is_decoder = False
    encoder.tokenizer.mask_token = None
    assert hidden_words(encoder, encoder.encode(["a"]), [-1, 0, -1]) is None
