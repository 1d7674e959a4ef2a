"""Reports: a page of every task type, and what cannot be reported."""

import json
import re
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT
from support.reports import NASTY, _read, nasty_tasks, read, report, saved_run
from support.toys import cat_rows, cat_task, labels_task, tag_task

from finetune.commands.report import report as written_report
from finetune.errors import UserError
from finetune.metrics.scores import precision_recall_f1
from finetune.runs.record import RunRecord
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.saved_predictions import labelled_table
from finetune.task_types.types import type_of


def test_classes_have_the_scores_of_the_record(shapes: dict[str, Path]) -> None:
    for name, task in (("toy-tags-sentence", tag_task()), ("toy-labels", labels_task())):
        record = RunRecord.model_validate_json((shapes[name] / "record.json").read_text())
        table = labelled_table(type_of(task), _read(shapes[name]), names=getattr(task, "labels", ()))
        assert table is not None
        for label, (there, answered, right) in table.classes.items():
            f1 = precision_recall_f1(right, answered, there)[2]
            assert record.scores["dev"][f"{label}/f1"] == pytest.approx(f1)


def test_every_shape_has_a_page(shapes: dict[str, Path], tmp_path: Path) -> None:
    cards = {"Scores on dev", "Loss and score", "Settings and facts", "Rows"}
    for folder in shapes.values():
        found, table = read(report(tmp_path, folder)), labelled_table(None, _read(folder))
        assert table is not None
        own = {
            "By class": table.classes, "Confusion": any(table.pairs) and not table.several,
            "Calibration": len(table.decided),
        }  # fmt: skip
        for title in cards | {title for title, shown in own.items() if shown}:
            assert title in found.text, (folder, title)
        assert found.data[0]["total"] == len(found.data[0]["rows"]) == len(table)
        charts = sum(f"\n{title}\n" in found.text for title in ("Loss and score", "Calibration"))
        assert found.tags.count("svg") == charts > 0


def test_every_chart_says_in_words_what_it_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    read(text)
    charts = re.findall(r"<svg [^>]*>(?:<title>.*?</title>)?", text)
    assert all('role="img" aria-label="' in chart and "<title>" in chart for chart in charts)
    assert len(charts) > 18
    assert not re.search(r"<svg[^§]*?(fill|stroke)[=:] ?\"?#", text[text.index("<body>") :])  # colours are the page's


def test_several_seeds_are_one_group(tmp_path: Path) -> None:
    task, rows = cat_task(), cat_rows(64)
    gold = task.labels_of(rows)
    for seed, wrong in ((1, 4), (2, 8), (3, 12)):
        answers = [Answer(value="no" if i < wrong else a.value, probabilities=[0.5, 0.5]) for i, a in enumerate(gold)]
        saved_run(tmp_path, task, rows, answers, seed=seed)
    text = read(report(tmp_path, *tmp_path.glob("toy-cats/*"))).text
    assert "3 runs" in text
    scores = [task.score([Answer(value="no")] * n + gold[n:], rows)["accuracy"] for n in (4, 8, 12)]
    assert f"{100 * np.mean(scores):.1f}" in text


def test_the_same_run_is_shown_once(shapes: dict[str, Path], tmp_path: Path) -> None:
    folder = shapes["toy-cats"]
    page = report(tmp_path, folder, folder.name, "toy-cats", out=folder.parents[1])
    assert page.count("<h3>Settings and facts</h3>") == 1


def test_markup_in_data_stays_text(tmp_path: Path) -> None:
    runs = []
    for task, rows, answers in nasty_tasks():
        methods = {NASTY: [Answer(value=answer.value) for answer in answers]}
        runs.append(saved_run(tmp_path, task, rows, answers, baselines=methods))
    page = report(tmp_path, *runs)
    found = read(page)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert found.text.count("<script>alert(1)</script>") > 20
    assert "\u202e" not in page
    assert "\x07" not in page
    assert NASTY.replace("\u202e", "\ufffd").replace("\x07", "\ufffd") in json.dumps(found.data, ensure_ascii=False)


def test_a_record_alone_gives_a_page_that_says_what_is_missing(tmp_path: Path) -> None:
    tasks = sorted((ROOT / "results").glob("*/"))
    kept = [file for task in tasks for file in sorted(task.glob("*/record.json"))[:3]]
    assert len(kept) > 10
    found = read(report(tmp_path, *(file.parent for file in kept)))
    assert "predictions-dev.parquet" in found.text


def test_what_cannot_be_reported_is_said_in_a_line(shapes: dict[str, Path], tmp_path: Path) -> None:
    def refused(*runs: str | Path, to: Path = tmp_path / "r.html") -> str:
        with pytest.raises(UserError) as raised:
            written_report(*(str(run) for run in runs), path=to, force=True, out=tmp_path)
        return str(raised.value)

    assert "names no finished run" in refused("nothing")
    assert "names no finished run" in refused(tmp_path)
    (tmp_path / "mine.csv").write_text("text,label\na,b\n")
    assert f"Train one: finetune run {tmp_path / 'mine.csv'}" in refused(tmp_path / "mine.csv")
    broken = Path(shutil.copytree(shapes["toy-cats"], tmp_path / "toy-cats" / "aaaa"))
    (broken / "predictions-dev.parquet").write_bytes(b"PAR1 no more")
    assert "cannot be read" in refused(broken)
    write_predictions_without_gold(broken / "predictions-dev.parquet")
    assert "gold and prediction" in refused(broken)
    (broken / "record.json").write_text("{")
    assert "record.json" in refused(broken)
    assert "not a regular file" in refused(shapes["toy-cats"], to=tmp_path)
    assert "cannot be written" in refused(shapes["toy-cats"], to=tmp_path / "no" / "folder.html")
    assert not (tmp_path / "r.html").exists()


def write_predictions_without_gold(file: Path) -> None:
    """A Parquet file that no run wrote."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist([{"id": "1", "text": "a"}]), file)


def test_without_the_extra_it_is_named(
    shapes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UserError, match=r"pip install 'bert-finetune\[report\]'"):
        report(tmp_path, shapes["toy-cats"])


@pytest.mark.nightly
def test_many_rows_take_seconds_and_little_room(tmp_path: Path) -> None:
    count, labels = 30_000, tuple(f"label {number}" for number in range(80))
    rows = [SentenceRow(id=str(i), text=f"the cat {i} " * (1 + i % 30), gold=labels[i % 80]) for i in range(count)]
    even = [1 / 80] * 80
    answers = [Answer(value=labels[(i * 7) % 80], probabilities=even) for i in range(count)]
    folder = saved_run(tmp_path, replace(cat_task(rows), labels=labels), rows, answers, losses=[0.5] * 50_000)
    started = time.process_time()
    page = report(tmp_path, folder)
    assert time.process_time() - started < 30  # about 3
    assert len(page.encode()) < 5_000_000
    found = read(page)
    assert len(found.data[0]["rows"]) < found.data[0]["total"] == count
    assert "The page has room for" in found.text
