"""Batches, updates and rates against what is worked out by hand, however a batch goes through the model."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.toys import cat_task, length_task
from support.training import PLAIN, Losses, build, fit, unscored
from torch import nn

from finetune.data.rows import Rows
from finetune.inference.feature_batches import Diverged
from finetune.models.batch import collate
from finetune.models.feature import IGNORED, Feature, label_counts
from finetune.runs.recipe import Train
from finetune.training.trainer import build_optimizer, build_schedule
from finetune.training.updates import Batches, share, training_batches

LENGTHS = np.random.default_rng(0).integers(5, 120, 1000).tolist()
THREE = PLAIN.model_copy(update={"epochs": 3})


def flat(batches: Sequence[Any]) -> list[int]:
    return [int(i) for batch in batches for i in batch]


def test_every_row_is_trained_on_once_an_epoch_in_an_order_of_seed_and_epoch_with_little_padding() -> None:
    orders = {}
    for seed, epoch in ((1, 1), (1, 2), (2, 1), (1, 1)):
        batches = training_batches(LENGTHS, batch_size=32, data_seed=seed, epoch=epoch)
        assert sorted(flat(batches)) == list(range(1000))
        assert sorted(map(len, batches)) == [8] + [32] * 31
        assert sum(max(LENGTHS[i] for i in batch) * len(batch) for batch in batches) < 1.1 * sum(LENGTHS)
        assert orders.setdefault((seed, epoch), flat(batches)) == flat(batches)
    assert len({tuple(order) for order in orders.values()}) == 3
    batches = Batches(range(10), batch_size=4, data_seed=0, updates=7)  # which go on through the epochs
    assert batches.per_epoch == 3
    assert [sorted(flat(batches[i : i + 3])) for i in (0, 3)] == [list(range(10))] * 2
    assert flat(batches[6:7]) == flat(Batches(range(10), batch_size=4, data_seed=0, updates=9)[6:7])


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_processes_and_parts_share_a_batch_without_loss(processes: int, parts: int) -> None:
    pieces = [share(range(32), rank=rank, processes=processes, parts=parts) for rank in range(processes)]
    assert sorted(flat([piece for mine in pieces for piece in mine])) == list(range(32))
    assert {len(mine) for mine in pieces} == {parts}


@pytest.mark.parametrize(
    ("labels", "collated", "count"),
    [
        ([[IGNORED, 1, IGNORED], [0, IGNORED]], [[IGNORED, 1, IGNORED], [0, IGNORED, IGNORED]], 2),
        ([7, IGNORED], [7, IGNORED], 1),
        ([-100.0, np.float32(2.5)], [-100.0, 2.5], 2),  # a number to predict is always a label
        ([[0.5, 1.25], [1], []], [[0.5, 1.25], [1, IGNORED], [IGNORED, IGNORED]], 3),
    ],
    ids=str,
)
def test_batches_are_padded_to_the_longest_and_labels_are_counted(labels: Any, collated: Any, count: int) -> None:
    features = [Feature(row=i, input_ids=[2, 7, 3][i:], label=label) for i, label in enumerate(labels)]
    batch = collate(features, pad_id=9)
    assert batch.input_ids.tolist()[:2] == [[2, 7, 3], [7, 3, 9]]
    assert batch.attention_mask.tolist()[:2] == [[1, 1, 1], [1, 1, 0]]
    assert batch.labels["label"].tolist() == collated
    assert label_counts(features)["label"] == count


def test_without_bias_correction_the_first_update_is_the_formula_of_the_original() -> None:
    p = nn.Parameter(torch.tensor([[1.0, -2.0]]))
    optimizer = build_optimizer(nn.ParameterList([p]), Train(bias_correction=False, learning_rate=0.1))
    p.grad = torch.tensor([[0.5, -0.25]])
    optimizer.step()
    m, v = 0.1 * p.grad, 0.001 * p.grad**2
    expected = torch.tensor([[1.0, -2.0]]) - 0.1 * (m / (v.sqrt() + 1e-6) + 0.01 * torch.tensor([[1.0, -2.0]]))
    assert torch.allclose(p.detach(), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("schedule", "after"),
    [
        ("linear", [(6 - i) / 6 for i in range(7)]),
        ("cosine", [(1 + math.cos(math.pi * i / 6)) / 2 for i in range(7)]),
        ("constant", [1.0] * 7),
    ],
)
def test_rates_rise_over_the_warm_up_and_then_follow_the_schedule(schedule: str, after: list[float]) -> None:
    def rates(updates: int, **settings: Any) -> list[float]:
        train = Train(schedule=schedule, learning_rate=1.0, **settings)
        optimizer = build_optimizer(nn.ParameterList([nn.Parameter(torch.zeros(2, 2))]), train)
        steps, found = build_schedule(optimizer, train, updates=updates), []
        for _ in range(updates + 1):
            found.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            steps.step()
        return found

    assert rates(10, warmup=0.4) == pytest.approx([0, 0.25, 0.5, 0.75, *after])
    for warmup, updates in ((0.0, 1), (1.0, 1), (0.1, 2), (1.0, 15)):
        assert all(0 <= rate <= 1 for rate in rates(updates, warmup=warmup))
    assert [Train(warmup=part).warmup_updates(15) for part in (0.0, 0.1, 1.0)] == [0, 2, 15]  # rounded up


def with_room_for(trainer: Any, rows: int, error: type[Exception] = torch.OutOfMemoryError) -> None:
    """Makes the encoder fail for batches of more rows, after it has computed them."""

    def fail(module: nn.Module, inputs: Any, given: Any, output: Any) -> None:
        if len(given["input_ids"]) > rows:
            raise error("CUDA out of memory" if error is torch.OutOfMemoryError else "can't allocate memory")

    trainer.model.backbone.encoder.register_forward_hook(fail, with_kwargs=True)


@pytest.mark.parametrize("error", [None, torch.OutOfMemoryError, RuntimeError])
def test_a_batch_that_goes_in_parts_or_does_not_fit_has_the_same_result(error: Any, tiny_bert: Path) -> None:
    whole, parts = Losses(), Losses()
    fit(cat_task(), tiny_bert, THREE, watch=whole)
    settings = THREE if error else THREE.model_copy(update={"accumulation": 3})
    trainer, features = build(cat_task(), tiny_bert, settings, watch=parts)
    logits = trainer.engine.logits(features)
    if error:
        with_room_for(trainer, 5, error)
    halved = trainer.engine.logits(features)
    assert all(ours == pytest.approx(theirs, abs=1e-5) for ours, theirs in zip(halved, logits, strict=True))
    progress, _ = trainer.fit(features, unscored)
    assert parts.values == pytest.approx(whole.values, abs=1e-5)
    notes = [f"out of memory at update 1: batches go through the model in {count} parts" for count in (2, 4)]
    assert (progress.parts, progress.notes) == (([(1, 2), (1, 4)], notes) if error else ([], []))


def never(_: Any) -> Any:
    raise AssertionError("scored")


@pytest.mark.parametrize(("value", "norm"), [(math.nan, "nan"), (1e30, "inf")])
def test_a_gradient_without_a_finite_norm_is_an_error(value: float, norm: str, tiny_bert: Path) -> None:
    """The second would be clipped to nothing, so that training would go on and never change a weight."""
    trainer, features = build(cat_task(), tiny_bert, Train(epochs=1, batch_size=64))
    trainer.model.head.output.weight.register_hook(lambda gradient: torch.full_like(gradient, value))
    with pytest.raises(Diverged, match=f"the gradient's norm is {norm} after update 1"):
        trainer.fit(features, never)


def test_weights_and_logits_that_are_no_numbers_are_neither_scored_nor_saved(tiny_bert: Path, tmp_path: Path) -> None:
    settings = Train(epochs=1, batch_size=64, warmup=0.0).model_copy(update={"learning_rate": 1e39})
    trainer, features = build(cat_task(), tiny_bert, settings, checkpoint=tmp_path / "checkpoints")
    said = r"(inf|nan) after update 1 \(learning rate 1e\+39, rows \d+, \d+, \d+ and 61 more"
    with pytest.raises(Diverged, match=said):
        trainer.fit(features, never)
    assert list(tmp_path.iterdir()) == []
    with torch.no_grad():
        trainer.model.backbone.encoder.embeddings.word_embeddings.weight.fill_(3e38)  # finite, but not what it gives
    with pytest.raises(Diverged, match=r"logits.*nan"):
        trainer.engine.logits(features)


def test_a_number_of_minus_100_weighs_as_every_other(tiny_bert: Path) -> None:
    """It is not the mark of a place without a label, which only classes have."""
    rows = [replace(row, gold=-100.0) for row in length_task().read(None, "train").rows]
    losses = Losses()
    task = replace(length_task(), read=lambda source, split: Rows(rows=rows, origin="toy"))
    fit(task, tiny_bert, Train(dropout=0.0, epochs=1, batch_size=64), watch=losses)
    assert losses.values == pytest.approx([100.0**2], rel=0.05)
