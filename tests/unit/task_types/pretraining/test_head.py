"""Heads for pre-training: equal to transformers' classes, in logits, losses and files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.encoders import NAMES
from support.training import CPU, loss_of, named_inputs
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoTokenizer,
    BertForMaskedLM,
    pipeline,
)

from finetune.errors import UserError
from finetune.models import pretrained
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.feature import Feature, label_counts
from finetune.models.head import EncoderWithHead, Head
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.pretraining.head import NextSentenceHead, NextWordHead, WordHead
from finetune.task_types.pretraining.pieces import NEXT, WORDS

TEXTS = [("the cat sat on a house", "it was red"), ("a dog ran", "the moon was big and old"), ("she saw", "a bird")]


def built(folder: Path, head: Callable[..., Head], **settings: Any) -> EncoderWithHead:
    settings = {"task": "any", "seed": 0} | settings
    model, _ = build_model(folder, head, Recipe(**settings), device=CPU)
    return model


def masked_batch(folder: Path, *, nexts: bool = False) -> tuple[Batch, list[Feature]]:
    """Pairs of texts with masked tokens at some positions, of other numbers in each."""
    tokenizer = load_tokenizer(folder)
    features = []
    for row, (one, two) in enumerate(TEXTS):
        encoded = tokenizer(one, two)
        ids = np.array(encoded["input_ids"])
        positions = sorted({1, 3 + row, len(ids) - 2})[: 3 - row % 2]
        words = ids[positions].tolist()
        ids[positions] = tokenizer.mask_token_id
        label = {WORDS: words} | ({NEXT: row % 2} if nexts else {})
        segments = encoded.get("token_type_ids")
        features.append(Feature(row=row, input_ids=ids, token_type_ids=segments, reads=positions, label=label))
    return collate(features, pad_id=tokenizer.pad_token_id), features


def at_positions(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    assert batch.positions is not None
    return logits[torch.arange(len(logits)).unsqueeze(1), batch.positions.clamp(min=0)]


def save(model: EncoderWithHead, encoder: Path, folder: Path) -> None:
    save_checkpoint(model.eval(), folder, AutoTokenizer.from_pretrained(encoder), {"max_length": 32})


def test_masked_words_are_those_of_transformers_in_every_family(tiny_encoder: Path, tmp_path: Path) -> None:
    ours = built(tiny_encoder, WordHead)
    if (bias := (ours.head.decoder or ours.head).bias) is not None:
        torch.nn.init.normal_(bias)
    save(ours, tiny_encoder, tmp_path)
    theirs, info = AutoModelForMaskedLM.from_pretrained(tmp_path, dtype=torch.float32, output_loading_info=True)
    assert not info["missing_keys"]
    batch, _ = masked_batch(tiny_encoder)
    with torch.no_grad():
        found = ours(*batch.inputs())
        expected = at_positions(theirs.eval()(**named_inputs(theirs, batch)).logits, batch)
    assert found.shape == (3, 3, len(load_tokenizer(tiny_encoder)))  # at the positions that are read, no others
    assert torch.allclose(found, expected, atol=1e-5)
    assert expected.std() > 0.05
    again = load_trained(tmp_path, WordHead).eval()
    with torch.no_grad():
        assert torch.allclose(again(*batch.inputs()), found, atol=1e-5)
    mask = AutoTokenizer.from_pretrained(tmp_path).mask_token
    assert len(pipeline("fill-mask", model=str(tmp_path))(f"the cat {mask} on a house")) == 5


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_albert"])
def test_next_sentences_are_those_of_transformers(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = request.getfixturevalue(name)
    ours = built(folder, NextSentenceHead)
    torch.nn.init.normal_(ours.head.next.weight)
    save(ours, folder, tmp_path)
    theirs, info = AutoModelForPreTraining.from_pretrained(tmp_path, dtype=torch.float32, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    batch, _ = masked_batch(folder, nexts=True)
    with torch.no_grad():
        found = ours(*batch.inputs())
        expected = theirs.eval()(**named_inputs(theirs, batch))
    sentences = expected.get("seq_relationship_logits", expected.get("sop_logits"))
    assert torch.allclose(found[NEXT], sentences, atol=1e-5)
    assert torch.allclose(found[WORDS], at_positions(expected.prediction_logits, batch), atol=1e-5)
    with torch.no_grad():
        again = load_trained(tmp_path, NextSentenceHead).eval()(*batch.inputs())
    assert torch.allclose(again[NEXT], found[NEXT], atol=1e-5)


def test_the_loss_is_that_of_bert(tiny_bert: Path, tmp_path: Path) -> None:
    ours = built(tiny_bert, WordHead)
    save(ours, tiny_bert, tmp_path)
    batch, features = masked_batch(tiny_bert)
    theirs = BertForMaskedLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    with torch.no_grad():
        loss = ours.head.losses(ours(*batch.inputs()), batch.labels)
        expected = float(loss_of(theirs, batch))
        nats = ours.head.reduced(ours(*batch.inputs()), batch.labels)[..., 0]
    assert float(loss[WORDS]) / label_counts(features)[WORDS] == pytest.approx(expected, abs=1e-5)
    assert float(nats.sum()) == pytest.approx(float(loss[WORDS]), abs=1e-4)


def test_the_word_embeddings_are_one_tensor(tiny_encoder: Path, tmp_path: Path) -> None:
    """In training, in a checkpoint of training, and in the saved file."""
    model = built(tiny_encoder, WordHead)
    if not getattr(model.backbone.config, "tie_word_embeddings", True):
        assert model.head.decoder is not None
        return
    words = model.backbone.encoder.get_input_embeddings().weight
    shapes = [tuple(p.shape) for p in model.parameters()]
    assert shapes.count(tuple(words.shape)) == 1
    assert len([name for name, t in model.state_dict().items() if t.shape == words.shape]) == 1
    batch, _ = masked_batch(tiny_encoder)
    before = words.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.head.loss(model(*batch.inputs()), batch.labels[WORDS]).backward()
    optimizer.step()
    unread = sorted({0, 1, 2, 3, 4, 5, 6, 7, 8, 9} - set(batch.input_ids.unique().tolist()))  # type: ignore[union-attr]
    assert (words[unread[-1]] != before[unread[-1]]).any()  # through the output alone
    save(model, tiny_encoder, tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert [name for name, t in stored.items() if t.shape == words.shape and torch.equal(t, words)] == [
        next(name for name in stored if name.endswith(("word_embeddings.weight", "tok_embeddings.weight")))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_s_own_head_is_kept(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = request.getfixturevalue(f"tiny_{name}")
    theirs = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    torch.manual_seed(7)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    ours, new = build_model(tmp_path, WordHead, Recipe(task="any"), device=CPU)
    assert new == []
    batch, _ = masked_batch(tmp_path)
    with torch.no_grad():
        expected = at_positions(theirs.eval()(**named_inputs(theirs, batch)).logits, batch)
        assert torch.allclose(ours.eval()(*batch.inputs()), expected, atol=1e-4)


def test_a_head_that_a_checkpoint_lacks_is_new_and_named(tiny_bert: Path) -> None:
    head = [f"cls.predictions.transform.{name}" for name in ("LayerNorm.bias", "LayerNorm.weight")]
    head += [f"cls.predictions.transform.dense.{name}" for name in ("bias", "weight")]
    model, new = build_model(tiny_bert, WordHead, Recipe(task="any"), device=CPU)
    assert new == ["cls.predictions.bias", *head]
    assert model.head.dense.weight.abs().max() <= 0.04
    _, new = build_model(tiny_bert, NextSentenceHead, Recipe(task="any"), device=CPU)
    assert new == ["cls.predictions.bias", *head, "cls.seq_relationship.bias", "cls.seq_relationship.weight"]


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_albert"])
def test_adapting_keeps_the_pretrained_pooler_for_the_task_that_follows(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder = request.getfixturevalue(name)
    model = built(folder, WordHead)
    assert not any(p.requires_grad for n, p in model.named_parameters() if "pooler" in n)  # two processes would stop
    save(model, folder, tmp_path)
    kept, info = AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    first = AutoModel.from_pretrained(folder)
    for one, other in zip(kept.pooler.parameters(), first.pooler.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("lora", [0, 2])
def test_lora_trains_a_model_whose_saved_form_has_the_same_logits(lora: int, tiny_bert: Path, tmp_path: Path) -> None:
    ours = built(tiny_bert, WordHead, lora=lora)
    for name, parameter in ours.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    batch, _ = masked_batch(tiny_bert)
    with torch.no_grad():
        found = ours.eval()(*batch.inputs())
    assert all(not p.requires_grad for n, p in ours.named_parameters() if "pooler" in n)
    save(ours, tiny_bert, tmp_path)
    theirs = BertForMaskedLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    with torch.no_grad():
        assert torch.allclose(at_positions(theirs(**named_inputs(theirs, batch)).logits, batch), found, atol=1e-5)


def test_an_untrained_encoder_has_no_dropout_and_its_saved_config_the_usual(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path / "cache"))
    files = pretrained.resolve("new:1x32x1", tokenizer=str(tiny_bert))
    for dropout, used, saved in ((None, 0.0, 0.1), (0.2, 0.2, 0.2)):
        model = built(files.folder, WordHead, model="new:1x32x1", train=Train(dropout=dropout))
        assert {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)} == {used}
        save(model, files.folder, tmp_path / f"saved-{saved}")
        theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / f"saved-{saved}")
        assert theirs.config.hidden_dropout_prob == theirs.config.attention_probs_dropout_prob == saved
    adapted = built(tmp_path / "saved-0.1", WordHead)
    assert {m.p for m in adapted.modules() if isinstance(m, torch.nn.Dropout)} == {0.1}
    _, new = build_model(files.folder, NextSentenceHead, Recipe(task="any", model="new:1x32x1"), device=CPU)
    assert {name.split(".")[0] for name in new} == {"embeddings", "encoder", "pooler", "cls"}


@pytest.mark.parametrize(
    ("name", "head", "message"),
    [
        ("roberta", NextSentenceHead, "'roberta' have no pooler for next sentences.*objective=mlm.*BERT, ALBERT"),
        ("distilbert", NextSentenceHead, "'distilbert' have no pooler"),
        ("distilbert", NextWordHead, "'distilbert' cannot read from left to right.*BERT, RoBERTa, XLM-R, ELECTRA"),
        ("albert", NextWordHead, "'albert' cannot read from left to right"),
    ],
)
def test_a_family_that_cannot_is_one_line(
    name: str, head: type[Head], message: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(UserError, match=message):
        built(request.getfixturevalue(f"tiny_{name}"), head)
