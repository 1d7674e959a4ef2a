"""A trained model in Python: one row or whatever holds rows, right and wrong, of every task type."""

import io
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from support.records import change_config
from support.runs import LoadedRun
from support.toys import labelled_shapes
from support.training import PLAIN, build

from finetune.errors import UserError
from finetune.inference.answer_rows import stream_lines
from finetune.inference.predictor import Predictor, load_predictor
from finetune.models.feature import label_counts
from finetune.task_types.task import Task

PAIR = ("the cat sat", "the dog ran")
CHOICES = ("the cat", ["sat", "ran"])
NAMED: dict[str, Any] = {
    "text": "the cat", "words": "the cat", "pair": "the dog", "question": "who sat?", "context": "the cat sat",
    "choices": ["sat", "ran"],
}  # fmt: skip
RIGHT: list[tuple[str, Any, Any]] = [  # run, two forms of the same row
    ("sentence", "the cat sat", {"review": "the cat sat"}),
    ("rte", PAIR, dict(zip(("sentence1", "sentence2"), PAIR, strict=True))),
    ("rte", PAIR, dict(zip(("text", "text_pair"), PAIR, strict=True))),
    ("span", ("who sat?", "the cat sat"), {"question": "who sat?", "context": "the cat sat"}),
    ("choice", CHOICES, {"context": "the cat", "choices": ["sat", "ran"]}),
    ("choice", CHOICES, {"context": "the cat", "choice1": "sat", "choice2": "ran"}),
    ("tagging", "the cat", {"words": ["the", "cat"]}),
    ("intent", "play the cat", {"text": "play the cat"}),
]
NO_TEXT = [None, 3, "", " ", b"the cat", [None], [""], [3], [["the cat", 3]], {}, [{}], {"other": "the cat"}, ()]
WRONG: list[tuple[str, Any, str]] = [
    ("sentence", PAIR, "2 texts, and the model reads 1 text"),
    ("rte", "the cat", "1 text, and the model reads 2 texts"),
    ("rte", [PAIR, "the dog"], "row 2 of the list"),
    ("rte", {"sentence1": "the cat"}, "sentence2"),
    ("span", {"question": "who?"}, "context"),
    ("choice", "the cat", "context and choices"),
    ("choice", ("the cat", ["sat"]), "fewer than two choices"),
    ("tagging", PAIR, "2 inputs"),
    ("intent", {"tokens": []}, "no words"),
    *((kind, given, "") for kind in ("sentence", "span", "choice", "tagging") for given in NO_TEXT),
    ("sentence", pd.DataFrame({"text": ["the cat"]}), ""),
]


@pytest.mark.parametrize(("kind", "row", "same"), RIGHT)
def test_a_row_is_given_by_place_or_by_name_and_a_list_is_a_batch(
    kind: str, row: Any, same: Any, loaded_run: LoadedRun
) -> None:
    model = loaded_run(kind)
    expected = (model(*row) if isinstance(row, tuple) else model(row)).value
    named = {name: value for name, value in same.items() if name != "id"}
    found = [model(row), model(same), model(**named), *model([row, same, row]), *model([row])]
    if isinstance(expected, float):  # a batch of another size may have other last digits
        assert [one.value for one in found] == pytest.approx([expected] * 7, abs=1e-5)
    else:
        assert [one.value for one in found] == [expected] * 7
    assert model([]) == model.predict([]) == []


@pytest.mark.parametrize(("kind", "given", "what"), WRONG)
def test_wrong_inputs_are_one_line_that_says_how_to_call_the_model(
    kind: str, given: Any, what: str, loaded_run: LoadedRun
) -> None:
    model = loaded_run(kind)
    with pytest.raises(UserError, match=re.escape(what) or ".") as caught:
        model(given)
    assert "\n" not in str(caught.value)
    for call in re.findall(r"model\(.*?\)+(?=[, ]|$)", caught.value.way_out):
        eval(call, {"model": model, **NAMED})  # what it advises works
    assert "model(" in caught.value.way_out


TEXTS = ["the dog sat", "the cat sat", "the dog sat 7"]
COLUMNS = {"n": [1, 2, 3], "review": TEXTS}


@pytest.mark.parametrize(
    "rows",
    [
        TEXTS,
        iter(TEXTS),
        [(text,) for text in TEXTS],
        [{"review": text, "n": 1, "prediction": "mine"} for text in TEXTS],
        ["the dog sat", {"text": "the cat sat"}, ("the dog sat 7",)],
        COLUMNS,
        np.array(TEXTS),
        pd.Series(TEXTS),
        pd.DataFrame(COLUMNS, index=[7, 7, 7]),
        pa.table(COLUMNS),
        datasets.Dataset.from_dict(COLUMNS),
        datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset(),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_whatever_holds_rows_gives_an_answer_a_row(reviewer: Predictor, rows: Any) -> None:
    assert [row["prediction"] for row in reviewer.predict(rows)] == ["bad", "good", "bad"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("the dog sat", "a str"),
        ({"review": "the dog sat"}, "'review' is a str"),
        ({"review": TEXTS, "n": [1]}, "1 to 3"),
        ({"n": [1, 2, 3]}, "'review'"),
        (pd.DataFrame({"n": [1, 2, 3]}), "'review'"),
        (datasets.DatasetDict({"dev": datasets.Dataset.from_dict({"review": TEXTS})}), "'review'"),
    ],
)
def test_what_makes_no_rows_is_refused(reviewer: Predictor, rows: Any, expected: str) -> None:
    with pytest.raises(UserError, match=re.escape(expected)):
        reviewer.predict(rows)


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"review": ["the dog sat", None, pd.NA, float("nan"), "the cat sat"]}),
        pd.Series(["the dog sat", None, pd.NA, float("nan"), "the cat sat"]),
        [{"review": "the dog sat"}, {"review": None}, {"n": 1}, float("nan"), "the cat sat"],
        ["the dog sat", "", " ", "\ud800 broken", "the cat sat"],
    ],
)
def test_a_row_that_holds_no_text_keeps_its_place(rows: Any, reviewer: Predictor) -> None:
    found = reviewer.predict(rows)
    assert [row.get("prediction") for row in found] == ["bad", None, None, None, "good"]
    assert all(row["error"] for row in found[1:4])


def test_lines_are_answered_before_the_next_is_read(reviewer: Predictor) -> None:
    lines = iter(["the cat sat\n", '{"review": "the dog sat"}\n', "{broken\n", "\n"])
    answers = reviewer.predict_lines(lines)
    assert next(answers)["prediction"] == "good"
    assert next(lines) == '{"review": "the dog sat"}\n'
    assert "is not JSON" in next(answers)["error"]
    assert "no text" in next(answers)["error"]
    odd = io.TextIOWrapper(io.BytesIO(b"\xff\xfe caf\xe9\na\tb\na\tb\tc\n" + b'{"a":' * 99_999 + b"\nthe cat sat\n"))
    errors = ["error" in answer for answer in reviewer.predict_lines(stream_lines(odd))]
    assert errors == [True, True, True, True, False]


def test_a_model_is_loaded_by_its_task_and_one_of_another_version_is_refused(reviews: Path, tmp_path: Path) -> None:
    assert load_predictor("reviews.csv", out=str(reviews.parents[1]))("the cat sat").value == "good"
    model = Path(shutil.copytree(reviews / "model", tmp_path / "model"))
    settings = json.loads((model / "config.json").read_text())["finetune"]
    change_config(model, finetune=settings | {"layout": settings["layout"] | {"colour": "red"}})
    with pytest.raises(UserError, match=r"'colour'"):
        load_predictor(model)


@pytest.mark.slow
@pytest.mark.parametrize("task", labelled_shapes(), ids=lambda task: task.name)
def test_the_loss_on_dev_is_the_training_loss_of_the_same_features(task: Task, tiny_bert: Path) -> None:
    trainer, features = build(task, tiny_bert, PLAIN)
    engine, features = trainer.engine, features[:100]
    logits, totals, counts = engine.logits(features), Counter[str](), label_counts(features)
    with torch.inference_mode():
        for feature in features:
            batch = engine.batch([feature])
            totals.update(engine.model.head.losses(engine.model(*batch.inputs()).float(), batch.labels))
    expected = sum(float(total) / counts[name] for name, total in totals.items())
    assert engine.loss(logits, features) == pytest.approx(expected, rel=1e-3)
    assert engine.loss(logits, [replace(feature, label=None) for feature in features]) is None
    assert engine.loss([each * float("inf") for each in logits], features) is None
