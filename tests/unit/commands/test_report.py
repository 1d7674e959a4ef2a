"""`finetune report`: its numbers are those of scikit-learn and of the record, its rows in order, its texts escaped."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import classification_report, precision_recall_fscore_support
from support.records import change_record, save_predictions, save_run
from support.reports import NASTY, _read, facts_of, nasty_tasks, read, report, saved_run
from support.toys import cat_rows, cat_task

from finetune.commands.report.content import read_run_files
from finetune.commands.report.split import by_support, class_block, confusion_block, rows_block
from finetune.runs.folder import RunFolder, read_predictions
from finetune.runs.record_files import load_record
from finetune.runs.verdict import verdict_of
from finetune.task_types import SentenceRow
from finetune.task_types.classification.own import Classification
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from finetune.task_types.saved_predictions import labelled_table

OTHER = {"yes": "no", "no": "yes"}


def classified(names: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of classes of different sizes; the last is never predicted."""
    draw, lines = np.random.default_rng(0), []
    for _ in range(300):
        gold = draw.choice(len(names), p=np.arange(len(names), 0, -1) / sum(range(len(names) + 1)))
        chances = draw.dirichlet(1 + 3 * np.eye(len(names))[gold]) * ([1] * (len(names) - 1) + [1e-6])
        lines.append({"text": "t", "gold": names[gold], "prediction": names[int(chances.argmax())]})
    return lines


def labelled() -> list[dict[str, Any]]:
    """Rows with any of three labels, predicted from different thresholds."""
    draw, lines = np.random.default_rng(1), []
    for _ in range(300):
        there = draw.random(3) < [0.5, 0.3, 0.1]
        both = (there, 0.35 * there + 0.6 * draw.random(3) > [0.5, 0.4, 0.6])
        gold, prediction = ([name for name, yes in zip("xyz", some, strict=True) if yes] for some in both)
        lines.append({"text": "t", "gold": gold, "prediction": prediction})
    return lines


@pytest.mark.parametrize(("lines", "names"), [(classified("abcn"), "abcn"), (labelled(), "xyz")])
def test_classes_and_averages_are_those_of_scikit_learn(lines: list[dict[str, Any]], names: str) -> None:
    table = labelled_table(None, [{"id": str(at), **line} for at, line in enumerate(lines)], names=list(names))
    assert table is not None
    (block,) = class_block(table)
    there, given = ([[name in line[side] for name in names] for line in lines] for side in ("gold", "prediction"))
    expected = {}
    for kind in ("macro", "weighted"):
        scores = precision_recall_fscore_support(np.array(there), np.array(given), average=kind, zero_division=0)
        expected[f"{kind} average"] = scores[:3]
    of_each = classification_report(there, given, target_names=list(names), output_dict=True, zero_division=0)
    expected |= {name: [of_each[name][key] for key in ("precision", "recall", "f1-score")] for name in names}
    found = {row[0]: [float(cell.replace(",", "")) for cell in row[1:]] for row in block.cells}
    assert {*found} == {*expected} and block.columns[1:] == ["support", "f1", "precision", "recall", "predicted"]
    for name, (support, f1, precision, recall, predicted) in found.items():
        assert [precision, recall, f1] == pytest.approx([100 * one for one in expected[name]], abs=0.051), name
        if name in names:
            place = names.index(name)
            assert (support, predicted) == (sum(row[place] for row in there), sum(row[place] for row in given))


def test_classes_and_confusion_of_ordered_labels_are_in_their_order() -> None:
    pairs = [("low", "low"), ("low", "high"), ("medium", "low"), ("high", "high"), ("high", "medium")]
    lines = [{"text": "a cat", "gold": gold, "prediction": answer} for gold, answer in pairs]
    table = labelled_table(Classification(), lines, order=("low", "medium", "high"))
    assert table is not None and by_support(table) == ["low", "medium", "high"]
    (block,) = confusion_block(table, "dev")
    assert block.matrix is not None
    counts = [(label, line) for label, _, _, line in block.matrix["down"]]
    assert counts == [("low", [1, 0, 1]), ("medium", [1, 0, 0]), ("high", [0, 1, 1])]


def test_rows_are_ordered_by_error_then_doubt_then_confidence(tmp_path: Path) -> None:
    rows, wrong = cat_rows(64), {3: 0.55, 9: 0.95}  # the confidence of an error
    answers = []
    for at, (row, sure) in enumerate(zip(rows, np.linspace(0.6, 0.8, len(rows)).tolist(), strict=True)):
        value, chance = (OTHER[row.gold], wrong[at]) if at in wrong else (row.gold, sure)
        answers.append(
            Answer(value=value, probabilities=[1 - chance, chance] if value == "yes" else [chance, 1 - chance])
        )
    save_predictions(tmp_path / "p.parquet", cat_task(rows), rows, answers)
    table = labelled_table(None, read_predictions(tmp_path / "p.parquet"), names=cat_task().labels)
    assert table is not None
    block = rows_block(table, "dev", 10**6)
    assert block.filters is not None
    shown = block.filters["data"]["rows"]
    assert [row[0] for row in shown[:2]] == [9, 3] and len(shown) == 64
    assert [row[10] < 20 for row in shown[2:]] == [True] * 18 + [False] * 44
    assert [any("probability of the label" in fact for fact in row[7]) for row in shown] == [True] * 20 + [False] * 44
    for part in (shown[2:20], shown[20:]):
        assert (np.diff([row[5] for row in part]) <= 0).all()


def test_every_shape_has_a_page_with_all_of_its_rows(shapes: dict[str, Path], tmp_path: Path) -> None:
    for folder in shapes.values():
        found, table = read(report(tmp_path, folder)), labelled_table(None, _read(folder))
        assert table is not None
        own = {
            "By class": table.classes,
            "Confusion": any(table.pairs) and not table.several,
            "Calibration": len(table.decided),
        }
        titles = {"Scores on dev", "Loss and score", "Settings and facts", "Rows"}
        for title in titles | {title for title, shown in own.items() if shown}:
            assert title in found.text, (folder, title)
        assert found.data[0]["total"] == len(found.data[0]["rows"]) == len(table)


def test_markup_in_data_stays_text(tmp_path: Path) -> None:
    runs = []
    for task, rows, answers in nasty_tasks():
        methods = {NASTY: [Answer(value=answer.value) for answer in answers]}
        runs.append(saved_run(tmp_path, task, rows, answers, baselines=methods))
    page = report(tmp_path, *runs)
    found = read(page)
    assert [word for word in ("<script>alert", "<img", "\u202e", "\x07") if word in page] == []
    assert found.text.count("<script>alert(1)</script>") > 20
    assert NASTY.replace("\u202e", "\ufffd").replace("\x07", "\ufffd") in json.dumps(found.data, ensure_ascii=False)


def test_no_folder_of_the_machine_is_named(tmp_path: Path) -> None:
    task, rows = cat_task(), cat_rows(8)
    folder = saved_run(tmp_path, task, rows, task.labels_of(rows))
    record, private = load_record(folder / "record.json"), "/home/ann lee/secret plans/reviews.csv"
    change_record(
        folder / "record.json", model="/data/private/encoder",
        data_origin={"train": private, "dev": "C:\\Users\\ann\\dev.csv"},
        recipe=record.recipe | {"task": private, "options": {"split": "~/notes/split.json"}},
        notes=[f"{private}: 3 rows", "see /var/lib/secret/notes.txt, and and/or 3/4", "a relative data/file.csv"],
    )  # fmt: skip
    page = report(tmp_path, folder)
    hidden = ("secret", "private", "Users", "/home", "~/notes", str(tmp_path))
    assert [word for word in hidden if word in page] == []
    for word in ("reviews.csv: 3 rows", "notes.txt, and and/or 3/4", "data/file.csv", "encoder", "split.json"):
        assert word in page, word


def test_groups_of_seeds_are_compared_with_what_differs_and_the_verdict_is_that_of_the_record(tmp_path: Path) -> None:
    task, folders = find("rte"), []
    rows = [SentenceRow(id=str(i), text=f"text {i}", pair="b", gold=task.labels[i % 2]) for i in range(60)]
    for frozen, seed, wrong in ((False, 1, 0), (False, 2, 0), (True, 1, 18), (True, 2, 18)):
        golds = [row.gold for row in rows]
        answers = [Answer(value=golds[i + 1 if i % 2 == 0 else i - 1] if i < wrong else golds[i]) for i in range(60)]
        folders.append(save_run(tmp_path, task, rows, answers, **facts_of(task, task.score(answers, rows), seed)))
        record = load_record(folders[-1] / "record.json")
        change_record(folders[-1] / "record.json", recipe=record.recipe | {"frozen": frozen})
    page = report(tmp_path, *folders)
    assert re.search(r">frozen</th><td[^>]*>False</td><td[^>]*>True</td>", page)
    assert "B is worse than A in dev accuracy: B - A is -30.0 points (95 % -" in read(page).text
    better = read(report(tmp_path, folders[2], folders[0])).text
    assert "B is better than A in dev accuracy: B - A is +30.0 points (95 % +" in better
    assert "One seed on a side: this compares models, not training methods." in better
    assert page.count("<h3>Settings and facts</h3>") == 4
    assert report(tmp_path, folders[0], folders[0]).count("<h3>Settings and facts</h3>") == 1
    record = load_record(folders[0] / "record.json")
    assert verdict_of([read_run_files(RunFolder(folders[0])).record]) == verdict_of([record])
