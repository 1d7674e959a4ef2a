"""LoRA and checkpointed gradients, and settings of layers that an encoder cannot take."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from support.pairs import WITHOUT_CLASS, each_task_and_family
from support.toys import cat_task, single_answers
from support.training import CPU, Losses, build, fit, logits_of
from transformers import AutoConfig

from finetune.errors import UserError
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.head import EncoderWithHead
from finetune.models.lora import save_adapter
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe, Train
from finetune.task_types.task import Task

peft = pytest.importorskip("peft", reason="needs the extra `lora`")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"freeze_layers": 3}, "freeze_layers: 3, and this encoder has 2 layers"),
        ({"freeze_layers": 1, "reinit_layers": 2}, "the two together: 3, and"),
        ({"keep_layers": [2]}, r"keep_layers = \[2\], and this encoder has the layers 0 to 1"),
        ({"keep_layers": [1, 1]}, "in rising order"),
        ({"frozen": True, "reinit_layers": 1}, "reinit_layers = 1 with frozen = true"),  # they would stay random
        ({"lora": 2, "freeze_layers": 2}, "lora = 2: each layer query or value is frozen"),
        ({"lora": 2, "lora_targets": ["querry"]}, r"no linear layer 'querry'.*query, .*attention\.output\.dense"),
        ({"tiny": "albert", "train": {"gradient_checkpointing": True}}, "gradient_checkpointing: .* type 'albert'"),
        ({"tiny": "modernbert", "keep_layers": [1]}, "differ by their place"),  # every third reads the whole text
    ],
)
def test_settings_that_an_encoder_cannot_take_are_refused(
    settings: dict[str, Any], words: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(f"tiny_{settings.pop('tiny', 'bert')}")
    with pytest.raises(UserError, match=words):
        build_model(folder, cat_task().head, Recipe(task="any", **settings), device=CPU)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "distilbert", "modernbert", "deberta_v2"])
@pytest.mark.parametrize("settings", [{}, {"lora": 4}, {"freeze_layers": 1}, {"layers": [1], "bilstm": 8}], ids=str)
def test_checkpointed_gradients_give_the_same_updates_with_less_memory(
    settings: dict[str, Any], name: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(f"tiny_{name}")
    found, kept = [], []
    for checkpointed in (False, True):
        train = Train(
            epochs=1, batch_size=16, learning_rate=1e-3, dropout=0.3, gradient_checkpointing=checkpointed
        )  # fmt: skip
        losses, sizes = Losses(), list[int]()
        trainer, _, _ = fit(cat_task(), folder, train, watch=losses, **settings)
        _, features = build(cat_task(), folder, train)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda tensor, sizes=sizes: sizes.append(tensor.nbytes) or tensor, lambda tensor: tensor
        ):
            trainer.model.train()(*collate(features[:16], pad_id=trainer.engine.pad_id).inputs())
        found.append(losses.values)
        kept.append(sum(sizes))
    assert found[0] == found[1]
    assert kept[1] < (0.5 if not settings else 1) * kept[0]


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


@each_task_and_family(single_answers())
def test_saved_lora_gives_the_same_logits_in_transformers_and_in_peft(
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
    save_checkpoint(ours, tmp_path, load_tokenizer(tiny_encoder), {"task": task.name})
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
