"""What is read of an encoder: mixes of layers, the BiLSTM, the vector of a text; and how such models are saved."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from support.pairs import each_task_and_family, each_with_families
from support.records import change_config
from support.toys import cat_task, choice_task, labels_task, length_task, span_task, tag_task
from support.training import build
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoModel

from finetune.errors import UserError
from finetune.models import backbone as reader
from finetune.models.backbone import BiLSTM, mix_of
from finetune.models.batch import collate
from finetune.models.building import load_backbone
from finetune.models.model_folder import FEW_ROWS, fitting_pooling, load_config, load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """768 is wide for a toy."""
    monkeypatch.setattr(reader, "LSTM_WIDTH", 24)


def test_layers_that_an_encoder_lacks_are_refused() -> None:
    for layers, asked in (([2, 5], "layer 5"), ([-1], "layer -1"), ([], "no layer")):
        with pytest.raises(UserError, match=rf"asks for {asked}.*has 0 .the embeddings. to 2, the last"):
            mix_of(layers, depth=2)
    with pytest.raises(UserError, match=r"'concat-last-4'.*0 to 3"):
        mix_of("concat-last-4", depth=3)


def test_the_bilstm_is_that_of_pytorch_over_packed_sequences() -> None:
    """With weights drawn from the same seed, what comes out and the gradients are the same."""
    hidden, mask = torch.randn(3, 6, 5), torch.tensor([[1] * 6, [1] * 2 + [0] * 4, [1] * 5 + [0]])
    torch.manual_seed(0)
    ours = BiLSTM(5, 24)
    torch.manual_seed(0)
    theirs = nn.LSTM(5, 24, 2, batch_first=True, bidirectional=True)
    output, (last, _) = theirs(pack_padded_sequence(hidden, mask.sum(1), batch_first=True, enforce_sorted=False))
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


READ = {
    "mix": {"frozen": True, "layers": "sum-all"},
    "weighted": {"layers": "weighted-sum-all"},
    "bilstm": {"frozen": True, "bilstm": True},
    "mean": {"pooling": "mean"},
    "unit": {"pooling": "unit"},
}


@each_task_and_family([cat_task(), tag_task(), span_task(), choice_task(), length_task(), labels_task()])
@pytest.mark.parametrize("how", READ)
def test_a_model_with_a_reader_loads_again_and_as_an_encoder(
    task: Task, how: str, tiny_encoder: Path, tmp_path: Path
) -> None:
    if how in ("mean", "unit") and task.name.startswith(("toy-tags", "toy-spans")):
        with pytest.raises(UserError, match=rf"pooling = '{how}'.*reads each token"):
            build(task, tiny_encoder, Train(), **READ[how])
        return
    trainer, features = build(task, tiny_encoder, Train(), **READ[how])
    model = trainer.model.eval()
    save_checkpoint(model, tmp_path, load_tokenizer(tiny_encoder), {"max_length": 32, **READ[how]})
    again = load_trained(tmp_path, task.head).eval()
    inputs = collate(features[:4], pad_id=trainer.engine.pad_id).inputs()
    with torch.no_grad():
        assert torch.allclose(model(*inputs), again(*inputs), atol=1e-5)
    kind = getattr(transformers, model.head.auto_class)
    if "pooling" not in READ[how] and type(model.backbone.config) in kind._model_mapping:
        with pytest.raises(RuntimeError, match="mismatch"):  # its head would be random
            kind.from_pretrained(tmp_path)
    loaded = load_backbone(tmp_path, Recipe(task="any"))[0].encoder
    theirs = model.backbone.encoder.state_dict()
    assert all(torch.equal(theirs[name], tensor) for name, tensor in loaded.state_dict().items() if name in theirs)
    assert all(parameter.requires_grad for parameter in loaded.parameters())


VECTORS = {"mean": ("mean", "last"), "cls": ("cls", "last"), "layer": ("mean", [1]), "unit": ("unit", "last")}


@each_with_families(["pooling", "layers"], VECTORS)
def test_the_vector_of_a_text_is_that_of_transformers_whatever_the_padding(
    pooling: str, layers: Any, tiny_encoder: Path
) -> None:
    trainer, features = build(cat_task(), tiny_encoder, Train(), pooling=pooling, layers=layers)
    model, encoder = trainer.model.eval(), AutoModel.from_pretrained(tiny_encoder, dtype=torch.float32).eval()
    number = -1 if layers == "last" else layers[0]
    some = sorted(features[:20], key=len)
    assert len(some[0]) < len(some[-1])
    with torch.no_grad():
        found, _ = model.hidden(trainer.engine.batch(some))
        for feature, ours in zip(some, found, strict=True):
            states = encoder(torch.tensor([feature.input_ids]), output_hidden_states=True).hidden_states[number][0]
            mean = states.mean(0)
            expected = {"mean": mean, "unit": mean / mean.norm(), "cls": states[0]}[pooling]
            assert torch.allclose(ours, expected, atol=1e-5)


def fitting(folder: Path, rows: int = 50, **settings: Any) -> str:
    """What `auto` means for an encoder."""
    return fitting_pooling(Recipe(task="any", **{"pooling": "auto"} | settings), folder, load_config(folder), rows=rows)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode": "mean"}, "mean"),  # of later versions
        ({"pooling_mode_max_tokens": True}, "family"),  # not one of ours
    ],
)
def test_a_sentence_encoder_says_which_vector_it_was_trained_with(
    settings: dict[str, Any], expected: str, tiny_bert: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_bert, tmp_path / "bert"))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(settings))
    kind = "sentence_transformers.models."
    modules = [{"path": "", "type": f"{kind}Transformer"}, {"path": "1_Pooling", "type": f"{kind}Pooling"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    assert fitting(folder) == expected
    modules[1]["path"] = "../bert/1_Pooling"  # no other folder is looked into
    (folder / "modules.json").write_text(json.dumps(modules))
    assert fitting(folder) == "family"


def test_which_vector_fits_an_encoder(tiny_bert: Path, tiny_roberta: Path, tmp_path: Path) -> None:
    bert = Path(shutil.copytree(tiny_bert, tmp_path / "bert"))
    assert fitting(bert) == "family"
    for settings, expected in (
        ({}, "mean"),  # its classes put a new layer there
        ({"rows": FEW_ROWS - 1}, "mean"),
        ({"rows": FEW_ROWS}, "family"),
        ({"rows": FEW_ROWS, "frozen": True}, "mean"),
        ({"train": {"solver": "contrastive"}}, "unit"),
        ({"bilstm": True}, "family"),
        ({"pooling": "cls"}, "cls"),
    ):
        assert fitting(tiny_roberta, **settings) == expected, settings
    weights = {name: each for name, each in load_file(bert / "model.safetensors").items() if "pooler" not in name}
    save_file(weights, bert / "model.safetensors", metadata={"format": "pt"})
    assert fitting(bert) == "mean"
    change_config(bert, finetune={"pooling": "cls"})  # it goes on as it was trained before
    assert fitting(bert) == "cls"
