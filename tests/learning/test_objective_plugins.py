"""Objectives that are a file each learn a text in which every word and the order of lines is known."""

from pathlib import Path

import pytest
from support.toy_language import write_groups
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

OBJECTIVES = ("mlm-sop", "mlm-sbo", "rtd", "skip-gram")
WITHOUT_LAYERS = ("skip-gram",)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_groups(tmp_path_factory.mktemp("toy") / "corpus.txt", documents=1000)


def trained(
    objective: str, corpus: Path, encoder: Path, out: Path, *, updates: int, stop_after: int = 0, dropout: float = 0.0
) -> RunRecord:
    train = Train(updates=updates, batch_size=16, learning_rate=3e-3, dropout=dropout, precision="fp32")
    options = {"shape": "text", "objective": objective}
    model = {"model": str(encoder)}
    if objective in WITHOUT_LAYERS:
        model = {"model": "new:0x32x1", "tokenizer": str(encoder)}
    recipe = Recipe(task=str(corpus), max_length=48, options=options, seed=0, train=train, **model)
    return run(resolved_run(recipe), RunOptions(source=Source(), out=out, device="cpu"), watch=StopsAfter(stop_after))


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
def test_the_text_is_learned(
    objective: str, updates: int, metric: str, least: float, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    record = trained(objective, corpus, tiny_bert, tmp_path, updates=updates)
    assert record.scores["dev"][metric] > least
    assert record.is_pretraining
    folder = RunFolder.of(tmp_path, record.task, record.id)
    again = load_predictor(folder.path)
    rows = own_task(str(corpus), {"shape": "text"}).load(Source(), "dev").rows
    assert again.task.score(again.answers(rows), rows) == pytest.approx(record.scores["dev"])


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    objective: str, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    whole = trained(objective, corpus, tiny_bert, tmp_path / "whole", updates=12, dropout=0.1)
    with pytest.raises(Interrupted):
        trained(objective, corpus, tiny_bert, tmp_path / "parts", updates=12, dropout=0.1, stop_after=2)
    parts = trained(objective, corpus, tiny_bert, tmp_path / "parts", updates=12, dropout=0.1)
    assert (parts.scores, parts.epochs) == (whole.scores, whole.epochs)
