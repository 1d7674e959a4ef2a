"""The cache of hidden states: equal to encoding again, reused, bounded, and made again where it is damaged."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.toys import cat_task, choice_task, span_task, tag_task
from support.training import build, unscored

from finetune.data.source import Source
from finetune.inference.hidden_states import with_states
from finetune.models import backbone as reader
from finetune.models.feature import Feature
from finetune.runs.events import Encoded, Event, Note
from finetune.runs.recipe import Train
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.task import Task
from finetune.training.trainer import Trainer

SETTINGS = Train(learning_rate=1e-2, epochs=2, batch_size=8)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a narrow BiLSTM."""
    monkeypatch.setenv("FINETUNE_CACHE", str(tmp_path))
    monkeypatch.setattr(reader, "LSTM_WIDTH", 24)
    return tmp_path / "states"


class Watch:
    """Keeps notes and counts what was encoded."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.encoded = 0

    def __call__(self, event: Event) -> None:
        self.notes += [event.text] if isinstance(event, Note) else []
        self.encoded = event.done if isinstance(event, Encoded) else self.encoded


def prepared(
    task: Task, folder: Path, *, weights: str = "abc", **reading: Any
) -> tuple[Trainer, Sequence[Feature], Watch]:
    """A trainer, features with their states, and what was told while they were made."""
    watch = Watch()
    trainer, features = build(task, folder, SETTINGS, watch=watch, frozen=True, **reading)
    return trainer, with_states(features, trainer.engine, weights=weights, precision="fp32"), watch


def losses(trainer: Trainer, features: Sequence[Feature]) -> list[float]:
    progress, _ = trainer.fit(features, unscored)
    return [done.loss for done in progress.epochs]


@pytest.mark.slow
@pytest.mark.parametrize("task", [cat_task(), tag_task(), span_task(), choice_task()], ids=lambda task: task.name)
@pytest.mark.parametrize(
    "reading", [{}, {"layers": [0, 2]}, {"layers": "second-to-last", "bilstm": True}], ids=["last", "two", "bilstm"]
)
def test_cached_and_uncached_training_are_equal(task: Task, reading: dict[str, Any], tiny_bert: Path) -> None:
    trainer, cached, watch = prepared(task, tiny_bert, **reading)
    assert watch.encoded == sum(len(feature.choices) or 1 for feature in cached)
    plain, features = build(task, tiny_bert, SETTINGS, frozen=True, **reading)
    before = np.concatenate([logits.ravel() for logits in plain.engine.logits(features)])
    after = np.concatenate([logits.ravel() for logits in trainer.engine.logits(cached)])
    assert after == pytest.approx(before, abs=2e-3)
    assert losses(trainer, cached) == pytest.approx(losses(plain, features), rel=2e-3)


def test_every_seed_layer_choice_and_later_run_reads_the_same_cache(tiny_bert: Path, cache: Path) -> None:
    _, tagged, _ = prepared(tag_task(), tiny_bert)
    (folder,) = cache.iterdir()
    before = {file: file.stat().st_mtime_ns for file in folder.glob("*.npy")}
    assert sorted(file.name for file in before) == ["layer-0.npy", "layer-1.npy", "layer-2.npy"]
    kept = np.load(folder / "layer-2.npy")  # what a head reads alone
    assert (kept.shape, kept.dtype) == ((sum(len(feature.reads) for feature in tagged), 32), np.float16)
    for reading in ({"seeds": (5, 6)}, {"layers": [1]}, {"layers": "sum-all", "bilstm": True}):
        assert prepared(tag_task(), tiny_bert, **reading)[2].encoded == 0
    assert {file: file.stat().st_mtime_ns for file in folder.glob("*.npy")} == before
    assert prepared(tag_task(), tiny_bert, weights="of another model")[2].encoded > 0


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("first", ["texts", "choices"])
def test_the_pooler_and_the_first_token_are_not_taken_for_each_other(
    family: str, first: str, request: pytest.FixtureRequest
) -> None:
    """Of the same tokens, RoBERTa's multiple choice reads the pooler, and its classes read the first token."""
    folder = request.getfixturevalue(f"tiny_{family}")
    rows = choice_task().load(Source(), "train").rows
    pairs = [SentenceRow(id="", text=row.context, pair=choice, gold="no") for row in rows for choice in row.choices]
    tasks = [cat_task(pairs), choice_task()]
    encoded = []
    for task in tasks if first == "texts" else tasks[::-1]:
        trainer, cached, watch = prepared(task, folder)
        encoded.append(watch.encoded)
        plain, features = build(task, folder, SETTINGS, frozen=True)
        for ours, expected in zip(trainer.engine.logits(cached), plain.engine.logits(features), strict=True):
            assert ours == pytest.approx(expected, abs=2e-3)
    assert encoded == [len(pairs), len(pairs) if (family, first) == ("roberta", "texts") else 0]


def test_damaged_states_are_computed_again(tiny_bert: Path, cache: Path) -> None:
    """A flipped bit in half precision is another number, which no format would notice."""
    prepared(tag_task(), tiny_bert)
    (folder,) = cache.iterdir()
    layer, facts = folder / "layer-2.npy", folder / "facts.json"
    content, saved = layer.read_bytes(), json.loads(facts.read_text())
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for file, damage in ((layer, content[:-10]), (layer, flipped), (layer, None), (facts, b"{"), (facts, b"[]")):
        file.unlink() if damage is None else file.write_bytes(damage)
        prepared(tag_task(), tiny_bert)
        assert layer.read_bytes() == content
        assert json.loads(facts.read_text())["sha256"][layer.name] == saved["sha256"][layer.name]
