"""Encoder-decoders: which encoders can be decoders, and logits, searches and saved models as transformers has them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from support.toys import cat_task, written_rows, written_task
from support.training import CPU, build, fit
from transformers import AutoConfig, EncoderDecoderModel

from finetune.errors import UserError
from finetune.models.building import build_model
from finetune.models.config_bounds import require_config
from finetune.models.decoding_head import DecodingHead
from finetune.models.encoder_decoder import require_decoder
from finetune.models.loading import load_encoder, load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.recipe import Recipe
from finetune.runs.recipe_tables import Train

BRIEF = Train(learning_rate=2e-3, epochs=2, batch_size=16, dropout=0.0)


@pytest.mark.parametrize("kind", ["modernbert", "deberta-v2", "distilbert", "albert", "mpnet", "reformer", "big_bird"])
def test_an_encoder_that_cannot_be_a_decoder_is_named(kind: str) -> None:
    with pytest.raises(UserError, match=f"'{kind}' cannot be a decoder"):
        require_decoder(AutoConfig.for_model(kind))


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "xlm-roberta", "camembert", "roberta-prelayernorm"])
def test_other_encoders_can_be_decoders(kind: str) -> None:
    require_decoder(AutoConfig.for_model(kind))


def saved(tmp_path: Path, encoder: Path, **settings: object) -> tuple[object, list, Path]:
    """A trainer with a model that was trained briefly and saved, and its features."""
    task = written_task(**settings)
    trainer, _, _ = fit(task, encoder, BRIEF)
    folder = tmp_path / "model"
    save_checkpoint(trainer.engine.model, folder, load_tokenizer(encoder), {"task": "toy-written"})
    features = task.codec.encode(task.read(None, "dev").rows, load_tokenizer(encoder), 32)
    return trainer, features, folder


def test_a_saved_model_is_that_of_transformers(tiny_bert: Path, tmp_path: Path) -> None:
    """Its logits under teacher forcing, and what it writes with `generate`."""
    trainer, features, folder = saved(tmp_path, tiny_bert, beams=3)
    engine = trainer.engine
    theirs = EncoderDecoderModel.from_pretrained(folder).eval()
    batch = engine.batch(features[:5])
    with torch.no_grad():
        ours = engine.model.eval()(*batch.inputs())
        start = torch.full_like(batch.targets[:, :1], theirs.config.decoder_start_token_id)
        before = torch.cat([start, batch.targets[:, :-1]], 1).clamp(min=0)
        mask = batch.attention_mask
        logits = theirs(input_ids=batch.input_ids, attention_mask=mask, decoder_input_ids=before).logits
    known = batch.targets >= 0
    assert torch.allclose(ours[known], logits[known], atol=1e-5)
    mine = engine.logits(features[:5])
    written = theirs.generate(input_ids=batch.input_ids, attention_mask=mask)
    assert theirs.generation_config.num_beams == 3
    for one, other in zip(mine, written[:, 1:].tolist(), strict=True):
        assert one.tolist() == other[: len(one)]


def test_a_saved_model_is_loaded_with_its_decoder(tiny_bert: Path, tmp_path: Path) -> None:
    trainer, features, folder = saved(tmp_path, tiny_bert)
    loaded = load_trained(folder, written_task().head)
    before = trainer.engine.logits(features)
    again = replace(trainer.engine, model=loaded).logits(features)
    assert [one.tolist() for one in before] == [one.tolist() for one in again]
    with pytest.raises(UserError, match="is an encoder with a decoder"):
        load_trained(folder, cat_task().head)


def test_its_encoder_is_read_alone(tiny_bert: Path, tmp_path: Path) -> None:
    trainer, _, folder = saved(tmp_path, tiny_bert)
    encoder, new = load_encoder(folder)
    ours = trainer.engine.model.backbone.encoder.state_dict()
    assert all(torch.equal(tensor, encoder.state_dict()[name]) for name, tensor in ours.items())
    assert all(name.startswith("pooler.") for name in new)


def test_a_decoder_begins_with_the_weights_of_the_encoder(tiny_bert: Path) -> None:
    model, _ = build_model(tiny_bert, written_task().head, Recipe(task="any"), device=CPU)
    assert isinstance(model.head, DecodingHead)
    own = model.head.decoder.base_model.state_dict()
    shared = {name: t for name, t in model.backbone.encoder.state_dict().items() if name in own}
    assert len(shared) > 20
    assert all(torch.equal(tensor, own[name]) for name, tensor in shared.items())
    cross = [name for name in own if "crossattention" in name]
    assert cross
    assert not set(cross) & set(shared)


def test_a_token_is_predicted_from_those_before_it(tiny_bert: Path) -> None:
    trainer, features = build(written_task(), tiny_bert, BRIEF)
    batch, model = trainer.engine.batch(features[:4]), trainer.engine.model.eval()
    changed = batch.targets.clone()
    changed[:, -1:] = 7
    with torch.no_grad():
        one, other = model(*batch.inputs()), model(*replace(batch, targets=changed).inputs())
    assert torch.equal(one, other)  # the last token is no input
    changed[:, :1] = 7
    with torch.no_grad():
        third = model(*replace(batch, targets=changed).inputs())
    assert torch.equal(one[:, 0], third[:, 0])
    assert not torch.allclose(one[:, 1], third[:, 1])


def test_the_loss_is_smoothed_as_in_torch(tiny_bert: Path) -> None:
    trainer, features = build(written_task(label_smoothing=0.2), tiny_bert, BRIEF)
    batch, model = trainer.engine.batch(features[:4]), trainer.engine.model.eval()
    logits = model(*batch.inputs())
    found = model.head.losses(logits, batch.labels)["label"]
    theirs = torch.nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.2, reduction="sum")
    assert torch.allclose(found, theirs(logits.flatten(0, 1), batch.targets.flatten()))


@pytest.mark.parametrize("beams", [1, 4])
def test_what_is_written_does_not_depend_on_the_batch(beams: int, tiny_bert: Path) -> None:
    rows = written_rows(12, longest=5)
    trainer, features = build(written_task(rows, beams=beams), tiny_bert, BRIEF)
    together = trainer.engine.logits(features)
    alone = [trainer.engine.logits([feature])[0] for feature in features]
    assert [one.tolist() for one in together] == [one.tolist() for one in alone]


def test_more_tokens_than_positions_are_refused(tiny_bert: Path) -> None:
    with pytest.raises(UserError, match="max_target_tokens is 600"):
        build_model(tiny_bert, written_task(max_target_tokens=600).head, Recipe(task="any"), device=CPU)


def test_a_layer_mix_is_refused(tiny_bert: Path) -> None:
    recipe = Recipe(task="any", layers="sum-all")
    with pytest.raises(UserError, match="reads the last layer alone"):
        build_model(tiny_bert, written_task().head, recipe, device=CPU)


def test_an_adapter_is_refused(tiny_bert: Path) -> None:
    recipe = Recipe(task="any", lora=2, adapter=True)
    with pytest.raises(UserError, match="adapter = true"):
        build_model(tiny_bert, written_task().head, recipe, device=CPU)


@pytest.mark.parametrize(("part", "name", "value"), [("decoder", "num_hidden_layers", 10**6), ("encoder", "x_eps", 7)])
def test_bounds_hold_of_both_parts(part: str, name: str, value: int, tiny_bert: Path, tmp_path: Path) -> None:
    _, _, folder = saved(tmp_path, tiny_bert)
    file = folder / "config.json"
    table = json.loads(file.read_text())
    table[part][name] = value
    file.write_text(json.dumps(table))
    with pytest.raises(UserError, match=name):
        require_config(folder)
