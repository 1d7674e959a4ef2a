"""Runs whose length is in updates, what is random in a batch, and heads with several losses."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.toys import cat_task
from support.training import StopsAfter
from torch import Tensor, nn

from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.batch import collate
from finetune.models.feature import IGNORED, Feature, label_counts
from finetune.models.head import EncoderWithHead, Head
from finetune.runs.events import EpochDone, Event
from finetune.runs.interrupts import Interrupted
from finetune.runs.recipe import parse
from finetune.runs.recipe_tables import Train
from finetune.training.updates import Batches
from tests.support.training import Losses, build, unscored

SETTINGS = Train(updates=23, batch_size=4, learning_rate=1e-3, dropout=0.0)


def weights(model: nn.Module) -> list[Tensor]:
    return [tensor.clone() for tensor in model.state_dict().values()]


def trained(folder: Path, settings: Train, **given: Any) -> tuple[list[float], list[Tensor]]:
    losses = Losses()
    trainer, features = build(cat_task(), folder, settings, watch=losses)
    for name, value in given.items():
        setattr(trainer, name, value)
    trainer.fit(features, unscored)
    return losses.values, weights(trainer.model)


def test_batches_go_on_through_the_epochs() -> None:
    batches = Batches(range(10), batch_size=4, data_seed=0, updates=7)
    assert batches.per_epoch == 3
    assert [sorted(np.concatenate(batches[i : i + 3]).tolist()) for i in (0, 3)] == [list(range(10))] * 2
    assert batches[6:7][0].tolist() == Batches(range(10), batch_size=4, data_seed=0, updates=9)[6:7][0].tolist()


def test_updates_of_whole_epochs_train_the_model_of_these_epochs(tiny_bert: Path) -> None:
    _, features = build(cat_task(), tiny_bert, SETTINGS)
    an_epoch = -(-len(features) // SETTINGS.batch_size)
    by_epochs = trained(tiny_bert, Train(epochs=2, **SETTINGS.model_dump(exclude={"updates", "epochs"})))
    by_updates = trained(tiny_bert, SETTINGS.model_copy(update={"updates": 2 * an_epoch}))
    assert by_epochs[0] == by_updates[0]
    assert all(map(torch.equal, by_epochs[1], by_updates[1]))


def test_a_run_is_scored_after_each_tenth_of_its_updates(tiny_bert: Path) -> None:
    at: list[int] = []
    trainer, features = build(cat_task(), tiny_bert, SETTINGS)

    def scored(engine: Any) -> Any:
        at.append(updates[0])
        return unscored(engine)

    updates, parts = [0], list[int]()

    def watch(event: Event) -> None:
        updates[0] = getattr(event, "update", updates[0])
        parts.extend([event.result.epoch] if isinstance(event, EpochDone) else [])

    trainer.engine = replace(trainer.engine, watch=watch)
    trainer.fit(features, scored)
    assert at == [2, 4, 6, 9, 11, 13, 16, 18, 20, 23]
    assert parts == list(range(1, 11))


def test_an_interrupted_run_of_updates_ends_as_an_uninterrupted_one(tiny_bert: Path, tmp_path: Path) -> None:
    whole = trained(tiny_bert, SETTINGS, draw=dropped)
    first, features = build(cat_task(), tiny_bert, SETTINGS, checkpoint=tmp_path, watch=StopsAfter(4))
    first.draw = dropped
    with pytest.raises(Interrupted):
        first.fit(features, unscored)
    losses = Losses()
    second, _ = build(cat_task(), tiny_bert, SETTINGS, checkpoint=tmp_path, watch=losses)
    second.draw = dropped
    second.fit(features, unscored)
    assert losses.values == whole[0][9:]
    assert all(map(torch.equal, weights(second.model), whole[1]))


def dropped(features: Sequence[Feature], generator: np.random.Generator) -> list[Feature]:
    """The features with a random half of their tokens replaced by token 5."""
    found = []
    for feature in features:
        ids = np.asarray(feature.input_ids)
        found.append(replace(feature, input_ids=np.where(generator.random(len(ids)) < 0.5, 5, ids).tolist()))
    return found


def test_what_is_random_in_a_batch_does_not_depend_on_its_parts(tiny_bert: Path) -> None:
    seen: dict[int, list[list[list[int]]]] = {1: [], 4: []}
    for parts, drawn in seen.items():

        def draw(features: Sequence[Feature], generator: np.random.Generator, kept: Any = drawn) -> list[Feature]:
            found = dropped(features, generator)
            kept.append([list(feature.input_ids) for feature in found])
            return found

        trained(tiny_bert, SETTINGS.model_copy(update={"accumulation": parts}), draw=draw)
    assert len(seen[1]) == SETTINGS.updates
    assert seen[1] == seen[4]
    assert len({str(batch) for batch in seen[1]}) == SETTINGS.updates


def test_updates_with_epochs_is_an_error() -> None:
    with pytest.raises(UserError, match="updates 5 and epochs 2 are both set; leave one of them out"):
        parse({"task": "glue-rte", "train": {"updates": 5, "epochs": 2}}, origin="my.toml")


class TwoLosses(Head):
    """Reads both outputs: a tag of each read token, and a class of the sequence."""

    inputs = frozenset({"pooled", "sequence"})

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(())
        self.uses_pooler = True
        self.tags, self.kind = nn.Linear(backbone.width, 3), nn.Linear(backbone.width, 2)

    def forward(self, hidden: Tensor, mask: Tensor, pooled: Tensor | None = None) -> dict[str, Tensor]:
        assert pooled is not None
        return {"tags": self.tags(hidden), "kind": self.kind(pooled)}

    def losses(self, logits: Any, labels: Mapping[str, Tensor]) -> dict[str, Tensor]:
        entropy = nn.functional.cross_entropy
        return {
            name: entropy(logits[name].flatten(0, -2), labels[name].flatten(), ignore_index=IGNORED, reduction="sum")
            for name in ("tags", "kind")
        }


FEATURES = [
    Feature(row=0, input_ids=[2, 9, 8, 3], reads=[1, 2], label={"tags": [1, 2], "kind": 0}),
    Feature(row=1, input_ids=[2, 7, 3], reads=[1], label={"tags": [0], "kind": IGNORED}),
    Feature(row=2, input_ids=[2, 6, 5, 9, 3], reads=[1, 2, 3], label={"tags": [2, IGNORED, 1], "kind": 1}),
]


def test_each_loss_is_divided_by_its_own_number_of_labels(tiny_bert: Path) -> None:
    assert label_counts(FEATURES) == {"tags": 5, "kind": 2}
    losses = dict[int, list[float]]()
    for parts in (1, 3):
        heard = Losses()
        settings = Train(updates=2, batch_size=3, accumulation=parts, dropout=0.0)
        trainer, _ = build(replace_head(cat_task()), tiny_bert, settings, watch=heard)
        if parts == 1:
            expected = mean_losses(trainer.model)
        trainer.fit(FEATURES, unscored)
        losses[parts] = heard.values
    assert losses[1][0] == pytest.approx(expected, rel=1e-5)
    assert losses[3] == pytest.approx(losses[1], rel=1e-5)


def replace_head(task: Any) -> Any:
    object.__setattr__(task, "head", TwoLosses)
    return task


def mean_losses(model: EncoderWithHead) -> float:
    """The mean tag loss and the mean loss of the class, from each sequence alone through transformers' own encoder."""
    model.eval()
    tags, kinds = list[Tensor](), list[Tensor]()
    for feature in FEATURES:
        batch = collate([feature], pad_id=0)
        output = model.backbone.encoder(input_ids=batch.input_ids, attention_mask=batch.attention_mask)
        hidden = output.last_hidden_state[0][list(feature.reads or ())]
        tags.append(nn.functional.cross_entropy(model.head.tags(hidden), batch.labels["tags"][0], reduction="none"))
        if feature.label["kind"] != IGNORED:
            kinds.append(nn.functional.cross_entropy(model.head.kind(output.pooler_output), batch.labels["kind"]))
    kept = torch.cat(tags)
    return float((kept[kept != 0].mean() + torch.stack(kinds).mean()).detach())
