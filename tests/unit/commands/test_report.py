"""`finetune report`: its numbers are those of scikit-learn and of the record, its rows in order, its texts escaped."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import classification_report, precision_recall_fscore_support
from support.records import change_record, save_run
from support.reports import NASTY, facts_of, nasty_tasks, read, report, saved_run
from support.toys import cat_rows, cat_task

from finetune.commands.report.split import class_block
from finetune.runs.record_files import load_record
from finetune.task_types import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from finetune.task_types.saved_predictions import labelled_table


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


def test_groups_of_seeds_are_compared_with_what_differs(tmp_path: Path) -> None:
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
