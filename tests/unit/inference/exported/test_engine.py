"""Logits of an exported graph equal those of torch, for every shape, whatever the batch."""

from pathlib import Path

import numpy as np
import pytest
from support.exported import exported_facts, with_graph
from support.toys import cat_task, choice_task, labelled_shapes, late_task
from support.training import CPU

from finetune.data.source import Source
from finetune.inference import feature_batches
from finetune.inference.engine import Engine
from finetune.inference.export_facts import GRAPH
from finetune.inference.exported_engine import ExportedEngine, OnnxSession
from finetune.inference.feature_batches import Diverged
from finetune.models.building import build_model
from finetune.models.device import build_accelerator
from finetune.models.feature import Feature
from finetune.models.tokenizers.load import add_tokens, load_tokenizer
from finetune.runs import process
from finetune.runs.events import unwatched
from finetune.runs.recipe import Recipe
from finetune.task_types.task import Task

EVERY = [*labelled_shapes(), late_task()]


def both_engines(task: Task, encoder: Path, folder: Path) -> tuple[Engine, ExportedEngine, list[Feature]]:
    """A new model of a task on torch and as a graph, and features of its dev rows."""
    rows, tokenizer = task.load(Source(), "dev").rows, load_tokenizer(encoder)
    tokens = task.new_tokens(rows)
    add_tokens(tokenizer, tokens)
    model, _ = build_model(encoder, task.head, Recipe(task="any", seed=0), device=CPU, tokens=tokens)
    facts = exported_facts(with_graph(model.eval(), folder / "model.onnx"))
    pad = tokenizer.pad_token_id
    own = Engine(model=model, accelerator=build_accelerator(CPU, "fp32"), pad_id=pad, watch=unwatched)
    session = OnnxSession(folder / GRAPH)
    exported = ExportedEngine(session=session, exported=facts, pad_id=pad, watch=unwatched)
    return own, exported, task.encode(rows, tokenizer, 32)


def assert_same(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    assert [each.shape for each in ours] == [each.shape for each in theirs]
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.nightly
@pytest.mark.parametrize("task", EVERY, ids=lambda one: one.name)
def test_logits_equal_those_of_torch(task: Task, tiny_bert: Path, tmp_path: Path) -> None:
    own, exported, features = both_engines(task, tiny_bert, tmp_path)
    expected = own.logits(features)
    assert_same(exported.logits(features), expected)
    assert exported.most_tokens == own.most_tokens == 128
    assert exported.labels == own.labels


@pytest.mark.nightly
def test_single_and_shortest_rows(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch 1 and length 2; and small batches, among them of choices of different counts."""
    own, exported, features = both_engines(cat_task(), tiny_bert, tmp_path)
    empty = Feature(row=0, input_ids=[2, 3], token_type_ids=[0, 0])
    assert_same(exported.logits([empty]), own.logits([empty]))
    assert_same(exported.logits([empty, *features[:3]]), own.logits([empty, *features[:3]]))
    assert exported.logits([]) == []
    (folder := tmp_path / "choice").mkdir()
    own, exported, features = both_engines(choice_task(), tiny_bert, folder)
    assert len({len(feature.choices) for feature in features}) > 1
    expected = own.logits(features)
    monkeypatch.setitem(feature_batches.BATCH_TOKENS, "cpu", 40)
    assert_same(exported.logits(features), expected)


class Recorded:
    """A graph whose logits are the numbers of the tokens; it remembers the shapes that it was given."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        self.shapes.append(inputs["input_ids"].shape)
        return np.asarray(inputs["attention_mask"].sum(1, keepdims=True).astype(np.float32))


def engine_on(session: Recorded) -> ExportedEngine:
    return ExportedEngine(session=session, exported=exported_facts({}), pad_id=0, watch=unwatched)


def texts(*sizes: int) -> list[Feature]:
    return [Feature(row=row, input_ids=[1] * size) for row, size in enumerate(sizes)]


def test_logits_are_in_the_order_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Recorded()
    monkeypatch.setitem(feature_batches.BATCH_TOKENS, "cpu", 20)
    found = engine_on(session).logits(texts(3, 9, 7, 9, 2))
    assert [each.tolist() for each in found] == [[3], [9], [7], [9], [2]]
    assert session.shapes == [(2, 9), (2, 7), (1, 2)]


def test_nan_is_refused_and_a_signal_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(inputs: dict[str, np.ndarray]) -> np.ndarray:
        return np.full((len(inputs["input_ids"]), 1), np.nan, np.float32)

    with pytest.raises(Diverged, match="nan"):
        engine_on(broken).logits(texts(3))  # type: ignore[arg-type]
    monkeypatch.setattr(process, "asked", lambda: True)
    with pytest.raises(process.Stopping):
        engine_on(Recorded()).logits(texts(3))
