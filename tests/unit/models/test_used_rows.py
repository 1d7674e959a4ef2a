"""Word embeddings of which the rows that are used are trained: the same model as with all, wherever it is read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.toys import cat_rows, cat_task
from support.training import Losses, Scored, StopsAfter, build
from torch import Tensor
from transformers import AutoModel

from finetune.inference.engine import Engine
from finetune.models import fast_paths
from finetune.models.fast_paths import UsedRows
from finetune.runs.process import Interrupted
from finetune.runs.recipe import Train

WORDS = "backbone.encoder.embeddings.word_embeddings.weight"
SETTINGS: dict[str, Any] = {"epochs": 3, "batch_size": 4, "learning_rate": 1e-2, "weight_decay": 0.5, "select": "best"}
Trained = tuple[dict[str, Tensor], list[float], list[np.ndarray]]


@pytest.fixture(autouse=True)
def of_small_vocabularies(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken for few rows, too."""
    monkeypatch.setattr(fast_paths, "LEAST_SAVED", 1)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[UsedRows]:
    """Those that were made."""
    found: list[UsedRows] = []

    class Noted(UsedRows):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            found.append(self)

    monkeypatch.setattr(fast_paths, "UsedRows", Noted)
    return found


def trained(
    folder: Path, settings: Train, *, alone: bool = True, checkpoint: Path | None = None, **more: Any
) -> Trained:
    """Weights and losses after training, and the logits of other texts after each epoch"""
    losses, found = Losses(), list[np.ndarray]()
    watch = StopsAfter(more.pop("stop_after", 0), then=losses)
    trainer, features = build(cat_task(cat_rows(16)), folder, settings, watch=watch, checkpoint=checkpoint, **more)
    _, others = build(cat_task(cat_rows(64, seed=1)), folder, settings, **more)
    new = set(np.concatenate([each.input_ids for each in others])) - set(
        np.concatenate([each.input_ids for each in features])
    )
    assert new  # dev has tokens that training has not

    def evaluate(engine: Engine) -> Scored:
        found.append(np.stack(engine.logits(others)))
        return Scored(headline=float(np.mean(found[-1][:, 0])))

    if not alone:
        fast_paths.LEAST_SAVED = 10**9
    trainer.fit(features, evaluate)
    return trainer.model.state_dict(), losses.values, found


def require_equal(found: Trained, expected: Trained) -> None:
    """Asserts that all that was found is equal but for rounding."""
    assert found[0].keys() == expected[0].keys()
    assert found[1] == pytest.approx(expected[1], rel=2e-4)
    assert all(np.allclose(ours, theirs, atol=2e-4) for ours, theirs in zip(found[2], expected[2], strict=True))
    for name, tensor in expected[0].items():
        if not name.endswith("key.bias"):  # whose gradient is rounding alone
            assert torch.allclose(found[0][name], tensor, atol=5e-4), name


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"bias_correction": False},
        {"layer_decay": 0.7, "accumulation": 2},
        {"schedule": "constant", "clip_norm": 0.1},
        {"gradient_checkpointing": True},
    ],
    ids=str,
)
def test_the_trained_model_is_that_of_all_rows(more: dict[str, Any], tiny_bert: Path, made: list[UsedRows]) -> None:
    settings = Train(**SETTINGS | {"dropout": 0.0} | more)
    found = trained(tiny_bert, settings)
    assert len(made) == 1
    expected = trained(tiny_bert, settings, alone=False)
    assert len(made) == 1
    require_equal(found, expected)
    start = AutoModel.from_pretrained(tiny_bert).embeddings.word_embeddings.weight
    unused = np.setdiff1d(np.arange(len(start)), made[0].used)
    assert len(unused)
    shares = found[0][WORDS][unused] / start[unused]
    assert shares.max() < 0.999  # weight decay has moved them


@pytest.mark.parametrize("pause", [1, 2])
def test_a_resumed_run_has_the_same_bits(pause: int, tiny_bert: Path, tmp_path: Path, made: list[UsedRows]) -> None:
    whole = trained(tiny_bert, Train(**SETTINGS))
    with pytest.raises(Interrupted):
        trained(tiny_bert, Train(**SETTINGS), checkpoint=tmp_path, stop_after=pause)
    resumed = trained(tiny_bert, Train(**SETTINGS), checkpoint=tmp_path)
    assert len(made) == 3
    assert resumed[1] == whole[1][4 * pause :]
    assert [name for name, tensor in whole[0].items() if not torch.equal(tensor, resumed[0][name])] == []


def test_what_ends_training_early_leaves_all_rows(tiny_bert: Path, made: list[UsedRows]) -> None:
    trainer, features = build(cat_task(), tiny_bert, Train(**SETTINGS))
    names = [*trainer.model.state_dict()]

    def fail(_: Engine) -> Scored:
        raise RuntimeError("no scores")

    with pytest.raises(RuntimeError, match="no scores"):
        trainer.fit(features, fail)
    assert len(made) == 1
    assert [*trainer.model.state_dict()] == names
    assert all(p.requires_grad for p in trainer.model.parameters())


def test_a_token_that_was_not_announced_is_an_error_in_training(tiny_bert: Path) -> None:
    words = AutoModel.from_pretrained(tiny_bert).embeddings.word_embeddings
    rows = UsedRows(words, np.array([0, 3, 5]))
    assert torch.equal(rows.eval()(torch.arange(8)), words.weight[:8])
    with pytest.raises(IndexError):
        rows.train()(torch.tensor([4]))
