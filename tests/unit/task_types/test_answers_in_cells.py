"""Answers of questions in cells, in any notation; and what is no answer."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task

from finetune.data.source import Source
from finetune.errors import UserError

TOWNS = ["Oslo", "San Jose", "Lima"]
CONTEXTS = [f"Number {n} lives in {TOWNS[n % 3]}." for n in range(30)]
QUESTIONS = [["Where is it?", "Which town?"][n % 2] for n in range(30)]
STARTS = [context.index("in ") + 3 for context in CONTEXTS]
ANSWERS = [TOWNS[n % 3] for n in range(30)]


def lines(folder: Path, rows: list[dict[str, Any]]) -> Path:
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "data.jsonl"


def read(path: Path, **settings: str) -> dict[str, Any]:
    task = own_task(path, settings)
    return {row.id: row for split in ("train", "dev") for row in task.load(Source(), split).rows}


@pytest.mark.parametrize(
    "notation",
    [
        "{{'text': ['{0}'], 'answer_start': [{1}]}}",
        "{{'answer_start': array([{1}], dtype=int32), 'text': array(['{0}'],\n      dtype=object)}}",
        "{{'text': '{0}', 'answer_start': {1}}}",
        "[{{'text': '{0}', 'answer_start': {1}}}]",
        '{{"text": ["{0}"]}}',
        "['{0}']",
        "{0}",
    ],
)
def test_answers_are_read_in_any_notation(notation: str, tmp_path: Path) -> None:
    rows = [
        {"context": c, "question": q, "answers": notation.format(a, s)}
        for c, q, a, s in zip(CONTEXTS, QUESTIONS, ANSWERS, STARTS, strict=True)
    ]
    found = read(lines(tmp_path, rows))
    assert [
        (row.question, row.answers, row.start) for _, row in sorted(found.items(), key=lambda one: int(one[0]))
    ] == [(q, (a,), s) for q, a, s in zip(QUESTIONS, ANSWERS, STARTS, strict=True)]


def test_answers_with_their_places_in_a_column_of_its_own(tmp_path: Path) -> None:
    rows = [
        {"context": c, "question": q, "answers.text": [a], "answers.answer_start": [s]}
        for c, q, a, s in zip(CONTEXTS, QUESTIONS, ANSWERS, STARTS, strict=True)
    ]
    found = read(lines(tmp_path, rows))
    assert {name: (row.answers, row.start) for name, row in found.items()} == {
        str(n): ((a,), s) for n, (a, s) in enumerate(zip(ANSWERS, STARTS, strict=True), start=1)
    }


def test_objects_that_are_no_answers_are_refused(tmp_path: Path) -> None:
    rows = [
        {"context": c, "question": q, "answers": {"value": a, "from": s}}
        for c, q, a, s in zip(CONTEXTS, QUESTIONS, ANSWERS, STARTS, strict=True)
    ]
    with pytest.raises(UserError, match=r"'answers' holds .*which is not read as answers"):
        own_task(lines(tmp_path, rows))


@pytest.mark.parametrize("more", [{}, {"answers": "It is so."}, {"note": "x y"}], ids=str)
def test_a_question_about_a_context_is_never_the_label(more: dict[str, str], tmp_path: Path) -> None:
    rows = [{"context": c, "question": q, **more} for c, q in zip(CONTEXTS, QUESTIONS, strict=True)]
    try:
        layout: Any = own_task(lines(tmp_path, rows)).read.layout  # type: ignore[attr-defined]
    except UserError:
        return
    assert layout.label != ("question",)


@pytest.mark.parametrize("answers", [{}, {"answers": None}], ids=str)
def test_an_impossible_question_without_answers_has_none(answers: dict[str, Any], tmp_path: Path) -> None:
    asked = [
        {"question": "Where is it?", "guid": "a", "answers": [{"text": "Oslo", "answer_start": 9}]},
        {"question": "When?", "guid": "b", "is_impossible": True, **answers},
    ]
    articles = [
        {"paragraphs": [{"context": "It is in Oslo.", "qas": [{**q, "guid": f"{q['guid']}{n}"} for q in asked]}]}
        for n in range(10)
    ]
    (tmp_path / "train.json").write_text(json.dumps({"data": articles}))
    flat = [{**q, "guid": f"{q['guid']}{n}", "context": "It is in Oslo."} for n in range(10) for q in asked]
    for path in (tmp_path / "train.json", lines(tmp_path, flat)):
        found = read(path)
        assert {name: row.answers for name, row in found.items()} == {
            f"{name}{n}": answer for n in range(10) for name, answer in (("a", ("Oslo",)), ("b", ()))
        }
        assert own_task(path).unanswerable  # type: ignore[attr-defined]


def test_articles_without_questions_are_refused_with_the_cause(tmp_path: Path) -> None:
    articles = [{"paragraphs": [{"context": context, "qas": []}]} for context in CONTEXTS]
    (tmp_path / "train.json").write_text(json.dumps({"data": articles}))
    with pytest.raises(UserError, match="has no questions: all its lists 'qas' are empty"):
        own_task(tmp_path / "train.json")
