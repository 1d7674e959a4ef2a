"""Spans: scores equal the official scorers', the search equals a search by hand, thresholds are found and kept."""

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
from support.published import PUBLISHED, train_pieces
from support.toys import span_task, toy
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.metrics.squad import best_threshold
from finetune.models.tokenizers.load import read_tokenizer
from finetune.task_types.options import configured
from finetune.task_types.span.questions import SpanAnswer
from finetune.task_types.span.search import Window, best_spans, null_logits
from finetune.task_types.span.task import SpanRow, SpanTask


def test_the_best_threshold_is_the_best_of_all() -> None:
    generator = random.Random(2)
    for _ in range(60):
        size = generator.randint(1, 12)
        answerable = [generator.random() < 0.6 for _ in range(size)]
        answered = [generator.random() < 0.9 for _ in range(size)]
        scores = [
            generator.choice([0.0, 0.5, 1.0]) * there if has else 1.0 - there
            for has, there in zip(answerable, answered, strict=True)
        ]
        odds = [generator.uniform(-3, 3) for _ in range(size)]
        best, threshold = best_threshold(scores, odds, answerable, answered)

        def mean_at(at: float, scores: Any = scores, odds: Any = odds, answerable: Any = answerable) -> float:
            kept = [1.0 - has if o > at else s for s, o, has in zip(scores, odds, answerable, strict=True)]
            return sum(kept) / len(kept)

        assert best == pytest.approx(max(mean_at(at) for at in [*odds, -9.0]))
        assert mean_at(-9.0 if threshold is None else threshold) == pytest.approx(best)


def windows_of(generator: np.random.Generator, count: int) -> tuple[list[np.ndarray], list[Window], np.ndarray]:
    logits, windows = [], []
    for _ in range(count):
        size, place = int(generator.integers(1, 60)), int(generator.integers(2, 9))
        logits.append(generator.normal(size=(place + size + 1, 2)).astype(np.float32))
        starts = np.arange(size) * 3
        windows.append(Window(place=place, starts=starts, ends=starts + 2, owned=generator.random(size) < 0.8))
    return logits, windows, np.sort(generator.integers(0, count // 2 + 1, size=count))


def test_the_search_equals_a_search_by_hand() -> None:
    """All pairs of the likeliest starts and ends, window by window and pair by pair."""
    logits, windows, rows = windows_of(np.random.default_rng(0), 30)
    spans = best_spans(logits, windows, rows, likeliest=5, kept=5, longest=4)
    for row in set(rows.tolist()):
        found = []
        for given, window, owner in zip(logits, windows, rows, strict=True):
            if owner != row:
                continue
            size = len(window.starts)
            part = given[window.place : window.place + size]
            starts = sorted((i for i in range(size) if window.owned[i]), key=lambda i: -part[i, 0])[:5]
            ends = sorted(range(size), key=lambda i: -part[i, 1])[:5]
            pairs = [(s, e) for s in starts for e in ends if s <= e < s + 4]
            found += [
                (float(part[s, 0]) + float(part[e, 1]), int(window.starts[s]), int(window.ends[e])) for s, e in pairs
            ]
        expected = sorted(found, reverse=True)[:5]
        mine = spans.row == row
        assert spans.logits[mine].sum(1) == pytest.approx([score for score, _, _ in expected])
        assert spans.characters[mine].tolist() == [[start, end] for _, start, end in expected]
    assert (np.diff(spans.row) >= 0).all()


def test_no_answer_has_the_logits_of_the_window_where_they_are_least() -> None:
    logits = [np.array([[a, b], [9, 9]], dtype=np.float32) for a, b in ((1, 2), (0, 1), (5, 5))]
    assert null_logits(logits, np.array([0, 0, 1]), count=2).tolist() == [[0, 1], [5, 5]]


def perfect(task: SpanTask, features: list[Any], rows: list[SpanRow]) -> list[np.ndarray]:
    """Logits that say what the labels say, surest where a window has the answer."""
    logits = []
    for feature in features:
        given = np.zeros((len(feature), 2), dtype=np.float32)
        start, end = feature.label
        given[start, 0] = given[end, 1] = 6.0 if start else (9.0 if not rows[feature.row].answers else 1.0)
        logits.append(given)
    return logits


@pytest.mark.parametrize("unanswerable", [False, True])
@pytest.mark.parametrize(("max_length", "stride"), [(64, 16), (64, 200), (300, 128)])
def test_what_is_labelled_is_found_again(
    unanswerable: bool, max_length: int, stride: int, tiny_vocabulary: Path
) -> None:
    """Through windows, labels and characters, with every family's tokenizer: the answers are the gold texts."""
    filler = " ".join(["the dog ran , but it was old ."] * 6)
    rows = [
        replace(row, context=f"{filler} {row.context} {filler}", start=row.start and row.start + len(filler) + 1)
        if row.start
        else row
        for row in span_task(unanswerable=unanswerable).load(Source(), "train").rows
    ]
    task: SpanTask = toy(SpanTask, rows, name="toy", unanswerable=unanswerable, stride=stride)
    tokenizer = AutoTokenizer.from_pretrained(tiny_vocabulary)
    features = task.encode(rows, tokenizer, max_length)
    assert max(map(len, features)) <= max_length
    answers = task.decode(perfect(task, features, rows), features, rows)
    lost = [row for i, row in enumerate(rows) if row.answers and all(f.label == (0, 0) for f in features if f.row == i)]
    assert len(lost) < (len(rows) / 3 if stride > max_length else 1)  # without overlap some answers are cut in two
    for row, answer in zip(rows, answers, strict=True):
        if row not in lost:
            assert answer.value == next(iter(row.answers), "")
            assert answer.value == ("" if answer.start is None else row.context[answer.start : answer.end])


KOREAN = (  # two spaces, tabs, full-width signs that become others, letters and their marks apart, an odd space
    "서울은  대한민국의 수도이다. 인구는 9,411,260명이고 한강이 흐른다.",
    "세종대왕은\t1443년에 ＡＢＣ（１２３）\u3000훈민정음을 ①번 만들었다…",
    " e\u0301te\u0301 caf\u0065\u0301  "
    + normalize("NFD", "한강이 흐른다.")
    + "\n영화가 ½정도 ﬁne ㈜서울 재미있었다!  ",
    "이모지 🙂🙂 그리고 漢字 \u200b없는 폭\u00a0공백",
)


@pytest.mark.parametrize("name", [*PUBLISHED, "BPE of SentencePiece"])
@pytest.mark.parametrize("max_length", [128, 300])
def test_answers_are_cut_from_the_context_exactly(name: str, max_length: int, tmp_path: Path) -> None:
    """With each vocabulary as it is published, whatever its normalization does to spaces and signs."""
    PUBLISHED.get(name, PUBLISHED["monologg/kobert"]).write(tmp_path)
    if name not in PUBLISHED:
        (tmp_path / "vocab.txt").unlink()
        train_pieces(*tmp_path.glob("*.model"), "kobert", kind="bpe")
    tokenizer = read_tokenizer(tmp_path)
    rows = []
    for text in KOREAN:
        places = [match.span() for match in re.finditer(r"[^\s\u200b]+", text)]
        for (start, end), (_, later) in zip(places, [*places[1:], places[-1]], strict=True):
            for answer in {text[start:end], text[start:later]}:
                rows.append(SpanRow(id="", question="어디 ?", context=text, answers=(answer,), start=start))
    task: SpanTask = toy(SpanTask, rows, name="toy", stride=40, max_answer_tokens=60)
    features = task.encode(rows, tokenizer, max_length)
    answers = task.decode(perfect(task, features, rows), features, rows)
    found = {feature.row for feature in features if feature.label != (0, 0)}
    assert len(found) > 0.9 * len(rows)  # an answer of many tokens may not fit into a window
    for index in found:
        assert answers[index].value == rows[index].answers[0]
        assert answers[index].value == rows[index].context[answers[index].start : answers[index].end]


def answer(text: str, odds: float) -> SpanAnswer:
    return SpanAnswer(value=text, null_odds=odds, n_best=[{"text": text}])


def test_thresholds_are_chosen_for_f1_and_for_exact_match() -> None:
    rows = [
        SpanRow(id="a", question="q", context="red cat", answers=("red cat",), start=0),
        SpanRow(id="b", question="q", context="red cat", answers=("cat",), start=4),
        SpanRow(id="c", question="q", context="red cat", answers=()),
        SpanRow(id="d", question="q", context="red cat", answers=()),
    ]
    task: SpanTask = toy(SpanTask, rows, name="toy", unanswerable=True)
    given = [answer("red cat", -5.0), answer("red cat", -1.0), answer("cat", 0.5), answer("cat", 3.0)]
    assert task.tune(given, rows) == {"threshold": -1.0, "threshold_em": -5.0}
    assert configured(task, {"threshold": 2.0}).tune(given, rows) == {}  # it was given
    assert configured(task, {"threshold_em": 2.0}).tune(given, rows) == {"threshold": -1.0}
    assert span_task().tune(given, rows) == {}  # every question has an answer
    for wrong in (rows[2:], [rows[0], rows[2], rows[3]]):  # answered with nothing at all, as is best
        nothing = task.tune([answer("moon", 1.0)] * len(wrong), wrong)
        assert nothing["threshold"] < 1.0


def test_the_threshold_decides_and_is_used(tiny_bert: Path) -> None:
    rows = [SpanRow(id="a", question="who ?", context="the cat sat", answers=())]
    task: SpanTask = toy(SpanTask, rows, name="toy", unanswerable=True)
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 32)
    logits = [np.zeros((len(features[0]), 2), dtype=np.float32)]
    logits[0][0] = 1.0  # no answer is over every span by 2
    (plain,) = task.decode(logits, features, rows)
    assert (plain.value, plain.start, plain.null_odds) == ("", None, 2.0)
    (kept,) = configured(task, {"threshold": 2.5}).decode(logits, features, rows)
    assert kept.value != ""
    assert kept.no_answer == plain.no_answer == plain.score
    assert kept.no_answer == pytest.approx(np.exp(2) / (np.exp(2) + len(kept.n_best) - 1))
    assert [entry["text"] for entry in kept.n_best].count("") == 1  # as in the official file
    assert sum(entry["probability"] for entry in kept.n_best) == pytest.approx(1)


def test_files_are_in_the_official_forms() -> None:
    row = SpanRow(id="q1", question="q", context="red cat", answers=("cat",), start=4)
    entry = {"text": "cat", "probability": 0.75, "start_logit": 1.5, "end_logit": 2.0}
    given = SpanAnswer(value="cat", start=4, end=7, null_odds=-3.5, n_best=[entry])
    files = span_task(unanswerable=True).official_files([given], [row])
    assert files == {
        "predictions.json": {"q1": "cat"},
        "nbest_predictions.json": {"q1": [entry]},
        "null_odds.json": {"q1": -3.5},
    }
    plain = span_task().official_files([replace(given, null_odds=None)], [row])
    assert set(plain) == {"predictions.json", "nbest_predictions.json"}
