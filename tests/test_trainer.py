"""The loop: equal to transformers' own classes, able to learn, able to stop and go on, the same however it is cut."""

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
import transformers
from toys import (
    CPU,
    Scored,
    build,
    cat_rows,
    cat_task,
    choice_task,
    every_shape,
    fit,
    labels_task,
    length_task,
    logits_of,
    loss_of,
    span_task,
    tag_task,
    toy,
)

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.engine import Diverged, Engine
from finetune.models.backbone import Backbone, Head, Model
from finetune.models.batch import collate
from finetune.models.device import build_accelerator
from finetune.models.families import set_dropout
from finetune.models.feature import Feature
from finetune.runs.recipe import Schedule, Train
from finetune.task_types.span.task import SpanTask
from finetune.task_types.task import Task
from finetune.training.batching import training_batches
from finetune.training.evaluation import Evaluation
from finetune.training.optimizer import build_optimizer, build_schedule

PLAIN = Train(dropout=0.0, learning_rate=3e-3, epochs=13, batch_size=16)


class Losses:
    """A watcher that keeps the loss of every update."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def __call__(self, event: str, **facts: Any) -> None:
        if event == "updates":
            self.values += facts["losses"]


def reference(
    features: list[Feature], folder: Path, settings: Train, head: Head, count: int
) -> tuple[Any, list[float]]:
    """transformers' own class under a plain loop: same first weights, same batches, torch's AdamW."""
    config = transformers.AutoConfig.from_pretrained(folder)
    set_dropout(config, 0.0)
    config.update(head.config_settings())
    model = getattr(transformers, head.auto_class).from_pretrained(folder, config=config, dtype=torch.float32)
    model.load_state_dict(head.to_checkpoint(), strict=False)
    norms = {id(p) for m in model.modules() if isinstance(m, torch.nn.LayerNorm) for p in m.parameters()}
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
    *("summary_first_dropout", "summary_last_dropout"),
)


@pytest.mark.parametrize("task", PARITY, ids=lambda task: task.name)
def test_first_fifty_losses_and_logits_equal_transformers(task: Task, tiny_encoder: Path) -> None:
    losses = Losses()
    if isinstance(task, SpanTask):
        task = of_one_length(task, tiny_encoder)
    trainer, features = build(task, tiny_encoder, PLAIN, watch=losses, max_length=128)
    assert not isinstance(task, SpanTask) or len({len(feature) for feature in features}) == 1
    theirs, expected = reference(features, tiny_encoder, PLAIN, trainer.model.head, count=52)
    rows = task.load(Source(), "dev").rows
    trainer.fit(features, Evaluation(task=task, rows={"dev": rows}, features={"dev": features}))
    assert len(losses.values) == 52
    assert losses.values[:50] == pytest.approx(expected[:50], abs=1e-4)
    assert expected[0] - expected[-1] > 0.05  # it trained, so the comparison means something
    with torch.no_grad():
        logits = logits_of(theirs, collate(features, pad_id=trainer.engine.pad_id)).numpy()
    for ours, other in zip(trainer.engine.logits(features), logits, strict=True):
        assert ours == pytest.approx(other[: len(ours)], abs=1e-3)


@pytest.mark.parametrize("task", PARITY, ids=lambda task: task.name)
def test_heads_drop_what_transformers_own_drop(task: Task, tiny_encoder: Path) -> None:
    """Every dropout has a probability of its own, and with equal random numbers the logits of training are equal."""
    config = transformers.AutoConfig.from_pretrained(tiny_encoder)
    names = [name for name in config.to_dict() if "dropout" in name]
    for place, name in enumerate(names, start=3):
        setattr(config, name, place / 20 if name in OF_HEADS else 0.0)
    encoder = transformers.AutoModel.from_pretrained(tiny_encoder, config=config, dtype=torch.float32)
    backbone = Backbone(encoder)
    model = Model(backbone, task.head(backbone)).train()
    config.update(model.head.config_settings())
    auto = getattr(transformers, model.head.auto_class)
    theirs = auto.from_pretrained(tiny_encoder, config=config, dtype=torch.float32).train()
    theirs.load_state_dict(model.head.to_checkpoint(), strict=False)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_encoder)
    batch = collate(task.encode(task.load(Source(), "train").rows[:1], tokenizer, 128), pad_id=config.pad_token_id or 0)
    if batch.positions is not None:  # of tags, all positions: else the masks have other shapes
        batch = replace(batch, positions=torch.arange(batch.input_ids.shape[1])[None])
    torch.manual_seed(0)
    expected = logits_of(theirs, batch)
    torch.manual_seed(0)
    assert model(*batch.inputs()).detach().numpy() == pytest.approx(expected.detach().numpy(), abs=1e-5)
    if any(p > 0 for p in (m.p for m in theirs.modules() if isinstance(m, torch.nn.Dropout))):
        assert not torch.allclose(logits_of(theirs, batch), expected)


@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_overfits_64_rows(task: Task, tiny_bert: Path) -> None:
    settings = Train(learning_rate=2e-3, epochs=40, batch_size=8, dropout=0.0)
    _, found, progress = fit(task, tiny_bert, settings)
    score = progress.epochs[-1]["headline"]
    assert score > 0.98 if task.name == "toy-reds" else score == 1.0
    assert len(found.answers["dev"]) == 64


LEARNERS = [cat_task(), labels_task(), tag_task(), span_task(), choice_task()]


@pytest.mark.parametrize("task", LEARNERS, ids=lambda task: task.name)
def test_every_head_learns_with_every_family(task: Task, tiny_encoder: Path) -> None:
    _, _, progress = fit(task, tiny_encoder, Train(learning_rate=2e-3, epochs=12, batch_size=8, dropout=0.0))
    assert progress.epochs[-1]["loss"] < 0.5 * progress.epochs[0]["loss"]


def test_shuffled_labels_end_at_the_majority_class(tiny_bert: Path) -> None:
    rows = cat_rows(256)
    golds = ["yes"] * 180 + ["no"] * 76
    random.Random(0).shuffle(golds)
    train = [replace(row, text=row.text[4:], gold=gold) for row, gold in zip(rows, golds, strict=True)]
    unseen = [
        replace(row, text=row.text[4:], gold="yes" if i % 10 < 7 else "no")
        for i, row in enumerate(cat_rows(200, seed=1))
    ]
    task = cat_task(train)
    trainer, _, _ = fit(task, tiny_bert, Train(learning_rate=5e-4, epochs=2, batch_size=32))
    features = task.encode(unseen, transformers.AutoTokenizer.from_pretrained(tiny_bert), 32)
    answers = task.decode(trainer.engine.logits(features), features, unseen)
    assert task.score(answers, unseen)["accuracy"] == pytest.approx(0.7, abs=0.02)


def test_shuffled_data_order_and_dropout_depend_on_the_data_seed_alone(tiny_bert: Path) -> None:
    settings = Train(learning_rate=1e-3, epochs=1, batch_size=8)
    runs = []
    for seeds in ((0, 0), (0, 0), (0, 1), (1, 0)):
        losses = Losses()
        fit(cat_task(), tiny_bert, settings, watch=losses, seeds=seeds)
        runs.append(losses.values)
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[0] != runs[3]


def test_accumulation_changes_nothing_but_memory(tiny_bert: Path) -> None:
    whole, parts = Losses(), Losses()
    fit(cat_task(), tiny_bert, PLAIN, watch=whole)
    fit(cat_task(), tiny_bert, PLAIN.model_copy(update={"accumulation": 3}), watch=parts)
    assert parts.values == pytest.approx(whole.values, abs=1e-5)


def test_a_number_of_minus_100_weighs_as_every_other(tiny_bert: Path) -> None:
    """It is not the mark of a place without a label, which only classes have."""
    task = length_task()
    rows = [replace(row, gold=-100.0) for row in task.load(Source(), "train").rows]
    losses = Losses()
    task = replace(task, read=lambda source, split: Rows(rows=rows, origin="toy"))
    fit(task, tiny_bert, Train(dropout=0.0, epochs=1, batch_size=64), watch=losses)
    assert losses.values == pytest.approx([100.0**2], rel=0.05)


def test_a_run_that_stops_goes_on_as_if_it_had_not(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the middle of the second epoch, with dropout: the losses after it are the same to the last bit."""
    settings = Train(learning_rate=1e-3, epochs=3, batch_size=2, select="best")
    whole, cut = Losses(), Losses()
    expected, _, _ = fit(cat_task(), tiny_bert, settings, watch=whole)
    monkeypatch.setattr("finetune.training.checkpoints.EVERY_SECONDS", 0.0)

    def stop_at_62(event: str, **facts: Any) -> None:
        cut(event, **facts)
        if event == "updates" and facts["update"] == 62:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(cat_task(), tiny_bert, settings, watch=stop_at_62, checkpoint=tmp_path / "checkpoint.pt")
    saved_until = 52  # the last whole group of updates before the interruption
    after = Losses()
    trainer, _, progress = fit(cat_task(), tiny_bert, settings, watch=after, checkpoint=tmp_path / "checkpoint.pt")
    assert cut.values == whole.values[:62]
    assert after.values == whole.values[saved_until:]
    assert progress.update == len(whole.values) == 96
    for ours, theirs in zip(trainer.model.parameters(), expected.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_run_that_stops_between_an_epoch_and_its_scores_goes_on(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Train(learning_rate=1e-3, epochs=2, batch_size=16)
    monkeypatch.setattr("finetune.training.checkpoints.EVERY_SECONDS", 0.0)
    trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoint.pt")

    def fail(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.fit(features, fail)
    _, _, progress = fit(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoint.pt")
    assert [entry["epoch"] for entry in progress.epochs] == [1, 2]
    assert progress.update == 8


def test_a_run_that_lost_patience_does_not_train_on_when_it_is_resumed(tiny_bert: Path, tmp_path: Path) -> None:
    settings = Train(epochs=9, patience=1)
    for _ in range(2):
        trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoint.pt")
        progress, _ = trainer.fit(features, lambda _: Scored(headline=0.5))
        assert len(progress.epochs) == 2


def test_training_that_diverges_is_an_error(tiny_bert: Path) -> None:
    with pytest.raises(UserError, match=r"training has diverged\. Lower train\.learning_rate"):
        fit(length_task(), tiny_bert, Train(learning_rate=1e30, epochs=3, warmup=0.0))


def never(_: Any) -> Any:
    raise AssertionError("scored")


def test_weights_that_the_last_update_of_an_epoch_made_no_numbers_are_neither_scored_nor_saved(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finetune.training.checkpoints.EVERY_SECONDS", 0.0)
    settings = Train(learning_rate=1e39, epochs=1, batch_size=64, warmup=0.0)
    trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoint.pt")
    with pytest.raises(Diverged, match=r"the largest weight is (inf|nan) after update 1: training has diverged"):
        trainer.fit(features, never)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("value", "norm"), [(math.nan, "nan"), (1e30, "inf")])
def test_a_gradient_without_a_finite_norm_is_an_error(value: float, norm: str, tiny_bert: Path) -> None:
    """The second would be clipped to nothing, so that training would go on and never change a weight."""
    trainer, features = build(cat_task(), tiny_bert, Train(epochs=1, batch_size=64))
    trainer.model.head.output.weight.register_hook(lambda gradient: torch.full_like(gradient, value))
    with pytest.raises(Diverged, match=f"the gradient's norm is {norm} after update 1: training has diverged"):
        trainer.fit(features, never)


def test_logits_that_are_no_numbers_are_not_answers(tiny_bert: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, Train())
    with torch.no_grad():
        trainer.model.backbone.encoder.embeddings.word_embeddings.weight.fill_(3e38)  # finite, but not what it gives
    with pytest.raises(Diverged, match=r"the model's logits are not numbers \(nan\)"):
        trainer.engine.logits(features)


@pytest.mark.parametrize("bias_correction", [True, False])
def test_the_schedule_waits_for_updates_that_half_precision_skips(
    bias_correction: bool, tiny_bert: Path, tmp_path: Path
) -> None:
    """torch's fused AdamW is called for these too, and leaves the weights as they are."""
    settings = Train(epochs=3, batch_size=16, bias_correction=bias_correction)
    trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoint.pt")
    scaler = trainer.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    trainer.accelerator.native_amp = True  # what Accelerate itself does on a GPU alone
    trainer.accelerator.state._mixed_precision = "fp16"
    progress, _ = trainer.fit(features, lambda _: Scored(headline=0.5))
    skipped = math.log2(2.0**20 / scaler.get_scale())
    parts = torch.load(tmp_path / "checkpoint.pt")["parts"]
    assert progress.update == 12
    assert 0 < skipped < 12
    assert parts["schedule"]["last_epoch"] == 12 - skipped
    if bias_correction:
        assert parts["optimizer"]["state"][0]["step"] == 12 - skipped


def test_best_epoch_is_selected_and_patience_stops(tiny_bert: Path) -> None:
    scores = iter([0.5, 0.9, 0.4, 0.3, 0.2])
    weights: list[torch.Tensor] = []
    settings = Train(learning_rate=1e-3, epochs=5, batch_size=16, select="best", patience=2)
    trainer, features = build(cat_task(), tiny_bert, settings)

    def evaluate(engine: Engine) -> Scored:
        weights.append(engine.model.head.output.weight.detach().clone())
        return Scored(headline=next(scores))

    progress, _ = trainer.fit(features, evaluate)
    assert (progress.selected_epoch, len(progress.epochs), progress.best) == (2, 4, 0.9)
    assert torch.equal(trainer.model.head.output.weight, weights[1])


def test_patience_leaves_the_weights_that_select_names(tiny_bert: Path) -> None:
    """By default those of the epoch after which it stopped, which is not the best; and it says so."""
    notes: list[str] = []

    def watch(event: str, **facts: Any) -> None:
        if event == "note":
            notes.append(facts["text"])

    scores = iter([0.5, 0.9, 0.4, 0.3, 0.2])
    trainer, features = build(cat_task(), tiny_bert, Train(epochs=5, batch_size=16, patience=2), watch=watch)
    weights: list[torch.Tensor] = []

    def evaluate(engine: Engine) -> Scored:
        weights.append(engine.model.head.output.weight.detach().clone())
        return Scored(headline=next(scores))

    progress, _ = trainer.fit(features, evaluate)
    assert (progress.selected_epoch, len(progress.epochs), progress.best) == (4, 4, 0.9)
    assert torch.equal(trainer.model.head.output.weight, weights[3])
    assert notes == ["no better score for 2 epochs: training stops after epoch 4, with the weights of epoch 4"]


def test_last_epoch_is_the_default(tiny_bert: Path) -> None:
    scores = iter([0.9, 0.1])
    trainer, features = build(cat_task(), tiny_bert, Train(epochs=2))
    progress, _ = trainer.fit(features, lambda _: Scored(headline=next(scores)))
    assert progress.selected_epoch == 2


def test_predictions_keep_the_order_of_the_features(tiny_bert: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, Train())
    together = trainer.engine.logits(features)
    alone = [trainer.engine.logits([feature])[0] for feature in features[:8]]
    assert np.stack(together[:8]) == pytest.approx(np.stack(alone), abs=1e-5)
    assert [len(f) for f in features] != sorted(len(f) for f in features)


def test_decayed_and_undecayed_parameters(tiny_bert: Path) -> None:
    trainer, _ = build(cat_task(), tiny_bert, Train())
    decayed, undecayed = build_optimizer(trainer.model, Train()).param_groups
    names = {id(p): name for name, p in trainer.model.named_parameters()}
    assert decayed["weight_decay"] == 0.01
    assert undecayed["weight_decay"] == 0.0
    assert all("LayerNorm" in names[id(p)] or names[id(p)].endswith("bias") for p in undecayed["params"])
    assert not any("LayerNorm" in names[id(p)] or names[id(p)].endswith("bias") for p in decayed["params"])


def test_without_bias_correction_the_first_update_is_the_formula_of_the_original() -> None:
    p = torch.nn.Parameter(torch.tensor([[1.0, -2.0]]))
    optimizer = build_optimizer(torch.nn.ParameterList([p]), Train(bias_correction=False, learning_rate=0.1))
    p.grad = torch.tensor([[0.5, -0.25]])
    optimizer.step()
    m, v = 0.1 * p.grad, 0.001 * p.grad**2
    expected = torch.tensor([[1.0, -2.0]]) - 0.1 * (m / (v.sqrt() + 1e-6) + 0.01 * torch.tensor([[1.0, -2.0]]))
    assert torch.allclose(p.detach(), expected, atol=1e-6)


def test_schedule_rises_over_the_warm_up_and_falls_to_zero() -> None:
    p = torch.nn.Parameter(torch.zeros(2, 2))
    optimizer = build_optimizer(torch.nn.ParameterList([p]), Train(learning_rate=1.0))
    schedule = build_schedule(optimizer, Train(learning_rate=1.0), updates=100)
    rates = []
    for _ in range(100):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates[0] == 0.0
    assert rates[5] == pytest.approx(0.5)
    assert rates[10] == pytest.approx(1.0)
    assert rates[55] == pytest.approx(0.5)
    assert optimizer.param_groups[0]["lr"] == 0.0


@pytest.mark.parametrize("schedule", get_args(Schedule))
def test_every_schedule_can_be_built(schedule: str) -> None:
    settings = Train(schedule=schedule, learning_rate=1e-8)
    optimizer = build_optimizer(torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(2, 2))]), settings)
    last = build_schedule(optimizer, settings, updates=10)
    rates = []
    for _ in range(10):
        optimizer.step()
        last.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert 0 < max(rates) <= 1.01e-8


@pytest.mark.parametrize("schedule", get_args(Schedule))
def test_every_schedule_rises_over_the_warm_up(schedule: str) -> None:
    settings = Train(schedule=schedule, learning_rate=1e-3, warmup=0.4)
    optimizer = build_optimizer(torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(2, 2))]), settings)
    last = build_schedule(optimizer, settings, updates=10)
    rates = []
    for _ in range(10):
        rates.append(1e3 * optimizer.param_groups[0]["lr"])
        optimizer.step()
        last.step()
    assert rates[:5] == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert rates[5:] == pytest.approx([1] * 5) if "constant" in schedule else rates[5] < 1


def test_a_damaged_checkpoint_is_an_error(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"no checkpoint")
    with pytest.raises(UserError, match=r"is no checkpoint of this run .* Begin anew with --force"):
        fit(cat_task(), tiny_bert, Train(epochs=1), checkpoint=tmp_path / "checkpoint.pt")


def test_one_process_can_use_several_precisions(tiny_bert: Path) -> None:
    for precision, tolerance in (("fp32", 1e-6), ("bf16", 3e-2)):
        accelerator = build_accelerator(CPU, precision)
        assert accelerator.mixed_precision == ("no" if precision == "fp32" else precision)
        trainer, features = build(cat_task(), tiny_bert, PLAIN)
        exact = np.stack(trainer.engine.logits(features))
        engine = replace(trainer.engine, accelerator=build_accelerator(CPU, precision))
        assert np.stack(engine.logits(features)) == pytest.approx(exact, abs=tolerance)
