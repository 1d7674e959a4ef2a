"""What a report says of several runs: A and B compared, seeds, what runs share."""

import re
from pathlib import Path
from typing import Any

from support.records import change_record, save_run
from support.reports import facts_of, read, report, saved_run
from support.toys import cat_rows, cat_task

from finetune.runs.record_files import load_record
from finetune.task_types import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find


def saved_runs(tmp_path: Path, *runs: tuple[dict[str, Any], int, int]) -> list[Path]:
    """Runs on 60 rows, each with settings of its recipe, its seed, and the number of the first rows that are wrong."""
    task = find("rte")
    rows = [SentenceRow(id=str(i), text=f"text {i}", pair="b", gold=task.labels[i % 2]) for i in range(60)]
    other = {task.labels[0]: task.labels[1], task.labels[1]: task.labels[0]}
    folders = []
    for settings, seed, wrong in runs:
        answers = [Answer(value=other[a.value] if i < wrong else a.value) for i, a in enumerate(task.labels_of(rows))]
        folders.append(save_run(tmp_path, task, rows, answers, **facts_of(task, task.score(answers, rows), seed)))
        record = load_record(folders[-1] / "record.json")
        change_record(folders[-1] / "record.json", recipe=record.recipe | settings)
    return folders


def test_two_groups_of_seeds_are_compared_with_what_differs_and_one_sign(tmp_path: Path) -> None:
    """B is worse: the sentence and the table both have a minus."""
    right, worse = ({"frozen": False}, 0), ({"frozen": True}, 18)
    folders = saved_runs(tmp_path, *((some, seed, wrong) for some, wrong in (right, worse) for seed in (1, 2)))
    page = report(tmp_path, *folders)
    assert re.search(r">frozen</th><td[^>]*>False</td><td[^>]*>True</td>", page)
    found = read(page).text
    assert "B is worse than A in dev accuracy: B - A is -30.0 points (95 % -" in found
    assert "-30.0" in found.partition("rows needed (80")[2][:200]
    assert "this compares models" not in found
    for some in ((folders[0], folders[2]), folders[:3]):
        assert "One seed on a side: this compares models, not training methods." in read(report(tmp_path, *some)).text


def test_two_settings_are_compared_with_the_rows_that_changed(tmp_path: Path) -> None:
    rates = ({"train": {"learning_rate": rate}} for rate in (1e-5, 2e-5))
    folders = saved_runs(tmp_path, *((some, 1, wrong) for some, wrong in zip(rates, (20, 2), strict=True)))
    page = report(tmp_path, *folders)
    found = read(page)
    assert "B is better than A in dev accuracy: B - A is +30.0 points (95 % +" in found.text
    assert page.index(">A</a>: ") < page.index("A and B compared")


def test_counts_have_their_noun(tmp_path: Path) -> None:
    task, (row, *_) = cat_task(), cat_rows(8)
    folders = [saved_run(tmp_path, task, [row], task.labels_of([row]), seed=seed) for seed in (1, 2)]
    for folder in folders:
        change_record(folder / "record.json", rows={"train": 1, "dev": 1})
    text = read(report(tmp_path, *folders)).text
    assert "1 row; all scores" in text and "0 of 1 row have an error" in text
    assert "1 rows" not in text
    assert "at the defaults of a recipe" in text
