"""Choices in a user's own data: passages and questions before them, columns of any stem, and when to ask."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task

from finetune.data.source import Source
from finetune.task_types.candidates import Ambiguous

WORDS = ("river", "market", "garden", "window", "letter", "winter", "valley", "bridge")


def text(number: int, words: int = 6) -> str:
    return " ".join(WORDS[(number * 7 + place * 3 + number // 8) % 8] for place in range(words)) + f" {number}"


def write(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def rows(count: int = 60, **columns: Any) -> list[dict[str, Any]]:
    return [{name: make(i) if callable(make) else make for name, make in columns.items()} for i in range(count)]


def test_a_passage_and_a_question_are_both_read(tmp_path: Path) -> None:
    data = write(
        tmp_path,
        rows(
            id=lambda i: f"q{i}", context=lambda i: text(i, 20), question=lambda i: f"which {text(i)}?",
            answer0=text, answer1=lambda i: text(i + 1), answer2=lambda i: text(i + 2), label=lambda i: i % 3,
        ),
    )  # fmt: skip
    task = own_task(data, {})
    (row, *_) = task.load(Source(), "train").rows
    number = int(row.context.rsplit(" ", 1)[-1].rstrip("?"))
    assert row.context == f"{text(number, 20)}\nwhich {text(number)}?"
    assert row.choices == (text(number), text(number + 1), text(number + 2))
    assert row.gold == number % 3


def test_choices_of_any_stem_are_asked_about_and_the_settings_work(tmp_path: Path) -> None:
    sols = rows(goal=lambda i: text(i, 9), sol1=text, sol2=lambda i: text(i + 5), label=lambda i: i % 2)
    with pytest.raises(Ambiguous, match=r"text=goal,sol1,sol2"):
        own_task(write(tmp_path, sols), {})
    task = own_task(write(tmp_path, sols), {"shape": "choice", "text": "goal,sol1,sol2"})
    assert {len(row.choices) for row in task.load(Source(), "train").rows} == {2}
    drugs = rows(question=text, opa=text, opb=lambda i: text(i + 1), opc=lambda i: text(i + 2), cop=lambda i: i % 3)
    with pytest.raises(Ambiguous, match="opa, opb, opc"):
        own_task(write(tmp_path, drugs), {})


def test_the_texts_of_choices_are_read_and_not_their_letters(tmp_path: Path) -> None:
    def asked(i: int) -> dict[str, Any]:
        return {"stem": f"where {text(i)}?", "choices": [{"label": "AB"[n], "text": text(i + n)} for n in range(2)]}

    task = own_task(write(tmp_path, rows(question=asked, answerKey=lambda i: "AB"[i % 2])), {})
    row = task.load(Source(), "train").rows[0]
    assert row.choices[0] not in ("A", "B")
    assert row.context.startswith("where ")


@pytest.mark.parametrize("text", [None, "question,answer0,answer10,answer2,answer1"])
def test_choices_are_in_the_order_of_their_numbers(text: str | None, tmp_path: Path) -> None:
    names = ("answer0", "answer10", "answer2", "answer1")
    columns = {name: (lambda i, name=name: f"the {name} of {i}") for name in names}
    data = write(tmp_path, rows(question=globals()["text"], **columns, label=lambda i: i % 4))
    task = own_task(data, {"text": text, "shape": "choice"} if text else {})
    for row in task.load(Source(), "train").rows:
        assert [choice.split()[1] for choice in row.choices] == ["answer0", "answer1", "answer2", "answer10"]


def test_choices_that_the_question_offers_are_in_order_too(tmp_path: Path) -> None:
    drugs = rows(opb=text, question=lambda i: text(i, 9), opc=lambda i: text(i + 1), opa=text, cop=lambda i: i % 3)
    with pytest.raises(Ambiguous, match="text=question,opa,opb,opc"):
        own_task(write(tmp_path, drugs), {})
    task: Any = own_task(write(tmp_path, drugs), {"shape": "choice", "label": "cop"})
    assert task.read.layout.text == ("question", "opa", "opb", "opc")


def test_the_right_answer_beside_wrong_ones_is_offered_as_a_choice(tmp_path: Path) -> None:
    exam = rows(
        question=lambda i: text(i, 12), distractor2=text, distractor1=lambda i: text(i + 1),
        correct_answer=lambda i: text(i + 2, 4),
    )  # fmt: skip
    with pytest.raises(Ambiguous, match="text=question,distractor1,distractor2,correct_answer"):
        own_task(write(tmp_path, exam), {})


def test_a_pair_of_sentences_is_no_choice(tmp_path: Path) -> None:
    pairs = rows(sentence1=text, sentence2=lambda i: text(i + 3), label=lambda i: ("same", "other")[i % 2])
    layout: Any = own_task(write(tmp_path, pairs), {}).read.layout  # type: ignore[attr-defined]
    assert (layout.shape, layout.text) == ("classification", ("sentence1", "sentence2"))
