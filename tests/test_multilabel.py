"""Several labels a row: scores equal scikit-learn's, thresholds are the best on dev, saved and used."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer
from toys import build, fit, labels_task, late_task, sentences, toy
from transformers import AutoTokenizer

from finetune.cli.run_tables import groups_table, summary_lines
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import load
from finetune.models.batch import collate
from finetune.models.feature import Feature
from finetune.models.saving import load_backbone, load_config
from finetune.runs.predictions import read_predictions
from finetune.runs.recipe import Recipe, Train
from finetune.runs.record import RunRecord
from finetune.runs.seeds import groups
from finetune.task_types import baselines
from finetune.task_types.multilabel.head import MultiLabelHead
from finetune.task_types.multilabel.task import MultiLabelRow, MultiLabelTask, best_threshold
from finetune.task_types.options import configured
from finetune.task_types.registry import find
from finetune.task_types.task import Answer
from finetune.training.cross_fit import cross_fitted, folds
from finetune.training.evaluation import Evaluated, Evaluation
from finetune.training.hf_metric import TaskMetric
from finetune.training.run import run

LABELS = ("b", "a", "c/d", "e")
OWN = """
from finetune.task_types.multilabel.task import MultiLabelRow, MultiLabelTask
from finetune.data.rows import Rows

def read(source, split):
    rows = [MultiLabelRow(id=str(i), text=('cat', 'moon', 'the', 'cat moon')[i % 4] + ' sat' * (i % 3),
                          gold=((), ('sky', 'animal'), ('sky',), ('animal',))[(i + (i % 5 == 0)) % 4])
            for i in range(40)]
    return Rows(rows=rows, origin='made up')

TASKS = [MultiLabelTask(name='several', read=read, labels=('animal', 'sky', 'never'))]
"""


def row(*gold: str, text: str = "the cat") -> MultiLabelRow:
    return MultiLabelRow(id="r", text=text, gold=gold)


def made_up(rows: list[MultiLabelRow], **fields: Any) -> MultiLabelTask:
    return toy(MultiLabelTask, rows, name="toy-letters", labels=LABELS, **fields)


def random_sets(count: int, *, seed: int) -> list[list[str]]:
    generator = random.Random(seed)
    return [[label for label in LABELS if generator.random() < 0.4] for _ in range(count)]


def test_scores_equal_scikit_learns() -> None:
    gold, given = random_sets(200, seed=1), random_sets(200, seed=2)
    rows = [row(*labels) for labels in gold]
    scores = made_up(rows).score([Answer(value=labels) for labels in given], rows)
    binarizer = MultiLabelBinarizer(classes=LABELS)
    expected, found = binarizer.fit_transform(gold), binarizer.transform(given)
    assert scores["micro f1"] == pytest.approx(f1_score(expected, found, average="micro"))
    assert scores["macro f1"] == pytest.approx(f1_score(expected, found, average="macro"))
    assert scores["exact match"] == pytest.approx(accuracy_score(expected, found))
    for index, label in enumerate(LABELS):
        precision, recall, f1, _ = precision_recall_fscore_support(
            expected[:, index], found[:, index], average="binary"
        )
        assert scores[f"{label}/precision"] == pytest.approx(precision)
        assert scores[f"{label}/recall"] == pytest.approx(recall)
        assert scores[f"{label}/f1"] == pytest.approx(f1)
    assert 0 < scores["exact match"] < scores["micro f1"] < 1
    assert scores["micro f1"] != pytest.approx(scores["macro f1"], abs=1e-4)


def test_what_never_occurs_divides_by_nothing() -> None:
    rows = [row("a"), row()]
    task = made_up(rows)
    scores = task.score([Answer(value=["a"]), Answer(value=["b"])], rows)
    assert (scores["a/f1"], scores["b/f1"], scores["e/f1"]) == (1.0, 0.0, 0.0)
    assert scores["macro f1"] == 0.5  # of `a` and `b`: the two others are in neither gold nor answers
    assert scores["micro f1"] == pytest.approx(2 / 3)
    nothing = [row(), row()]
    scores = task.score(task.gold(nothing), nothing)
    assert (scores["micro f1"], scores["macro f1"], scores["exact match"]) == (1.0, 1.0, 1.0)


def test_answers_and_gold_are_in_the_order_of_the_task() -> None:
    rows = [row("e", "a"), MultiLabelRow(id="", text="the cat")]
    task = made_up(rows)
    assert [answer.value for answer in task.gold(rows)] == [["a", "e"], None]
    given = task.decode([np.array([-1.0, 2.0, -3.0, 0.5])], [Feature(row=0)], rows[:1])[0]
    assert given.value == ["a", "e"]
    assert given.probabilities == pytest.approx([1 / (1 + np.exp(-x)) for x in (-1.0, 2.0, -3.0, 0.5)])
    assert json.loads(json.dumps(given.value)) == given.value


def best_by_trying(gold: np.ndarray, probabilities: np.ndarray) -> float:
    """The best F1 of any threshold, where probabilities have two decimals."""
    reached = probabilities >= np.linspace(0, 1, 201)[:, None]
    return float((2 * (reached & gold).sum(1) / np.maximum(1, reached.sum(1) + gold.sum())).max())


def test_the_threshold_is_the_best_there_is() -> None:
    generator = np.random.default_rng(0)
    away = 0
    for count in (1, 2, 5, 30, 200):
        for _ in range(10):
            gold = generator.random(count) < generator.random()
            probabilities = np.clip(0.3 * gold + generator.random(count) * generator.random(), 0, 1).round(2)
            threshold = best_threshold(gold, probabilities)
            found = f1_score(gold, probabilities >= threshold, zero_division=0)
            assert found == pytest.approx(best_by_trying(gold, probabilities))
            away += threshold != 0.5
    assert away > 20


@pytest.mark.parametrize(
    ("gold", "probabilities", "expected"),
    [
        ([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], 0.5),  # anything between is as good
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9], 0.25),
        ([0, 0, 0, 1], [0.1, 0.6, 0.7, 0.9], 0.8),
        ([0, 0, 0], [0.1, 0.6, 0.7], 0.5),  # no row has it: nothing to choose by
        ([1, 1], [0.2, 0.3], 0.1),
        ([1, 1], [0.7, 0.8], 0.5),
        ([1, 0, 1, 0], [0.3, 0.3, 0.3, 0.3], 0.15),
    ],
)
def test_thresholds_by_hand(gold: list[int], probabilities: list[float], expected: float) -> None:
    assert best_threshold(np.array(gold) == 1, np.array(probabilities)) == pytest.approx(expected)


def test_thresholds_are_chosen_by_label_and_decide() -> None:
    rows = [row("a"), row("a", "b"), row("b"), row()]
    task = made_up(rows)
    given = ([1, -2, -9, -9], [3, -1, -9, -9], [4, -5, -9, -9], [0, -6, -9, -9])
    logits = [np.array(row, dtype=np.float32) for row in given]
    features = [Feature(row=index) for index in range(4)]
    before = task.decode(logits, features, rows)
    assert [answer.value for answer in before] == [["b"]] * 4
    chosen = task.calibrate(before, rows)
    tuned = configured(task, chosen)
    assert [answer.value for answer in tuned.decode(logits, features, rows)] == [["a"], ["b", "a"], ["b"], []]
    between = [(np.tanh(x / 2) + np.tanh(y / 2) + 2) / 4 for x, y in ((1, 3), (-5, -2))]
    assert chosen["thresholds"] == pytest.approx([*between, 0.5, 0.5], abs=1e-6)
    assert tuned.calibrate(before, rows) == {}  # what was given is kept


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        ([0.5, 0.5], r"'thresholds' has 2 numbers, and toy-letters has 4 labels\. Give one for each of b, a, c/d, e"),
        ([0.5, 0.5, 0.5, 1.5], "input should be less than or equal to 1"),
        ("0.5", "'thresholds' is '0.5'"),
        ([0.5, 0.5, 0.5, "0.5"], "input should be a valid number"),
    ],
)
def test_wrong_thresholds_are_named(thresholds: Any, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        configured(made_up([]), {"thresholds": thresholds})


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (row("a", "x"), r"row 'r' has the labels a, x; allowed are, each once: b, a, c/d, e"),
        (row("a", "a"), r"row 'r' has the labels a, a; allowed are, each once"),
        (MultiLabelRow(id="r", text="", pair="", gold=()), r"row 'r' is pair, unlike the first row"),
    ],
)
def test_wrong_rows_are_named(wrong: MultiLabelRow, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        made_up([row("a"), wrong]).load(Source(), "train")


def test_answers_of_a_file_are_checked() -> None:
    task = made_up([])
    assert task.fits(["e", "b"], row())
    assert task.fits([], row())
    for wrong in (["x"], ["a", "a"], "a", [["a"]], {"a": 1}, None):
        assert not task.fits(wrong, row())


def test_the_loss_by_hand_and_in_any_company(tiny_bert: Path) -> None:
    backbone, _ = load_backbone(tiny_bert, Recipe(task="any"))
    head = MultiLabelHead(backbone, LABELS)
    logits, labels = torch.randn(3, 4), torch.tensor([[0, 1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]])
    p = logits.sigmoid()
    expected = -(labels * p.log() + (1 - labels) * (1 - p).log()).sum()
    assert float(head.loss(logits, labels)) == pytest.approx(float(expected), abs=1e-4)

    trainer, features = build(labels_task(), tiny_bert, Train(dropout=0.0))
    model = trainer.model.eval()
    assert len({len(feature) for feature in features[:8]}) > 3
    batch = collate(features[:8], pad_id=0)
    parts = [collate([feature], pad_id=0) for feature in features[:8]]
    with torch.no_grad():
        together = model.head.loss(model(*batch.inputs()), batch.labels)
        alone = sum(float(model.head.loss(model(*part.inputs()), part.labels)) for part in parts)
    assert float(together) == pytest.approx(alone, abs=1e-4)


def test_labels_of_features_and_how_they_are_shown(tiny_bert: Path) -> None:
    rows = [row("e", "b"), row(), MultiLabelRow(id="", text="a dog")]
    task = made_up(rows)
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 16)
    assert [feature.label for feature in features] == [[1, 0, 0, 1], [0, 0, 0, 0], None]
    assert [task.shown_label(feature, []) for feature in features] == ["b, e", "none", "none"]


def test_long_texts_are_read_in_windows(tiny_bert: Path) -> None:
    rows = [
        MultiLabelRow(id=one.id, text=one.text, gold=("e",) if one.gold == "yes" else ("b", "a"))
        for one in late_task().load(Source(), "train").rows
    ]
    settings = Train(learning_rate=2e-3, epochs=8, batch_size=16, dropout=0.0)
    scores = {}
    for windows in (False, True):
        _, _, progress = fit(made_up(rows, windows=windows), tiny_bert, settings)
        scores[windows] = progress.epochs[-1]["scores"]["dev"]["exact match"]
        assert len(build(made_up(rows, windows=windows), tiny_bert, settings)[1]) == (128 if windows else 64)
    assert scores[True] == 1.0
    assert scores[False] <= 0.5


def test_baselines_learn_what_words_give_away() -> None:
    seen = [row("a", text="a red cat"), row("a", "b", text="a red dog"), row(text="the moon flew")] * 10
    seen += [row("a", text="red")] * 11
    given = made_up(seen).baselines(seen, [row(text="a dog"), row(text="the moon"), row(text="red cat")])
    assert [answer.value for answer in given["majority"]] == [["a"]] * 3
    assert [answer.value for answer in given["tfidf-logistic"]] == [["b", "a"], [], ["a"]]
    for answer in given["tfidf-logistic"]:
        assert answer.probabilities is not None
        assert answer.probabilities[2:] == [0.0, 0.0]  # labels that no row had
    gold = np.array([[True, False], [True, True]])
    assert baselines.tfidf_multilabel([("?",), ("!",)], gold, [("x",)]).tolist() == [[1.0, 0.5]]


def test_texts_too_long_for_memory_are_drawn_from_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [(text,) for text in sentences(60)]
    rows = [row("a", "b") if "cat" in text else row("b") for (text,) in texts]
    rows = [replace(one, text=text) for one, (text,) in zip(rows, texts, strict=True)]
    task = made_up(rows)
    gold = np.array([["cat" in text.split(), True] for (text,) in texts])
    assert list(baselines.read_rows(texts)) == list(range(60))
    evaluation = Evaluation(task=task, rows={"train": rows, "dev": rows}, features={"dev": []})
    found = Evaluated(task=task, answers={}, scores={}, chosen={})
    assert evaluation.remarks(found) == []
    size = sum(len(text) for (text,) in texts)
    monkeypatch.setattr(baselines, "MOST_CHARACTERS", size // 2)
    read = baselines.read_rows(texts)
    assert len(read) < 60
    assert sum(len(texts[index][0]) for index in read) <= size // 2
    assert evaluation.remarks(found) == [f"TF-IDF read {len(read)} of the 60 training rows, drawn at random"]
    probabilities = baselines.tfidf_multilabel(texts, gold, texts[:5])
    assert probabilities.shape == (5, 2)
    assert probabilities[:, 1].tolist() == [1.0] * 5


def test_tfidf_reads_every_row_of_a_large_set() -> None:
    """A word that one row of 30,000 has is known."""
    texts = [("a dull film",)] * 15_000 + [("a good film",)] * 15_000
    texts[7] = ("splendid splendid splendid",)
    answers, chances, classes = baselines.tfidf_classify(
        texts, ["bad"] * 15_000 + ["fine"] * 15_000, [("splendid",), ("dull",)]
    )
    assert answers == ["bad", "bad"]
    assert chances[0, classes.index("bad")] > 0.5
    assert len(baselines.read_rows(texts)) == 30_000


def test_labels_with_a_slash_are_groups_of_their_own() -> None:
    rows = [row("c/d"), row("a")]
    scores = made_up(rows).score([Answer(value=["c/d"]), Answer(value=[])], rows)
    record: Any = type("Record", (), {"scores": {"dev": scores}})
    table = groups_table(record)
    console = Console(width=100, record=True)
    console.print(table)
    line = next(line for line in console.export_text().splitlines() if "c/d" in line)
    assert line.split("│")[2:5] == [" c/d   ", " 100.0 ", "     100.0 "]


def test_a_row_without_labels_first_can_be_scored_by_the_metric() -> None:
    rows = [row(), row("a", "b")]
    metric = TaskMetric(made_up(rows), rows)
    found = metric.compute(predictions=[Answer(value=[]), Answer(value=["b"])], references=range(2))
    assert found["exact match"] == 0.5
    assert found["b/f1"] == 1.0


def guessed(count: int, generator: np.random.Generator) -> tuple[list[MultiLabelRow], list[Answer]]:
    """Rows with a tenth of the labels each, and probabilities that know nothing of them."""
    gold = [[label for label in LABELS if generator.random() < 0.1] for _ in range(count)]
    rows = [MultiLabelRow(id=str(i), text=f"text {i}", gold=tuple(labels)) for i, labels in enumerate(gold)]
    chances = generator.random((count, len(LABELS)))
    return rows, made_up(rows).decided([Answer(value=[], probabilities=row.tolist()) for row in chances])


def test_thresholds_are_scored_on_rows_that_did_not_choose_them() -> None:
    """With few rows the best threshold of a guess looks good on these rows, and is not on others."""
    generator = np.random.default_rng(0)
    own, fitted, new = [], [], []
    for _ in range(40):
        rows, answers = guessed(50, generator)
        task = made_up(rows)
        tuned = configured(task, task.calibrate(answers, rows))
        others, theirs = guessed(1000, generator)
        own.append(task.score(tuned.decided(answers), rows)["micro f1"])
        fitted.append(task.score(cross_fitted(task, answers, rows), rows)["micro f1"])
        new.append(task.score(tuned.decided(theirs), others)["micro f1"])
    assert np.mean(own) > np.mean(new) + 0.08
    assert np.mean(fitted) == pytest.approx(np.mean(new), abs=0.02)


def test_folds_depend_on_what_rows_say_alone() -> None:
    rows = [row(text=text) for text in [*sentences(23), *sentences(5)]]
    found = folds(rows)
    assert sorted(index for fold in found for index in fold) == list(range(28))
    assert max(map(len, found)) <= 10
    assert all((23 + i in fold) == (i in fold) for fold in found for i in range(5))  # equal texts
    turned = folds(rows[::-1])
    assert [sorted(27 - index for index in fold) for fold in turned] == found
    few = [row("a"), row("a")]  # equal, so that no other row can choose
    answers = [Answer(value=[], probabilities=[0.1, 0.9, 0.4, 0.2])] * 2
    assert [answer.value for answer in cross_fitted(made_up(few), answers, few)] == [["a"]] * 2


def test_what_other_splits_and_baselines_are_answered_by() -> None:
    """On test, dev's thresholds decide: the model's for the model, the baseline's for the baseline."""
    generator = np.random.default_rng(1)
    rows = {split: guessed(60, generator)[0] for split in ("train", "dev", "test")}
    task = replace(made_up(rows["dev"]), dev_splits=("dev", "test"))
    features = {split: [Feature(row=index) for index in range(60)] for split in task.dev_splits}
    logits = {id(some): list(generator.normal(-1, 1, (60, len(LABELS)))) for some in features.values()}
    evaluation = Evaluation(task=task, rows=rows, features=features)
    engine: Any = type("Guessing", (), {"logits": lambda self, given: logits[id(given)]})()
    found = evaluation(engine)
    tuned = configured(task, found.chosen)
    assert found.answers["test"] == tuned.decode(logits[id(features["test"])], features["test"], rows["test"])
    assert found.answers["dev"] != tuned.decode(logits[id(features["dev"])], features["dev"], rows["dev"])
    methods = evaluation.baselines(rows["train"], found)
    given = {split: task.baselines(rows["train"], rows[split])["tfidf-logistic"] for split in task.dev_splits}
    theirs = configured(task, task.calibrate(given["dev"], rows["dev"]))
    assert methods["test"]["tfidf-logistic"] == theirs.decided(given["test"]) != given["test"]
    assert methods["dev"]["tfidf-logistic"] == cross_fitted(task, given["dev"], rows["dev"])
    assert methods["dev"]["majority"] == task.baselines(rows["train"], rows["dev"])["majority"]


def own_run(encoder: Path, folder: Path, **settings: Any) -> RunRecord:
    """A run of the file above."""
    (folder / "several.py").write_text(OWN)
    train = Train(learning_rate=1e-3, epochs=2, batch_size=8, dropout=0.0)
    recipe = Recipe(task=f"{folder / 'several.py'}:several", model=str(encoder), max_length=16, train=train)
    return run(
        recipe.with_settings(settings, origin="test"),
        source=Source(),
        out=folder / "results",
        watch=lambda *_, **__: None,
        device="cpu",
    )


def test_seeds_of_one_recipe_are_one_group_whatever_thresholds_they_chose(tiny_bert: Path, tmp_path: Path) -> None:
    records = [own_run(tiny_bert, tmp_path, seed=seed) for seed in (1, 2)]
    assert records[0].options["thresholds"] != records[1].options["thresholds"]
    assert [record.chosen for record in records] == [["thresholds"]] * 2
    assert len(groups(records)) == 1
    assert summary_lines(records) == []
    even = [0.5, 0.5, 0.5]
    given = own_run(tiny_bert, tmp_path, seed=1, options={"thresholds": even})
    assert (given.chosen, given.options["thresholds"]) == ([], even)
    assert [len(group) for group in groups([*records, given])] == [2, 1]


def test_a_run_saves_its_thresholds_and_the_model_uses_them(tiny_bert: Path, tmp_path: Path) -> None:
    record = own_run(tiny_bert, tmp_path)
    folder = tmp_path / "results" / "several" / record.id
    thresholds = record.options["thresholds"]
    assert len(thresholds) == 3
    assert thresholds[2] == 0.5 != thresholds[0]
    assert load_config(folder / "model").finetune["options"] == {"windows": False, "thresholds": thresholds}
    assert load_config(folder / "model").problem_type == "multi_label_classification"

    predictor = load(folder, task=find(record.recipe["task"]))
    rows = predictor.task.load(Source(), "dev").rows
    answers = predictor.answers(rows)
    lines = read_predictions(folder / "predictions-dev.parquet")
    assert np.allclose([answer.probabilities for answer in answers], [line["probabilities"] for line in lines])
    even = replace(predictor.task, thresholds=None)
    assert even.calibrate(answers, rows)["thresholds"] == pytest.approx(thresholds)
    fitted = cross_fitted(even, answers, rows)
    assert [answer.value for answer in fitted] == [line["answer"] for line in lines]
    assert [answer.value for answer in fitted] != [answer.value for answer in answers]
    assert even.score(fitted, rows) == pytest.approx(record.scores["dev"], abs=1e-9)
    assert record.scores["dev"]["macro f1"] < even.score(answers, rows)["macro f1"]
    said = "dev: the thresholds for each row, of the baselines too, were chosen on other rows of dev"
    assert any(note.startswith(said) for note in record.notes)
    assert record.cross_fitted
    assert record.baselines["dev"].keys() == {"majority", "tfidf-logistic"}
    baseline = even.baselines(rows, rows)["tfidf-logistic"]
    expected = even.score(cross_fitted(even, baseline, rows), rows)
    assert record.baselines["dev"]["tfidf-logistic"] == pytest.approx(expected)
    assert predictor(*rows[1].texts).value == answers[1].value
