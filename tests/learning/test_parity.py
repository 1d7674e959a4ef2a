"""The loop equals transformers' own classes under a plain loop."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from support.pairs import WITHOUT_CLASS, each_task_and_family
from support.toys import cat_task, choice_task, labels_task, length_task, span_task, tag_task, toy
from support.training import PLAIN, Losses, build, logits_of, loss_of

from finetune.data.source import Source
from finetune.models.backbone import Backbone
from finetune.models.batch import collate
from finetune.models.families import set_dropout
from finetune.models.feature import Feature
from finetune.models.head import EncoderWithHead, Head
from finetune.runs.recipe import Train
from finetune.task_types.span.task import SpanTask
from finetune.task_types.task import Task
from finetune.training.evaluation import DevEvaluation
from finetune.training.updates import training_batches


def reference(
    features: list[Feature], folder: Path, settings: Train, head: Head, count: int
) -> tuple[Any, list[float]]:
    """transformers' own class under a plain loop: same first weights, same batches, torch's AdamW."""
    config = transformers.AutoConfig.from_pretrained(folder)
    set_dropout(config, 0.0)
    config.update(head.config_settings())
    model = getattr(transformers, head.auto_class).from_pretrained(folder, config=config, dtype=torch.float32)
    model.load_state_dict(head.to_checkpoint(), strict=False)
    norms = {id(p) for m in model.modules() if type(m).__name__.endswith("Norm") for p in m.parameters()}
    plain = [p for name, p in model.named_parameters() if name.endswith("bias") or id(p) in norms]
    decayed = [p for p in model.parameters() if not any(p is other for other in plain)]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.999), eps=1e-6)
    per_epoch = -(-len(features) // settings.batch_size)
    updates = per_epoch * settings.epochs
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, math.ceil(0.1 * updates), updates)
    losses: list[float] = []
    model.train()
    lengths = [len(feature) for feature in features]
    for update in range(count):
        epoch, place = divmod(update, per_epoch)
        batches = training_batches(lengths, batch_size=settings.batch_size, data_seed=0, epoch=epoch + 1)
        loss = loss_of(model, collate([features[i] for i in batches[place]], pad_id=config.pad_token_id or 0))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        losses.append(float(loss.detach()))
    return model.eval(), losses


def of_one_length(task: SpanTask, folder: Path) -> SpanTask:
    """Spans without padding, which transformers' own loss counts among the possible places, and ours does not."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = list(task.load(Source(), "train").rows)
    longest = max(map(len, task.encode(rows, tokenizer, 128)))
    for index, row in enumerate(rows):
        while len(task.encode([row], tokenizer, 128)[0]) < longest:
            row = replace(row, context=f"{row.context} a")
        rows[index] = row
    return toy(SpanTask, rows, name=task.name)


PARITY = [cat_task(), length_task(), labels_task(), tag_task(), span_task(), choice_task(ragged=False)]


OF_HEADS = (
    *("classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout", "qa_dropout"),
    *("summary_first_dropout", "summary_last_dropout", "pooler_dropout", "hidden_dropout_prob"),
)


@pytest.mark.slow
@each_task_and_family(PARITY, families=["roberta"], known=())  # test_saved_models.py sees each head in each family
def test_first_fifty_losses_and_logits_equal_transformers(task: Task, tiny_encoder: Path) -> None:
    """At a learning rate at which rounding does not grow: at 3e-3, two CPUs differ by 1e-4 in one of these."""
    slow = transformers.AutoConfig.from_pretrained(tiny_encoder).model_type == "roformer"
    settings = PLAIN.model_copy(update={"learning_rate": 2e-3 if slow else 1e-3})
    losses = Losses()
    if isinstance(task, SpanTask):
        task = of_one_length(task, tiny_encoder)
    trainer, features = build(task, tiny_encoder, settings, watch=losses, max_length=128)
    if not trainer.model.head.has_class:
        kind = trainer.model.backbone.config.model_type
        assert (kind, trainer.model.head.auto_class.removeprefix("AutoModelFor")) in WITHOUT_CLASS
        return
    assert not isinstance(task, SpanTask) or len({len(feature) for feature in features}) == 1
    theirs, expected = reference(features, tiny_encoder, settings, trainer.model.head, count=52)
    rows = task.load(Source(), "dev").rows
    trainer.fit(features, DevEvaluation(task=task, rows={"dev": rows}, features={"dev": features}))
    assert len(losses.values) == 52
    assert losses.values[:50] == pytest.approx(expected[:50], abs=1e-5)
    assert expected[0] - expected[-1] > 0.05  # it trained, so the comparison means something
    with torch.no_grad():
        logits = logits_of(theirs, collate(features, pad_id=trainer.engine.pad_id)).numpy()
    for ours, other in zip(trainer.engine.logits(features), logits, strict=True):
        assert ours == pytest.approx(other[: len(ours)], abs=1e-3)


@pytest.mark.slow
def test_heads_drop_what_transformers_own_drop(tiny_encoder: Path) -> None:
    """Every dropout has a probability of its own, and with equal random numbers the logits of training are equal."""
    for task in PARITY:
        assert_drops_the_same(task, tiny_encoder)


def assert_drops_the_same(task: Task, folder: Path) -> None:
    config = transformers.AutoConfig.from_pretrained(folder)
    names = [name for name in config.to_dict() if "dropout" in name]
    for place, name in enumerate(names, start=3):
        setattr(config, name, place / 20 if name in OF_HEADS else 0.0)
    encoder = transformers.AutoModel.from_pretrained(folder, config=config, dtype=torch.float32)
    backbone = Backbone(encoder)
    model = EncoderWithHead(backbone, task.head(backbone)).train()
    if (config.model_type, model.head.auto_class.removeprefix("AutoModelFor")) in WITHOUT_CLASS:
        assert not model.head.has_class
        return
    config.update(model.head.config_settings())
    auto = getattr(transformers, model.head.auto_class)
    theirs = auto.from_pretrained(folder, config=config, dtype=torch.float32).train()
    theirs.load_state_dict(model.head.to_checkpoint(), strict=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    batch = collate(task.encode(task.load(Source(), "train").rows[:1], tokenizer, 128), pad_id=config.pad_token_id or 0)
    if batch.positions is not None:  # of tags, all positions: else the masks have other shapes
        batch = replace(batch, positions=torch.arange(batch.input_ids.shape[1])[None])
    torch.manual_seed(0)
    expected = logits_of(theirs, batch)
    torch.manual_seed(0)
    assert model(*batch.inputs()).detach().numpy() == pytest.approx(expected.detach().numpy(), abs=1e-5)
    if any(p > 0 for p in (m.p for m in theirs.modules() if isinstance(m, torch.nn.Dropout))):
        assert not torch.allclose(logits_of(theirs, batch), expected)
