"""Frozen weights are in no checkpoint of training, and a run that was stopped leads to the same bits without them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.toys import cat_task
from support.training import CPU, Losses, Scored, build, fit, unscored

from finetune.inference.engine import Engine
from finetune.models.device import build_accelerator
from finetune.models.kernels import cpu
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.models.tokenizers.load import load_tokenizer
from finetune.runs.events import Event, Updates
from finetune.runs.recipe import Train
from finetune.training.trainer import TrainedWeights

PARTS = [{"lora": 2, "lora_dropout": 0.1}, {"freeze_layers": 1}, {"frozen": True}]


@pytest.fixture(params=PARTS, ids=["lora", "upper layers", "head"])
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings with which a part of the weights is trained."""
    found: dict[str, Any] = request.param
    if "lora" in found:
        pytest.importorskip("peft", reason="needs the extra `lora`")
    return found


def test_a_checkpoint_holds_what_is_trained_and_its_moments(
    settings: dict[str, Any], tiny_bert: Path, tmp_path: Path
) -> None:
    best = Train(epochs=2, select="best")
    trainer, _, _ = fit(cat_task(), tiny_bert, best, checkpoint=tmp_path / "part", **settings)
    whole, _, _ = fit(cat_task(), tiny_bert, best, checkpoint=tmp_path / "whole")
    latest, full = (max((tmp_path / name).iterdir()) for name in ("part", "whole"))
    saved = torch.load(latest)
    trained = {name: p for name, p in trainer.model.named_parameters() if p.requires_grad}
    assert saved["parts"]["model"].keys() == trained.keys()
    assert saved["progress"]["best_weights"].keys() == trained.keys()
    assert len(saved["parts"]["optimizer"]["state"]) == len(trained)
    bytes_of = 4 * sum(p.numel() for p in trained.values())
    assert latest.stat().st_size < 4 * bytes_of + 60_000  # weights, two moments, the best weights
    every = 4 * sum(p.numel() for p in whole.model.parameters())
    assert full.stat().st_size > 4 * every > 2 * bytes_of


def test_a_run_that_was_stopped_leads_to_the_same_bits(
    settings: dict[str, Any], tiny_bert: Path, tmp_path: Path
) -> None:
    plan = Train(learning_rate=1e-3, epochs=3, batch_size=16, select="best")
    whole, after = Losses(), Losses()
    expected, scored, _ = fit(cat_task(), tiny_bert, plan, watch=whole, **settings)

    def stop_at_6(event: Event) -> None:
        if isinstance(event, Updates) and event.update == 6:
            raise KeyboardInterrupt

    folder = tmp_path / "checkpoints"
    with pytest.raises(KeyboardInterrupt):
        fit(cat_task(), tiny_bert, plan, watch=stop_at_6, checkpoint=folder, **settings)
    resumed, again, _ = fit(cat_task(), tiny_bert, plan, watch=after, checkpoint=folder, **settings)
    assert after.values == whole.values[5:]
    assert again.scores == scored.scores
    for ours, theirs in zip(resumed.model.parameters(), expected.model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_what_is_scored_is_what_is_saved(tiny_bert: Path, tmp_path: Path) -> None:
    """In half precision the logits of LoRA next to the weights differ from those of the merged weights."""
    pytest.importorskip("peft", reason="needs the extra `lora`")
    trainer, features = build(cat_task(), tiny_bert, Train(learning_rate=3e-2, epochs=2), lora=4)
    engine = replace(trainer.engine, accelerator=build_accelerator(CPU, "bf16"))
    scored: list[np.ndarray] = []

    def evaluate(engine: Engine) -> Scored:
        scored.append(np.stack(engine.logits(features)))
        return unscored(engine)

    replace(trainer, engine=engine).fit(features, evaluate)
    save_checkpoint(trainer.model, tmp_path, load_tokenizer(tiny_bert), {"task": "toy-cats"})
    saved = load_trained(tmp_path, cat_task().head)
    cpu.speed_up(saved, saved.backbone.encoder)
    logits = np.stack(replace(engine, model=saved).logits(features))
    unmerged = np.stack(engine.logits(features))
    assert np.abs(logits - scored[-1]).mean() < 0.1 * np.abs(unmerged - scored[-1]).mean()


def test_a_checkpoint_of_another_model_is_refused(tiny_bert: Path) -> None:
    trainer, _ = build(cat_task(), tiny_bert, Train(), freeze_layers=1)
    weights, whole = TrainedWeights(trainer.model), trainer.model.state_dict()
    name = "head.output.weight"
    for wrong in ({**whole, "other": torch.ones(1)}, {key: whole[key] for key in whole if key != name}):
        with pytest.raises(RuntimeError, match=r"weights of another model: (other|head\.output\.weight)"):
            weights.load_state_dict(wrong)
