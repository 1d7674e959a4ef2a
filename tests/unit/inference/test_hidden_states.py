"""The cache of hidden states: equal to encoding again, reused, bounded, and made again where it is damaged."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock
from support.toys import cat_task, choice_task, span_task, tag_task
from support.training import build, unscored

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.hidden_states import with_states
from finetune.models import backbone as reader
from finetune.models.feature import Feature
from finetune.runs.events import Encoded, Event, Note
from finetune.runs.recipe import Train
from finetune.storage.cache import Entry, cache_folder
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
        if isinstance(event, Note):
            self.notes.append(event.text)
        if isinstance(event, Encoded):
            self.encoded = event.done


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


@pytest.mark.parametrize("task", [cat_task(), tag_task(), span_task(), choice_task()], ids=lambda task: task.name)
@pytest.mark.parametrize(
    "reading", [{}, {"layers": [0, 2]}, {"layers": "second-to-last", "bilstm": True}], ids=["last", "two", "bilstm"]
)
def test_cached_and_uncached_training_are_equal(task: Task, reading: dict[str, Any], tiny_bert: Path) -> None:
    trainer, cached, watch = prepared(task, tiny_bert, **reading)
    assert watch.encoded == sum(len(feature.choices) or 1 for feature in cached)
    plain, features = build(task, tiny_bert, SETTINGS, frozen=True, **reading)
    before = np.concatenate([logits.ravel() for logits in plain.engine.logits(features)])
    assert np.concatenate([logits.ravel() for logits in trainer.engine.logits(cached)]) == pytest.approx(
        before, abs=2e-3
    )
    assert losses(trainer, cached) == pytest.approx(losses(plain, features), rel=2e-3)


def test_every_seed_layer_choice_and_later_run_reads_the_same_cache(tiny_bert: Path, cache: Path) -> None:
    prepared(tag_task(), tiny_bert)
    (folder,) = cache.iterdir()
    before = {file: file.stat().st_mtime_ns for file in folder.glob("*.npy")}
    assert sorted(file.name for file in before) == ["layer-0.npy", "layer-1.npy", "layer-2.npy"]
    for reading in ({"seeds": (5, 6)}, {"layers": [1]}, {"layers": "sum-all", "bilstm": True}):
        assert prepared(tag_task(), tiny_bert, **reading)[2].encoded == 0
    assert {file: file.stat().st_mtime_ns for file in folder.glob("*.npy")} == before
    assert prepared(tag_task(), tiny_bert, weights="of another model")[2].encoded > 0


def test_only_what_a_head_reads_is_kept(tiny_bert: Path, cache: Path) -> None:
    _, tagged, _ = prepared(tag_task(), tiny_bert)
    (folder,) = cache.iterdir()
    kept = np.load(folder / "layer-2.npy")
    assert kept.shape == (sum(len(feature.reads) for feature in tagged), 32)
    assert kept.dtype == np.float16
    _, pooled, _ = prepared(cat_task(), tiny_bert, layers=[1])
    (other,) = set(cache.iterdir()) - {folder}
    assert np.load(other / "layer-1.npy").shape == (len(pooled), 32)
    prepared(cat_task(), tiny_bert)  # the pooled output joins them
    assert np.load(other / "pooled.npy").shape == (len(pooled), 32)


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
    assert encoded[0] == len(pairs)
    assert encoded[1] == (len(pairs) if (family, first) == ("roberta", "texts") else 0)


def test_the_disk_is_bounded(tiny_bert: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def size() -> int:
        return sum(file.stat().st_size for file in cache.glob("*/*.npy"))

    prepared(tag_task(), tiny_bert)
    (first,) = cache.iterdir()
    one = size()
    (first / ".layer-7.npy.tmp").write_bytes(b"x" * one)  # of a process that was ended while it wrote
    monkeypatch.setenv("FINETUNE_CACHE_GB", str(1.1 * one / 1e9))
    _, features, watch = prepared(tag_task(), tiny_bert, weights="another")  # for which the first goes
    assert features[0].states is not None
    assert watch.notes == []
    assert [file.name for file in first.iterdir()] == [".lock"]
    assert size() < 0.5 * one  # the layer that is read: all would have fitted only in the place of others
    monkeypatch.setenv("FINETUNE_CACHE_GB", str(0.2 * one / 1e9))
    _, features, watch = prepared(tag_task(), tiny_bert, weights="a third")
    assert features[0].states is None
    assert 0.3 * one < size() < 0.5 * one  # what cannot help stays
    monkeypatch.setenv("FINETUNE_CACHE_GB", "0")
    trainer, features, watch = prepared(tag_task(), tiny_bert, weights="a fourth")
    assert features[0].states is None
    assert "0.0 GB, FINETUNE_CACHE_GB" in watch.notes[0]
    assert len(losses(trainer, features)) == 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "removed", "facts", "no facts"])
def test_damaged_states_are_computed_again(damage: str, tiny_bert: Path, cache: Path) -> None:
    """A flipped bit in half precision is another number, which no format would notice."""
    prepared(tag_task(), tiny_bert)
    (folder,) = cache.iterdir()
    layer, facts = folder / "layer-2.npy", folder / "facts.json"
    content, saved = layer.read_bytes(), facts.read_bytes()
    middle = len(content) // 2
    match damage:
        case "cut":
            layer.write_bytes(content[:-10])
        case "flipped":
            layer.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        case "removed":
            layer.unlink()
        case "facts":
            facts.write_text("{")
        case "no facts":
            facts.write_text("[]")
    prepared(tag_task(), tiny_bert)
    now, before = json.loads(facts.read_text()), json.loads(saved)
    assert layer.read_bytes() == content
    assert now["sha256"][layer.name] == before["sha256"][layer.name]


def test_a_cache_in_use_stays(tiny_bert: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared(tag_task(), tiny_bert)
    (first,) = cache.iterdir()
    kept = {file.name: file.stat().st_size for file in first.glob("*.npy")}
    monkeypatch.setenv("FINETUNE_CACHE_GB", str(1.1 * sum(kept.values()) / 1e9))
    with FileLock(first / ".lock"):  # by another process
        _, features, _ = prepared(tag_task(), tiny_bert, weights="another")
    assert features[0].states is None
    assert {file.name: file.stat().st_size for file in first.glob("*.npy")} == kept


def test_files_that_another_process_removes_end_no_run(
    tiny_bert: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to nothing is listed and cannot be looked at, as a file that goes in between."""
    prepared(tag_task(), tiny_bert)
    (first,) = cache.iterdir()
    (first / "layer-9.npy").symlink_to("removed")
    monkeypatch.setenv("FINETUNE_CACHE_GB", str(1.1 * sum(f.stat().st_size for f in first.glob("layer-[0-2]*")) / 1e9))
    _, features, watch = prepared(tag_task(), tiny_bert, weights="another")
    assert features[0].states is not None
    assert watch.notes == []
    assert [file.name for file in first.iterdir()] == [".lock"]


def test_the_room_in_a_cache_can_be_found_while_others_write_and_remove(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process empties folders, removes them, and makes them again, without an end."""
    mine = Entry(cache / "mine")
    mine.folder.mkdir(parents=True)
    monkeypatch.setenv("FINETUNE_CACHE_GB", str(100 / 1e9))
    other = subprocess.Popen([sys.executable, "-c", RESTLESS, str(cache)], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        other.stdout.readline()  # it has begun
        for _ in range(2_000):
            assert mine.make_room(50, evict=False)
            mine.make_room(100)  # for which the other's have to go
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


RESTLESS = """
import shutil, sys
from pathlib import Path

print("begun", flush=True)
while True:
    folder = Path(sys.argv[1], "other")
    folder.mkdir(exist_ok=True)
    try:
        for name in ("facts.json", "layer-0.npy", "layer-1.npy", "layer-2.npy"):
            (folder / name).write_text("x")
    except FileNotFoundError:  # its lock was taken, and made it again
        pass
    (folder / "facts.json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
"""


def test_a_cache_that_cannot_be_written_is_named(tiny_bert: Path, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(UserError, match=r"FINETUNE_CACHE"):
        prepared(tag_task(), tiny_bert)
    assert cache_folder("states") == cache


def test_a_limit_that_is_no_number_is_named(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINETUNE_CACHE_GB", "much")
    with pytest.raises(UserError, match="FINETUNE_CACHE_GB is 'much'"):
        prepared(tag_task(), tiny_bert)
