"""`finetune explain`: what it prints and writes, and how it refuses what it cannot explain."""

import json
import sys
from collections.abc import Callable

import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun

pytest.importorskip("captum", reason="needs the extra `explain`")
Explain = Callable[..., tuple[int, str, str]]


@pytest.fixture
def explain(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> Explain:
    """`finetune explain` at 80 columns: (exit code, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *arguments: in_process("explain", *map(str, arguments), data="")


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("sentence", ["the cat sat"]),
        ("regression", ["the cat sat", "the dog ran"]),
        ("multilabel", ["the cat"]),
        ("tagging", ["the cat sat", "--word", "cat"]),
        ("span", ["who sat?", "the cat sat 3"]),
        ("choice", ["the cat", "sat", "ran"]),
    ],
)
def test_every_task_type_is_explained(kind: str, texts: list[str], finished_run: FinishedRun, explain: Explain) -> None:
    code, out, _ = explain(finished_run(kind), *texts, "--json")
    found = json.loads(out)
    assert code == 0 and found["prediction"]
    for one in found["explanations"]:
        assert one["adds_up"] and one["gap"] <= 0.05
        assert [word["word"] for word in one["words"]][:2] in (["the", "cat"], ["who", "sat"])


MISTAKES = [
    ("sentence", ["the cat", "--label", "bst"], "bst"),
    ("sentence", ["the cat", "--row", "1"], "--row"),
    ("sentence", ["a", "b", "c"], "3"),
    ("tagging", ["the cat", "--word", "dog"], "dog"),
    ("tagging", ["the cat", "--label", "B-PET"], "--word"),
    ("span", ["who sat?", "the cat sat", "--label", "dog"], "dog"),
]


@pytest.mark.parametrize(("kind", "arguments", "named"), MISTAKES, ids=str)
def test_mistakes_are_one_line(
    kind: str, arguments: list[str], named: str, finished_run: FinishedRun, explain: Explain
) -> None:
    code, _, error = explain(finished_run(kind), *arguments, "--quiet")
    assert code == 2
    assert_error(error, named)


def test_a_run_without_a_model_and_a_missing_extra(
    copied_run: FinishedRun, explain: Explain, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = copied_run("sentence")
    (run / "model").rename(run / "gone")
    assert_error(explain(run, "the cat", "--quiet")[2], "model")
    (run / "gone").rename(run / "model")
    monkeypatch.setitem(sys.modules, "captum", None)
    assert_error(explain(run, "the cat", "--quiet")[2], "pip install 'bert-finetune[explain]'")
