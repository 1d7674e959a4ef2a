"""Every head of every family as a graph: its logits and answers are those of torch, whatever the batch and length."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.pairs import each_task_and_family
from support.toys import cat_task, labelled_shapes, tag_task
from support.training import CPU
from transformers import AutoTokenizer

from finetune.commands.export.graph import graph_inputs, write_graph
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.head import EncoderWithHead
from finetune.models.model_folder import load_trained, save_checkpoint
from finetune.models.tokenizers.load import add_tokens
from finetune.runs.recipe import Recipe
from finetune.task_types.task import Task

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.slow  # tracing a graph takes seconds; inference/exported has a fast test of the whole way

LENGTH = 24
NAMES = ("input_ids", "attention_mask", "token_type_ids", "positions")
CLOSE = 1e-5  # of the largest logit, or of 1
TASKS: list[Task] = [*labelled_shapes()]

TRACED = {
    "toy-cats": "modernbert",
    "toy-tags-sentence": "albert",
    "toy-spans-1": "electra",
}
"""Heads on one vector, on words and on positions, in families that are built in other ways; `make nightly` has all."""


@each_task_and_family(TASKS, families=(), all_with=(), in_turn=(), known=TRACED.items())
def test_a_graph_has_the_logits_of_torch(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    assert_exported(task, tiny_encoder, tmp_path, Recipe(task="any", seed=0))


@pytest.mark.nightly
@pytest.mark.parametrize(
    "reading",
    [{"layers": "weighted-sum-all"}, {"bilstm": 12}, {"pooling": "mean"}, {"layers": "sum-all", "bilstm": 12}],
)
def test_so_has_a_model_with_a_reader_of_its_own(reading: dict[str, Any], tiny_bert: Path, tmp_path: Path) -> None:
    tasks = [cat_task()] if "pooling" in reading else [cat_task(), tag_task()]
    for task in tasks:
        assert_exported(task, tiny_bert, tmp_path / task.name, Recipe(task="any", seed=0, **reading))


def assert_exported(task: Task, encoder: Path, folder: Path, recipe: Recipe) -> None:
    """Saves a model, exports what is loaded again, and compares some batches with the model as it was trained."""
    folder.mkdir(exist_ok=True)
    rows = task.load(Source(), "dev").rows[:20]
    tokenizer, tokens = AutoTokenizer.from_pretrained(encoder), task.new_tokens(rows)
    add_tokens(tokenizer, tokens)
    model, _ = build_model(encoder, task.head, recipe, device=CPU, tokens=tokens)
    model.eval()
    settings = recipe.model_dump(include={"layers", "bilstm", "pooling"}, exclude_defaults=True)
    save_checkpoint(model, folder / "model", tokenizer, settings)
    file = folder / "model.onnx"
    again = load_trained(folder / "model", task.head)
    if again.backbone.config.model_type in ("longformer", "big_bird") or again.backbone.bilstm:
        with pytest.raises(UserError, match="cannot be exported"):
            write_graph(again, file)
        return
    write_graph(again, file)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_inputs()] == list(graph_inputs(again))
    assert [one.name for one in session.get_outputs()] == ["logits"]
    features = task.encode(rows, tokenizer, LENGTH)
    pad = tokenizer.pad_token_id
    whole = collate(features, pad_id=pad)
    for batch in (whole, collate(features[:1], pad_id=pad), collate(features[3:8], pad_id=pad, length=60), two(whole)):
        require_close(model, session, batch)


def two(batch: Batch) -> Batch:
    """A batch of one text of two tokens."""
    parts = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
    short = [None if part is None else part[:1, :2] for part in parts]
    positions = None if batch.positions is None else torch.zeros_like(batch.positions[:1])
    return Batch(short[0], torch.ones(1, 2, dtype=torch.long), short[2], None, positions)


def require_close(model: EncoderWithHead, session: Any, batch: Batch) -> None:
    expected, found = logits_of(model, batch), session.run(None, given(session, batch))
    assert len(expected) == len(found)
    for theirs, ours in zip(expected, found, strict=True):
        there = np.isfinite(theirs)
        assert ours.shape == theirs.shape
        assert (np.isfinite(ours) == there).all()
        assert np.abs(ours - theirs)[there].max() <= CLOSE * max(1.0, np.abs(theirs[there]).max())
        assert (answers(ours) == answers(theirs)).all() or closest(theirs) < 2 * CLOSE


def answers(logits: np.ndarray) -> np.ndarray:
    """The best of several logits; of one, on which side of 0 it is."""
    return logits.argmax(-1) if logits.shape[-1] > 1 else logits > 0


def closest(logits: np.ndarray) -> float:
    """How far the two best logits are from each other where they are closest: a tie."""
    best = np.sort(logits[np.isfinite(logits).all(-1)], axis=-1)
    return float((best[..., -1] - best[..., -2]).min()) if logits.shape[-1] > 1 else float(np.abs(best).min())


def given(session: Any, batch: Batch) -> Mapping[str, np.ndarray]:
    """The inputs that a graph has of a batch, in which a row's choices are sequences; segments are 0 where the
    tokenizer gives none.
    """
    every = {"token_type_ids": torch.zeros_like(batch.attention_mask)}
    every |= {name: tensor for name in NAMES if (tensor := getattr(batch, name)) is not None}
    return {one.name: every[one.name].numpy() for one in session.get_inputs()}


def logits_of(model: EncoderWithHead, batch: Batch) -> Sequence[np.ndarray]:
    with torch.no_grad():
        found = model(batch.input_ids, batch.attention_mask, batch.token_type_ids, None, batch.positions)
    return [each.numpy() for each in (found.values() if isinstance(found, dict) else [found])]


@pytest.mark.nightly
def test_an_encoder_without_a_graph_is_refused_with_the_operator(tiny_bert: Path, tmp_path: Path) -> None:
    class Unknown(torch.nn.Module):
        def forward(self, states: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
            return attended + torch.linalg.eigvalsh(states @ states.transpose(1, 2)).unsqueeze(-1)

    task = cat_task()
    model, _ = build_model(tiny_bert, task.head, Recipe(task="any", seed=0), device=CPU)
    model.backbone.encoder.encoder.layer[0].output = Unknown()
    with pytest.raises(UserError, match=r"type 'bert' cannot be exported .*aten\W+(_linalg|linalg)_?eigh?"):
        write_graph(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
