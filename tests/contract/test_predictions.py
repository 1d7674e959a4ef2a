"""The table of predictions of each task type, against values that were worked out by hand."""

import math
from typing import Any

import pytest

from finetune.analysis.label_errors import beliefs
from finetune.data.documents import Document
from finetune.task_types.marked_text import MOST_MARKS, marked_texts
from finetune.task_types.predictions import Decisions, Predictions
from finetune.task_types.pretraining.objectives import NextSentence, Objective
from finetune.task_types.saved_predictions import labelled_table
from finetune.task_types.types import own_types

KOREAN = Document("ko", ("영화 내용은 없고 다들 얘기뿐이네", "배우가 정말 좋았다"))


def made(kind: str, *lines: dict[str, Any], **given: Any) -> Predictions:
    table = labelled_table(own_types()[kind], [{"id": str(row), **line} for row, line in enumerate(lines)], **given)
    assert table is not None
    return table


def cells(found: Decisions) -> list[tuple[Any, ...]]:
    """(row, label, prediction, right, confidence, chance) of each decision."""
    columns = (found.row, found.label, found.prediction, found.right, found.confidence, found.chance)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_one_label() -> None:
    lines = [
        {"text": "a", "gold": "no", "prediction": "no", "probabilities": [0.75, 0.25]},
        {"text": "b", "pair": "cd", "gold": "yes", "prediction": "no", "probabilities": [0.625, 0.375]},
    ]
    table = made("classification", *lines, names=["no", "yes"], order=["no", "yes"])
    assert table.right is not None and table.right.tolist() == [True, False] and table.score.tolist() == [1, 0]
    assert cells(table.decisions) == [(0, "no", "no", True, 0.75, 0.75), (1, "yes", "no", False, 0.625, 0.375)]
    assert table.chances == [{"no": 0.75, "yes": 0.25}, {"no": 0.625, "yes": 0.375}]
    assert table.classes == {"no": (1, 2, 1), "yes": (1, 0, 0)}
    assert table.certainty.tolist() == [-math.inf, 0.625] and table.lengths == [1, 3]
    assert table.words(1) == ("yes", "no") and table.off_by(1) == ["off by -1"]
    assert list(table.saved())[1] == {"confidence": 0.625, "right": False, "row_score": 0.0}
    third = {"text": "e", "gold": "yes", "prediction": "yes", "probabilities": [0.1, 0.9]}
    unnamed = made("classification", *lines, third)
    assert unnamed.chances[1] == {"no": 0.625, "yes": 0.375}  # by which label was predicted where it is the highest


def test_numbers() -> None:
    table = made("regression", *({"text": "a", "gold": gold, "prediction": 2.0} for gold in (1.5, 4.0)))
    assert table.right is None and table.score.tolist() == [0.5, 2.0] and not table.wrong.any()
    assert table.certainty.tolist() == [0.5, 2.0] and table.words(0) == ("1.500", "2.000")
    assert table.off_by(1) == ["off by 2.000"] and not len(table.decided)
    assert next(iter(table.saved())) == {"confidence": None, "right": None, "row_score": 0.5}


def test_several_labels() -> None:
    lines = [
        {"text": "a", "gold": ["x"], "prediction": ["y", "x"], "probabilities": [0.875, 0.75]},
        {"text": "b", "gold": ["x", "y"], "prediction": ["y"], "probabilities": [0.125, 0.875]},
    ]
    table = made("multi-label", *lines, names=["x", "y"])
    assert cells(table.decisions) == [
        (0, "x", "x", True, 0.875, 0.875), (0, "not y", "y", False, 0.75, 0.25),
        (1, "x", "not x", False, 0.875, 0.125), (1, "y", "y", True, 0.875, 0.875),
    ]  # fmt: skip
    assert table.score.tolist() == [0, 0] and table.several
    assert table.classes == {"x": (2, 1, 1), "y": (1, 2, 1)} and table.certainty.tolist() == [0.75, 0.875]
    assert table.words(1) == ("x, y", "y")
    assert table.pairs[0] == [("x", "x"), ("not y", "y")]
    found = beliefs(table)
    assert found is not None and found.least is not None
    assert [table.doubt(least) for least in found.least.tolist()] == [
        {"doubted": "not y", "predicted_there": "y"}, {"doubted": "x", "predicted_there": "not x"},
    ]  # fmt: skip


def test_tags() -> None:
    line = {
        "words": ["Anna", "of", "New", "York", "sang"], "gold": ["B-PER", "O", "B-PER", "I-PER", "O"],
        "prediction": ["B-PER", "O", "B-LOC", "I-LOC", "O"], "probabilities": [0.9, 0.8, 0.7, 0.6, 0.5],
        "label_probabilities": [0.9, 0.9, 0.3, 0.05, 0.9],
    }  # fmt: skip
    missed = line | {"gold": ["B-PER", "O", "O", "O", "O"], "label_probabilities": [0.9, 0.9, 0.1, math.nan, 0.9]}
    table = made("tagging", line, missed)
    assert table.score.tolist() == [0.6, 0.6] and table.unit == "words"
    assert cells(table.decisions)[:3] == [
        (0, "PER", "PER", True, 0.9, 0.9), (0, "no entity", "no entity", True, 0.8, 0.9),
        (0, "PER", "LOC", False, 0.7, 0.3),
    ]  # fmt: skip
    assert table.classes == {"LOC": (0, 2, 0), "PER": (3, 2, 2)} and table.confidence.tolist() == [0.5, 0.5]
    assert table.words(0) == ("Anna (PER), New York (PER)", "Anna (PER), New York (LOC)")
    assert marked_texts(table.texts[1], table.marks(1)) == [
        ["label", ["Anna", "right", "PER"], " of New York sang"],
        ["prediction", ["Anna", "right", "PER"], " of ", ["New York", "wrong", "LOC"], " sang"],
    ]
    assert made("tagging", line | {"gold": ["O"] * 5, "prediction": ["O"] * 5}).classes == {}
    found = beliefs(table)
    assert found is not None and found.least is not None
    assert [table.doubt(least) for least in found.least.tolist()] == [
        {"doubted": "New York (PER)", "predicted_there": "LOC"},
        {"doubted": "New York (no entity)", "predicted_there": "LOC"},
    ]


def test_tags_of_a_running_text() -> None:
    text, words = "정하늘은 서울에서 산다.", ["정", "하", "늘", "은", "서", "울"]
    tags = ["B-PER", "I-PER", "I-PER", "O", "B-LOC", "I-LOC"]
    line = {
        "words": words,
        "text": text,
        "starts": [0, 1, 2, 3, 5, 6],
        "gold": tags,
        "prediction": ["O"] * 4 + tags[4:],
    }
    table = made("tagging", line)
    assert table.unit == "characters" and table.lengths == [len(text)]
    assert table.words(0) == ("정하늘 (PER), 서울 (LOC)", "서울 (LOC)") and table.listed(0)["text"] == text
    (label, _) = marked_texts(table.texts[0], table.marks(0))
    assert label == ["label", ["정하늘", "missed", "PER"], "은 ", ["서울", "right", "LOC"], "에서 산다."]


def test_intents_and_slots() -> None:
    line = {
        "words": ["see", "Rome"], "gold": {"intent": "go", "slots": ["O", "B-a"]},
        "prediction": {"intent": "stop", "slots": ["O", "B-b"]},
        "probabilities": [0.7, 0.9, 0.6], "label_probabilities": [0.3, 0.9, 0.2],
    }  # fmt: skip
    table = made("intent-and-slots", line)
    assert table.score.tolist() == [0]
    assert cells(table.decisions) == [
        (0, "intent: go", "intent: stop", False, 0.7, 0.3), (0, "no entity", "no entity", True, 0.9, 0.9),
        (0, "a", "b", False, 0.6, 0.2),
    ]  # fmt: skip
    assert table.classes == {"a": (1, 0, 0), "b": (0, 1, 0), "intent: go": (1, 0, 0), "intent: stop": (0, 1, 0)}
    assert table.words(0) == ("go: Rome (a)", "stop: Rome (b)")
    assert table.doubt(0)["doubted"] == "intent: go" and table.doubt(2)["doubted"] == "Rome (a)"


def test_overlapping_spans() -> None:
    def spans(*given: tuple[int, int, str]) -> list[dict[str, Any]]:
        return [{"start": start, "end": end, "label": label} for start, end, label in given]

    predicted = spans((0, 14, "ORG"), (14, 18, "CITY"))
    line = {
        "text": "the embassy of Rome", "gold": spans((0, 14, "ORG"), (14, 18, "LOC")), "prediction": predicted,
        "probabilities": [0.9, 0.7],
    }  # fmt: skip
    table = made("overlapping-spans", line)
    assert table.score.tolist() == [0.5]
    assert [row[:5] for row in cells(table.decisions)] == [(0, "ORG", "ORG", True, 0.9), (0, "LOC", "CITY", False, 0.7)]
    assert table.classes == {"CITY": (0, 1, 0), "LOC": (1, 0, 0), "ORG": (1, 1, 1)}
    assert table.words(0)[0] == "the embassy of (ORG),  Rom (LOC)"
    assert table.doubt(1) == {"doubted": " Rom (LOC)", "predicted_there": "CITY"}
    nested = made("overlapping-spans", line | {"gold": spans((0, 18, "ORG"), (14, 18, "LOC"), (14, 18, "CITY"))})
    assert marked_texts(nested.texts[0], nested.marks(0))[0] == [
        "label", ["the embassy of", "missed", ""], [" Rom", "missed", "CITY, LOC, ORG"], "e",
    ]  # fmt: skip


def test_answers() -> None:
    best = [{"text": "a cat", "probability": 0.5}, {"text": "dog", "probability": 0.25}]
    line = {"question": "who?", "context": "then a cat sat", "start": 5, "end": 10, "label_probability": 0.5}
    line |= {"gold": "cat", "answers": ["cat"], "prediction": "a cat", "score": 0.5, "n_best": best}
    wrong = line | {"gold": "cat sat", "answers": ["cat sat"], "label_probability": 0.125}
    none = line | {"gold": "", "answers": [], "prediction": "", "no_answer": 0.1}
    table = made("span", line, wrong, none)
    assert table.right is not None and table.right.tolist() == [True, False, True]
    assert table.score.tolist() == pytest.approx([1, 2 / 3, 1])
    assert cells(table.decisions)[:2] == [
        (0, "an answer", "the same text", True, 0.5, 0.5), (1, "an answer", "shares words", False, 0.5, 0.125),
    ]  # fmt: skip
    assert cells(table.decisions)[2][1:3] == ("no answer", "no answer")
    assert table.chances[0] == {"cat": 0.5, "dog": 0.25} and table.chances[1] == {"a cat": 0.5, "dog": 0.25}
    assert table.classes == {}
    assert marked_texts(table.texts[0], table.marks(0))[1] == [
        "context", "then ", ["a ", "prediction", ""], ["cat", "right", ""], " sat",
    ]  # fmt: skip
    assert beliefs(made("span", {name: line[name] for name in line if name != "label_probability"})) is None


def test_choices() -> None:
    line = {"context": "it", "choices": ["is", "was"], "gold": 0, "prediction": 1, "probabilities": [0.25, 0.75]}
    table = made("choice", line)
    assert cells(table.decisions) == [(0, "choice 1", "choice 2", False, 0.75, 0.25)]
    assert table.chances == [{0: 0.25, 1: 0.75}]
    assert table.classes == {}
    assert marked_texts(table.texts[0], table.marks(0)) == [
        ["context", "it"], ["choice 1", ["is", "gold", "25.0 %"]], ["choice 2", ["was", "prediction", "75.0 %"]],
    ]  # fmt: skip
    assert (table.listed(0)["label"], table.words(0)) == (0, ("choice 1", "choice 2"))
    right = made("choice", line | {"gold": 1})
    assert marked_texts(right.texts[0], right.marks(0))[2] == ["choice 2", ["was", "right", "75.0 %"]]


def test_rankings() -> None:
    given = ((2, 0.9), (1, 0.1), (0, 0.5))
    table = made(
        "ranking",
        *({"text": "Q", "pair": str(at), "gold": gold, "prediction": p} for at, (gold, p) in enumerate(given)),
    )
    assert table.score.tolist() == [1, 0.5, 0.5] and table.wrong.tolist() == [False, True, True]
    assert table.certainty.tolist() == [-math.inf, 0.5, 0.5] and table.numbers is None


def of_document(document: Document, found: list[str], nats: list[float], **more: list[bool]) -> Predictions:
    label = (NextSentence if "next" in more else Objective)().labels(document)
    return made(
        "text", {"lines": list(document.lines), "gold": label, "prediction": {"words": found, "nats": nats} | more}
    )


def test_documents() -> None:
    table = of_document(KOREAN, ["나무"], [9.5], next=[False])
    ((_, text),) = marked_texts(table.texts[0], table.marks(0))
    assert text == "\n".join(KOREAN.lines)
    assert table.right is None and table.score.tolist() == table.certainty.tolist() == [9.5] and not table.annotated


def test_a_long_text_is_shown_with_some_of_its_marks() -> None:
    tags = ["B-PER", "O"] * 400
    table = made("tagging", {"words": ["Anna", "sat"] * 400, "gold": tags, "prediction": tags})
    for _, *pieces in marked_texts(table.texts[0], table.marks(0)):
        texts = [piece if isinstance(piece, str) else piece[0] for piece in pieces]
        assert sum(not isinstance(piece, str) for piece in pieces) == MOST_MARKS and sum(map(len, texts)) < 4_000


def test_lines_of_no_named_type_are_known_by_their_fields_and_label() -> None:
    base = {"id": "1", "text": "a", "prediction": "x"}
    assert labelled_table(None, [base | {"gold": "x"}]) is not None
    spans = [{"start": 0, "end": 1, "label": "x"}]
    for label, nothing in ((spans, "no span"), (["x"], "not x")):
        found = labelled_table(None, [base | {"gold": label, "prediction": []}])
        assert found is not None and list(found.nothing) == [nothing]
    assert labelled_table(None, []) is None
    assert labelled_table(None, [{"id": "1", "gold": None, "prediction": None}]) is None
    assert labelled_table(None, [{"id": "1", "gold": 1, "prediction": 1, "shape": "of its own"}]) is None
