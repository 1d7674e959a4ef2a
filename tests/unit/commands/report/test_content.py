"""What a report computes, against known values: curves, rows, parts of the data, paths, text in charts."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.records import change_record, save_run
from support.reports import facts_of, read, report, saved_run
from support.toys import cat_rows, cat_task

from finetune.analysis.pages.svg import WIDTH, Axis, Mark, chart, round_powers, text_width
from finetune.commands.report.content import read_run_files
from finetune.runs.folder import RunFolder
from finetune.runs.record import without_folders
from finetune.runs.record_files import load_record
from finetune.runs.verdict import verdict_of
from finetune.task_types import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find


def test_labels_of_axes_and_the_legend_stay_in_the_picture() -> None:
    names = ["부정적인 평가 " * 4, "W" * 80, "a"]
    marks = [Mark(points=[(float(i), -float(i))], shape="circle", name=name) for i, name in enumerate(names)]
    drawn = chart((marks, Axis(label="긴 이름 " * 40), 220.0), x=Axis(label="x" * 200), says="a chart")
    for x, anchor, text in re.findall(r'<text x="([-\d.]+)" y="[-\d.]+" text-anchor="(\w+)"[^>]*>([^<]*)<', drawn):
        left = float(x) - text_width(text) * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        assert left >= -1, text
        assert left + text_width(text) <= WIDTH + 1, text


def test_a_chart_of_odd_values_is_drawn() -> None:
    for values in ([0.0, 0.0], [float("nan"), 1.0], [1e15, -1e15], [5.0]):
        points = [(float(at), value) for at, value in enumerate(values) if value == value]
        assert "<svg" in chart(([Mark(points=points, dash="none")], Axis(), 220.0), x=Axis(), says="odd")


def test_nothing_is_drawn_where_there_is_nothing_to_draw(tmp_path: Path) -> None:
    """One epoch and one update, one class, no probabilities."""
    rows = [SentenceRow(id=str(i), text="the cat", gold="yes") for i in range(4)]
    task = cat_task(rows)
    folder = saved_run(tmp_path, task, rows, [Answer(value="yes")] * 4, losses=[0.5])
    record = load_record(folder / "record.json")
    change_record(folder / "record.json", epochs=record.epochs[:1], selected_epoch=1)
    text = read(report(tmp_path, folder)).text
    for title in ("Loss", "by epoch", "Calibration", "Confusion"):
        assert title not in text.partition("Settings")[2], title


def test_all_rows_are_on_the_page_with_what_they_are_found_by(tmp_path: Path) -> None:
    task, rows = cat_task(), cat_rows(64)
    gold = task.labels_of(rows)
    answers = [Answer(value="no" if i < 5 else a.value, probabilities=[0.1, 0.9]) for i, a in enumerate(gold)]
    folder = saved_run(tmp_path, task, rows, answers)
    page = report(tmp_path, folder)
    (data,) = read(page).data
    wrong = [row for row in data["rows"] if row[4] == 0]
    assert len(data["rows"]) == data["total"] == 64
    assert data["rows"][: len(wrong)] == wrong
    assert {row[1] for row in data["rows"]} == {row.id for row in rows}
    assert page.count("data-label=") == 3  # cells of the confusion that have rows
    assert page.count("<h3>Rows</h3>") == 1


def test_the_least_believed_labels_are_listed(tmp_path: Path) -> None:
    task, rows = cat_task(), cat_rows(64)
    chances = {"no": [0.6, 0.4], "yes": [0.4, 0.6]}
    answers = [Answer(value=row.gold, probabilities=chances[row.gold]) for row in rows]
    answers[:5] = [Answer(value="no", probabilities=[0.55, 0.45])] * 5
    folder = saved_run(tmp_path, task, rows, answers)
    page = report(tmp_path, folder)
    assert "labels believed least (20)" in page
    (data,) = read(page).data
    least = [row for row in data["rows"] if row[10] < data["least"]]
    wrong = {row[1] for row in data["rows"] if row[4] == 0}
    assert wrong <= {row[1] for row in least}
    assert all("probability of the label" in row[7][-1] for row in least)


def test_no_folder_of_the_machine_is_named(tmp_path: Path) -> None:
    task, rows = cat_task(), cat_rows(8)
    folder = saved_run(tmp_path, task, rows, task.labels_of(rows))
    record = load_record(folder / "record.json")
    private = "/home/ann lee/secret plans/reviews.csv"
    change_record(
        folder / "record.json", model="/data/private/encoder",
        data_origin={"train": private, "dev": "C:\\Users\\ann\\dev.csv"},
        recipe=record.recipe | {"task": private, "options": {"split": "~/notes/split.json"}},
        notes=[f"{private}: 3 rows", "see /var/lib/secret/notes.txt, and and/or 3/4", "a relative data/file.csv"],
    )  # fmt: skip
    page = report(tmp_path, folder)
    for word in ("secret", "private", "Users", "/home", "~/notes", str(tmp_path)):
        assert word not in page, word
    for word in ("reviews.csv: 3 rows", "notes.txt, and and/or 3/4", "data/file.csv", "encoder", "split.json"):
        assert word in page, word
    assert without_folders(record).notes == record.notes


def test_a_report_has_the_interval_that_show_has(tmp_path: Path) -> None:
    """None for a record from before margins, also where predictions are saved."""
    task = find("rte")
    rows = [SentenceRow(id=str(i), text=f"a {i}", pair="b", gold=task.labels[i % 2]) for i in range(60)]
    gold = task.labels_of(rows)
    bad = [Answer(value=task.labels[0])] * 60
    folder = save_run(
        tmp_path, task, rows, gold, baselines={"majority": bad}, **facts_of(task, task.score(gold, rows), 1)
    )
    record = load_record(folder / "record.json")
    assert "dev" not in record.margins
    assert verdict_of([read_run_files(RunFolder(folder)).record]) == verdict_of([record])


def test_the_confusion_has_the_order_of_the_classes(tmp_path: Path) -> None:
    names = ("rare", "common", "usual")
    rows = [SentenceRow(id=str(i), text="t", gold=names[0 if i < 5 else 1 if i < 40 else 2]) for i in range(60)]
    task = replace(cat_task(rows), labels=names)
    folder = saved_run(tmp_path, task, rows, [Answer(value=row.gold) for row in rows])
    page = report(tmp_path, folder)
    for title in ("By class", "Confusion"):
        body = page.partition(f"<h3>{title}</h3>")[2].partition("<tbody>")[2].partition("</tbody>")[0]
        assert re.findall(r'<th scope="row"[^>]*>(\w+)<', body) == ["common", "usual", "rare"], title


def test_a_logarithmic_axis_has_round_numbers_at_equal_ratios() -> None:
    assert round_powers(1.1, 4.9) == [100, 1_000, 10_000]
    assert round_powers(1.9, 3.1) == [100, 1_000]
    assert round_powers(2.0, 2.2) == [100, 110, 120, 130, 140, 150]
    assert len(round_powers(0, 15)) <= 6
    points = [(float(at), 10.0**at) for at in range(1, 6)]
    drawn = chart(([Mark(points=points, dash="none")], Axis(logarithmic=True), 220.0), x=Axis(), says="")
    (path,) = re.findall(r'd="M([^"]*)" class="line s1"', drawn)
    heights = [float(point.split()[1]) for point in path.split("L")]
    assert np.diff(heights) == pytest.approx([heights[1] - heights[0]] * 4, abs=0.2)
    assert "10,000" in drawn
