"""`finetune explain`: what it prints and writes, and how it refuses what it cannot explain."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len
from support.cli import InProcess, assert_error
from support.runs import FinishedRun

pytest.importorskip("captum", reason="needs the extra `explain`")
Explain = Callable[..., tuple[int, str, str]]


@pytest.fixture
def explain(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> Explain:
    """`finetune explain` at 80 columns: (exit code, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *arguments: in_process("explain", *map(str, arguments), data="")


INPUTS = {
    "sentence": ["the cat sat"],
    "regression": ["the cat sat", "the dog ran"],
    "multilabel": ["the cat"],
    "tagging": ["the cat sat", "--word", "cat"],
    "span": ["who sat?", "the cat sat 3"],
    "choice": ["the cat", "sat", "ran"],
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_task_type_is_explained(kind: str, finished_run: FinishedRun, explain: Explain) -> None:
    code, out, _ = explain(finished_run(kind), *INPUTS[kind], "--json")
    assert code == 0
    found = json.loads(out)
    assert found["prediction"]
    for one in found["explanations"]:
        assert one["adds_up"]
        assert one["gap"] <= 0.05
        assert [word["word"] for word in one["words"]][:2] in (["the", "cat"], ["who", "sat"])


def test_the_prediction_comes_first_and_lines_fit_80_columns(reviews: Path, explain: Explain) -> None:
    text = "the cat sat 한국어로 쓴 아주아주아주아주아주아주아주아주 긴 낱말 and ran " * 3
    code, out, _ = explain(reviews, text)
    first, *lines = out.splitlines()
    assert code == 0
    assert first.startswith("prediction ")
    assert "confidence" in first
    assert all(cell_len(line) <= 80 for line in lines)
    bars = [line for line in lines if "|" in line]
    assert len({cell_len(line.split("|")[0]) for line in bars}) == 1  # wide characters count twice
    assert "\x1b" not in out


def test_a_row_of_dev_a_file_and_a_page(reviews: Path, explain: Explain, tmp_path: Path) -> None:
    *_, error = explain(reviews, "--row", "no-such-row", "--quiet")
    assert_error(error, "no-such-row")
    name = error.split("Its ids are ")[1].split(",")[0]
    code, out, _ = explain(reviews, "--row", name)
    assert code == 0
    assert out.startswith(f"row {name}: prediction")
    (tmp_path / "some.csv").write_text('review\n"the cat <script>alert(1)</script> sat"\nthe dog sat\n')
    page = tmp_path / "why.html"
    assert explain(reviews, "--rows", tmp_path / "some.csv", "-o", page)[0] == 0
    text = page.read_text()
    assert "<script" not in text
    assert "&lt;</span>" in text
    assert text.count("<article>") == 2
    (first, *_) = json.loads(explain(reviews, "the dog sat", "--json")[1])["explanations"]
    assert explain(reviews, "the dog sat", "-o", page)[0] == 0
    assert f"from {first['masked']:+.3f} with all words masked to {first['value']:+.3f}" in page.read_text()


def test_a_masked_text_that_has_the_label_already_is_named(reviews: Path, explain: Explain, tmp_path: Path) -> None:
    """One of two labels must be that of the masked text, whatever the model is."""
    page, named = tmp_path / "why.html", []
    for text in ("the cat sat", "the dog sat"):
        found = json.loads(explain(reviews, text, "--json")[1])
        (one,) = found["explanations"]
        assert one["masked_confidence"] == pytest.approx(1 / (1 + math.exp(-one["masked"])))
        explain(reviews, text, "-o", page)
        named += [found["prediction"]] * (one["masked"] > 0)
        for shown in (explain(reviews, text)[1], page.read_text()):
            assert (f"masked the model already gives {found['prediction']}" in shown) == (one["masked"] > 0)
    assert len(named) == 1
    assert "<h1>What each word adds to the prediction</h1>" in page.read_text()


def test_another_label_can_be_asked_for(reviews: Path, explain: Explain) -> None:
    found = {
        label: json.loads(explain(reviews, "the cat sat", "--label", label, "--json")[1]) for label in ("good", "bad")
    }
    good, bad = (found[label]["explanations"][0] for label in ("good", "bad"))
    assert good["value"] == pytest.approx(-bad["value"], abs=1e-4)


MISTAKES = [
    (["the cat", "--label", "bst"], "bst"),
    (["the cat", "--word", "cat"], "cat"),
    ([""], "empty"),
    ([], "--rows"),
    (["the cat", "--row", "1"], "--row"),
    (["a", "b", "c"], "3"),
    (["--rows", "nope.csv"], "nope.csv"),
    (["the cat", "-o", "no/such/folder.html"], "folder.html"),
]


@pytest.mark.parametrize(("arguments", "named"), MISTAKES, ids=str)
def test_mistakes_are_one_line(arguments: list[str], named: str, reviews: Path, explain: Explain) -> None:
    assert_error(explain(reviews, *arguments, "--quiet")[2], named)


def test_a_word_that_is_not_there_and_an_answer_that_is_not_there(finished_run: FinishedRun, explain: Explain) -> None:
    assert_error(explain(finished_run("tagging"), "the cat", "--word", "dog", "--quiet")[2], "dog")
    assert_error(explain(finished_run("tagging"), "the cat", "--label", "B-PET", "--quiet")[2], "--word")
    question = ["who sat?", "the cat sat"]
    assert_error(explain(finished_run("span"), *question, "--label", "dog", "--quiet")[2], "dog")


def test_a_run_without_a_model_and_a_missing_extra(
    copied_run: FinishedRun, explain: Explain, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = copied_run("sentence")
    (run / "model").rename(run / "gone")
    assert_error(explain(run, "the cat", "--quiet")[2], "model")
    (run / "gone").rename(run / "model")
    monkeypatch.setitem(sys.modules, "captum", None)
    assert_error(explain(run, "the cat", "--quiet")[2], "pip install 'bert-finetune[explain]'")


def test_a_pair_that_is_too_long_says_that_its_end_was_not_read(finished_run: FinishedRun, explain: Explain) -> None:
    code, out, _ = explain(finished_run("regression"), "the cat sat " * 30, "the dog")
    assert code == 0
    assert "its end was not read" in out
