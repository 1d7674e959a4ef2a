"""The loop: able to stop and to resume, the same however it is cut, and what it does where training diverges."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.toys import cat_task, length_task
from support.training import CPU, PLAIN, Losses, Scored, build, fit

from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.engine import Engine
from finetune.inference.feature_batches import Diverged
from finetune.models.device import build_accelerator
from finetune.runs.events import Event, Note, Updates
from finetune.runs.recipe import Train


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
    settings = PLAIN.model_copy(update={"epochs": 3})
    fit(cat_task(), tiny_bert, settings, watch=whole)
    fit(cat_task(), tiny_bert, settings.model_copy(update={"accumulation": 3}), watch=parts)
    assert parts.values == pytest.approx(whole.values, abs=1e-5)


def test_a_number_of_minus_100_weighs_as_every_other(tiny_bert: Path) -> None:
    """It is not the mark of a place without a label, which only classes have."""
    task = length_task()
    rows = [replace(row, gold=-100.0) for row in task.load(Source(), "train").rows]
    losses = Losses()
    task = replace(task, read=lambda source, split: Rows(rows=rows, origin="toy"))
    fit(task, tiny_bert, Train(dropout=0.0, epochs=1, batch_size=64), watch=losses)
    assert losses.values == pytest.approx([100.0**2], rel=0.05)


def test_a_run_that_stops_goes_on_as_if_it_had_not(tiny_bert: Path, tmp_path: Path) -> None:
    """Stopped in the middle of the second epoch, with dropout: the losses after it are the same to the last bit."""
    settings = Train(learning_rate=1e-3, epochs=3, batch_size=8, select="best")
    whole, cut = Losses(), Losses()
    expected, _, _ = fit(cat_task(), tiny_bert, settings, watch=whole)

    def stop_at_12(event: Event) -> None:
        cut(event)
        if isinstance(event, Updates) and event.update == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(cat_task(), tiny_bert, settings, watch=stop_at_12, checkpoint=tmp_path / "checkpoints")
    saved_until = 11  # the update before the interruption
    after = Losses()
    trainer, _, progress = fit(cat_task(), tiny_bert, settings, watch=after, checkpoint=tmp_path / "checkpoints")
    assert cut.values == whole.values[:12]
    assert after.values == whole.values[saved_until:]
    assert progress.update == len(whole.values) == 24
    for ours, theirs in zip(trainer.model.parameters(), expected.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_run_that_stops_between_an_epoch_and_its_scores_goes_on(tiny_bert: Path, tmp_path: Path) -> None:
    settings = Train(learning_rate=1e-3, epochs=2, batch_size=16)
    trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoints")

    def fail(_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trainer.fit(features, fail)
    _, _, progress = fit(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoints")
    assert [done.epoch for done in progress.epochs] == [1, 2]
    assert progress.update == 8


def test_a_run_that_lost_patience_does_not_train_on_when_it_is_resumed(tiny_bert: Path, tmp_path: Path) -> None:
    settings = Train(epochs=9, patience=1)
    for _ in range(2):
        trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoints")
        progress, _ = trainer.fit(features, lambda _: Scored(headline=0.5))
        assert len(progress.epochs) == 2


def test_training_that_diverges_is_an_error(tiny_bert: Path) -> None:
    with pytest.raises(UserError, match=r"train\.learning_rate"):
        fit(length_task(), tiny_bert, Train(epochs=3, warmup=0.0).model_copy(update={"learning_rate": 1e30}))


def never(_: Any) -> Any:
    raise AssertionError("scored")


def test_weights_that_the_last_update_of_an_epoch_made_no_numbers_are_neither_scored_nor_saved(
    tiny_bert: Path, tmp_path: Path
) -> None:
    settings = Train(epochs=1, batch_size=64, warmup=0.0).model_copy(update={"learning_rate": 1e39})
    trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoints")
    with pytest.raises(
        Diverged, match=r"(inf|nan) after update 1 \(learning rate 1e\+39, rows \d+, \d+, \d+ and 61 more"
    ):
        trainer.fit(features, never)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("value", "norm"), [(math.nan, "nan"), (1e30, "inf")])
def test_a_gradient_without_a_finite_norm_is_an_error(value: float, norm: str, tiny_bert: Path) -> None:
    """The second would be clipped to nothing, so that training would go on and never change a weight."""
    trainer, features = build(cat_task(), tiny_bert, Train(epochs=1, batch_size=64))
    trainer.model.head.output.weight.register_hook(lambda gradient: torch.full_like(gradient, value))
    with pytest.raises(Diverged, match=f"the gradient's norm is {norm} after update 1"):
        trainer.fit(features, never)


def test_logits_that_are_no_numbers_are_not_answers(tiny_bert: Path) -> None:
    trainer, features = build(cat_task(), tiny_bert, Train())
    with torch.no_grad():
        trainer.model.backbone.encoder.embeddings.word_embeddings.weight.fill_(3e38)  # finite, but not what it gives
    with pytest.raises(Diverged, match=r"logits.*nan"):
        trainer.engine.logits(features)


@pytest.mark.parametrize("bias_correction", [True, False])
def test_the_schedule_waits_for_updates_that_half_precision_skips(
    bias_correction: bool, tiny_bert: Path, tmp_path: Path
) -> None:
    """torch's fused AdamW is called for these too, and leaves the weights as they are."""
    settings = Train(epochs=3, batch_size=16, bias_correction=bias_correction)
    trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoints")
    scaler = trainer.engine.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20)
    trainer.engine.accelerator.native_amp = True  # what Accelerate itself does on a GPU alone
    trainer.engine.accelerator.state._mixed_precision = "fp16"
    progress, _ = trainer.fit(features, lambda _: Scored(headline=0.5))
    skipped = math.log2(2.0**20 / scaler.get_scale())
    latest = max((tmp_path / "checkpoints").iterdir())
    parts = torch.load(latest)["parts"]
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

    def watch(event: Event) -> None:
        if isinstance(event, Note):
            notes.append(event.text)

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


def test_one_process_can_use_several_precisions(tiny_bert: Path) -> None:
    for precision, tolerance in (("fp32", 1e-6), ("bf16", 3e-2)):
        accelerator = build_accelerator(CPU, precision)
        assert accelerator.mixed_precision == ("no" if precision == "fp32" else precision)
        trainer, features = build(cat_task(), tiny_bert, PLAIN)
        exact = np.stack(trainer.engine.logits(features))
        engine = replace(trainer.engine, accelerator=build_accelerator(CPU, precision))
        assert np.stack(engine.logits(features)) == pytest.approx(exact, abs=tolerance)
