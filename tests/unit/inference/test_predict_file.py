"""From a file to a file of predictions: order, columns, labels by name, and errors in their place."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.predicted_files import predict, read, written

from finetune.data.detect import BY_SUFFIX, detect
from finetune.errors import UserError
from finetune.inference.predict_file import predict_file
from finetune.inference.predict_plan import default_output
from finetune.inference.predictor import Predictor
from finetune.runs.events import Event, Note, RowsPredicted


def test_every_row_keeps_its_place_and_its_columns(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [
        ("id", "review", "stars"),
        ("a", "the dog sat", "1"),
        ("b", "", "2"),
        ("c", "the cat sat", "3"),
        ("d", " ", ""),
    ]
    found = predict(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv")
    lines = read(tmp_path / "out.csv")
    assert [line["id"] for line in lines] == ["a", "b", "c", "d"]
    assert [line["stars"] for line in lines] == ["1", "2", "3", ""]
    assert [line["prediction"] for line in lines] == ["bad", "", "good", ""]
    assert list(lines[0]) == ["id", "review", "stars", "prediction", "p(bad)", "p(good)", "error"]
    assert float(lines[0]["p(bad)"]) + float(lines[0]["p(good)"]) == pytest.approx(1, abs=1e-4)
    assert [bool(line["error"]) for line in lines] == [False, True, False, True]
    assert "'review'" in lines[1]["error"]
    assert (found.rows, found.failed, found.scores) == (4, 2, {})


def test_a_row_that_cannot_be_read_keeps_its_place(reviewer: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text(
        '{"review": "the cat sat", "n": 1}\n{broken\n{"review": "the dog sat", "n": 3}\n'
    )
    predict(reviewer, tmp_path / "new.jsonl", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line.get("prediction") for line in lines] == ["good", None, "bad"]
    assert "is not JSON" in lines[1]["error"]
    assert [line.get("n") for line in lines] == [1, None, 3]


@pytest.mark.parametrize(
    ("text", "blank"),
    [
        ("a cat\n\na dog\n\n \n\n", True),
        ("\na cat\n\na dog\n\n\n", True),
        ("a cat\na dog\n\n", False),
        ('review\na cat\n\n""\n', True),
        ("review,number\na cat,1\n\na dog,2\n", False),
    ],
)
def test_empty_lines_between_rows_are_said_to_be_no_rows(
    reviewer: Predictor, tmp_path: Path, text: str, blank: bool
) -> None:
    file = tmp_path / ("new.csv" if "review" in text else "new.txt")
    file.write_text(text)
    found = predict(reviewer, file, tmp_path / "out.csv")
    assert any("so rows and lines have different numbers" in note for note in found.notes) is blank


def test_gold_is_scored_by_name_in_all_and_by_class(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [
        ("mark", "review"),
        ("good", "the cat sat"),
        ("bad", "the cat ran"),
        ("bad", "the dog sat"),
        ("", "the dog ran"),
    ]
    found = predict(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv")
    assert found.scores["accuracy"] == pytest.approx(2 / 3)
    assert found.scores["good/precision"] == pytest.approx(1 / 2)
    assert found.scores["bad/recall"] == pytest.approx(1 / 2)
    strange = predict(reviewer, written(tmp_path / "odd.csv", [*rows, ("fine", "the cat")]), tmp_path / "out2.csv")
    assert strange.scores == found.scores
    assert strange.notes[0] == "1 row without a label (row 4; line 5); not scored"
    assert strange.notes[1].startswith("1 row with the label 'fine', unknown to the model (row 5;")


def test_other_names_of_columns_are_given(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("text", "other"), ("the cat sat here now", "the dog sat and sat")])
    with pytest.raises(UserError, match=r"has no column 'review'.*name it: text=text"):
        predict(reviewer, path, tmp_path / "out.csv")
    alone = written(tmp_path / "comments.csv", [("comment",), ("the cat sat here now",)])
    with pytest.raises(UserError, match=r"has no column 'review'.*name it: text=comment"):
        predict(reviewer, alone, tmp_path / "out.csv")
    for rows in ([{"comment": "the cat sat"}], {"comment": ["the cat sat"]}):
        with pytest.raises(UserError, match=r"has no column 'review'.*It has comment; name it: text="):
            reviewer.predict(rows)
    predict(reviewer, path, tmp_path / "out.csv", text="text")
    assert read(tmp_path / "out.csv")[0]["prediction"] == "good"
    predict(reviewer, path, tmp_path / "out.csv", text="other")
    assert read(tmp_path / "out.csv")[0]["prediction"] == "bad"
    with pytest.raises(UserError, match="'txt'"):
        predict(reviewer, path, tmp_path / "out.csv", text="txt")
    with pytest.raises(UserError, match="unknown setting 'shape'"):
        predict(reviewer, path, tmp_path / "out.csv", shape="span")


def test_a_column_called_answer_is_not_overwritten(reviewer: Predictor, tmp_path: Path) -> None:
    predict(
        reviewer,
        written(tmp_path / "new.csv", [("review", "prediction"), ("the cat sat", "mine")]),
        tmp_path / "out.csv",
    )
    (line,) = read(tmp_path / "out.csv")
    assert (line["prediction"], line["predicted prediction"]) == ("mine", "good")


def test_a_column_called_error_is_carried_and_counts_no_failure(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [("review", "error"), ("the cat sat", "404"), ("", "500")]
    found = predict(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv")
    lines = read(tmp_path / "out.csv")
    assert [line["error"] for line in lines] == ["404", "500"]
    assert [bool(line["predicted error"]) for line in lines] == [False, True]
    assert found.failed == 1
    late = [{"review": "the cat sat"}] * 1_001 + [{"review": "the dog sat", "error": "404", "prediction": "mine"}]
    (tmp_path / "late.jsonl").write_text("\n".join(map(json.dumps, late)))  # a column that the first rows lack
    assert predict(reviewer, tmp_path / "late.jsonl", tmp_path / "out.jsonl").failed == 0
    last = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
    assert (last["error"], last["prediction"], last["predicted prediction"]) == ("404", "mine", "bad")
    assert reviewer.predict([{"review": "the cat sat", "prediction": "mine"}])[0]["prediction"] == "good"


def test_columns_are_carried_as_they_are(reviewer: Predictor, tmp_path: Path) -> None:

    times = [1700000123.0, float("nan"), 0.1234567891]
    pq.write_table(pa.table({"review": ["the cat\rsat", "b", "c"], "time": times}), tmp_path / "new.parquet")
    seen: list[Event] = []
    predict_file(
        reviewer,
        tmp_path / "new.parquet",
        tmp_path / "out.csv",
        options={},
        watch=seen.append,
    )
    lines = read(tmp_path / "out.csv")
    assert [line["time"] for line in lines] == ["1700000123.0", "", "0.1234567891"]
    assert [line["review"] for line in lines] == ["the cat\rsat", "b", "c"]
    assert len(lines[0]["p(bad)"]) <= len("1.23456e-05")
    assert [event.total for event in seen if isinstance(event, RowsPredicted)] == [3]
    assert Note(f"{tmp_path / 'new.parquet'}: Parquet") in seen
    predict(reviewer, tmp_path / "new.parquet", tmp_path / "out.jsonl")
    assert "NaN" not in (tmp_path / "out.jsonl").read_text()


def test_what_cannot_be_done_is_said(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat",)])
    with pytest.raises(UserError, match="would overwrite the input"):
        predict(reviewer, path, path)
    with pytest.raises(UserError, match="output suffix"):
        predict(reviewer, path, tmp_path / "out.doc")
    with pytest.raises(UserError, match="CoNLL"):
        predict(reviewer, path, tmp_path / "out.conll")
    with pytest.raises(UserError, match="cannot be written"):
        predict(reviewer, path, tmp_path / "none" / "out.csv")
    (tmp_path / "there.csv").write_text("x")
    with pytest.raises(UserError, match=r"none.csv"):
        predict(reviewer, tmp_path / "none.csv", tmp_path / "there.csv")
    for suffix in [f"{suffix}.gz" for suffix, form in BY_SUFFIX.items() if form.compressed]:
        with pytest.raises(UserError, match="already compressed"):
            predict(reviewer, path, tmp_path / f"out{suffix}")
    monkeypatch.setattr(Predictor, "predicted", None)  # what does not fit is said before anything is predicted
    with pytest.raises(UserError, match="CoNLL"):
        predict(reviewer, path, tmp_path / "out.conll")
    for given, said in (({"label": "typo"}, "has no column 'typo'"), ({"id": "review"}, "unknown setting 'id'")):
        with pytest.raises(UserError, match=said):
            predict(reviewer, path, tmp_path / "out.csv", **given)
    assert not list(tmp_path.glob(".out*"))
    form = detect(path)
    assert [str(default_output(Path(name), form)) for name in ("a/new.csv", "new.tsv.gz", "new.txt.gz", "train")] == [
        "new.predicted.csv", "new.predicted.tsv.gz", "new.predicted.tsv.gz", "train.predicted.jsonl",
    ]  # fmt: skip
