"""`finetune view`: the page that it writes, and how it refuses what it cannot show."""

import builtins
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun

from finetune.commands.view.word_vectors import word_of

View = Callable[..., tuple[int, str, str]]


@pytest.fixture
def view(in_process: InProcess) -> View:
    return lambda *arguments: in_process("view", *map(str, arguments), "--quiet", data="")


def test_a_model_and_a_run_give_a_page(view: View, tiny_bert: Path, finished_run: FinishedRun, tmp_path: Path) -> None:
    assert view(tiny_bert)[0] == 0
    assert "Inside" in (tmp_path / "view.html").read_text()
    (tmp_path / "mine.tsv").write_text("".join(f"{'ab'[i % 2]}\tthe cat sat {i}\n" for i in range(6)))
    code, out, _ = view(
        finished_run("tagging"),
        "the <b>cat</b>",
        "a dog",
        "--word",
        "cat",
        "--sentences",
        "mine.tsv",
        "-o",
        "mine.html",
    )
    assert (code, out.split(":")[0]) == (0, "mine.html")
    assert "&lt;b&gt;" not in (tmp_path / "mine.html").read_text().partition("<main>")[0]
    assert data_of(tmp_path / "mine.html")["word"] == "cat"


def whole_data_of(page: Path) -> Any:
    return json.loads(re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[0])


def data_of(page: Path) -> Any:
    return whole_data_of(page)["word"]


def test_your_own_sentences_are_points_with_their_cosine_by_layer(view: View, tiny_bert: Path, tmp_path: Path) -> None:
    assert view(tiny_bert, "I sat by the river bank.", "The bank raised its rates.", "--word", "bank")[0] == 0
    word = data_of(tmp_path / "view.html")
    assert word["meanings"].count("yours") == 2
    assert ["I sat by the river ", "bank", "."] in word["sentences"]
    assert word["close"][0] == pytest.approx(1)  # without context
    assert word["close"][-1] < 1
    assert len(word["close"]) == len(word["points"])
    assert word["neighbours"][-1] is not None  # of our sentences: yours have no meaning
    assert view(tiny_bert)[0] == 0
    ours = data_of(tmp_path / "view.html")
    assert ("yours" in ours["meanings"], ours["close"]) == (False, None)


@pytest.mark.parametrize(
    ("text", "word"),
    [("배를 타고 섬에 갔다.", "배"), ("오늘은 날씨가 좋다.", "눈"), ("The bat flew away.", "bat"), ("a cat", "bank")],
)
def test_without_a_word_it_is_one_of_the_text(text: str, word: str) -> None:
    assert word_of([text]) == word


def test_a_korean_encoder_of_ones_own_shows_korean_pieces(in_process: InProcess, view: View, tmp_path: Path) -> None:
    """A vocabulary and an encoder of Korean text: words and pieces, no jamo, and what is behind [MASK]."""
    texts = ["영화가 정말 재미있다", "배우들 연기가 좋았다", "영화는 지루했다", "배우가 정말 좋다"]
    (tmp_path / "korean.txt").write_text("\n".join(f"{one} {number % 9}" for one in texts for number in range(80)))
    settings = ("model=new:1x64", "tokenizer=300", "max_length=32", "train.updates=3", "--quiet")
    assert in_process("run", "korean.txt", *settings, data="")[0] == 0
    assert view("korean.txt", "영화가 정말 좋다", "--lang", "ko", "-o", "own.html")[0] == 0
    data = whole_data_of(tmp_path / "own.html")
    assert data["language"] == "ko"
    assert data["tokens"][1:3] == ["영화가", "정말"]
    assert not any(
        "\u1100" <= letter <= "\u11ff" or "\u3131" <= letter <= "\u318e" for letter in "".join(data["tokens"])
    )
    assert [word[0]["place"] for word in data["hidden"]][:2] == [1, 2]
    assert view("korean.txt", "--lang", "en", "-o", "english.html")[0] == 0
    assert whole_data_of(tmp_path / "english.html")["language"] == "en"


MISTAKES = [
    (["the cat", "--lang", "fr"], "fr"),
    (["", "--word", "bank"], "empty"),
    ([" "], "empty"),
    (["the cat", ""], "empty"),
    (["the cat " * 50], "64"),
    (["the cat", "--word", "bnk"], "bank"),
    (["the cat", "--word", "owl", "--sentences", "some.txt"], "owl"),
    (["the cat", "--word", "cat", "--sentences", "none.txt"], "none.txt"),
    (["the cat", "-o", "no/such/page.html"], "page.html"),
    (["the cat", "-o", "."], "."),
]


@pytest.mark.parametrize(("arguments", "named"), MISTAKES, ids=str)
def test_mistakes_are_one_line(arguments: list[str], named: str, view: View, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("the cat\nthe dog\nthe bird\n")
    code, _, error = view(tiny_bert, *arguments)
    assert code == 2
    assert_error(error, named)


def test_a_model_that_is_not_there_and_a_missing_extra(
    view: View, copied_run: FinishedRun, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = copied_run("sentence")
    (run / "model").rename(run / "gone")
    assert_error(view(run)[2], "model")
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name in ("jinja2", "markupsafe"):
            raise ModuleNotFoundError(name, name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert_error(view(tiny_bert)[2], "bert-finetune[report]")
