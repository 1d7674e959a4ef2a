"""The words that a pre-trained model predicts are those of transformers; a run is compared with its true start."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from support.runs import FinishedRun, as_csv, trained_run

from finetune.commands.view import hidden_words as module
from finetune.commands.view.before_training import starting_encoder
from finetune.commands.view.encoder import Encoder, loaded_encoder
from finetune.commands.view.look import encode_text, look
from finetune.commands.view.sentences import sentences_of
from finetune.runs.folder import RunFolder

PAIR = ["the cat sat", "a [MASK] ran"]
BANK = sentences_of("bank", None)[8:12]


def loaded(folder: Path) -> Encoder:
    return loaded_encoder(str(folder), out=Path("results"))


def test_predictions_are_those_of_transformers(tiny_masked: Path) -> None:
    encoder = loaded(tiny_masked)
    found = look(encoder, PAIR, "bank", BANK).hidden
    model = transformers.AutoModelForMaskedLM.from_pretrained(tiny_masked).eval()
    inputs = encode_text(encoder, PAIR)
    ids = inputs["input_ids"][0].tolist()
    assert [guess.place for word in found.words for guess in word] == [1, 2, 3, 5, 6, 7]
    for (guess,) in found.words:
        hidden = {name: part.clone() for name, part in inputs.items()}
        hidden["input_ids"][0, guess.place] = encoder.tokenizer.mask_token_id
        with torch.no_grad():
            shares = model(**hidden).logits[0, guess.place].softmax(-1)
        best = shares.topk(5)
        assert list(guess.tokens) == encoder.tokenizer.convert_ids_to_tokens(best.indices.tolist())
        assert list(guess.probabilities) == pytest.approx(best.values.tolist(), rel=1e-4)
        if guess.place == 6:  # the text has [MASK] there
            assert (guess.probability, guess.rank) == (None, None)
            continue
        own = ids[guess.place]
        assert guess.probability == pytest.approx(float(shares[own]), rel=1e-4)
        assert guess.rank == shares.argsort(descending=True).tolist().index(own) + 1


def test_all_pieces_of_a_word_are_hidden_at_once(tiny_masked: Path) -> None:
    encoder = loaded(tiny_masked)
    inside = look(encoder, ["the catz sat"], "bank", BANK)
    (pieces,) = [word for word in inside.hidden.words if len(word) > 1]
    with torch.no_grad():
        inputs = encode_text(encoder, ["the catz sat"])
        inputs["input_ids"][0, [guess.place for guess in pieces]] = encoder.tokenizer.mask_token_id
        logits = transformers.AutoModelForMaskedLM.from_pretrained(tiny_masked).eval()(**inputs).logits[0]
    for guess in pieces:
        assert guess.probabilities[0] == pytest.approx(float(logits[guess.place].softmax(-1).max()), rel=1e-4)


def test_why_there_are_none(tiny_bert: Path, tiny_masked: Path, finished_run: FinishedRun) -> None:
    for folder in (tiny_bert, finished_run("sentence")):
        assert look(loaded(folder), ["the cat"], "bank", BANK).hidden.why_not == module.NO_LAYER
    encoder = loaded(tiny_masked)
    encoder.tokenizer.mask_token = None
    assert module.hidden_words(encoder, encode_text(encoder, ["a"]), [-1, 0, -1], list).why_not == module.NO_MASK
    encoder.model.config.is_decoder = True
    assert module.hidden_words(encoder, {}, [], list).why_not == module.LEFT_TO_RIGHT


@pytest.mark.parametrize("kind", ["sentence", "choice", "tagging", "span", "intent"])
def test_a_run_moved_from_its_start(kind: str, finished_run: FinishedRun, tiny_bert: Path) -> None:
    encoder = loaded(finished_run(kind))
    inside = look(encoder, ["the cat sat"], "bank", BANK)
    before = inside.before
    assert before is not None
    assert before.compared is not None
    assert not before.random
    inputs = encode_text(encoder, ["the cat sat"])
    with torch.no_grad():
        start = transformers.AutoModel.from_pretrained(tiny_bert, attn_implementation="eager").eval()
        theirs = start(**inputs, output_attentions=True, output_hidden_states=True)
    weights = torch.cat(theirs.attentions).numpy()
    assert np.abs(before.compared.weights - weights).max() < 1e-6
    moved = np.abs(weights - inside.attention.weights).sum(-1).mean(-1) / 2
    assert before.compared.moved == pytest.approx(moved, abs=1e-6)
    with torch.no_grad():
        after = encoder.model(**inputs).last_hidden_state[0]
    first = torch.cosine_similarity(theirs.last_hidden_state[0], after, dim=-1)
    assert before.compared.cosines[-1] == pytest.approx(first.numpy(), abs=1e-5)


def small_run(folder: Path, model: str, **settings: Any) -> Path:
    rows = ((f"the cat {i} sat", "ab"[i % 2]) for i in range(20))
    (folder / "a.csv").write_text(as_csv(("text", "label"), *rows))
    return trained_run(folder / "results", folder / "a.csv", model, **{"train.epochs": 1, **settings})


def test_random_weights_are_drawn_again(tmp_path: Path, tiny_bert: Path) -> None:
    """Those that an encoder keeps which hardly learned anything."""
    settings = {"tokenizer": str(tiny_bert), "train.learning_rate": 1e-12, "seed": 7}
    run = small_run(tmp_path, "new:2x64", **settings)
    inside = look(loaded_encoder(str(run), out=tmp_path / "results"), ["the cat sat"], "bank", BANK)
    assert inside.before is not None
    assert inside.before.compared is not None
    assert inside.before.random
    assert inside.before.compared.moved.max() < 1e-5
    assert inside.before.compared.cosines.min() > 0.99999


def test_a_start_that_is_gone_or_changed_is_not_compared(tmp_path: Path, copied_run: FinishedRun) -> None:
    run = RunFolder(copied_run("sentence"))
    record = run.record()
    assert record is not None
    assert starting_encoder(run, record, tmp_path) is not None
    for changed in ({"weights": "0" * 64}, {"model": str(tmp_path / "gone")}):
        assert starting_encoder(run, record.model_copy(update=changed), tmp_path) is None
