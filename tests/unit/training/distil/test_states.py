"""A teacher's layers: what is recorded is what transformers computes, and the loss is that of the formula."""

from pathlib import Path

import pytest
import torch
from support.toys import cat_task
from support.training import CPU
from transformers import AutoModel

from finetune.errors import UserError
from finetune.models.batch import collate
from finetune.models.building import build_model
from finetune.models.head import EncoderWithHead
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train
from finetune.training.distil.objective import TaughtStates


def student(folder: Path, keep: list[int]) -> EncoderWithHead:
    recipe = Recipe(task="any", keep_layers=keep, train=Train(dropout=0.0))
    return build_model(folder, cat_task().head, recipe, device=CPU)[0]


def test_the_loss_is_that_of_states_and_attention(tiny_bert: Path) -> None:
    model, encoder = student(tiny_bert, [1]), AutoModel.from_pretrained(tiny_bert)
    theirs = AutoModel.from_pretrained(tiny_bert, attn_implementation="eager").eval()
    rows = cat_task().read(None, "train").rows[:5]
    batch = collate(cat_task().encode(rows, load_tokenizer(tiny_bert), 16), pad_id=0)
    forwards = [module.__dict__.get("forward") for module in model.modules()]
    taught = TaughtStates(model, encoder, 0)
    assert taught.layers == [1]
    model.train()
    model(*batch.inputs())
    loss = taught(batch)
    given = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    output = theirs(**given, output_hidden_states=True, output_attentions=True)
    scores = taught.theirs.attention[1].masked_fill(batch.attention_mask[:, None, None] == 0, -1e9)
    torch.testing.assert_close(scores.softmax(-1), output.attentions[1], atol=1e-5, rtol=1e-4)
    expected = 0.0
    for row, length in enumerate(batch.attention_mask.sum(1).tolist()):
        for ours, others in zip(taught.ours.states, (output.hidden_states[0], output.hidden_states[2]), strict=True):
            expected += float((ours.detach() - others)[row, :length].square().mean())
        apart = taught.ours.attention[0] - taught.theirs.attention[1]
        expected += float(apart.detach()[row, :, :length, :length].square().mean())
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-4)
    loss.backward()
    assert model.projection.weight.grad is not None
    taught.close()
    assert not hasattr(model, "projection")
    assert [module.__dict__.get("forward") for module in model.modules()] == forwards  # whole layers, first token
    assert any(forwards)


def test_a_student_that_is_its_teacher_has_nothing_to_learn(tiny_bert: Path) -> None:
    model = student(tiny_bert, [])
    rows = cat_task().read(None, "train").rows[:3]
    batch = collate(cat_task().encode(rows, load_tokenizer(tiny_bert), 16), pad_id=0)
    before = model.eval()(*batch.inputs())
    taught = TaughtStates(model, AutoModel.from_pretrained(tiny_bert), 0)
    torch.testing.assert_close(model(*batch.inputs()), before)
    assert float(taught(batch).detach()) == pytest.approx(0, abs=1e-6)
    taught.close()
    torch.testing.assert_close(model(*batch.inputs()), before)


def test_a_deeper_student_is_refused(tiny_bert: Path) -> None:
    short = student(tiny_bert, [0]).backbone.encoder
    with pytest.raises(UserError, match="the student has 2 layers, and its teacher 1"):
        TaughtStates(student(tiny_bert, []), short, 0)
