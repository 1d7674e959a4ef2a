"""Heads for pre-training, as saved: equal to transformers' classes; encoders that read from left to right."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from support.corpora import documents
from support.toys import cat_task, span_task, text_task
from support.training import CPU, build, loss_of, named_inputs
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoTokenizer,
    ElectraForPreTraining,
)

from finetune.errors import UserError
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.feature import Feature, label_counts
from finetune.models.head import EncoderWithHead, Head
from finetune.models.kernels import dropout
from finetune.models.model_folder import has_own_head, load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.pretraining.head import NextSentenceHead, NextWordHead, WordHead
from finetune.task_types.pretraining.pieces import NEXT, WORDS

PAIRS = [("the cat sat on a house", "it was red"), ("a dog ran", "the moon was big and old"), ("she saw", "a bird")]


def built(folder: Path, head: Callable[..., Head], **settings: Any) -> EncoderWithHead:
    model, _ = build_model(folder, head, Recipe(**{"task": "any", "seed": 0} | settings), device=CPU)
    return model


def saved(model: EncoderWithHead, encoder: Path, folder: Path) -> Path:
    save_checkpoint(model.eval(), folder, AutoTokenizer.from_pretrained(encoder), {"max_length": 32})
    return folder


def masked_batch(folder: Path, *, nexts: bool = False) -> tuple[Batch, list[Feature]]:
    """Pairs of texts with masked tokens at some positions, of other numbers in each."""
    tokenizer, features = load_tokenizer(folder), []
    for row, (one, two) in enumerate(PAIRS):
        encoded = tokenizer(one, two)
        ids = np.array(encoded["input_ids"])
        positions = sorted({1, 3 + row, len(ids) - 2})[: 3 - row % 2]
        label = {WORDS: ids[positions].tolist()} | ({NEXT: row % 2} if nexts else {})
        ids[positions] = tokenizer.mask_token_id
        segments = encoded.get("token_type_ids")
        features.append(Feature(row=row, input_ids=ids, token_type_ids=segments, reads=positions, label=label))
    return collate(features, pad_id=tokenizer.pad_token_id), features


def at_positions(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    return logits[torch.arange(len(logits)).unsqueeze(1), batch.positions.clamp(min=0)]  # type: ignore[union-attr]


def test_masked_words_and_their_loss_are_those_of_transformers(tiny_encoder: Path, tmp_path: Path) -> None:
    ours = built(tiny_encoder, WordHead).eval()
    if (bias := (ours.head.decoder or ours.head).bias) is not None:
        torch.nn.init.normal_(bias)
    save_checkpoint(ours, tmp_path, AutoTokenizer.from_pretrained(tiny_encoder), {"max_length": 32})
    theirs, info = AutoModelForMaskedLM.from_pretrained(tmp_path, dtype=torch.float32, output_loading_info=True)
    assert not info["missing_keys"]
    batch, features = masked_batch(tiny_encoder)
    again, new = build_model(tmp_path, WordHead, Recipe(task="any"), device=CPU)
    assert new == []  # a checkpoint's own head is kept
    with torch.no_grad():
        found, expected = ours(*batch.inputs()), theirs.eval()(**named_inputs(theirs, batch)).logits
        assert torch.allclose(found, at_positions(expected, batch), atol=1e-5) and found.std() > 0.05
        assert torch.allclose(again.eval()(*batch.inputs()), found, atol=1e-5)
        loss = float(ours.head.losses(found, batch.labels)[WORDS])
        assert loss / label_counts(features)[WORDS] == pytest.approx(float(loss_of(theirs, batch)), abs=1e-5)
        assert float(ours.head.reduced(found, batch.labels)[..., 0].sum()) == pytest.approx(loss, abs=1e-4)
    if getattr(ours.backbone.config, "tie_word_embeddings", True):  # in the model and in the file it is one tensor
        words = ours.backbone.encoder.get_input_embeddings().weight
        assert [p.shape for p in ours.parameters()].count(words.shape) == 1
        stored = load_file(tmp_path / "model.safetensors").values()
        assert sum(t.shape == words.shape and torch.equal(t, words) for t in stored) == 1


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_albert"])
def test_next_sentences_are_those_of_transformers(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = request.getfixturevalue(name)
    ours = built(folder, NextSentenceHead)
    torch.nn.init.normal_(ours.head.next.weight)
    saved(ours, folder, tmp_path)
    theirs, info = AutoModelForPreTraining.from_pretrained(tmp_path, dtype=torch.float32, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    batch, _ = masked_batch(folder, nexts=True)
    with torch.no_grad():
        found, expected = ours(*batch.inputs()), theirs.eval()(**named_inputs(theirs, batch))
        again = load_trained(tmp_path, NextSentenceHead).eval()(*batch.inputs())
    assert torch.allclose(found[NEXT], expected.get("seq_relationship_logits", expected.get("sop_logits")), atol=1e-5)
    assert torch.allclose(found[WORDS], at_positions(expected.prediction_logits, batch), atol=1e-5)
    assert torch.allclose(again[NEXT], found[NEXT], atol=1e-5)


@pytest.mark.parametrize(("name", "own"), [("tiny_electra", False), ("tiny_bert", True)])
def test_replaced_tokens_load_in_transformers(
    name: str, own: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder, task = request.getfixturevalue(name), text_task("rtd")
    model = built(folder, task.head)
    torch.nn.init.normal_(model.head.output.weight)
    saved(model, folder, tmp_path)
    assert has_own_head(tmp_path) == own
    features = task.encode(documents(5), load_tokenizer(folder), 32)
    batch = collate(features, pad_id=0)
    with torch.no_grad():
        logits = model(*batch.inputs())
        assert torch.allclose(load_trained(tmp_path, task.head).eval()(*batch.inputs()), logits, atol=1e-5)
        if not own:
            theirs, info = ElectraForPreTraining.from_pretrained(tmp_path, output_loading_info=True)
            assert not info["missing_keys"] and not info["unexpected_keys"]
            scores = theirs(input_ids=batch.input_ids, attention_mask=batch.attention_mask).logits
            reads = features[0].reads
            assert torch.allclose(logits[0, : len(reads), 0], scores[0, reads], atol=1e-5)  # type: ignore[arg-type, index]


@pytest.mark.parametrize("name", ["bert", "roberta", "xlm_roberta", "electra"])
def test_left_to_right_is_transformers_causal_model(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    encoder = request.getfixturevalue(f"tiny_{name}")
    ours, tokenizer = built(encoder, NextWordHead, train=Train(dropout=0.1)).train(), load_tokenizer(encoder)
    ids = [tokenizer(text)["input_ids"] for text in ("the cat sat on a house", "a dog", "the big old moon was red")]
    features = [Feature(row=i, input_ids=each, reads=np.arange(len(each))) for i, each in enumerate(ids)]
    batch, outputs = collate(features, pad_id=tokenizer.pad_token_id), list[torch.Tensor]()
    changed = batch.input_ids.clone()  # type: ignore[union-attr]
    changed[0, 3 : len(ids[0])] = ids[2][2]
    for given in (batch.input_ids, changed):
        dropout.seed(3)
        outputs.append(ours(given, *batch.inputs()[1:])[0])
    assert torch.equal(outputs[0][:3], outputs[1][:3])
    assert not torch.allclose(outputs[0][3 : len(ids[0])], outputs[1][3 : len(ids[0])])
    saved(ours, encoder, tmp_path)
    theirs, info = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    there = batch.attention_mask.bool()
    further, new = build_model(tmp_path, NextWordHead, Recipe(task="any"), device=CPU)
    assert new == []
    with torch.no_grad():
        expected = theirs.eval()(**named_inputs(theirs, batch)).logits[there]
        assert torch.allclose(ours(*batch.inputs())[there], expected, atol=1e-5)
        assert torch.allclose(further.eval()(*batch.inputs())[there], expected, atol=1e-5)


def test_fine_tuned_it_stays_left_to_right_and_pools_the_last_token(tiny_bert: Path, tmp_path: Path) -> None:
    folder, task = saved(built(tiny_bert, NextWordHead), tiny_bert, tmp_path / "encoder"), cat_task()
    trainer, features = build(task, folder, Train(), max_length=64)
    model = trainer.model.eval()
    assert not any("pooler" in name for name, _ in model.named_parameters())
    batch = collate(features[:6], pad_id=trainer.engine.pad_id)
    plain = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    save_checkpoint(model, tmp_path / "model", load_tokenizer(folder), {"task": task.name})
    assert has_own_head(tmp_path / "model")  # no class of transformers pools the last token
    again = load_trained(tmp_path / "model", task.head).eval()
    last = batch.attention_mask.sum(1) - 1
    with torch.no_grad():
        every = plain(**named_inputs(plain, Batch(batch.input_ids, batch.attention_mask, batch.token_type_ids)))
        expected = every.last_hidden_state[torch.arange(len(last)), last]
        assert torch.allclose(model.hidden(batch)[0], expected, atol=1e-5)
        assert torch.allclose(again(*batch.inputs()), model(*batch.inputs()), atol=1e-5)


def test_no_answer_is_refused_where_the_first_token_sees_no_other(tiny_bert: Path, tmp_path: Path) -> None:
    folder, task = saved(built(tiny_bert, NextWordHead), tiny_bert, tmp_path), replace(span_task(), unanswerable=True)
    with pytest.raises(UserError, match=r"left to right.*bilstm=true"):
        built(folder, task.head)
    assert built(folder, task.head, bilstm=True) and built(folder, span_task().head)
