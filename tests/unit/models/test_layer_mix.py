"""What is read of an encoder: mixes of layers, the BiLSTM, frozen encoders; and how such models are saved."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.pairs import each_task_and_family
from support.toys import cat_task, choice_task, span_task, tag_task
from support.training import CPU, build
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models import backbone as reader
from finetune.models.backbone import Backbone, BiLSTM, LayerReader, mix_of
from finetune.models.batch import collate
from finetune.models.building import build_model, load_backbone
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task

NAMED = {
    "embeddings": ((0,), "concat"),
    "second-to-last": ((11,), "concat"),
    "last": ((12,), "concat"),
    "sum-last-4": ((9, 10, 11, 12), "sum"),
    "concat-last-4": ((9, 10, 11, 12), "concat"),
    "sum-all": (tuple(range(1, 13)), "sum"),
    "weighted-sum-last-4": ((9, 10, 11, 12), "weighted"),
    "weighted-sum-all": (tuple(range(1, 13)), "weighted"),
}


SHAPES = [cat_task(), tag_task(), span_task(), choice_task()]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """768 is wide for a toy."""
    monkeypatch.setattr(reader, "LSTM_WIDTH", 24)


@pytest.mark.parametrize("name", NAMED)
def test_names_of_layers_mean_those_of_table_7(name: Any) -> None:
    mix = mix_of(name, depth=12)
    assert (mix.layers, mix.how) == NAMED[name]


def test_layers_that_an_encoder_lacks_are_refused() -> None:
    assert mix_of([3, 1], depth=4).layers == (3, 1)
    for layers, asked in (([2, 5], "layer 5"), ([-1], "layer -1"), ([], "no layer")):
        with pytest.raises(UserError, match=rf"asks for {asked}.*has 0 .the embeddings. to 2, the last"):
            mix_of(layers, depth=2)
    with pytest.raises(UserError, match=r"'concat-last-4'.*0 to 3"):
        mix_of("concat-last-4", depth=3)


def test_states_are_the_hidden_states_of_transformers(tiny_encoder: Path) -> None:
    backbone, _ = load_backbone(tiny_encoder, Recipe(task="any", layers=[0, 1, 2]))
    theirs = AutoModel.from_pretrained(tiny_encoder, dtype=torch.float32).eval()
    features = tag_task().encode(
        tag_task().load(Source(), "dev").rows[:6], AutoTokenizer.from_pretrained(tiny_encoder), 32
    )
    batch = collate(features, pad_id=theirs.config.pad_token_id)
    with torch.no_grad():
        states, mask = backbone.eval().hidden_states((0, 1, 2), pooled=False, **batch.for_encoder())
        hidden = theirs(batch.input_ids, attention_mask=batch.attention_mask, output_hidden_states=True).hidden_states
    assert mask.sum(1).tolist() == [len(feature.reads) for feature in features]
    for index, feature in enumerate(features):
        expected = torch.stack([layer[index, list(feature.reads)] for layer in hidden], dim=1)
        assert torch.allclose(states[index, : len(feature.reads)], expected, atol=1e-5)


def test_a_mix_adds_joins_or_weighs_layers() -> None:
    states, mask = torch.randn(2, 3, 4, 5), torch.ones(2, 3)
    given = {
        name: LayerReader(mix_of(name, depth=4), width=5, bilstm=False) for name in ("sum-last-4", "concat-last-4")
    }
    assert torch.allclose(given["sum-last-4"](states, mask, pooled=False), states.sum(2))
    joined = given["concat-last-4"](states, mask, pooled=False)
    assert joined.shape == (2, 3, 20)
    assert torch.equal(joined[1, 2, 5:10], states[1, 2, 1])
    weighted = LayerReader(mix_of("weighted-sum-last-4", depth=4), width=5, bilstm=False)
    assert torch.allclose(weighted(states, mask, pooled=False), states.mean(2), atol=1e-6)  # as it begins
    with torch.no_grad():
        weighted.weights.copy_(torch.tensor([0.0, 0.0, 30.0, 0.0]))
        weighted.scale.fill_(2.0)
    assert torch.allclose(weighted(states, mask, pooled=True), 2 * states[:, 0, 2], atol=1e-5)


def test_the_bilstm_is_that_of_pytorch_over_packed_sequences() -> None:
    """With weights drawn from the same seed, what comes out and the gradients are the same."""
    hidden, mask = torch.randn(3, 6, 5), torch.tensor([[1] * 6, [1] * 2 + [0] * 4, [1] * 5 + [0]])
    torch.manual_seed(0)
    ours = BiLSTM(5, 24)
    torch.manual_seed(0)
    theirs = nn.LSTM(5, 24, 2, batch_first=True, bidirectional=True)
    gzipped = pack_padded_sequence(hidden, mask.sum(1), batch_first=True, enforce_sorted=False)
    output, (last, _) = theirs(gzipped)
    expected = pad_packed_sequence(output, batch_first=True)[0]
    given = ours(hidden, mask, ends=False) * mask.unsqueeze(2)
    assert torch.allclose(given, expected, atol=1e-6)
    assert torch.allclose(ours(hidden, mask, ends=True), last[-2:].transpose(0, 1).flatten(1), atol=1e-6)
    given.square().sum().backward()
    expected.square().sum().backward()
    directions = [lstm for both in zip(ours.ahead, ours.back, strict=True) for lstm in both]
    gradients = [parameter.grad for lstm in directions for parameter in lstm.parameters()]
    for gradient, parameter in zip(gradients, theirs.parameters(), strict=True):
        assert torch.allclose(gradient, parameter.grad, atol=1e-6)


@each_task_and_family(SHAPES)
@pytest.mark.parametrize("reading", [{"layers": "sum-all"}, {"bilstm": True}], ids=["mix", "bilstm"])
def test_a_model_with_a_reader_loads_again_and_not_in_transformers(
    task: Task, reading: dict[str, Any], tiny_encoder: Path, tmp_path: Path
) -> None:
    assert_loads_again(task, Recipe(task="any", frozen=True, **reading), tiny_encoder, tmp_path)


def assert_loads_again(task: Task, recipe: Recipe, encoder: Path, folder: Path) -> None:
    """What is saved of a model with a reader is the same model here, and an encoder in transformers."""
    model, _ = build_model(encoder, task.head, recipe, device=CPU)
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    save_checkpoint(model, folder, tokenizer, recipe.model_dump(include={"layers", "bilstm"}))
    again = load_trained(folder, task.head).eval()
    features = task.encode(task.load(Source(), "dev").rows[:5], tokenizer, 32)
    inputs = collate(features, pad_id=tokenizer.pad_token_id).inputs()
    with torch.no_grad():
        assert torch.allclose(model.eval()(*inputs), again(*inputs), atol=1e-6)
    with pytest.raises(OSError, match=r"model\.safetensors"):
        AutoModelForSequenceClassification.from_pretrained(folder)
    loaded = load_backbone(folder, Recipe(task="any"))[0].encoder
    theirs = model.backbone.encoder.state_dict()
    assert all(torch.equal(theirs[name], tensor) for name, tensor in loaded.state_dict().items() if name in theirs)
    assert all(parameter.requires_grad for parameter in loaded.parameters())


def test_the_pooled_mix_goes_through_a_new_tanh_layer_and_end_states_do_not(tiny_encoder: Path) -> None:
    mixed, _ = build_model(tiny_encoder, cat_task().head, Recipe(task="any", layers=[0, 2]), device=CPU)
    assert mixed.head.dense.in_features == 64
    assert mixed.head.activation(torch.tensor(100.0)) == 1.0
    ends, _ = build_model(tiny_encoder, cat_task().head, Recipe(task="any", bilstm=True), device=CPU)
    assert not hasattr(ends.head, "dense")
    assert ends.head.output.in_features == 48


def test_a_last_layer_for_one_token_is_not_used_where_a_bilstm_reads_all(tiny_bert: Path) -> None:
    """Else the BiLSTM would see one position."""
    trainer, features = build(cat_task(), tiny_bert, Train(), bilstm=True)
    batch = collate(features[:3], pad_id=0)
    backbone: Backbone = trainer.model.backbone
    states, mask = backbone.hidden_states((2,), pooled=True, **batch.for_encoder())
    assert states.shape[1] == max(map(len, features[:3])) == mask.shape[1]
    alone = [trainer.engine.logits([feature])[0] for feature in features[:3]]
    assert np.allclose(alone, trainer.engine.logits([replace(f, label=None) for f in features[:3]]), atol=1e-5)
