"""`finetune export`: logits equal to those of torch, and a folder that answers as its run, or none at all."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.cli import InProcess, assert_error
from support.pairs import each_task_and_family
from support.runs import FinishedRun
from support.toys import labelled_shapes
from support.training import CPU
from transformers import AutoTokenizer

import finetune
from finetune.commands.export import exporting
from finetune.commands.export.graph import graph_inputs, write_graph
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.export_facts import read_export_facts
from finetune.inference.exported_engine import OnnxSession
from finetune.inference.predictor import load_predictor
from finetune.models.batch import Batch, collate
from finetune.models.building import build_model
from finetune.models.model_folder import load_trained
from finetune.models.saving import save_checkpoint
from finetune.models.tokenizers.load import add_tokens
from finetune.runs.recipe import Recipe
from finetune.task_types.task import Task

for package in ("onnxruntime", "onnx", "onnxscript"):
    pytest.importorskip(package)
pytestmark = pytest.mark.slow  # tracing a graph takes seconds; inference/exported has a fast test of the whole way

NAMES = ("input_ids", "attention_mask", "token_type_ids")
CLOSE = 1e-5  # of the largest logit, or of 1
TRACED = {"toy-cats": "modernbert", "toy-tags-sentence": "albert", "toy-spans-1": "electra"}
"""Heads on one vector, on words and on positions, in families that are built in other ways; `make nightly` has all."""


@each_task_and_family([*labelled_shapes()], families=(), all_with=(), in_turn=(), known=TRACED.items())
def test_a_graph_has_the_logits_of_torch(task: Task, tiny_encoder: Path, tmp_path: Path) -> None:
    """Of a model that is saved and loaded again, in batches of several sizes and lengths."""
    rows = task.load(Source(), "dev").rows[:20]
    tokenizer, tokens = AutoTokenizer.from_pretrained(tiny_encoder), task.new_tokens(rows)
    add_tokens(tokenizer, tokens)
    model, _ = build_model(tiny_encoder, task.head, Recipe(task="any", seed=0), device=CPU, tokens=tokens)
    model.eval()
    save_checkpoint(model, tmp_path / "model", tokenizer, {})
    again = load_trained(tmp_path / "model", task.head)
    if again.backbone.config.model_type in ("longformer", "big_bird"):
        with pytest.raises(UserError, match="cannot be exported"):
            write_graph(again, tmp_path / "model.onnx")
        return
    write_graph(again, tmp_path / "model.onnx")
    session = OnnxSession(tmp_path / "model.onnx")
    assert [part.name for part in session.session.get_inputs()] == list(graph_inputs(again))
    features, pad = task.encode(rows, tokenizer, 24), tokenizer.pad_token_id
    whole = collate(features, pad_id=pad)
    for batch in (whole, collate(features[:1], pad_id=pad), collate(features[3:8], pad_id=pad, length=60), two(whole)):
        with torch.no_grad():
            expected = model(batch.input_ids, batch.attention_mask, batch.token_type_ids).numpy()
        found = session(inputs_of(session, batch))
        there = np.isfinite(expected)
        assert (np.isfinite(found) == there).all()
        assert np.abs(found - expected)[there].max() <= CLOSE * max(1.0, np.abs(expected[there]).max())


def two(batch: Batch) -> Batch:
    """A batch of one text of two tokens."""
    parts = (batch.input_ids, batch.attention_mask, batch.token_type_ids)
    short = [None if part is None else part[:1, :2] for part in parts]
    return Batch(short[0], torch.ones(1, 2, dtype=torch.long), short[2])


def inputs_of(session: OnnxSession, batch: Batch) -> Mapping[str, np.ndarray]:
    """The inputs that a graph has of a batch; segments are 0 where the tokenizer gives none."""
    every = {"token_type_ids": torch.zeros_like(batch.attention_mask)}
    every |= {name: tensor for name in NAMES if (tensor := getattr(batch, name)) is not None}
    return {part.name: every[part.name].numpy() for part in session.session.get_inputs()}


KINDS = ("sentence", "regression", "multilabel", "tagging", "span", "choice")


@pytest.mark.parametrize("kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.nightly) for kind in KINDS[1:])])
def test_an_export_answers_as_its_run_and_is_none_to_compare(
    kind: str, finished_run: FinishedRun, tmp_path: Path, in_process: InProcess
) -> None:
    run = finished_run(kind)
    found = finetune.export(run, path=tmp_path / "exported")
    facts = read_export_facts(found.folder)
    assert facts.check is not None and facts.check == found.facts.check
    assert facts.check.equal == facts.check.rows > 0
    assert 0 < facts.check.largest_difference < 1e-3
    assert (facts.source.run, facts.source.fingerprint) == (run.name, load_predictor(run).fingerprint)
    assert {file.name for file in tmp_path.rglob("*")} == {
        "exported", "README.md", "checksums.json", "config.json", "export.json", "model.onnx", "onnx", "tokenizer.json",
        "tokenizer_config.json",
    }  # fmt: skip
    code, _, error = in_process("compare", str(run), "exported", data="")
    assert code == 2
    assert_error(error, "exported is an export, not a run", "export.json")
    with pytest.raises(UserError, match="is an export"):
        finetune.export(found.folder, path=tmp_path / "again")


def test_int8_is_smaller_and_says_what_it_changed(finished_run: FinishedRun, tmp_path: Path) -> None:
    run = finished_run("sentence")
    made = finetune.export(run, path=tmp_path / "small", int8=True, tolerance=100)
    facts = read_export_facts(tmp_path / "small")
    assert (facts.precision, facts.bits, facts.tolerance) == ("int8", 7, 100)
    assert (tmp_path / "small" / "onnx" / "model_quantized.onnx").stat().st_size < (
        run / "model" / "model.safetensors"
    ).stat().st_size
    assert facts.check is not None and facts.check.score is not None
    assert len(facts.check.changed) == facts.check.rows - facts.check.equal
    scores = finetune.open_run(run).record.scores["dev"]
    assert facts.check.score.run == pytest.approx(100 * scores[facts.check.score.metric])
    assert finetune.load(made.folder)("the cat sat").value == "good"


@pytest.mark.parametrize(("lost", "refused"), [(1.24, True), (100 * (0.85 - 0.845), False), (float("nan"), True)])
def test_int8_that_loses_more_than_half_a_point_is_not_written(
    lost: float, refused: bool, finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, run = iter([{"macro f1": 0.85}, {"macro f1": 0.85 - lost / 100}]), finished_run("sentence")
    monkeypatch.setattr(type(load_predictor(run).task), "score", lambda *_: next(scores))
    if refused:
        with pytest.raises(UserError, match=r"int8 loses (1.24|nan) points of macro f1, .*tolerance. is"):
            finetune.export(run, path=tmp_path / "small", int8=True)
        assert not list(tmp_path.iterdir())
    else:
        assert finetune.export(run, path=tmp_path / "small", int8=True).facts.tolerance == 0.5


@pytest.mark.parametrize(("fault", "said"), [("other", "its logits differ by up to 0.1"), ("full", "No space left")])
def test_a_graph_that_is_wrong_or_cannot_be_written_leaves_nothing(
    fault: str, said: str, finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = exporting.write_graph

    def wrong(model: Any, file: Path) -> None:
        if fault == "full":
            raise OSError(28, "No space left on device")
        model.head.output.bias.data[0] += 0.1
        write(model, file)

    monkeypatch.setattr(exporting, "write_graph", wrong)
    with pytest.raises(UserError, match=said):
        finetune.export(finished_run("sentence"), path=tmp_path / "exported")
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_nothing_that_is_not_of_an_export_is_deleted(reviews: Path, tmp_path: Path) -> None:
    finetune.export(reviews, path=tmp_path / "exported")
    (tmp_path / "exported" / "mine.csv").write_text("mine")
    with pytest.raises(UserError, match=r"mine\.csv.*would be deleted"):
        finetune.export(reviews, path=tmp_path / "exported", force=True)
    assert (tmp_path / "exported" / "mine.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["no-run", "--tolerance", "1"], ["--tolerance", "--int8"]),
        (["no-run", "-o", "."], ["not an export"]),
        (["copied"], ["copied", "finetune export RUN"]),  # without its run there are no rows to check with
    ],
)
def test_what_does_not_fit_is_refused(
    arguments: list[str], named: list[str], in_process: InProcess, reviews: Path, tmp_path: Path
) -> None:
    shutil.copytree(reviews / "model", tmp_path / "copied")
    code, _, error = in_process("export", *arguments, data="")
    assert code == 2
    assert_error(error, *named)
    assert [file.name for file in tmp_path.iterdir()] == ["copied"]
