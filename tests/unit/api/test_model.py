"""`run.model`: what holds rows comes back with the columns of `finetune predict`."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from datasets import Dataset, DatasetDict
from support.predicted_files import predict
from support.runs import DATA, FinishedRun

import finetune
from finetune.data.reading import table_of

TEXTS = ["the dog sat", "the cat sat", "the dog sat 7"]


@pytest.fixture(scope="module")
def model(reviews: Path) -> finetune.Model:
    return finetune.open_run(reviews).model


@pytest.mark.parametrize(
    "form",
    [lambda cells: pd.DataFrame(cells, index=[7, 7, 9]), dict, Dataset.from_dict],
    ids=["frame", "dict", "dataset"],
)
def test_rows_come_back_in_their_form_with_the_columns_added(model: finetune.Model, form: Any) -> None:
    given = form({"n": [1, 2, 3], "review": TEXTS, "prediction": ["x", "y", "z"]})
    found = model.predict(given)
    assert type(found) is type(given) and "p(good)" not in (given.column_names if isinstance(given, Dataset) else given)
    columns = list(found.column_names if isinstance(found, Dataset) else found)
    assert columns == ["n", "review", "prediction", "predicted prediction", "p(bad)", "p(good)"]
    assert list(found["predicted prediction"]) == ["bad", "good", "bad"] and list(found["n"]) == [1, 2, 3]
    assert list(found["prediction"]) == ["x", "y", "z"]
    assert not isinstance(found, pd.DataFrame) or list(found.index) == [7, 7, 9]


def test_lists_and_splits_come_back_likewise(model: finetune.Model) -> None:
    both = model.predict(DatasetDict({"dev": Dataset.from_dict({"review": TEXTS})}))
    assert list(both["dev"]["prediction"]) == ["bad", "good", "bad"]
    rows = model.predict([{"review": text, "n": 1} for text in TEXTS])
    assert [(row["n"], row["prediction"]) for row in rows] == [(1, "bad"), (1, "good"), (1, "bad")]
    assert [row["prediction"] for row in model.predict(iter(TEXTS))] == ["bad", "good", "bad"]
    assert model(TEXTS[1]).value == "good"
    missing = model.predict(pd.DataFrame({"review": ["the dog sat", None]}))
    assert list(missing.columns)[-1] == "error" and "no text" in missing["error"][1]
    assert missing["prediction"].isna().tolist() == [False, True]


def test_a_file_and_rows_in_memory_have_equal_answers(
    model: finetune.Model, reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pd.DataFrame({"review": ["the cat sat", "the dog sat"], "mark": ["good", "bad"]})
    rows.to_csv(tmp_path / "new.csv", index=False)
    done = finetune.predict(reviews, tmp_path / "new.csv", path=tmp_path / "out.csv", device="cpu")
    assert (done.path, done.rows, done.errors, done.scores["accuracy"]) == (tmp_path / "out.csv", 2, 0, 1)
    assert pd.read_csv(done.path)["prediction"].tolist() == ["good", "bad"]
    for name in (model, finetune.open_run(reviews)):
        assert finetune.predict(name, rows, device="cpu")["prediction"].tolist() == ["good", "bad"]
    with pytest.raises(finetune.UserError, match="rows in memory"):
        finetune.predict(model, rows, path=tmp_path / "no.csv")
    assert capsys.readouterr() == ("", "")


def test_other_columns_can_be_named(model: finetune.Model) -> None:
    frame = pd.DataFrame({"body": TEXTS})
    assert list(model.predict(frame, text="body").columns) == ["body", "prediction", "p(bad)", "p(good)"]
    assert model.predict(frame.to_dict("records"), text="body")[1]["prediction"] == "good"
    assert model.predict(Dataset.from_pandas(frame), text="body")["prediction"][1] == "good"
    for wrong, named in (({"text": "other"}, "'other'"), ({"text": ["body", "body"]}, "2 columns"), ({}, "'review'")):
        with pytest.raises(finetune.UserError, match=named):
            model.predict(frame, **wrong)


@pytest.mark.parametrize("kind", DATA)
def test_the_columns_are_those_of_the_command(kind: str, finished_run: FinishedRun, tmp_path: Path) -> None:
    """For every task type, on the rows that it was trained on, which are more than the first window holds."""
    model = finetune.open_run(finished_run(kind)).model
    file, output = finished_run(kind).parents[2] / DATA[kind][0], tmp_path / "out.jsonl"
    predict(model.predictor, file, output)
    written = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    found = model.predict([record.values for record in table_of(file).records()])
    assert json.loads(json.dumps(found)) == written


def test_transformers_gives_the_same_logits(model: finetune.Model) -> None:
    network, tokenizer = model.transformers()
    with torch.no_grad():
        logits = network(**tokenizer(TEXTS, padding=True, return_tensors="pt")).logits
    ours = [[row["p(bad)"], row["p(good)"]] for row in model.predict(TEXTS)]
    assert torch.allclose(logits.softmax(-1), torch.tensor(ours), atol=5e-3)  # ours may be in bf16
    assert type(network).__name__ == "BertForSequenceClassification"
    assert not network.training


CALLS: dict[str, tuple[Any, ...]] = {
    **{"sentence": ("the cat sat",), "regression": ("the cat sat", "the dog ran"), "tagging": (["the", "cat"],)},
    **{"span": ("who sat?", "the cat sat"), "choice": ("the cat", ["sat", "ran"]), "overlapping": ("the red cat",)},
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_used_model_is_pickled_and_copied(kind: str, finished_run: FinishedRun) -> None:
    model = finetune.open_run(finished_run(kind)).model
    found = model(*CALLS[kind])
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model):
        assert_near(other(*CALLS[kind]), found)


def assert_near(one: Any, other: Any) -> None:
    """Equal but for last digits, which on some processors depend on where in memory the weights are."""
    if one != other:
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
        assert one.value == (pytest.approx(other.value, abs=1e-5) if isinstance(other.value, float) else other.value)
