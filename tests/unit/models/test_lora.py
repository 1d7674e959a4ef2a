"""LoRA: what is adapted and trained, and that what is saved gives the same logits in transformers and in peft."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from support.pairs import WITHOUT_CLASS, each_task_and_family
from support.toys import cat_task, choice_task, single_answers, tag_task
from support.training import CPU, build, fit, logits_of
from transformers import AutoConfig, AutoTokenizer

from finetune.errors import UserError
from finetune.models import backbone
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.freezing import parameter_counts
from finetune.models.head import EncoderWithHead
from finetune.models.lora import merged, save_adapter
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task
from finetune.training.trainer import build_optimizer

peft = pytest.importorskip("peft", reason="needs the extra `lora`")


def adapted(task: Task, encoder: Path, **settings: Any) -> tuple[EncoderWithHead, Batch]:
    """A model with LoRA that changes its logits, as after training, and a batch."""
    trainer, features = build(task, encoder, Train(), **{"lora": 4, **settings})
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in trainer.model.named_parameters():
            if ".lora_B." in name:
                parameter.normal_(std=0.3)
    features = [f for f in features if len(f.choices) == len(features[0].choices)][:9]
    return trainer.model.eval(), collate(features, pad_id=trainer.engine.pad_id)


def logits(model: EncoderWithHead, batch: Batch) -> torch.Tensor:
    with torch.no_grad():
        return model(*batch.inputs())


def trained(model: EncoderWithHead) -> set[str]:
    """The parts of a model that are trained: `lora`, or the name of a module or parameter."""
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    places = [name.split(".") for name in names if ".lora_" not in name]
    return {".".join(place[1 : 1 + (place[0] == "backbone")] or place[:1]) for place in places} | (
        {"lora"} if len(places) < len(names) else set()
    )


@each_task_and_family(single_answers())
def test_what_is_saved_gives_the_same_logits_in_transformers_and_in_peft(
    task: Task, tiny_encoder: Path, tmp_path: Path
) -> None:
    recipe = Recipe(task="any", model=str(tiny_encoder), lora=4, adapter=True)
    try:
        ours, batch = adapted(task, tiny_encoder, adapter=True)
    except UserError as error:
        kind = AutoConfig.from_pretrained(tiny_encoder).model_type
        assert any(f"no AutoModelFor{head} for type '{kind}'" in str(error) for _, head in WITHOUT_CLASS)
        return
    expected = logits(ours, batch)
    save_checkpoint(ours, tmp_path, AutoTokenizer.from_pretrained(tiny_encoder), {"task": task.name})
    save_adapter(ours, tmp_path / "adapter", recipe, base=recipe.model)
    kind = getattr(transformers, ours.head.auto_class)
    whole = kind.from_pretrained(tmp_path, dtype=torch.float32).eval()
    base = kind.from_pretrained(tiny_encoder, config=AutoConfig.from_pretrained(tmp_path), dtype=torch.float32)
    with torch.no_grad():
        before = logits_of(base.eval(), batch)
    small = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    there = torch.isfinite(expected)  # a span's logits at padding are not
    for theirs in (whole, small.get_base_model()):
        with torch.no_grad():
            assert torch.allclose(logits_of(theirs, batch)[there], expected[there], atol=1e-5)
    assert (before - expected)[there].abs().max() > 1e-3
    assert torch.equal(logits(ours, batch)[there], expected[there])  # saving has changed nothing
    assert not any("lora" in name for name in whole.state_dict())


def test_merged_for_a_while_the_weights_are_the_same_bits_afterwards(tiny_encoder: Path) -> None:
    model, batch = adapted(cat_task(), tiny_encoder)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    expected = logits(model, batch)
    with merged(model.backbone.encoder):
        inside = logits(model, batch)
        assert any(not torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert torch.allclose(inside, expected, atol=1e-5)
    assert torch.equal(logits(model, batch), expected)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize(
    ("task", "settings", "parts"),
    [
        (cat_task(), {}, {"encoder", "head", "lora"}),  # the pooler of the encoder
        (tag_task(), {}, {"head", "lora"}),
        (tag_task(), {"layers": "weighted-sum-all", "bilstm": True}, {"reader", "head", "lora"}),
    ],
)
def test_head_pooler_mix_and_bilstm_are_trained_and_saved(
    task: Task,
    settings: dict[str, Any],
    parts: set[str],
    tiny_bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backbone, "LSTM_WIDTH", 24)
    untrained, batch = adapted(task, tiny_bert, **settings)
    assert trained(untrained) == parts
    assert {n for n, p in untrained.backbone.encoder.named_parameters() if p.requires_grad and "lora" not in n} <= {
        "pooler.dense.weight",
        "pooler.dense.bias",
    }
    before = {name: tensor.clone() for name, tensor in build(task, tiny_bert, Train(), lora=4, **settings)[0]
              .model.state_dict().items()}  # fmt: skip
    trainer, _, _ = fit(task, tiny_bert, Train(learning_rate=1e-2, epochs=1), lora=4, **settings)
    model = trainer.model.eval()
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) != parameter.requires_grad, name
    save_checkpoint(model, tmp_path, AutoTokenizer.from_pretrained(tiny_bert), {"task": task.name, **settings})
    again = load_trained(tmp_path, task.head).eval()
    assert torch.allclose(logits(again, batch), logits(model, batch), atol=1e-5)
    assert again.state_dict().keys() == build(task, tiny_bert, Train(), **settings)[0].model.state_dict().keys()


def test_a_new_pooler_is_trained_and_other_new_weights_are_refused(tiny_roberta: Path, tmp_path: Path) -> None:
    encoder = transformers.RobertaModel.from_pretrained(tiny_roberta, add_pooling_layer=False)
    encoder.save_pretrained(tmp_path)
    model, new = build_model(tmp_path, choice_task().head, Recipe(task="any", lora=2), device=CPU)
    assert new == ["pooler.dense.bias", "pooler.dense.weight"]
    assert model.backbone.encoder.pooler.dense.weight.requires_grad
    state = {name: t for name, t in encoder.state_dict().items() if name != "encoder.layer.1.output.dense.bias"}
    encoder.save_pretrained(tmp_path, state_dict=state)
    with pytest.raises(UserError, match=r"lacks encoder\.layer\.1\.output\.dense\.bias, .* random below LoRA"):
        build_model(tmp_path, choice_task().head, Recipe(task="any", lora=2), device=CPU)


def adapted_modules(folder: Path, task: Task | None = None, **settings: Any) -> list[str]:
    """The modules with LoRA, without what is equal in all."""
    model, _ = build_model(folder, (task or cat_task()).head, Recipe(task="any", **settings), device=CPU)
    names = [name for name, _ in model.backbone.encoder.named_parameters() if ".lora_A." in name]
    return [name.removeprefix("encoder.layer.").partition(".lora_A")[0] for name in names]


def test_layers_that_are_frozen_or_not_read_get_no_lora(tiny_bert: Path) -> None:
    both = [f"{layer}.attention.self.{name}" for layer in (0, 1) for name in ("query", "value")]
    assert adapted_modules(tiny_bert, lora=2) == both
    assert adapted_modules(tiny_bert, lora=2, freeze_layers=1) == both[2:]
    assert adapted_modules(tiny_bert, tag_task(), lora=2, layers=[1]) == both[:2]
    with pytest.raises(UserError, match="lora = 2: each layer query or value is frozen"):
        adapted_modules(tiny_bert, lora=2, freeze_layers=2)


def test_targets_are_names_or_ends_of_names(tiny_bert: Path, tiny_distilbert: Path) -> None:
    chosen = adapted_modules(tiny_bert, lora=2, lora_targets=["attention.output.dense", "key"], freeze_layers=1)
    assert chosen == ["1.attention.self.key", "1.attention.output.dense"]
    assert not any("pooler" in name for name in adapted_modules(tiny_bert, lora=2, lora_targets=["dense"]))
    assert {name.rsplit(".")[-1] for name in adapted_modules(tiny_distilbert, lora=2)} == {"q_lin", "v_lin"}


FAULTS = [
    ({"lora_targets": ["querry"]}, r"no linear layer 'querry'.*query, .*attention\.output\.dense, intermediate\.dense"),
    ({"lora_targets": ["pooler"]}, "no linear layer 'pooler'"),
]


@pytest.mark.parametrize(("settings", "words"), FAULTS)
def test_a_layer_that_the_encoder_lacks_is_an_error_that_names_those_it_has(
    settings: dict[str, Any], words: str, tiny_bert: Path
) -> None:
    with pytest.raises(UserError, match=words):
        adapted_modules(tiny_bert, lora=2, **settings)


def test_without_peft_the_extra_is_named(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(UserError, match=r"not installed \(peft\).*bert-finetune\[lora\]"):
        adapted_modules(tiny_bert, lora=2)


def test_the_optimizer_holds_no_frozen_weights_and_lower_layers_learn_more_slowly(tiny_bert: Path) -> None:
    model, _ = build_model(tiny_bert, cat_task().head, Recipe(task="any", lora=2), device=CPU)
    optimizer = build_optimizer(model, Train(learning_rate=1.0, layer_decay=0.5))
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    names = {name: rates.get(id(p)) for name, p in model.named_parameters()}
    assert {rate for name, rate in names.items() if ".layer.0." in name and ".lora_" in name} == {0.25}
    assert {rate for name, rate in names.items() if ".layer.1." in name and ".lora_" in name} == {0.5}
    assert {rate for name, rate in names.items() if ".lora_" not in name and "pooler" not in name} == {None, 1.0}
    counts = parameter_counts(model)
    assert counts["trained"] == sum(p.numel() for group in optimizer.param_groups for p in group["params"])
    plain, _ = build_model(tiny_bert, cat_task().head, Recipe(task="any"), device=CPU)
    assert counts["all"] - parameter_counts(plain)["all"] == 2 * 2 * (2 * 32 + 32 * 2)  # layers, targets, rank x width


def test_alpha_and_dropout_are_those_of_the_recipe(tiny_bert: Path) -> None:
    for settings, scaling in (({}, 2.0), ({"lora_alpha": 4}, 1.0)):
        model, _ = build_model(tiny_bert, cat_task().head, Recipe(task="any", lora=4, lora_dropout=0.3, **settings),
                               device=CPU)  # fmt: skip
        layer = model.backbone.encoder.encoder.layer[0].attention.self.query
        assert layer.scaling["default"] == scaling
        assert type(layer.lora_dropout["default"]).__name__ == "FastDropout"  # whose masks depend on the data seed
        assert layer.lora_dropout["default"].p == 0.3
