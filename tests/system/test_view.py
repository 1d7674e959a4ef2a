"""`finetune view`: the data of the page that it writes, and how it refuses what it cannot show."""

import builtins
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun

View = Callable[..., tuple[int, str, str]]


@pytest.fixture
def view(in_process: InProcess) -> View:
    return lambda *arguments: in_process("view", *map(str, arguments), "--quiet", data="")


def data_of(page: Path) -> Any:
    return json.loads(re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[0])


def test_a_run_and_your_own_sentences_are_points_with_their_cosine_by_layer(
    view: View, tiny_bert: Path, finished_run: FinishedRun, tmp_path: Path
) -> None:
    (tmp_path / "mine.tsv").write_text("".join(f"{'ab'[i % 2]}\tthe cat sat {i}\n" for i in range(6)))
    typed = [finished_run("tagging"), "the <b>cat</b>", "a dog", "--word", "cat", "--sentences", "mine.tsv"]
    assert view(*typed, "-o", "mine.html")[0] == 0
    assert data_of(tmp_path / "mine.html")["word"]["word"] == "cat"
    assert view(tiny_bert, "I sat by the river bank.", "The bank raised its rates.", "--word", "bank")[0] == 0
    word = data_of(tmp_path / "view.html")["word"]
    assert word["meanings"].count("yours") == 2 and ["I sat by the river ", "bank", "."] in word["sentences"]
    assert word["close"][0] == pytest.approx(1) and word["close"][-1] < 1  # without context, and with it
    assert len(word["close"]) == len(word["points"])
    assert word["neighbours"][-1] is not None  # of our sentences: yours have no meaning


MISTAKES = [
    (["the cat", "--lang", "fr"], "fr"),
    (["the cat", ""], "empty"),
    (["the cat " * 50], "64"),
    (["the cat", "--word", "bnk"], "bank"),
    (["the cat", "--word", "owl", "--sentences", "some.txt"], "owl"),
    (["the cat", "--word", "cat", "--sentences", "none.txt"], "none.txt"),
    (["the cat", "-o", "no/such/page.html"], "page.html"),
]


@pytest.mark.parametrize(("arguments", "named"), MISTAKES, ids=str)
def test_mistakes_are_one_line(arguments: list[str], named: str, view: View, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("the cat\nthe dog\nthe bird\n")
    code, _, error = view(tiny_bert, *arguments)
    assert code == 2
    assert_error(error, named)


def test_a_missing_extra_is_named(view: View, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name in ("jinja2", "markupsafe"):
            raise ModuleNotFoundError(name, name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert_error(view(tiny_bert)[2], "bert-finetune[report]")
