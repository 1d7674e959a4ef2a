"""Batches: every row once, little padding, an order that the seed and the epoch alone decide."""

from typing import Any

import numpy as np
import pytest
import torch

from finetune.inference.feature_batches import token_batches
from finetune.models.batch import collate
from finetune.models.feature import IGNORED, Feature, label_counts
from finetune.training.updates import share, training_batches

LENGTHS = np.random.default_rng(0).integers(5, 120, 1000).tolist()


def flat(batches: list[np.ndarray]) -> list[int]:
    return [int(i) for batch in batches for i in batch]


def order(seed: int, epoch: int) -> list[int]:
    return flat(training_batches(LENGTHS, batch_size=32, data_seed=seed, epoch=epoch))


def test_every_row_is_trained_on_once_an_epoch() -> None:
    batches = training_batches(LENGTHS, batch_size=32, data_seed=1, epoch=1)
    assert sorted(flat(batches)) == list(range(1000))
    assert len(batches) == 32
    assert sorted(map(len, batches)) == [8] + [32] * 31


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    assert order(1, 1) == order(1, 1)
    assert order(1, 1) != order(1, 2)
    assert order(1, 1) != order(2, 1)


def test_grouping_leaves_little_padding() -> None:
    batches = training_batches(LENGTHS, batch_size=32, data_seed=1, epoch=1)
    padded = sum(max(LENGTHS[i] for i in batch) * len(batch) for batch in batches)
    assert padded < 1.1 * sum(LENGTHS)


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_processes_and_parts_share_a_batch_without_loss(processes: int, parts: int) -> None:
    batch = range(32)
    pieces = [share(batch, rank=rank, processes=processes, parts=parts) for rank in range(processes)]
    assert sorted(flat([piece for mine in pieces for piece in mine])) == list(range(32))
    assert {len(mine) for mine in pieces} == {parts}


def test_token_batches_hold_every_row_once_within_the_tokens() -> None:
    batches = token_batches(LENGTHS, tokens=1000)
    assert sorted(flat(batches)) == list(range(1000))
    assert all(max(LENGTHS[i] for i in batch) * len(batch) <= 1000 for batch in batches)
    assert token_batches([5000], tokens=1000)[0].tolist() == [0]


def test_collate_pads_to_the_longest_and_masks_the_padding() -> None:
    features = [
        Feature(row=0, input_ids=[2, 7, 3], token_type_ids=[0, 0, 1], label=[IGNORED, 1, IGNORED]),
        Feature(row=1, input_ids=[2, 3], token_type_ids=[0, 0], label=[0, IGNORED]),
    ]
    batch = collate(features, pad_id=9)
    assert batch.input_ids.tolist() == [[2, 7, 3], [2, 3, 9]]
    assert batch.attention_mask.tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch.labels["label"].tolist() == [[IGNORED, 1, IGNORED], [0, IGNORED, IGNORED]]
    assert label_counts(features)["label"] == 2
    assert (
        label_counts([Feature(row=0, input_ids=[1], label=0.0), Feature(row=1, input_ids=[1], label=2.5)])["label"] == 2
    )


def test_a_number_to_predict_is_always_a_label_and_a_place_in_a_list_may_be_none() -> None:
    def count(label: Any) -> int:
        return label_counts([Feature(row=0, input_ids=[1], label=label)])["label"]

    assert [count(label) for label in (-100.0, np.float32(-100), 7, IGNORED, [IGNORED, 1], [0.5, IGNORED, -1.0])] == [
        *(1, 1, 1, 0, 1, 2)
    ]


def test_lists_of_numbers_keep_their_fractions() -> None:
    features = [Feature(row=i, input_ids=[1], label=label) for i, label in enumerate(([0.5, 1.25], [1], [], [2, 3.75]))]
    labels = collate(features, pad_id=0).labels["label"]
    assert labels.dtype == torch.float32
    assert labels.tolist() == [[0.5, 1.25], [1, IGNORED], [IGNORED, IGNORED], [2, 3.75]]
    whole = [Feature(row=0, input_ids=[1], label=[1, 2]), Feature(row=1, input_ids=[1], label=[])]
    assert collate(whole, pad_id=0).labels["label"].dtype == torch.int64
