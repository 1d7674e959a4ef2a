"""What a command does, Python does without a word: the same results, and errors in Python's words."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel
from support.cli import InProcess
from support.runs import FinishedRun

import finetune

FAST = {"max_length": 16, "train": {"epochs": 2, "batch_size": 8}, "device": "cpu"}


@pytest.fixture
def silent(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """What was printed since the test began."""
    capsys.readouterr()
    return capsys


def test_an_explanation_is_that_of_the_command(
    reviews: Path, tmp_path: Path, in_process: InProcess, silent: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("captum")
    model = finetune.load(reviews, device="cpu")
    found = model.explain("the cat sat", label="bad")
    typed = ("explain", str(reviews), "the cat sat", "--label", "bad", "--json", "--device", "cpu")
    assert found.rows[0].facts() == json.loads(in_process(*typed, data="")[1])
    assert found.frame["added"].sum() == pytest.approx(found.rows[0].explanations[0].difference, rel=0.05)
    assert finetune.explain(reviews, "the cat sat", label="bad", device="cpu").frame.equals(found.frame)
    silent.readouterr()
    line = finetune.open_run(reviews).predictions.iloc[0]
    by_id = model.explain(row=line["id"])
    assert (by_id.rows[0].id, by_id.rows[0].gold) == (line["id"], line["gold"])
    rows = pd.DataFrame({"review": ["the <b>cat</b> sat", "the dog sat"]})
    in_memory = model.explain(rows=rows)
    assert set(in_memory.frame["row"]) == {"1", "2"}
    assert in_memory.write(tmp_path / "why.html").read_text().count("<article>") == 2
    assert silent.readouterr() == ("", "")


def test_the_inside_of_a_model_a_run_and_an_encoder_is_a_page(
    reviews: Path, tiny_bert: Path, tmp_path: Path, silent: pytest.CaptureFixture[str]
) -> None:
    mine = [f"{'ab'[i % 2]}\tthe cat sat {i}" for i in range(6)]
    for number, one in enumerate((finetune.load(reviews), finetune.open_run(reviews), str(tiny_bert))):
        page = finetune.view(one, "the cat", word="cat", sentences=mine, path=tmp_path / f"{number}.html")
        assert '" sat 5"]' in page.read_text(encoding="utf-8")
    assert silent.readouterr() == ("", "")
    with pytest.raises(finetune.UserError, match="sentences: 2 of its lines have the word 'cat'"):
        finetune.view(str(tiny_bert), word="cat", sentences=mine[:2], path=tmp_path / "no.html")


def test_embeddings_are_those_of_the_command(
    reviews: Path, tiny_bert: Path, tmp_path: Path, in_process: InProcess
) -> None:
    texts = ["the cat sat", "12", "the dog ran on a tree"]
    pd.DataFrame({"review": texts}).to_csv(tmp_path / "rows.csv", index=False)
    command = ["features", str(reviews), "rows.csv", "--pool", "mean", "--layers", "[1]", "-o", "b.parquet"]
    assert in_process(*command, "--device", "cpu", data="")[0] == 0
    written = np.stack(pq.read_table(tmp_path / "b.parquet").to_pandas()["vector"])
    model = finetune.load(reviews)
    forms: list[Any] = [texts, tuple(texts), iter(texts), pd.Series(texts), np.array(texts), {"review": texts}]
    for rows in (*forms, [(one,) for one in texts], [{"review": one} for one in texts]):
        found = finetune.features(model, rows, pool="mean", layers=[1], device="cpu")
        assert (found.path, found.rows, found.width) == (None, 3, 32) and np.allclose(found.vectors, written)
    missing = finetune.features(tiny_bert, ["the cat", None], device="cpu").vectors
    assert np.isnan(missing).all(axis=1).tolist() == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels", [["bad", "good"], {0: "bad", 1: "good"}, {"1": "good", "0": "bad"}, ClassLabel(names=["bad", "good"])]
)
@pytest.mark.parametrize("written", [(0, 1), ("bad", "good")])
def test_labels_are_names_in_any_form(tiny_bert: Path, tmp_path: Path, labels: Any, written: tuple[Any, Any]) -> None:
    rows = {"text": [f"the cat sat {i}" for i in range(20)], "mark": [written[i % 2] for i in range(20)]}
    run = finetune.run(rows, label="mark", labels=labels, model=tiny_bert, out=tmp_path, **FAST)
    assert set(run.record.labels["train"]) == {"bad", "good"}


def test_a_model_is_evaluated_on_rows_and_files_and_a_task(
    reviews: Path, finished_run: FinishedRun, in_process: InProcess
) -> None:
    run, rows = finetune.open_run(reviews), pd.read_csv(reviews.parents[2] / "reviews.csv")
    expected = finetune.evaluate(reviews, reviews.parents[2] / "reviews.csv")
    assert expected.scores["dev"]["accuracy"] == 1 and any("training" in note for note in expected.notes)
    other = rows.rename(columns={"review": "body", "mark": "stars"})
    for found in (finetune.evaluate(run.model, rows), finetune.evaluate(run, other, text="body", label=["stars"])):
        assert found.scores == expected.scores and found.frame.loc[0, "metric"] == "macro f1"
    with pytest.raises(finetune.UserError, match=r"the data: has no column 'review'.*text=body"):
        finetune.evaluate(run, other)
    of_task = finished_run("rte")
    data = of_task.parents[2] / "data"
    done = finetune.evaluate(of_task, "rte", data_folder=data, device="cpu")
    told = json.loads(in_process("evaluate", str(of_task), "rte", "--json", data=data)[1])
    assert done.scores | {"shared": done.shared} == told  # its dev has texts of train
