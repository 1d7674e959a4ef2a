"""Spans: scores equal the official scorers', the search equals a search by hand, thresholds are found and kept."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toys import span_task, toy, write_squad
from transformers import AutoTokenizer

import finetune as package
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.squad import best_threshold, normalised, score_v1, score_v2
from finetune.models.feature import label_count
from finetune.task_types import SpanRow, SpanTask
from finetune.task_types.options import configured
from finetune.task_types.registry import find
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.span.head import SpanHead
from finetune.task_types.span.search import Window, best_spans, null_logits
from finetune.task_types.span.task import sentences
from finetune.task_types.task import Answer


@pytest.mark.parametrize(
    ("golds", "answer", "v1", "v2"),
    [
        (["the Cat."], "cat", (1, 1), (1, 1)),
        (["a black cat"], "The cat sat", (0, 0.5), (0, 0.5)),
        (["dog", "black cat"], "cat", (0, 2 / 3), (0, 2 / 3)),
        (["cat cat"], "cat", (0, 2 / 3), (0, 2 / 3)),
        (["dog"], "cat", (0, 0), (0, 0)),
        ([], "cat", (0, 0), (0, 0)),
        ([], "", (0, 0), (1, 1)),  # version 1.1 knows no questions without answer
        (["the"], "", (1, 0), (1, 1)),  # a gold of which nothing is left
        (["the", "cat"], "", (1, 0), (0, 0)),
        (["cat"], "the", (0, 0), (0, 0)),
        (["서울에서"], "서울에서", (1, 1), (1, 1)),
    ],
)
def test_scores_by_hand(golds: list[str], answer: str, v1: tuple[float, float], v2: tuple[float, float]) -> None:
    assert score_v1(golds, answer) == pytest.approx(v1)
    assert score_v2(golds, answer) == pytest.approx(v2)


def test_normalising_is_the_official_one() -> None:
    assert normalised("The  U.S.A. (an  example),\tan 'Apple'") == "usa example apple"
    assert normalised("theatre, a.b") == "theatre ab"


def test_published_predictions_score_what_was_published(real_data: Path) -> None:
    """EM and F1 of two real prediction files by the official scorers, to the last digit that is known."""
    published = {
        ("squad-v1", "dev-v1.1_BERT_ensemble_GoogleAI.json"): (86.206, 92.196),
        ("squad-v2", "dev-v2.0_BERT_single_GoogleAI.json"): (78.742, 81.775),
    }
    for (name, file), (em, f1) in published.items():
        task = find(name)
        rows = task.load(Source(folder=real_data), "dev").rows
        given = json.loads((real_data / "squad-predictions" / file).read_text())
        scores = task.score([Answer(value=given[row.id]) for row in rows], rows)
        assert (round(100 * scores["em"], 3), round(100 * scores["f1"], 3)) == (em, f1)


def test_the_command_scores_published_predictions(real_data: Path, in_process: Any) -> None:
    file = real_data / "squad-predictions" / "dev-v1.1_BERT_ensemble_GoogleAI.json"
    code, out, err = in_process("score", "squad-v1", str(file), data=real_data)
    assert code == 0, err
    assert out == "dev f1 92.196, em 86.206\n"


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
def test_what_is_labelled_is_found_again(unanswerable: bool, max_length: int, stride: int, tiny_encoder: Path) -> None:
    """Through windows, labels and characters, with every family's tokenizer: the answers are the gold texts."""
    filler = " ".join(["the dog ran , but it was old ."] * 6)
    rows = [
        replace(row, context=f"{filler} {row.context} {filler}", start=row.start and row.start + len(filler) + 1)
        if row.start
        else row
        for row in span_task(unanswerable=unanswerable).load(Source(), "train").rows
    ]
    task: SpanTask = toy(SpanTask, rows, name="toy", unanswerable=unanswerable, stride=stride)
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    features = task.encode(rows, tokenizer, max_length)
    assert max(map(len, features)) <= max_length
    answers = task.decode(perfect(task, features, rows), features, rows)
    lost = [row for i, row in enumerate(rows) if row.answers and all(f.label == (0, 0) for f in features if f.row == i)]
    assert len(lost) < (len(rows) / 3 if stride > max_length else 1)  # without overlap some answers are cut in two
    for row, answer in zip(rows, answers, strict=True):
        if row not in lost:
            assert answer.value == next(iter(row.answers), "")
            assert answer.value == ("" if answer.start is None else row.context[answer.start : answer.end])


def test_inputs_are_those_of_the_tokenizer(tiny_encoder: Path) -> None:
    rows = span_task().load(Source(), "train").rows[:5]
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    features = span_task().encode(rows, tokenizer, 128)
    expected = tokenizer([row.question for row in rows], [row.context for row in rows])
    for index, feature in enumerate(features):
        assert feature.input_ids.tolist() == expected["input_ids"][index]
        if "token_type_ids" in expected:
            assert feature.token_type_ids.tolist() == expected["token_type_ids"][index]
    assert ("token_type_ids" in expected) == (features[0].token_type_ids is not None)


def test_a_max_length_without_room_is_an_error(tiny_bert: Path) -> None:
    row = SpanRow(id="q7", question="who " * 20, context="the cat sat", answers=("cat",), start=4)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    with pytest.raises(UserError, match=r"max_length 24 leaves -39 tokens for the context beside question 'q7'"):
        span_task().encode([row], tokenizer, 24)
    cut = configured(span_task(), {"max_question_tokens": 5}).encode([row], tokenizer, 24)
    assert cut[0].truncated


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
    assert task.calibrate(given, rows) == {"threshold": -1.0, "threshold_em": -5.0}
    assert configured(task, {"threshold": 2.0}).calibrate(given, rows) == {}  # it was given
    assert configured(task, {"threshold_em": 2.0}).calibrate(given, rows) == {"threshold": -1.0}
    assert span_task().calibrate(given, rows) == {}  # every question has an answer
    for wrong in (rows[2:], [rows[0], rows[2], rows[3]]):  # answered with nothing at all, as is best
        nothing = task.calibrate([answer("moon", 1.0)] * len(wrong), wrong)
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


def test_the_baselines_answer_a_sentence_and_nothing() -> None:
    row = SpanRow(id="", question="Where did the cat sit?", context="A dog ran. The cat sat. It flew!", answers=())
    given = span_task(unanswerable=True).baselines([], [row])
    assert {name: answers[0].value for name, answers in given.items()} == {
        "best-overlap": "The cat sat.",
        "no-answer": "",
    }
    assert sentences("One. Two?  Three") == ["One.", "Two?", "Three"]


def squad(question: dict[str, Any], *, context: str = "The red cat sat on a red mat.") -> dict[str, Any]:
    return {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": [question]}]}]}


GOOD = {"id": "q1", "question": "Who sat?", "answers": [{"text": "red cat", "answer_start": 4}]}


def load(tmp_path: Path, content: Any, *, name: str = "squad-v1", split: str = "train") -> Any:
    version = {"squad-v1": "v1.1", "squad-v2": "v2.0"}[name]
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / f"{split}-{version}.json").write_text(text)
    return find(name).load(Source(folder=tmp_path), split)


def test_reading_the_official_layout(tmp_path: Path) -> None:
    (row,) = load(tmp_path, squad(GOOD)).rows
    assert (row.id, row.answers, row.start, row.title) == ("q1", ("red cat",), 4, "T")
    none = load(tmp_path, squad(GOOD | {"answers": [], "is_impossible": True}), name="squad-v2").rows[0]
    assert (none.answers, none.start) == ((), None)
    unlabelled = {key: value for key, value in GOOD.items() if key != "answers"}
    assert load(tmp_path, squad(unlabelled)).rows[0].answers is None


def test_a_wrong_answer_start_is_mended_only_where_that_is_sure(tmp_path: Path) -> None:
    def place(text: str, start: int) -> Any:
        return load(tmp_path, squad(GOOD | {"answers": [{"text": text, "answer_start": start}]}))

    mended = place("cat", 5)
    assert mended.rows[0].start == 8
    assert "1 questions whose answer_start was wrong, and was mended" in mended.notes[0]
    assert mended.notes[0].endswith("first q1")
    for lost in (place("red", 2), place("dog", 4), place("cat", 400), place("cat", -90), place("", 0)):
        assert lost.rows[0].start is None
        assert "1 questions cannot be trained on, since their answer is not in the context, first q1" in lost.notes[1]


def test_answers_that_are_not_in_the_context_are_scored_but_not_trained_on(tiny_bert: Path) -> None:
    row = SpanRow(id="q", question="who ?", context="the cat sat", answers=("dog",))
    (feature,) = span_task().encode([row], AutoTokenizer.from_pretrained(tiny_bert), 32)
    assert label_count([feature]) == 0
    assert span_task().score([Answer(value="cat")], [row]) == {"f1": 0.0, "em": 0.0}
    logits = torch.zeros(1, len(feature), 2)
    assert float(SpanHead.loss(None, logits, torch.tensor([feature.label]))) == 0.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"data": [}', r"train-v1\.1\.json:1: is not JSON"),
        ({"version": "1.1"}, r"train-v1\.1\.json: has no data that is a list"),
        (squad({"question": "q", "answers": []}), r"data\[0\]\.paragraphs\[0\]\.qas\[0\]: has no id"),
        (squad(GOOD | {"question": 3}), r"qas\[0\]: has no question that is a str"),
        (squad(GOOD | {"answers": [{"text": "cat"}]}), r"qas\[0\]: has no answer_start that is a int"),
        (squad(GOOD, context="  "), r"data\[0\]\.paragraphs\[0\]: the context is empty"),
        (squad(GOOD | {"question": " "}), r"row 'q1' has an empty question or context"),
        (squad(GOOD | {"answers": []}), r"row 'q1' has no answer, which only a task like squad-v2 allows"),
        (squad(GOOD | {"is_impossible": True}), r"qas\[0\]: question 'q1' has 1 answers and is_impossible true"),
        (squad(GOOD | {"question": "a\ud800"}), r"question has half a character"),
        ({"data": squad(GOOD)["data"] * 2}, r"data\[1\].*: the id 'q1' is also that of .*data\[0\]"),
    ],
)
def test_faults_of_squad_files_are_named(content: Any, expected: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=expected):
        load(tmp_path, content)


def test_a_trained_model_answers_with_its_threshold(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: Any
) -> None:
    """`finetune run squad-v2`, its files, the threshold in its config, and `finetune.load(...)(question, context)`."""
    rows = span_task(unanswerable=True).load(Source(), "train").rows
    write_squad(tmp_path, "v2.0")
    settings = ["max_length=64", "train.epochs=25", "train.batch_size=8", "train.dropout=0.0"]
    settings.append("train.learning_rate=2e-3")
    code, out, err = in_process("run", "squad-v2", f"model={tiny_bert}", *settings, data=tmp_path)
    assert code == 0, err
    assert "no-answer" in out
    (record_file,) = tmp_path.glob("results/squad-v2/*/record.json")
    folder, record = record_file.parent, json.loads(record_file.read_text())
    assert record["scores"]["dev"]["f1"] > 0.9
    config = json.loads((folder / "model/config.json").read_text())["finetune"]
    assert config["options"]["threshold"] == record["options"]["threshold"]
    predictions = json.loads((folder / "predictions.json").read_text())
    odds = json.loads((folder / "null_odds.json").read_text())
    assert set(predictions) == set(odds) == {row.id for row in rows}
    assert all((odds[name] > record["options"]["threshold"]) == (text == "") for name, text in predictions.items())
    assert json.loads((folder / "nbest_predictions.json").read_text()).keys() == odds.keys()

    monkeypatch.chdir(tmp_path)
    answer = package.load("squad-v2")
    assert answer.task.threshold == record["options"]["threshold"]
    for row in rows[:6]:
        found = answer(row.question, row.context)
        assert found.text == predictions[row.id]
        assert found.text == ("" if found.start is None else row.context[found.start : found.end])
        assert 0 <= found.score <= 1
        assert 0 <= found.no_answer <= 1
    code, out, _ = in_process("evaluate", folder.name, "squad-v2", "--json", data=tmp_path)
    assert json.loads(out)["dev"] == pytest.approx(record["scores"]["dev"])
    code, out, _ = in_process("score", "squad-v2", str(folder / "predictions.json"), "--json", data=tmp_path)
    assert json.loads(out) == pytest.approx(record["scores"]["dev"])
    n_best = json.loads((folder / "nbest_predictions.json").read_text())
    best = {name: next(entry["text"] for entry in entries if entry["text"]) for name, entries in n_best.items()}
    (tmp_path / "best.json").write_text(json.dumps(best))
    arguments = ("score", "squad-v2", "best.json", "--null-odds", str(folder / "null_odds.json"), "--json")
    code, out, _ = in_process(*arguments, data=tmp_path)
    assert json.loads(out)["f1"] == pytest.approx(record["scores"]["dev"]["f1"])
    assert json.loads(out)["threshold"] == pytest.approx(record["options"]["threshold"])


def answer_files(folder: Path, answers: dict[str, Any], odds: dict[str, Any]) -> tuple[str, ...]:
    """SQuAD 2.0 with two questions of either kind, and files of answers and odds; the command that scores them."""
    paragraph: dict[str, Any] = {"context": "red cat", "qas": []}
    for name in "abcd":
        golds = [{"text": "red cat", "answer_start": 0}] if name in "ab" else []
        paragraph["qas"].append({"id": name, "question": "q", "answers": golds, "is_impossible": name in "cd"})
    content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [paragraph]}]}
    (folder / "dev-v2.0.json").write_text(json.dumps(content))
    (folder / "answers.json").write_text(json.dumps(answers))
    (folder / "odds.json").write_text(json.dumps(odds))
    return "score", "squad-v2", "answers.json", "--json"


def test_a_missing_answer_counts_0_even_where_none_is_right(tmp_path: Path, in_process: Any) -> None:
    command = answer_files(tmp_path, {"a": "red cat", "c": "", "z": "other", "y": "other"}, {})
    code, out, err = in_process(*command, data=tmp_path)
    assert code == 0, err
    found = json.loads(out)
    assert (found["f1"], found["answerable/em"], found["unanswerable/em"]) == (0.5, 0.5, 0.5)
    assert "note: answers.json: has no prediction for 2 of 4 rows (b, d): each counts 0" in err
    assert "note: answers.json: 2 ids are unknown (z, y): left out" in err


def test_given_thresholds_are_used_with_null_odds(tmp_path: Path, in_process: Any) -> None:
    odds = {"a": -5.0, "b": 1.0, "c": 0.5, "d": 3.0}
    command = (*answer_files(tmp_path, dict.fromkeys("abcd", "red cat"), odds), "--null-odds", "odds.json")
    for threshold, f1 in ((0.0, 0.75), (2.0, 0.75), (-9.0, 0.5), (9.0, 0.5)):
        code, out, err = in_process(*command, f"threshold={threshold}", data=tmp_path)
        assert code == 0, err
        found = json.loads(out)
        assert (found["f1"], found["threshold"]) == (f1, threshold)
        assert "best em" not in found
    code, out, _ = in_process(*command, "threshold_em=9.0", data=tmp_path)
    assert (json.loads(out)["best em"], json.loads(out)["f1"]) == (0.5, 0.75)
    code, out, _ = in_process(*command, "threshold=0.0", "threshold_em=9.0", data=tmp_path)
    assert (json.loads(out)["best em"], json.loads(out)["threshold"]) == (0.5, 0.0)
    command = (
        *answer_files(tmp_path, {"a": "red cat", "c": "red cat"}, odds | {"d": None}),
        "--null-odds",
        "odds.json",
    )
    code, out, _ = in_process(*command, data=tmp_path)  # what has no answer needs no odds
    assert json.loads(out)["f1"] == 0.5
    command = (*answer_files(tmp_path, {"a": "red cat"}, {}), "--null-odds", "odds.json")
    code, _, err = in_process(*command, data=tmp_path)
    assert (code, "odds.json: the odds for a are missing. They must be a number" in err) == (2, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "is not JSON"),
        ("[]", "is no JSON object"),
        ("{}", "has no prediction for 1 of 1 rows, first q1"),
        ('{"q1": 3}', "the answer for q1 is 3. A right one would be 'red cat'"),
    ],
)
def test_faults_of_answer_files_are_named(text: str, expected: str, tmp_path: Path, in_process: Any) -> None:
    (tmp_path / "dev-v1.1.json").write_text(json.dumps(squad(GOOD)))
    (tmp_path / "answers.json").write_text(text)
    code, _, err = in_process("score", "squad-v1", "answers.json", data=tmp_path)
    assert code == 2
    assert expected in err
    assert len(err.splitlines()) == 1
