"""Runs on a text in which the next word is known: they learn it, and end the same however they are interrupted."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.toy_language import write_corpus, write_groups
from support.training import StopsAfter

from finetune.data.source import Source
from finetune.inference.predictor import load_predictor
from finetune.runs.folder import RunFolder
from finetune.runs.process import Interrupted
from finetune.runs.recipe import Recipe, Train
from finetune.runs.record import RunRecord
from finetune.task_types.own_data import own_task
from finetune.task_types.resolved_run import resolved_run
from finetune.training.run import run
from finetune.training.run_options import RunOptions

SETTINGS = {"batch_size": 16, "learning_rate": 3e-3, "dropout": 0.0, "precision": "fp32"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("toy") / "corpus.txt", documents=1200)


def recipe_of(corpus: Path, encoder: Path, *, updates: int, options: dict[str, Any], **given: Any) -> Recipe:
    train = SETTINGS | {"updates": updates} | given.pop("train", {})
    options = {"shape": "text"} | options
    model = {"model": str(encoder)}
    if options.get("objective") == "skip-gram":  # which has no layers
        model = {"model": "new:0x32x1", "tokenizer": str(encoder)}
    return Recipe(task=str(corpus), max_length=48, options=options, seed=0, train=Train(**train), **model, **given)


def trained(recipe: Recipe, out: Path, *, force: bool = False, stop_after: int = 0) -> RunRecord:
    options = RunOptions(source=Source(), out=out, device="cpu", force=force)
    return run(resolved_run(recipe), options, watch=StopsAfter(stop_after))


def left(out: Path, record: RunRecord) -> tuple[bytes, list[float], Any]:
    """What must not depend on interruptions: weights, losses of all updates, and scores."""
    folder = RunFolder.of(out, record.task, record.id)
    events = [json.loads(line) for line in folder.events.read_text().splitlines()]
    losses = {
        update: loss
        for event in events
        if event["event"] == "updates"
        for update, loss in zip(range(event["update"], 0, -1), reversed(event["losses"]), strict=False)
    }
    (weights,) = folder.model.glob("*.safetensors")
    return weights.read_bytes(), [losses[update] for update in sorted(losses)], (record.scores, record.epochs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "updates"),
    [
        ("mlm", 150),
        ("ltr", 150),
        pytest.param("mlm-nsp", 600, marks=pytest.mark.nightly),
    ],
)
def test_the_language_is_learned(objective: str, updates: int, corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    recipe = recipe_of(corpus, tiny_bert, updates=updates, options={"objective": objective})
    scores = trained(recipe, tmp_path).scores["dev"]
    assert scores["masked accuracy"] > 0.95
    assert scores["perplexity"] < 1.25
    assert scores.get("next sentence", 1.0) > 0.95


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("objective", "updates", "metric", "least"),
    [
        ("mlm-sop", 600, "sentence order", 0.95),
        ("mlm-sbo", 400, "masked accuracy", 0.85),
        ("rtd", 600, "replaced words", 0.8),
        ("skip-gram", 400, "masked accuracy", 0.75),
    ],
)
def test_an_objective_of_a_file_learns_a_text_in_which_words_and_the_order_of_lines_are_known(
    objective: str, updates: int, metric: str, least: float, tiny_bert: Path, tmp_path: Path
) -> None:
    corpus = write_groups(tmp_path / "corpus.txt", documents=1000)
    record = trained(recipe_of(corpus, tiny_bert, updates=updates, options={"objective": objective}), tmp_path)
    assert record.scores["dev"][metric] > least and record.is_pretraining
    again = load_predictor(RunFolder.of(tmp_path, record.task, record.id).path)
    rows = own_task(str(corpus), {"shape": "text"}).load(Source(), "dev").rows
    assert again.task.score(again.answers(rows), rows) == pytest.approx(record.scores["dev"])


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["mlm", "ltr", "mlm-nsp", "mlm-sop", "mlm-sbo", "rtd", "skip-gram"])
def test_an_interrupted_run_ends_bit_for_bit_as_an_uninterrupted_one(
    objective: str, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    options = {"objective": objective} | ({"mask": "words"} if objective in ("mlm", "mlm-nsp") else {})
    recipe = recipe_of(corpus, tiny_bert, updates=20, options=options, limit=300, train={"dropout": 0.1})
    whole = left(tmp_path / "whole", trained(recipe, tmp_path / "whole"))
    for part in (2, 5):
        with pytest.raises(Interrupted):
            trained(recipe, tmp_path / "parts", stop_after=part)
    assert left(tmp_path / "parts", trained(recipe, tmp_path / "parts")) == whole
    assert len(whole[1]) == 20


@pytest.mark.slow
def test_parts_of_a_batch_have_the_masks_of_the_whole(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    def losses(**train: Any) -> list[float]:
        recipe = recipe_of(corpus, tiny_bert, updates=4, options={"objective": "mlm-nsp"}, limit=200, train=train)
        return left(tmp_path, trained(recipe, tmp_path, force=True))[1]

    assert losses(accumulation=3) == pytest.approx(losses(), rel=1e-4)
