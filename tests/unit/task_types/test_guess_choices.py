"""Choices in a user's own data: which columns are contexts and choices, and when to ask."""

from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task
from support.quizzes import exam, quiz, rows, text, write

from finetune.data.source import Source
from finetune.task_types.candidates import Ambiguous, single_settings


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


@pytest.mark.parametrize("passage", ["article", "state", "premise"])
def test_a_question_that_many_rows_have_is_read_and_other_texts_are_named(passage: str, tmp_path: Path) -> None:
    asked = {
        passage: lambda i: text(i, 20), "question": lambda i: f"which {'ab'[i % 2]}?", "choice1": text,
        "choice2": lambda i: text(i + 1), "label": lambda i: i % 2, "why": lambda i: f"since {text(i, 9)}",
    }  # fmt: skip
    task: Any = own_task(write(tmp_path, rows(**asked)), {})
    assert task.read.layout.text == (passage, "question", "choice1", "choice2")
    assert "without why" in task.read.layout.reasons["text"]


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


def test_the_right_answer_next_to_wrong_ones_is_offered_as_a_choice(tmp_path: Path) -> None:
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


def test_a_last_choice_of_the_same_words_that_may_be_right_is_kept(tmp_path: Path) -> None:
    task: Any = own_task(exam(tmp_path, choice3="none of these"))
    assert len(task.read.layout.text) == 4


SAME: dict[str, Any] = {f"choice{n}": lambda i, n=n: text(i if i == 5 else i + n) for n in (1, 2, 3)}
AFTER_AN_EMPTY_ONE = {"choice1": lambda i: "" if i == 5 else text(i)}


@pytest.mark.parametrize(
    ("columns", "why"), [(SAME, "as each of its choices"), (AFTER_AN_EMPTY_ONE, "has a choice after an empty one")]
)
def test_rows_whose_choices_say_nothing_are_left_out(columns: dict[str, Any], why: str, tmp_path: Path) -> None:
    """A row of one choice only, and one whose label may count the empty choice or not."""
    loaded = own_task(exam(tmp_path, **columns)).load(Source(), "train")
    assert why in " ".join(loaded.notes)
    assert "6" not in {row.id for row in loaded.rows}


def test_columns_named_by_signs_are_choices(tmp_path: Path) -> None:
    columns: dict[str, Any] = {sign: lambda i, n=n: text(i + n) for n, sign in enumerate("②①③")}
    quiz = rows(question=lambda i: text(i, 12), **columns, answer=lambda i: "①②③"[i % 3])
    task: Any = own_task(write(tmp_path, quiz))
    assert task.read.layout.text == ("question", "①", "②", "③")
    assert all(row.gold == (int(row.id) - 1) % 3 for row in task.load(Source(), "train").rows)


@pytest.mark.parametrize("names", [("(1)", "(2)", "(3)"), ("ㄱ", "ㄴ", "ㄷ"), ("I", "II", "III"), ("left", "right")])
def test_columns_that_the_answers_name_are_choices(names: tuple[str, ...], tmp_path: Path) -> None:
    choices: dict[str, Any] = {name: lambda i, n=n: text(i + n, 2) for n, name in enumerate(names)}
    data = rows(question=lambda i: text(i, 12), **choices, answer=lambda i: names[i % len(names)])
    task: Any = own_task(write(tmp_path, data))
    assert task.read.layout.text == ("question", *names)
    assert all(row.gold == (int(row.id) - 1) % len(names) for row in task.load(Source(), "train").rows)


@pytest.mark.parametrize("settings", [{}, {"shape": "choice", "text": "passage,question,A,B,C"}])
def test_a_passage_with_lettered_choices_is_no_search_for_a_span(settings: dict[str, str], tmp_path: Path) -> None:
    data = quiz(tmp_path, passage=lambda i: text(i, 40), answer=lambda i: text(i + i % 3, 2))
    task: Any = own_task(data, settings)
    assert (task.read.layout.shape, task.read.layout.contexts) == ("choice", 2)
    assert {len(row.choices) for row in task.load(Source(), "train").rows} == {3}


def test_what_a_question_about_the_context_offers_is_read(tmp_path: Path) -> None:
    options: dict[str, Any] = {f"Antwort {letter}": lambda i, n=n: text(i + n, 2) for n, letter in enumerate("ABC")}
    columns = {
        "Aufgabe": lambda i: text(i, 9),
        **options,
        "Lösung": lambda i: "ABC"[i % 3],
        "Grund": lambda i: text(i, 8),
    }
    data = write(tmp_path, rows(**columns))
    with pytest.raises(Ambiguous) as asked:
        own_task(data)
    settings = dict(one.split("=") for one in single_settings(asked.value.choices[0][0]))
    assert own_task(data, settings).read.layout.label == ("Lösung",)  # type: ignore[attr-defined]


def test_choices_in_one_text_are_told(tmp_path: Path) -> None:
    data = rows(
        question=lambda i: text(i, 12), options=lambda i: f"{text(i)}; {text(i + 1)}", answer=lambda i: 1 + i % 2
    )
    with pytest.raises(Ambiguous, match="several choices in one text"):
        own_task(write(tmp_path, data))
