"""Answers in contexts: how they are read, found by a search and cut out, and the thresholds of no answer."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
from support.checked_files import write_jsonl
from support.own_data import own_task
from support.published import PUBLISHED, train_pieces
from support.toys import span_task, toy
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.tokenizers.load import read_tokenizer
from finetune.task_types.options import configured
from finetune.task_types.span.questions import SpanAnswer
from finetune.task_types.span.search import Window, best_spans, null_logits
from finetune.task_types.span.task import SpanRow, SpanTask

TOWNS = ["Oslo", "San Jose", "Lima"]
ASKED = [{"context": f"Number {n} lives in {TOWNS[n % 3]}.", "question": f"Where is {n}?"} for n in range(30)]


def test_what_is_no_answer_is_refused_and_a_question_is_never_the_label(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"'answers' holds .*which is not read as answers"):
        own_task(write_jsonl(tmp_path / "a.jsonl", [one | {"answers": {"value": "Oslo", "from": 3}} for one in ASKED]))
    for more in ({}, {"answers": "It is so."}, {"note": "x y"}):
        with pytest.raises(UserError):
            own_task(write_jsonl(tmp_path / "a.jsonl", [one | {"question": "Where is it?"} | more for one in ASKED]))


def test_the_search_equals_a_search_by_hand() -> None:
    """All pairs of the likeliest starts and ends, window by window and pair by pair."""
    generator, logits, windows = np.random.default_rng(0), list[np.ndarray](), list[Window]()
    for _ in range(30):
        size, place = int(generator.integers(1, 60)), int(generator.integers(2, 9))
        logits.append(generator.normal(size=(place + size + 1, 2)).astype(np.float32))
        starts = np.arange(size) * 3
        windows.append(Window(place=place, starts=starts, ends=starts + 2, owned=generator.random(size) < 0.8))
    rows = np.sort(generator.integers(0, 16, size=30))
    spans = best_spans(logits, windows, rows, likeliest=5, kept=5, longest=4)
    for row in set(rows.tolist()):
        found = []
        for given, window, owner in zip(logits, windows, rows, strict=True):
            if owner == row:
                part = given[window.place : window.place + len(window.starts)]
                starts = sorted(np.flatnonzero(window.owned), key=lambda i, part=part: -part[i, 0])[:5]
                ends = sorted(range(len(part)), key=lambda i, part=part: -part[i, 1])[:5]
                found += [
                    (float(part[s, 0]) + float(part[e, 1]), [int(window.starts[s]), int(window.ends[e])])
                    for s in starts
                    for e in ends
                    if s <= e < s + 4
                ]
        expected = sorted(found, reverse=True)[:5]
        assert spans.logits[spans.row == row].sum(1) == pytest.approx([score for score, _ in expected])
        assert spans.characters[spans.row == row].tolist() == [places for _, places in expected]
    assert (np.diff(spans.row) >= 0).all()
    nulls = [np.array([[a, b], [9, 9]], dtype=np.float32) for a, b in ((1, 2), (0, 1), (5, 5))]
    assert null_logits(nulls, np.array([0, 0, 1]), count=2).tolist() == [[0, 1], [5, 5]]  # where it is least


def perfect(features: list[Any], rows: list[SpanRow]) -> list[np.ndarray]:
    """Logits that say what the labels say, surest where a window has the answer."""
    logits = []
    for feature in features:
        given = np.zeros((len(feature), 2), dtype=np.float32)
        start, end = feature.label
        given[start, 0] = given[end, 1] = 6.0 if start else (9.0 if not rows[feature.row].answers else 1.0)
        logits.append(given)
    return logits


@pytest.mark.parametrize(("unanswerable", "max_length", "stride"), [(False, 64, 16), (True, 64, 200), (True, 300, 128)])
def test_labelled_answers_are_found(unanswerable: bool, max_length: int, stride: int, tiny_vocabulary: Path) -> None:
    """Through windows, labels and characters, with every family's tokenizer: the answers are the gold texts."""
    filler = " ".join(["the dog ran , but it was old ."] * 6)
    rows = [
        replace(row, context=f"{filler} {row.context} {filler}", start=row.start + len(filler) + 1)
        if row.start
        else row
        for row in span_task(unanswerable=unanswerable).load(Source(), "train").rows
    ]
    task: SpanTask = toy(SpanTask, rows, name="toy", unanswerable=unanswerable, stride=stride)
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_vocabulary), max_length)
    assert max(map(len, features)) <= max_length
    lost = {i for i, row in enumerate(rows) if row.answers} - {one.row for one in features if one.label != (0, 0)}
    assert len(lost) < (len(rows) / 3 if stride > max_length else 1)  # without overlap some answers are cut in two
    for place, answer in enumerate(task.decode(perfect(features, rows), features, rows)):
        if place not in lost:
            row = rows[place]
            assert answer.value == next(iter(row.answers or ()), "")
            assert answer.value == ("" if answer.start is None else row.context[answer.start : answer.end])


KOREAN = (  # two spaces, tabs, full-width signs that become others, letters and their marks apart, an odd space
    "서울은  대한민국의 수도이다. 인구는 9,411,260명이고 한강이 흐른다.",
    "세종대왕은\t1443년에 ＡＢＣ（１２３）\u3000훈민정음을 ①번 만들었다…",
    f" e\u0301te\u0301 caf\u0065\u0301  {normalize('NFD', '한강이 흐른다.')}\n영화가 ½정도 ﬁne ㈜서울 재미있었다!  ",
    "이모지 🙂🙂 그리고 漢字 \u200b없는 폭\u00a0공백",
)


@pytest.mark.parametrize("name", [*PUBLISHED, "BPE of SentencePiece"])
def test_answers_are_cut_from_the_context_exactly(name: str, tmp_path: Path) -> None:
    """With each vocabulary as it is published, whatever its normalization does to spaces and signs."""
    PUBLISHED.get(name, PUBLISHED["monologg/kobert"]).write(tmp_path)
    if name not in PUBLISHED:
        (tmp_path / "vocab.txt").unlink()
        train_pieces(*tmp_path.glob("*.model"), "kobert", kind="bpe")
    rows = []
    for text in KOREAN:
        places = [match.span() for match in re.finditer(r"[^\s\u200b]+", text)]
        for (start, end), (_, later) in zip(places, [*places[1:], places[-1]], strict=True):
            for answer in {text[start:end], text[start:later]}:
                rows.append(SpanRow(id="", question="어디 ?", context=text, answers=(answer,), start=start))
    task: SpanTask = toy(SpanTask, rows, name="toy", stride=40, max_answer_tokens=60)
    features = task.encode(rows, read_tokenizer(tmp_path), 128)
    answers = task.decode(perfect(features, rows), features, rows)
    found = {feature.row for feature in features if feature.label != (0, 0)}
    assert len(found) > 0.9 * len(rows)  # an answer of many tokens may not fit into a window
    for index in found:
        cut = rows[index].context[answers[index].start : answers[index].end]
        assert answers[index].value == cut == (rows[index].answers or ())[0]


def test_thresholds_are_chosen_for_f1_and_for_exact_match() -> None:
    def answer(text: str, odds: float) -> SpanAnswer:
        return SpanAnswer(value=text, null_odds=odds, n_best=[{"text": text}])

    golds: list[tuple[str, ...]] = [("red cat",), ("cat",), (), ()]
    rows = [SpanRow(id=str(n), question="q", context="red cat", answers=gold) for n, gold in enumerate(golds)]
    task: SpanTask = toy(SpanTask, rows, name="toy", unanswerable=True)
    given = [answer("red cat", -5.0), answer("red cat", -1.0), answer("cat", 0.5), answer("cat", 3.0)]
    assert task.tune(given, rows) == {"threshold": -1.0, "threshold_em": -5.0}
    assert configured(task, {"threshold": 2.0}).tune(given, rows) == {}  # it was given
    assert configured(task, {"threshold_em": 2.0}).tune(given, rows) == {"threshold": -1.0}
    assert span_task().tune(given, rows) == {}  # every question has an answer
    assert task.tune([answer("moon", 1.0)] * 2, rows[2:])["threshold"] < 1.0  # nothing is answered, as is best
