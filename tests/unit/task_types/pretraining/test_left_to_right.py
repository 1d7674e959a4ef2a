"""Encoders that read from left to right: in pre-training, as saved, and in the task that follows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.toys import cat_task, choice_task, labels_task, span_task, tag_task
from support.training import CPU, build, fit, named_inputs
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
)

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.feature import Feature
from finetune.models.fingerprint import OWN_WEIGHTS
from finetune.models.head import EncoderWithHead
from finetune.models.kernels import attention, dropout
from finetune.models.model_folder import load_encoder, load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.pretraining.head import NextWordHead
from finetune.task_types.task import Task

FAMILIES = ["bert", "roberta", "xlm_roberta", "electra"]
ALIKE = ["camembert", "data2vec_text", "ernie"]
TEXTS = ["the cat sat on a house", "a dog", "the big old moon was not under a tree"]


@pytest.fixture(params=[*FAMILIES, *(pytest.param(name, marks=pytest.mark.slow) for name in ALIKE)])
def encoder(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(f"tiny_{request.param}")  # type: ignore[no-any-return]


def built(folder: Path, *, dropout: float | None = None, device: torch.device = CPU) -> EncoderWithHead:
    recipe = Recipe(task="any", seed=0, train=Train(dropout=dropout))
    model, _ = build_model(folder, NextWordHead, recipe, device=device)
    return model


def batch_of(texts: list[str], folder: Path) -> Batch:
    tokenizer = load_tokenizer(folder)
    ids = [tokenizer(text)["input_ids"] for text in texts]
    features = [Feature(row=i, input_ids=each, reads=np.arange(len(each))) for i, each in enumerate(ids)]
    return collate(features, pad_id=tokenizer.pad_token_id)


def pretrained_in(folder: Path, encoder: Path) -> EncoderWithHead:
    model = built(encoder)
    save_checkpoint(model.eval(), folder, AutoTokenizer.from_pretrained(encoder), {"max_length": 32})
    return model


@pytest.mark.parametrize("mode", ["training", "evaluation"])
def test_a_later_token_changes_no_earlier_logit(mode: str, encoder: Path) -> None:
    """On our attention, in a padded batch, with dropout and without."""
    model = built(encoder, dropout=0.1 if mode == "training" else None).train(mode == "training")
    assert model.backbone.config._attn_implementation == attention.ON_CPU
    batch = batch_of(TEXTS, encoder)
    assert batch.input_ids is not None
    length = len(load_tokenizer(encoder)(TEXTS[0])["input_ids"])
    for place in range(1, length):
        changed = batch.input_ids.clone()
        changed[0, place:length] = batch.input_ids[2, 2]
        outputs = []
        for ids in (batch.input_ids, changed):
            dropout.seed(3)
            outputs.append(model(ids, *batch.inputs()[1:]))
        assert torch.equal(outputs[0][0, :place], outputs[1][0, :place])
        assert not torch.allclose(outputs[0][0, place:length], outputs[1][0, place:length])


def test_what_is_saved_is_a_causal_language_model_of_transformers(encoder: Path, tmp_path: Path) -> None:
    ours = pretrained_in(tmp_path, encoder)
    theirs, info = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    batch = batch_of(TEXTS, encoder)
    there = batch.attention_mask.bool()
    with torch.no_grad():
        found = ours(*batch.inputs())[there]
        assert torch.allclose(found, theirs.eval()(**named_inputs(theirs, batch)).logits[there], atol=1e-5)
        assert torch.allclose(found, load_trained(tmp_path, NextWordHead).eval()(*batch.inputs())[there], atol=1e-5)
    text = theirs.generate(batch.input_ids[:1, :3], max_new_tokens=3, pad_token_id=0)  # type: ignore[index]
    assert text.shape == (1, 6)
    further, new = build_model(tmp_path, NextWordHead, Recipe(task="any"), device=CPU)
    assert new == []
    assert torch.equal(further.head.dense.weight, ours.head.dense.weight)


@pytest.mark.parametrize("task", [cat_task(), labels_task(), choice_task()], ids=lambda task: task.name)
def test_fine_tuned_it_stays_left_to_right_and_pools_the_last_token(task: Task, encoder: Path, tmp_path: Path) -> None:
    pretrained_in(tmp_path / "encoder", encoder)
    trainer, features = build(task, tmp_path / "encoder", Train(), max_length=64)
    model = trainer.model.eval()
    assert model.backbone.left_to_right
    assert not any("pooler" in name for name, _ in model.named_parameters())
    batch = collate(features[:6], pad_id=trainer.engine.pad_id)
    plain = AutoModel.from_pretrained(tmp_path / "encoder", dtype=torch.float32).eval()
    with torch.no_grad():
        hidden, _ = model.hidden(batch)
        every = plain(**named_inputs(plain, Batch(batch.input_ids, batch.attention_mask, batch.token_type_ids)))
    last = batch.attention_mask.sum(1) - 1
    assert len(set(last.tolist())) > 1
    assert torch.allclose(hidden, every.last_hidden_state[torch.arange(len(last)), last], atol=1e-5)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "encoder")
    save_checkpoint(model, tmp_path / "model", tokenizer, {"task": task.name})
    assert (tmp_path / "model" / OWN_WEIGHTS).is_file()  # no class of transformers pools the last token
    again = load_trained(tmp_path / "model", task.head).eval()
    with torch.no_grad():
        assert torch.allclose(again(*batch.inputs()), model(*batch.inputs()), atol=1e-6)
    body, new = load_encoder(tmp_path / "model")
    assert body.config.is_decoder and not [name for name in new if "pooler" not in name]


@pytest.mark.parametrize("task", [tag_task(), span_task()], ids=lambda task: task.name)
def test_a_head_on_every_token_is_saved_for_transformers(task: Task, encoder: Path, tmp_path: Path) -> None:
    pretrained_in(tmp_path / "encoder", encoder)
    trainer, features = build(task, tmp_path / "encoder", Train())
    save_checkpoint(trainer.model.eval(), tmp_path / "model", load_tokenizer(tmp_path / "encoder"), {})
    assert not (tmp_path / "model" / OWN_WEIGHTS).is_file()
    batch = collate(features[:6], pad_id=trainer.engine.pad_id)
    again = load_trained(tmp_path / "model", task.head).eval()
    with torch.no_grad():
        found, expected = again(*batch.inputs()), trainer.model(*batch.inputs())
    there = torch.isfinite(expected)
    assert again.backbone.left_to_right
    assert torch.allclose(found[there], expected[there], atol=1e-5)
    if task.name == tag_task().name:
        theirs = AutoModelForTokenClassification.from_pretrained(tmp_path / "model", dtype=torch.float32).eval()
        with torch.no_grad():
            logits = theirs(**named_inputs(theirs, batch)).logits
        assert torch.allclose(logits[torch.arange(6)[:, None], batch.positions.clamp(min=0)], expected, atol=1e-5)  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("reading", [{"bilstm": True}, {"layers": [1, 2]}])
def test_a_layer_mix_or_a_bilstm_reads_it(reading: dict[str, object], tmp_path: Path, tiny_bert: Path) -> None:
    pretrained_in(tmp_path / "encoder", tiny_bert)
    trainer, found, _ = fit(cat_task(), tmp_path / "encoder", Train(epochs=1, learning_rate=1e-3), **reading)
    model, rows = trainer.model.eval(), cat_task().load(Source(), "dev").rows
    assert len(found.answers["dev"]) == len(rows)
    save_checkpoint(model, tmp_path / "model", load_tokenizer(tmp_path / "encoder"), {"task": "toy", **reading})
    assert OWN_WEIGHTS in {file.name for file in (tmp_path / "model").iterdir()}
    again = load_trained(tmp_path / "model", cat_task().head).eval()
    features = cat_task().encode(rows[:5], load_tokenizer(tiny_bert), 32)
    batch = collate(features, pad_id=0)
    with torch.no_grad():
        assert torch.allclose(again(*batch.inputs()), model(*batch.inputs()), atol=1e-6)


def test_no_answer_is_refused_where_the_first_token_sees_no_other(tiny_bert: Path, tmp_path: Path) -> None:
    pretrained_in(tmp_path, tiny_bert)
    task = replace(span_task(), unanswerable=True)
    with pytest.raises(UserError, match=r"left to right.*bilstm=true"):
        build_model(tmp_path, task.head, Recipe(task="any"), device=CPU)
    assert build_model(tmp_path, task.head, Recipe(task="any", bilstm=True), device=CPU)
    assert build_model(tmp_path, span_task().head, Recipe(task="any"), device=CPU)
