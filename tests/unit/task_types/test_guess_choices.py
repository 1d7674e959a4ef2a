"""Choices in a user's own data: passages and questions before them, columns of any stem, and when to ask."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task

from finetune.commands.check.run_checks import check_data
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous, single_settings
from finetune.task_types.choice.task import ChoiceRow
from finetune.task_types.own_data import own_data
from finetune.task_types.types import named_type

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


def exam(folder: Path, **columns: Any) -> str:
    """A question with three choices, but for the columns that are changed."""
    usual: dict[str, Any] = {
        "question": lambda i: text(i, 12), "choice1": text, "choice2": lambda i: text(i + 1),
        "choice3": lambda i: text(i + 2), "label": lambda i: i % 3,
    }  # fmt: skip
    return write(folder, rows(**{**usual, **columns}))


@pytest.mark.parametrize(("first", "stray"), [(0, 3), (1, 0)])
def test_one_wrong_label_moves_no_others(first: int, stray: int, tmp_path: Path) -> None:
    """A label 3 among 0, 1 and 2, or a 0 among 1, 2 and 3, is one row that cannot be used."""
    task: Any = own_task(exam(tmp_path, label=lambda i: stray if i == 5 else first + i % 3))
    assert task.read.layout.counted_from == first
    loaded = task.load(Source(), "train")
    assert "6" not in {row.id for row in loaded.rows}
    assert all(row.gold == (int(row.id) - 1) % 3 for row in loaded.rows)


@pytest.mark.parametrize("first", [0, 1])
def test_a_placeholder_as_the_last_choice_is_asked_about(first: int, tmp_path: Path) -> None:
    """Counted as a choice it may also change what the other numbers mean: 1 and 2 of three count from 0 as well."""
    data = exam(tmp_path, choice3="-", label=lambda i: first + i % 2)
    with pytest.raises(Ambiguous) as asked:
        own_task(data)
    (without, _), (kept, _) = asked.value.choices
    assert (without, kept) == tuple(f"shape=choice text=question,choice1,choice2{end}" for end in ("", ",choice3"))
    task = own_task(data, dict(setting.split("=") for setting in without.split()))
    assert {row.gold for row in task.load(Source(), "train").rows} == {0, 1}
    assert own_task(data, dict(setting.split("=") for setting in kept.split()))


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


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, ("choice1", "0 (choice1)")),
        ({"label": lambda i: 1 + i % 3}, ("choice1", "1 (choice1)")),
        ({"label": lambda i: "ABC"[i % 3]}, ("choice1", "A (choice1)")),
        ({"label": lambda i: text(i + i % 3)}, ("choice1", "choice1")),
    ],
)
def test_choices_are_named_as_in_the_file(columns: dict[str, Any], expected: tuple[str, str], tmp_path: Path) -> None:
    task: Any = own_task(exam(tmp_path, **columns))
    kind = named_type("choice").for_layout(task.read.layout)
    row = ChoiceRow(id="1", context="a", choices=("b", "c", "d"), gold=0)
    assert (list(kind.facts(row))[1], kind.facts(row)["label"]) == expected
    assert kind.labels_in(0) == expected[1:]


def test_choices_in_a_list_are_numbered_as_their_labels_are(tmp_path: Path) -> None:
    listed = rows(
        question=lambda i: text(i, 12), options=lambda i: [text(i), text(i + 1)], answer=lambda i: i % 2,
    )  # fmt: skip
    task: Any = own_task(write(tmp_path, listed))
    row = ChoiceRow(id="1", context="a", choices=("b", "c"), gold=1)
    facts = named_type("choice").for_layout(task.read.layout).facts(row)
    assert (list(facts)[1:3], facts["label"]) == (["choice 0", "choice 1"], "choice 1")


SIGNS = [
    "①②③",
    ["option A", "option B", "option C"],
    ["(a)", "(b)", "(c)"],
    ["1번", "2번", "3번"],
    ["choice1", "choice2"],
]


@pytest.mark.parametrize("signs", SIGNS)
def test_labels_with_words_and_signs_name_choices(signs: Any, tmp_path: Path) -> None:
    """They are read, and predictions are written with the same signs."""
    task: Any = own_task(exam(tmp_path, label=lambda i: signs[i % len(signs)]))
    rows = task.load(Source(), "train").rows
    assert all(row.gold == (int(row.id) - 1) % len(signs) for row in rows)
    assert [task.named(place) for place in range(len(signs))] == list(signs)
    assert [task.place(task.named(place)) for place in range(3)] == [0, 1, 2]


def test_columns_named_by_signs_are_choices(tmp_path: Path) -> None:
    columns: dict[str, Any] = {sign: lambda i, n=n: text(i + n) for n, sign in enumerate("②①③")}
    quiz = rows(question=lambda i: text(i, 12), **columns, answer=lambda i: "①②③"[i % 3])
    task: Any = own_task(write(tmp_path, quiz))
    assert task.read.layout.text == ("question", "①", "②", "③")
    assert all(row.gold == (int(row.id) - 1) % 3 for row in task.load(Source(), "train").rows)


def listed(folder: Path, label: Any) -> str:
    """A question with a list of three choices, whose places no name tells."""

    def three(i: int) -> list[str]:
        return [text(i), text(i + 1), text(i + 2)]

    return write(folder, rows(300, question=lambda i: text(i, 12), choices=three, answer=label))


@pytest.mark.parametrize(("way", "first"), [("0", 0), ("1", 1)])
def test_numbers_that_count_from_0_or_from_1_are_asked_about(way: str, first: int, tmp_path: Path) -> None:
    data = listed(tmp_path, lambda i: 1 + i % 2)
    with pytest.raises(Ambiguous, match="row 1: the label '1' may mean two choices") as asked:
        own_task(data)
    assert [setting for setting, _ in asked.value.choices] == ["choices_by=0", "choices_by=1"]
    loaded = own_task(data, {"choices_by": way}).load(Source(), "train")
    assert all(row.gold == 1 + (int(row.id) - 1) % 2 - first for row in loaded.rows)


def test_a_rare_0_among_hundreds_does_not_say_that_labels_count_from_it(tmp_path: Path) -> None:
    with pytest.raises(Ambiguous, match="choices_by=1"):
        own_task(listed(tmp_path, lambda i: 0 if i == 5 else 1 + i % 2))


def test_numbers_of_columns_tell_from_which_labels_count(tmp_path: Path) -> None:
    for first in (0, 1):
        columns: dict[str, Any] = {f"choice{first + n}": lambda i, n=n: text(i + n) for n in range(4)}
        quiz = rows(question=lambda i: text(i, 12), **columns, label=lambda i: 1 + i % 3)
        task: Any = own_task(write(tmp_path, quiz))
        assert task.read.layout.counted_from == first


def test_labels_that_are_a_number_and_the_text_of_another_choice_are_asked_about(tmp_path: Path) -> None:
    columns: dict[str, Any] = {f"choice{1 + n}": lambda i, n=n: str(1 + (i + n) % 3) for n in range(3)}
    data = exam(tmp_path, **columns, label=lambda i: 1 + i % 3)
    with pytest.raises(Ambiguous, match=r"choices_by=text .*choices_by=1") as asked:
        own_task(data)
    assert len(asked.value.choices) == 2
    loaded = own_task(data, {"choices_by": "text"}).load(Source(), "train")
    assert all(row.choices[row.gold] == str(1 + (int(row.id) - 1) % 3) for row in loaded.rows)


def test_a_dev_file_that_counts_in_another_way_stops(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    dev = exam(tmp_path / "dev", label=lambda i: 1 + i % 3)
    with pytest.raises(UserError, match=r"count the choices from 1 .*expected from 0. Subtract 1"):
        own_task(exam(tmp_path), {"dev": dev}).load(Source(), "dev")
    with pytest.raises(UserError, match="count the choices from 1"):
        check_data(exam(tmp_path), {"dev": dev})


def test_a_way_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"choices_by is 'letters'\. Did you mean 'letter'"):
        own_task(exam(tmp_path), {"choices_by": "letters"})


@pytest.mark.parametrize("name", ["correct", "correct_option", "answer_key", "Correct Answer", "정답", "답"])
def test_a_column_of_right_choices_is_the_label_by_its_name(tmp_path: Path, name: str) -> None:
    choices = {f"option_{place}": lambda i, place=place: text(i + place) for place in range(1, 5)}
    data = rows(prompt=text, **choices, **{name: lambda i: i % 4 + 1})
    read = own_data(own_task(write(tmp_path, data), {}))
    assert read is not None
    assert (read.layout.shape, read.layout.label, read.layout.counted_from) == ("choice", (name,), 1)


def test_a_right_answer_of_a_pupil_is_weaker_than_the_key(tmp_path: Path) -> None:
    choices = {letter: lambda i, letter=letter: f"{text(i)} {letter}" for letter in "ABCD"}
    answered = rows(question=text, **choices, correct=lambda i: i % 2, answer=lambda i: "ABCD"[i % 4])
    read = own_data(own_task(write(tmp_path, answered), {}))
    assert read is not None and read.layout.label == ("answer",)
    reviewed = rows(text=text, correct=lambda i: i % 2, intent=lambda i: "abc"[i % 3] * 3)
    read = own_data(own_task(write(tmp_path, reviewed), {}))
    assert read is not None and read.layout.label == ("intent",)


def test_only_columns_that_are_not_choices_are_offered_as_the_label(tmp_path: Path) -> None:
    choices = {f"option_{place}": lambda i, place=place: text(i + place) for place in range(1, 5)}
    with pytest.raises(Ambiguous) as asked:
        own_task(write(tmp_path, rows(prompt=text, **choices, key=lambda i: i % 4)), {})
    assert [setting for setting, _ in asked.value.choices] == ["label=key"]


def quiz(folder: Path, **columns: Any) -> str:
    """A question with choices A, B and C, and these columns."""
    letters: dict[str, Any] = {letter: lambda i, n=n: text(i + n, 2) for n, letter in enumerate("ABC")}
    return write(folder, rows(question=lambda i: text(i, 12), **letters, **columns))


@pytest.mark.parametrize("other", ["category", "class", "score", "rating", "topic"])
def test_the_answer_is_the_label_and_not_what_else_looks_like_one(other: str, tmp_path: Path) -> None:
    data = quiz(tmp_path, **{other: lambda i: 1 + i % 3}, correct_answer=lambda i: "ABC"[i % 3])
    assert own_task(data).read.layout.label == ("correct_answer",)  # type: ignore[attr-defined]


@pytest.mark.parametrize("columns", [{"topic": lambda i: 1 + i % 3}, {"student": lambda i: "AB"[i % 2]}])
def test_a_column_of_another_name_is_asked_about(columns: dict[str, Any], tmp_path: Path) -> None:
    """Its cells may name choices by chance."""
    data, (name,) = quiz(tmp_path, **columns), columns
    with pytest.raises(Ambiguous, match="which choice is right") as asked:
        own_task(data)
    assert [setting for setting, _ in asked.value.choices] == [f"label={name}"]
    assert own_task(data, {"label": name}).read.layout.label == (name,)  # type: ignore[attr-defined]


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
