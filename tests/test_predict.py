"""From a file to a file of answers: order, columns, formats, errors in their place, interruption, labels by name."""

import csv
import gzip
import io
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import finetune as package
from finetune.data import predict as predicting
from finetune.data.answering import answer_lines
from finetune.data.predict import default_output, predict_file
from finetune.data.reading import read_table
from finetune.data.starting import starting_recipe
from finetune.data.writing import safe
from finetune.errors import UserError
from finetune.events import unwatched
from finetune.predictor import Predictor
from finetune.run import run
from finetune.source import Source

REVIEWS = [(f"the {'cat' if i % 2 else 'dog'} sat {i // 2}", "good" if i % 2 else "bad") for i in range(80)]
FAST = {"train.epochs": 6, "train.learning_rate": 2e-3, "train.batch_size": 8, "max_length": 16, "train.patience": 6}


def written(path: Path, rows: list[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def trained_run(folder: Path, data: Path, model: Path, **settings: Any) -> Path:
    recipe, _ = starting_recipe(str(data), {"model": str(model), **FAST, **settings})
    record = run(recipe, source=Source(), out=folder, watch=unwatched, device="cpu")
    return folder / record.task / record.id


def trained(folder: Path, data: Path, model: Path, **settings: Any) -> Predictor:
    return package.load(trained_run(folder, data, model, **settings))


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A run on a CSV in which cats are good and dogs are bad."""
    folder = tmp_path_factory.mktemp("reviews")
    return trained_run(folder / "results", written(folder / "reviews.csv", [("review", "mark"), *REVIEWS]), tiny_bert)


@pytest.fixture(scope="module")
def reviewer(reviews: Path) -> Predictor:
    return package.load(reviews)


def predict(predictor: Predictor, path: Path, output: Path, **options: str) -> predicting.Prediction:
    return predict_file(predictor, path, output, options=options, watch=unwatched)


def test_the_split_of_a_run_is_kept_and_can_be_used_again(tmp_path: Path, tiny_bert: Path) -> None:
    data = written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS])
    settings = {"model": str(tiny_bert), **FAST, "train.epochs": 1}
    out = tmp_path / "results"
    first = run(starting_recipe(str(data), settings)[0], source=Source(), out=out, watch=unwatched)
    kept = out / "reviews.csv" / first.id / "split.json"
    split = json.loads(kept.read_text())
    assert len(split["dev"]) == 8
    assert sorted(map(int, split["train"] + split["dev"])) == list(range(1, 81))
    again = run(
        starting_recipe(str(data), {**settings, "split": str(kept)})[0], source=Source(), out=out, watch=unwatched
    )
    assert again.data == first.data
    kept.write_text(json.dumps({"dev": ["500"]}))
    with pytest.raises(UserError, match="1 of its dev rows are not in the data"):
        run(starting_recipe(str(data), {**settings, "split": str(kept)})[0], source=Source(), out=out, watch=unwatched)


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
    assert [line["answer"] for line in lines] == ["bad", "", "good", ""]
    assert list(lines[0]) == ["id", "review", "stars", "answer", "p(bad)", "p(good)", "error"]
    assert float(lines[0]["p(bad)"]) + float(lines[0]["p(good)"]) == pytest.approx(1, abs=1e-4)
    assert [bool(line["error"]) for line in lines] == [False, True, False, True]
    assert "no text in the column 'review'" in lines[1]["error"]
    assert (found.rows, found.failed, found.scores) == (4, 2, {})


def test_a_row_that_cannot_be_read_keeps_its_place(reviewer: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.jsonl").write_text(
        '{"review": "the cat sat", "n": 1}\n{broken\n{"review": "the dog sat", "n": 3}\n'
    )
    predict(reviewer, tmp_path / "new.jsonl", tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line.get("answer") for line in lines] == ["good", None, "bad"]
    assert "is not JSON" in lines[1]["error"]
    assert [line.get("n") for line in lines] == [1, None, 3]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".csv.gz"])
def test_any_format_can_be_written(reviewer: Predictor, tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path / "new.csv", [("review", "when"), ("the cat sat, 가", "1"), ("the dog sat", "2")])
    predict(reviewer, path, tmp_path / f"out{suffix}")
    table = read_table(tmp_path / f"out{suffix}")
    assert table.columns["review"] == ["the cat sat, 가", "the dog sat"]
    assert table.columns["answer"] == ["good", "bad"]
    assert float(table.columns["p(good)"][0]) > 0.5
    assert not list(tmp_path.glob(".out*"))  # nothing is left beside it


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
    assert "1 rows, first 5, have a label that the model does not know" in strange.notes[0]


def test_other_names_of_columns_are_guessed_or_given(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("text", "other"), ("the cat sat here now", "the dog sat and sat")])
    found = predict(reviewer, path, tmp_path / "out.csv")
    assert "read as text: text" in found.notes[0]
    assert read(tmp_path / "out.csv")[0]["answer"] == "good"
    predict(reviewer, path, tmp_path / "out.csv", text="other")
    assert read(tmp_path / "out.csv")[0]["answer"] == "bad"
    with pytest.raises(UserError, match="has no column 'txt'"):
        predict(reviewer, path, tmp_path / "out.csv", text="txt")
    with pytest.raises(UserError, match="unknown setting 'shape'"):
        predict(reviewer, path, tmp_path / "out.csv", shape="span")


def test_a_column_called_answer_is_not_overwritten(reviewer: Predictor, tmp_path: Path) -> None:
    predict(
        reviewer, written(tmp_path / "new.csv", [("review", "answer"), ("the cat sat", "mine")]), tmp_path / "out.csv"
    )
    (line,) = read(tmp_path / "out.csv")
    assert (line["answer"], line["predicted answer"]) == ("mine", "good")


def test_cells_like_formulas_do_not_run(reviewer: Predictor, tmp_path: Path) -> None:
    rows = [("review", "note"), ("the cat", "=cmd|' /C calc'!A0"), ("the dog", "-3.5"), ("the dog", "@x")]
    path = written(tmp_path / "new.csv", rows)
    predict(reviewer, path, tmp_path / "out.csv")
    assert [line["note"] for line in read(tmp_path / "out.csv")] == ["'=cmd|' /C calc'!A0", "-3.5", "'@x"]
    predict_file(reviewer, path, tmp_path / "raw.csv", options={}, watch=unwatched, raw=True)
    assert read(tmp_path / "raw.csv")[0]["note"] == "=cmd|' /C calc'!A0"
    assert [safe(cell) for cell in ("+1", "\tx", "a=b", ["=x"])] == ["+1", "'\tx", "a=b", '["=x"]']


def test_it_goes_on_after_an_interruption(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), *((text,) for text, _ in REVIEWS * 3)])
    whole = tmp_path / "whole.csv"
    predict(reviewer, path, whole)

    def stopped(event: str, **facts: Any) -> None:
        if event == "answered" and facts["done"] >= 64:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=stopped)
    (part,) = tmp_path.glob(".out.csv*")
    part.write_bytes(part.read_bytes() + b'{"half a li')  # as a power cut would leave it
    found = predict(reviewer, path, tmp_path / "out.csv")
    assert (found.resumed, found.rows) == (64, 240)
    first, second = read(whole), read(tmp_path / "out.csv")
    assert [line["answer"] for line in first] == [line["answer"] for line in second]
    assert [line["review"] for line in first] == [line["review"] for line in second]
    assert not list(tmp_path.glob(".out*"))


def test_two_at_one_output_do_not_spoil_it(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat sat",)])

    def second(event: str, **_: Any) -> None:
        if event == "answered":
            with pytest.raises(UserError, match="another process is at this very file"):
                predict(reviewer, path, tmp_path / "out.csv")

    predict_file(reviewer, path, tmp_path / "out.csv", options={}, watch=second)
    assert read(tmp_path / "out.csv")[0]["answer"] == "good"


def test_another_file_is_not_gone_on_with(reviewer: Predictor, tmp_path: Path) -> None:
    def stopped(event: str, **_: Any) -> None:
        if event == "answered":
            raise KeyboardInterrupt

    rows = [("review",), *((text,) for text, _ in REVIEWS * 3)]
    with pytest.raises(KeyboardInterrupt):
        predict_file(reviewer, written(tmp_path / "new.csv", rows), tmp_path / "out.csv", options={}, watch=stopped)
    found = predict(reviewer, written(tmp_path / "new.csv", rows[:-1]), tmp_path / "out.csv")
    assert (found.resumed, found.rows) == (0, 239)


def test_in_python_and_line_by_line(reviewer: Predictor) -> None:
    rows = ["the cat sat", {"review": "the dog sat", "x": 1}, {"text": "the cat ran"}, ("the dog sat",), {"review": ""}]
    found = reviewer.predict(rows)
    assert [one.get("answer") for one in found] == ["good", "bad", "good", "bad", None]
    assert "no text" in found[4]["error"]
    assert reviewer.predict([]) == []
    assert reviewer.predict(["\ud800 broken"])[0]["error"]
    lines = iter(["the cat sat\n", '{"review": "the dog sat"}\n', "{broken\n", "\n"])
    answers = answer_lines(reviewer, lines)
    assert next(answers)["answer"] == "good"
    assert next(lines) == '{"review": "the dog sat"}\n'  # a line is answered before the next one is read
    assert "is not JSON" in next(answers)["error"]
    assert "no text" in next(answers)["error"]


def test_what_cannot_be_done_is_said(reviewer: Predictor, tmp_path: Path) -> None:
    path = written(tmp_path / "new.csv", [("review",), ("the cat",)])
    with pytest.raises(UserError, match="is the file that is read"):
        predict(reviewer, path, path)
    with pytest.raises(UserError, match="cannot be told from its name"):
        predict(reviewer, path, tmp_path / "out.doc")
    with pytest.raises(UserError, match="CoNLL columns hold words and tags"):
        predict(reviewer, path, tmp_path / "out.conll")
    with pytest.raises(UserError, match="cannot be written"):
        predict(reviewer, path, tmp_path / "none" / "out.csv")
    assert [str(default_output(Path(name))) for name in ("a/new.csv", "new.tsv.gz", "train")] == [
        "new.predicted.csv", "new.predicted.tsv.gz", "train.predicted.jsonl",
    ]  # fmt: skip


def test_the_other_shapes(tmp_path: Path, tiny_bert: Path) -> None:
    once = {"train.epochs": 1}
    tags = tmp_path / "tags.conll"
    tags.write_text("the O\ncat B-PET\nsat O\n\nthe O\ndog B-PET\n\n" * 10)
    tagger = trained(tmp_path / "results", tags, tiny_bert, **once)
    predict(tagger, tags, tmp_path / "out.conll")
    lines = (tmp_path / "out.conll").read_text().splitlines()
    assert [line.split("\t")[:2] for line in lines[:2]] == [["the", "O"], ["cat", "B-PET"]]
    (found,) = tagger.predict(["the cat sat"])
    assert found["characters"] == [[0, 3], [4, 7], [8, 11]]
    assert len(found["answer"]) == len(found["probabilities"]) == 3

    span = tmp_path / "span.jsonl"
    rows = [
        {"question": "who sat?", "context": f"the cat sat {i}", "answer": "cat" if i % 3 else ""} for i in range(30)
    ]
    span.write_text("\n".join(map(json.dumps, rows)))
    asker = trained(tmp_path / "results", span, tiny_bert, max_length=32, **once)
    (found,) = asker.predict([("who sat?", "the dog sat")])
    assert found["answer"] == "the dog sat"[found["start"] or 0 : found["end"] or 0]
    assert 0 <= found["p(no answer)"] <= 1
    scored = predict(asker, span, tmp_path / "out.csv")
    assert set(scored.scores) >= {"f1", "em"}
    assert "predicted answer" in read(tmp_path / "out.csv")[0]

    choice = tmp_path / "choice.csv"
    endings = [(f"the cat {i}", "sat", "ran", str(1 + i % 2)) for i in range(30)]
    written(choice, [("context", "choice1", "choice2", "label"), *endings])
    chooser = trained(tmp_path / "results", choice, tiny_bert, **once)
    (found,) = chooser.predict([("the cat", ["sat", "ran"])])
    assert set(found) == {"answer", "answer text", "p(choice 1)", "p(choice 2)"}
    scores = predict(chooser, choice, tmp_path / "chosen.csv").scores
    lines = read(tmp_path / "chosen.csv")
    assert {line["answer"] for line in lines} <= {"1", "2"}  # counted as the labels are
    assert scores["accuracy"] == sum(line["answer"] == line["label"] for line in lines) / 30

    many = tmp_path / "many.jsonl"
    many.write_text("\n".join(json.dumps({"text": f"the cat {i}", "labels": ["a", "b"][: i % 3]}) for i in range(30)))
    marker = trained(tmp_path / "results", many, tiny_bert, **once)
    (found,) = marker.predict(["the cat"])
    assert set(found) == {"answer", "p(a)", "p(b)"}
    assert "micro f1" in predict(marker, many, tmp_path / "marked.jsonl").scores

    number = tmp_path / "number.csv"
    written(
        number, [("a", "b", "score"), *((f"the cat {i} sat", f"the dog {i} ran", f"{i / 7:.2f}") for i in range(30))]
    )
    rater = trained(tmp_path / "results", number, tiny_bert, **once)
    assert isinstance(rater.predict([("the cat", "the dog")])[0]["answer"], float)


def test_the_commands(in_process: Callable[..., tuple[int, str, str]], tmp_path: Path, tiny_bert: Path) -> None:
    def call(*arguments: str, data: Path = tmp_path) -> tuple[int, str, str]:
        return in_process(*arguments, data=data)

    written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS])
    settings = ["train.epochs=1", "max_length=16", f"model={tiny_bert}"]
    code, printed, _ = call("init", "reviews.csv", *settings)
    assert code == 0
    assert printed.startswith("# finetune run my.toml\n")
    (tmp_path / "my.toml").write_text(printed)
    code, shown, _ = call("run", "my.toml")
    assert code == 0
    assert "8 rows were drawn for dev" in shown
    assert "already done" in call("run", "reviews.csv", *settings)[2]  # the recipe that was guessed is the same run
    code, answered, _ = call("predict", "reviews.csv", "reviews.csv", "--json")
    facts = json.loads(answered)
    assert (code, facts["output"], facts["rows"]) == (0, "reviews.predicted.csv", 80)
    assert len(read(tmp_path / "reviews.predicted.csv")) == 80
    assert "macro f1" in facts["scores"]
    code, shown, _ = call("predict", "reviews.csv", "reviews.csv", "-o", "out.csv", "--quiet")
    assert "80 rows in" in shown
    assert "good: f1" in shown
    for arguments, said in ((["none.csv"], "none.csv"), (["reviews.csv", "colour=red"], "unknown setting 'colour'")):
        code, _, error = call("predict", "reviews.csv", *arguments)
        assert (code, "Traceback" in error) == (2, False)
        assert said in error


def test_lines_come_and_go_through_a_pipe(reviews: Path) -> None:
    command = [sys.executable, "-m", "finetune", "predict", str(reviews), "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for text, answer in (("the cat sat", "good"), ("the dog sat", "bad")):
            running.stdin.write(f"{text}\n")
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["answer"] == answer  # before the next line is there
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr is not None
        assert running.stderr.read().startswith("interrupted; the same command")


def test_gzip_in_and_out_in_place(reviewer: Predictor, tmp_path: Path) -> None:
    (tmp_path / "new.csv.gz").write_bytes(gzip.compress(b"review\nthe cat sat\nthe dog sat\n"))
    predict(reviewer, tmp_path / "new.csv.gz", tmp_path / "out.tsv.gz")
    lines = list(
        csv.DictReader(io.StringIO(gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode()), delimiter="\t")
    )
    assert [line["answer"] for line in lines] == ["good", "bad"]


def test_windows_do_not_change_answers(reviewer: Predictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "new.csv", [("review",), *((text,) for text, _ in REVIEWS)])
    predict(reviewer, path, tmp_path / "one.csv")
    monkeypatch.setattr(predicting, "FIRST_WINDOW", 3)
    monkeypatch.setattr(predicting, "WINDOW", 7)
    predict(replace(reviewer), path, tmp_path / "two.csv")
    assert [line["answer"] for line in read(tmp_path / "one.csv")] == [
        line["answer"] for line in read(tmp_path / "two.csv")
    ]
