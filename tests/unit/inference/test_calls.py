"""A model that is called with one row or a list of rows, right and wrong, for every task type."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.cli import Finetune, assert_error
from support.runs import FinishedRun, LoadedRun

from finetune.errors import UserError
from finetune.inference.predictor import Predictor

PAIR = ("the cat sat", "the dog ran")
CHOICES = ("the cat", ["sat", "ran"])
NAMED: dict[str, Any] = {
    "text": "the cat", "words": "the cat", "pair": "the dog", "question": "who sat?", "context": "the cat sat",
    "choices": ["sat", "ran"],
}  # fmt: skip
ENTITIES = {"words": ["the", "cat"]}
RIGHT: list[tuple[str, Any, Any]] = [  # run, two forms of the same row
    ("sentence", "the cat sat", {"review": "the cat sat"}),
    ("sentence", ("the cat sat",), {"text": "the cat sat", "id": 7}),
    ("rte", PAIR, dict(zip(("sentence1", "sentence2"), PAIR, strict=True))),
    ("rte", PAIR, dict(zip(("text", "text_pair"), PAIR, strict=True))),
    ("rte", PAIR, dict(zip(("text", "pair"), PAIR, strict=True))),
    ("regression", PAIR, dict(zip(("a", "b"), PAIR, strict=True))),
    ("regression", PAIR, dict(zip(("text", "text_pair"), PAIR, strict=True))),
    ("multilabel", "the cat", {"text": "the cat"}),
    ("span", ("who sat?", "the cat sat"), {"question": "who sat?", "context": "the cat sat"}),
    ("choice", CHOICES, {"context": "the cat", "choices": ["sat", "ran"]}),
    ("choice", CHOICES, {"context": "the cat", "choice1": "sat", "choice2": "ran"}),
    ("overlapping", "the cat", {"text": "the cat"}),
    ("tagging", "the cat", {"tokens": ["the", "cat"]}),
    ("intent", "play the cat", {"tokens": ["play", "the", "cat"]}),
    ("intent", "play the cat", {"text": "play the cat"}),
    ("tagging", "the cat", ENTITIES),
]
NO_TEXT = [None, 3, "", " ", b"the cat", [None], [""], [3], [["the cat", 3]], {}, [{}], {"other": "the cat"}, ()]
WRONG: list[tuple[str, Any, str]] = [
    ("sentence", PAIR, "2 texts, and the model reads 1 text"),
    ("sentence", [PAIR], "2 texts, and the model reads 1 text"),
    ("sentence", {"text": "the cat", "text_pair": "the dog"}, "2 texts"),
    ("rte", "the cat", "1 text, and the model reads 2 texts"),
    ("rte", ["the cat", "the dog"], "row 1 of the list"),
    ("rte", [PAIR, "the dog"], "row 2 of the list"),
    ("rte", {"text": "the cat"}, "1 text, and the model reads 2 texts"),
    ("rte", (*PAIR, "a third"), "3 texts"),
    ("rte", {"sentence1": "the cat"}, "sentence2"),
    ("regression", "the cat", "1 text"),
    ("multilabel", PAIR, "2 texts"),
    ("span", "the cat", "1 text, and the model reads 2 texts"),
    ("span", (*PAIR, "a third"), "3 texts"),
    ("span", {"question": "who?"}, "context"),
    ("choice", "the cat", "context and choices"),
    ("choice", ("the cat", "sat", "ran"), "3 inputs"),
    ("choice", ("the cat", ["sat"]), "fewer than two choices"),
    ("choice", ("the cat", "sat"), "fewer than two choices"),
    ("overlapping", PAIR, "2 texts"),
    ("tagging", PAIR, "2 inputs"),
    ("tagging", {"tokens": []}, "no words"),
    ("intent", PAIR, "2 inputs"),
    ("intent", {"tokens": []}, "no words"),
    *[
        (kind, given, "")
        for kind in ("sentence", "rte", "span", "choice", "tagging", "intent", "overlapping")
        for given in NO_TEXT
    ],
    *[(kind, pd.DataFrame({"text": ["the cat"]}), "") for kind in ("sentence", "rte")],
]


def one_text(reviewer: Predictor) -> Predictor:
    """The model of a task without a data file, whose rows had one text."""
    return replace(reviewer, layout=None, task=replace(reviewer.task, inputs=("sentence",)))


@pytest.mark.parametrize(("kind", "row", "same"), RIGHT)
def test_a_row_is_given_by_place_or_by_name_and_a_list_is_a_batch(
    kind: str, row: Any, same: Any, loaded_run: LoadedRun
) -> None:
    model = loaded_run(kind)
    expected = model(*row) if isinstance(row, tuple) else model(row)
    assert model(row).value == model(same).value == model(**{k: v for k, v in same.items() if k != "id"}).value
    found = model([row, same, row])
    if isinstance(expected.value, float):  # a batch of another size may have other last digits
        assert [one.value for one in found] == pytest.approx([expected.value] * 3, abs=1e-5)
    else:
        assert [one.value for one in found] == [expected.value] * 3
    assert model([row])[0].value == expected.value
    assert model([]) == []


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


def test_a_list_of_two_texts_is_two_predictions(reviewer: Predictor) -> None:
    for model in (reviewer, one_text(reviewer)):
        assert [one.value for one in model(["the cat sat", "the dog sat"])] == ["good", "bad"]
        for two in ({"text": "a", "text_pair": "b"}, PAIR):
            with pytest.raises(UserError, match="2 texts"):
                model(two)
        with pytest.raises(UserError, match="2 texts"):
            model(*PAIR)


def test_names_that_a_model_does_not_read_are_refused(loaded_run: LoadedRun) -> None:
    for kind, named in (("sentence", {"text": "a", "weight": "b"}), ("tagging", {"token": ["a"]})):
        with pytest.raises(UserError):
            loaded_run(kind)(**named)
    with pytest.raises(UserError, match="with and without a name"):
        loaded_run("rte")("the cat", text_pair="the dog")


def test_rows_of_a_shipped_pair_task_have_both_texts(loaded_run: LoadedRun) -> None:
    model = loaded_run("rte")
    one, two, three = model.predict(["the cat", PAIR, {"text": "the cat", "text_pair": "the dog"}])
    assert "1 text" in one["error"]
    assert "error" not in two | three
    for columns in (("sentence1", "sentence2"), ("text", "pair"), ("text", "text_pair")):
        assert "prediction" in model.predict(pd.DataFrame([PAIR], columns=columns))[0]
    with pytest.raises(UserError, match=r"'sentence1' and 'sentence2'.*text="):
        model.predict(pd.DataFrame({"text": ["the cat"]}))


@pytest.mark.parametrize(
    ("name", "content"),
    [("one.csv", "sentence1\nthe cat sat\nthe dog ran\n"), ("one.txt", "the cat sat\nthe dog ran\n")],
)
@pytest.mark.parametrize("command", ["predict", "evaluate", "explain"])
def test_a_file_of_one_text_a_row_is_refused_by_a_pair_task(
    command: str, name: str, content: str, finished_run: FinishedRun, tmp_path: Path, here: Finetune
) -> None:
    (tmp_path / name).write_text(content)
    run, file = finished_run("rte"), tmp_path / name
    given = [run, "--rows", file] if command == "explain" else [run, file]
    assert_error(here(command, *given).stderr, "2 texts")
    if command == "predict" and name == "one.csv":
        assert_error(here(command, *given, "text=sentence1").stderr, "2 texts")
