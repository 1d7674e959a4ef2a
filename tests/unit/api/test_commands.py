"""What a command does, Python does: explanations, the inside of an encoder, embeddings, data sizes and lists."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel
from support.cli import InProcess
from support.runs import REVIEWS, FinishedRun

import finetune

FAST = {"max_length": 16, "train": {"epochs": 2, "batch_size": 8}, "device": "cpu"}


@pytest.fixture
def model(reviews: Path) -> finetune.Model:
    return finetune.load(reviews)


@pytest.fixture
def silent(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """What was printed since the test began."""
    capsys.readouterr()
    return capsys


def test_an_explanation_is_that_of_the_command(reviews: Path, model: finetune.Model, in_process: InProcess) -> None:
    pytest.importorskip("captum")
    found = model.explain("the cat sat", label="bad")
    assert found.rows[0].facts() == json.loads(
        in_process("explain", str(reviews), "the cat sat", "--label", "bad", "--json", data="")[1]
    )
    (one,) = found.rows[0].explanations
    assert found.frame["added"].sum() == pytest.approx(one.difference, rel=0.05)
    assert list(found.frame["word"]) == ["the", "cat", "sat"]


def test_rows_are_explained_by_id_and_in_memory_without_a_word(
    model: finetune.Model, tmp_path: Path, silent: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("captum")
    name = finetune.open_run(model.folder.parent).predictions.loc[0, "id"]
    line = finetune.open_run(model.folder.parent).predictions.set_index("id").loc[name]
    found = model.explain(row=name)
    assert (found.rows[0].id, found.rows[0].gold) == (name, line["gold"])
    assert found.model == f"reviews.csv, run {model.folder.parent.name}"
    assert set(found.frame["text_name"]) == {"text"}
    rows = pd.DataFrame({"review": ["the <b>cat</b> sat", "the dog sat"]})
    found = model.explain(rows=rows)
    assert set(found.frame["row"]) == {"1", "2"}
    assert found.write(tmp_path / "why.html").read_text().count("<article>") == 2
    assert silent.readouterr() == ("", "")
    for wrong in ({}, {"row": name, "rows": rows}):
        with pytest.raises(finetune.UserError, match="one of a text"):
            model.explain(**wrong)
    for wrong, words in (({"row": "no-such-row"}, "no-such-row"), ({"rows": rows[["review"]][:0]}, "data")):
        with pytest.raises(finetune.UserError, match=words):
            model.explain(**wrong)


def test_the_inside_of_a_model_a_run_and_an_encoder_is_a_page(
    model: finetune.Model, reviews: Path, tiny_bert: Path, tmp_path: Path, silent: pytest.CaptureFixture[str]
) -> None:
    mine = [f"{'ab'[i % 2]}\tthe cat sat {i}" for i in range(6)]
    for number, one in enumerate((model, finetune.open_run(reviews), str(tiny_bert))):
        page = finetune.view(one, "the cat", word="cat", sentences=mine, path=tmp_path / f"{number}.html")
        assert '" sat 5"]' in page.read_text(encoding="utf-8")
    assert silent.readouterr() == ("", "")
    with pytest.raises(finetune.UserError, match="sentences: 2 of its lines have the word 'cat'"):
        finetune.view(model, word="cat", sentences=mine[:2], path=tmp_path / "no.html")
    assert not (tmp_path / "no.html").exists()


def test_embeddings_are_those_of_the_command(
    model: finetune.Model, tiny_bert: Path, tmp_path: Path, in_process: InProcess, silent: pytest.CaptureFixture[str]
) -> None:
    rows = pd.DataFrame({"review": ["the cat sat", "the dog ran on a tree"]})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    silent.readouterr()
    found = finetune.features(model, rows, pool="mean", layers=[1], path=tmp_path / "a.npz", device="cpu")
    assert (found.rows, found.width, len(found.frame)) == (2, 32, 2)
    assert silent.readouterr() == ("", "")
    command = ["features", model.name, "rows.csv", "--pool", "mean", "--layers", "[1]", "-o", "b.parquet"]
    assert in_process(*command, "--device", "cpu", data="")[0] == 0
    written = pq.read_table(tmp_path / "b.parquet").to_pandas()
    assert np.allclose(np.stack(found.frame["vector"]), np.stack(written["vector"]))


@pytest.mark.slow
def test_embeddings_of_texts_are_a_vector_each_and_write_nothing(
    model: finetune.Model, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    texts = ["the cat sat", "12", "the dog ran on a tree"]
    given: list[Any] = [texts, tuple(texts), iter(texts), pd.Series(texts), np.array(texts), [(one,) for one in texts]]
    given += [[{"review": one} for one in texts], {"review": texts}, pd.DataFrame({"review": texts})]
    for one in (model, tiny_bert):
        for rows in given:
            rows = iter(texts) if hasattr(rows, "__next__") else rows
            found = finetune.features(one, rows, device="cpu")
            assert found.path is None and found.vectors.shape == (3, 32)
            assert np.allclose(found.vectors, finetune.features(one, texts, pool="mean", device="cpu").vectors)
    pairs = finetune.features(tiny_bert, [("the cat", "sat"), ("a", "b")], device="cpu")
    assert pairs.vectors.shape == (2, 32) and "in memory" in repr(pairs)
    assert not list(Path().iterdir())
    missing = finetune.features(tiny_bert, ["the cat", None], device="cpu").vectors
    assert np.isnan(missing[1]).all() and not np.isnan(missing[0]).any()
    with pytest.raises(finetune.UserError, match="a row has 2 texts and another 1"):
        finetune.features(tiny_bert, ["the cat", ("a", "b")])


@pytest.mark.parametrize(
    "labels", [["bad", "good"], ("bad", "good"), {0: "bad", 1: "good"}, {"1": "good", "0": "bad"}, ClassLabel]
)
@pytest.mark.parametrize("written", [(0, 1), ("bad", "good")])
def test_labels_are_names_in_any_form(tiny_bert: Path, tmp_path: Path, labels: Any, written: tuple[Any, Any]) -> None:
    """A list, a table by number, or what `datasets` has; of a column that has names already too."""
    rows = {"text": [f"the cat sat {i}" for i in range(20)], "mark": [written[i % 2] for i in range(20)]}
    given = ClassLabel(names=["bad", "good"]) if labels is ClassLabel else labels
    run = finetune.run(rows, label="mark", labels=given, model=tiny_bert, out=tmp_path, **FAST)
    assert set(run.record.labels["train"]) == {"bad", "good"}
    assert set(run.record.recipe["options"]) >= {"labels"}


@pytest.mark.slow
def test_shares_of_the_data_are_runs_with_a_curve(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(REVIEWS, columns=["review", "mark"])
    run = finetune.run(frame, model=tiny_bert, data_sizes=[1, 0.5], seeds=2, **FAST)
    assert silent.readouterr() == ("", "")
    (curve,) = run.learning_curves
    assert list(curve.frame["share"]) == [0.5, 1.0]
    assert list(curve.frame["runs"]) == [2, 2]
    assert curve.frame["rows"].is_monotonic_increasing
    assert "more labels" in curve.answer.lower()
    assert curve.answer in repr(curve)
    whole = finetune.run(frame, model=tiny_bert, **FAST)
    assert whole.id in [record.id for record in run.records]  # it is not trained again
    assert whole.learning_curves == []
    with pytest.raises(finetune.UserError, match="data_sizes"):
        finetune.run(frame, model=tiny_bert, data_sizes=0.5, **FAST)


def test_lists_are_those_of_the_command(finished_run: FinishedRun, in_process: InProcess, tmp_path: Path) -> None:
    out = finished_run("sentence").parents[1]
    found = finetune.ls(out=out)
    assert {"glue-mrpc"} <= found.recipes.keys()
    assert found.tasks["mrpc"] == ["f1", "accuracy"]
    assert finished_run("sentence").name in set(found.runs["id"])
    assert found.runs["score"].tolist() == [one.score for one in found.finished]
    printed = in_process("ls", "--out", str(out), data="")[1]
    assert all(name in printed for name in found.runs["id"])
    empty = finetune.ls(out=tmp_path / "nothing")
    assert (len(empty.runs), len(empty.interrupted)) == (0, 0)
