"""The beams and the attention of a decoder that `finetune view` shows are those of transformers' `generate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from finetune.commands.view.api import render_view
from finetune.commands.view.encoder import Encoder, loaded_encoder
from finetune.commands.view.look import default_texts, encode_text, look
from finetune.commands.view.parts import WrittenText
from finetune.commands.view.sentences import sentences_of
from finetune.errors import UserError

TEXT = "the cat sat on the road"
BANK = sentences_of("bank", None)[8:12]
STEPS = 6  # of the model's own settings


@pytest.fixture(scope="module")
def seen(tiny_pair: Path) -> tuple[Encoder, WrittenText]:
    encoder = loaded_encoder(str(tiny_pair), out=Path("results"))
    written = look(encoder, [TEXT], "bank", BANK).written
    assert written is not None
    return encoder, written


def generated(encoder: Encoder, **settings: Any) -> Any:
    assert encoder.pair is not None
    return encoder.pair.generate(**encode_text(encoder, [TEXT]), max_new_tokens=STEPS, do_sample=False, **settings)


def test_the_texts_are_those_of_generate(seen: tuple[Encoder, WrittenText]) -> None:
    encoder, written = seen
    theirs = generated(encoder, num_beams=4, num_return_sequences=4, return_dict_in_generate=True, output_scores=True)
    assert list(written.texts) == encoder.tokenizer.batch_decode(theirs.sequences, skip_special_tokens=True)
    assert written.scores == pytest.approx(theirs.sequences_scores.tolist(), abs=1e-5)
    assert written.greedy == encoder.tokenizer.decode(generated(encoder, num_beams=1)[0], skip_special_tokens=True)


def test_every_step_keeps_the_best_candidates(seen: tuple[Encoder, WrittenText]) -> None:
    """And the best text's score is the log-probability of its last candidate by its length."""
    _, written = seen
    for step in written.steps[:-1]:
        statuses = [beam.status for beam in step]
        assert statuses == sorted(statuses, key=["kept", "finished", "dropped"].index)  # in the order of probability
        assert statuses.count("kept") == written.beams
        values = [beam.log_probability for beam in step]
        assert values == sorted(values, reverse=True)
        assert "dropped" in statuses
    best = list(written.target[1:])
    (last,) = [beam for step in written.steps for beam in step if [*beam.before, beam.token] == best]
    assert last.status == "finished"
    assert last.log_probability / len(best) == pytest.approx(written.scores[0], abs=1e-5)


def test_the_attention_is_that_of_transformers(seen: tuple[Encoder, WrittenText]) -> None:
    encoder, written = seen
    assert encoder.pair is not None
    ids = encoder.tokenizer.convert_tokens_to_ids(list(written.target[:-1]))
    with torch.no_grad():
        theirs = encoder.pair(
            **encode_text(encoder, [TEXT]), decoder_input_ids=torch.tensor([ids]), output_attentions=True
        )
    for found, expected in ((written.cross, theirs.cross_attentions), (written.causal, theirs.decoder_attentions)):
        assert np.abs(found - torch.cat(expected).mean(1).numpy()).max() < 1e-6
    assert np.triu(written.causal, 1).max() == 0
    assert written.cross.sum(-1) == pytest.approx(1, abs=1e-5)


def test_the_page_has_the_search_and_the_encoder_says_that_it_has_no_pooler(tiny_pair: Path) -> None:
    encoder = loaded_encoder(str(tiny_pair), out=Path("results"))
    inside = look(encoder, default_texts(encoder), "bank", BANK)
    assert inside.outputs.pooled is None
    page = render_view(inside)
    assert "cross-attention" in page
    assert 'id="part-decoder"' in page


@pytest.mark.parametrize("texts", [[TEXT, "a dog"]])
def test_two_texts_are_refused(texts: Sequence[str], tiny_pair: Path) -> None:
    with pytest.raises(UserError, match="two texts are given"):
        look(loaded_encoder(str(tiny_pair), out=Path("results")), texts, "bank", BANK)
