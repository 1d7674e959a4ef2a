"""The learning curve over the size of the data, and its answer."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records import change_record, run
from support.reports import read, report, saved_run
from support.toys import cat_rows, cat_task

from finetune.analysis.data_sizes import (
    Gain,
    ShareOfRows,
    curves_of,
    forecast,
    last_gain,
    learning_curves,
    more_labels,
    worth_words,
)
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.task_types.parts import Answer


def record(score: float, share: float, seed: int = 1, **facts: Any) -> RunRecord:
    made = run(score, seed=seed, majority=0.4)
    changed = {"recipe": made.recipe | {"train_share": share}, "rows": {**made.rows, "train": round(1_000 * share)}}
    return made.model_copy(update={"id": f"{round(100 * share)}-{seed}", **changed, **facts})


def test_sizes_are_in_order_with_the_mean_of_their_seeds() -> None:
    records = [
        record(s, share, seed) for s, share, seed in ((0.9, 1.0, 1), (0.5, 0.1, 1), (0.7, 0.1, 2), (0.8, 1.0, 2))
    ]
    (sizes,) = curves_of(records)
    assert [(size.share, size.rows, round(size.verdict.score, 3)) for size in sizes] == [
        (0.1, 100, 0.6),
        (1, 1_000, 0.85),
    ]
    assert [size.baseline for size in sizes] == [pytest.approx(0.4)] * 2
    assert curves_of(records[1:3]) == []
    assert curves_of([records[0], record(0.5, 0.1, data="other rows")]) == []


def test_runs_no_better_than_a_constant_are_counted() -> None:
    records = [record(0.4, 0.1), record(0.5, 0.1, 2), record(0.7, 1.0), record(0.8, 1.0, 2)]
    (curve,) = learning_curves(records, {})
    assert curve.columns[-1] == "no better than constant"
    assert [cells[-1] for cells in curve.cells] == ["1 of 2", ""]
    (good,) = learning_curves([record(0.6, 0.1), record(0.7, 1.0)], {})
    assert good.columns[-1] == "best baseline"


def test_the_gain_is_that_of_the_last_doubling() -> None:
    (sizes,) = curves_of([record(0.5, 0.1), record(0.6, 0.5), record(0.7, 1.0)])
    gain = last_gain(sizes, {})
    assert (gain.before.rows, gain.after.rows, gain.doublings) == (500, 1_000, 1)
    assert gain.value == pytest.approx(0.1)
    assert gain.interval is None
    assert "without an interval" in more_labels(gain)


@pytest.mark.parametrize(
    ("interval", "answer"),
    [
        ((0.01, 0.05), "More labels would probably help"),
        ((-0.05, -0.01), "More labels of this kind would probably not help"),
        ((-0.02, 0.004), "More labels would hardly help"),
        ((-0.02, 0.04), "Whether more labels would help is unclear"),
    ],
)
def test_the_answer_follows_the_interval(interval: tuple[float, float], answer: str) -> None:
    (sizes,) = curves_of([record(0.5, 0.5), record(0.6, 1.0)])
    value = sum(interval) / 2
    said = more_labels(Gain(value=value, interval=interval, before=sizes[0], after=sizes[1]))
    assert said.startswith(answer)
    assert "500 to 1,000 rows" in said
    assert "\n" not in said
    texts = [one.model_copy(update={"headline": "perplexity"}) for one in sizes[1].records]
    of_texts = more_labels(
        Gain(value=value, interval=interval, before=sizes[0], after=replace(sizes[1], records=texts))
    )
    assert "labels" not in of_texts and "more text" in of_texts.lower()


def test_a_report_of_several_sizes_draws_the_curve_and_opens_with_the_largest(tmp_path: Path) -> None:
    task, rows = cat_task(), cat_rows(64)
    gold = task.labels_of(rows)
    folders = []
    for share, wrong in ((0.25, 24), (0.5, 16), (1.0, 2)):
        answers = [Answer(value="no" if i < wrong else a.value, probabilities=[0.5, 0.5]) for i, a in enumerate(gold)]
        folders.append(saved_run(tmp_path, task, rows, answers))
        file = folders[-1] / "record.json"
        sizes = {"rows": {"train": int(1_000 * share), "dev": 64}}
        change_record(file, recipe=load_record(file).recipe | {"train_share": share}, **sizes)
    page = report(tmp_path, *folders)
    found = read(page)
    assert "Learning curve of toy-cats" in found.text
    assert "the last doubling (500 to 1,000 rows) raised dev accuracy" in found.text
    assert page.count('<section class="headline') == 1


def sizes_of(power: float, noise: float) -> list[ShareOfRows]:
    """Sizes of runs whose error is the rows to a power, with noise that differs by seed."""
    errors = [
        (share, seed, (1_000 * share) ** power * math.exp(sign * noise))
        for share in (0.1, 0.3, 1.0)
        for seed, sign in ((1, 1), (2, -1))
    ]
    (sizes,) = curves_of([record(1 - error, share, seed) for share, seed, error in errors])
    return sizes


def test_more_rows_are_worth_what_the_power_says() -> None:
    found = forecast(sizes_of(-0.3, 0.01), 1_000)
    assert found is not None
    assert found.value == pytest.approx(1_000**-0.3 - 2_000**-0.3, rel=0.05)
    assert found.interval[0] < found.value < found.interval[1]
    assert worth_words(sizes_of(-0.3, 0.01), 200).startswith("200 more rows would add +")


def test_what_cannot_be_told_is_not_told() -> None:
    assert "cannot be told" in worth_words(sizes_of(-0.1, 0.2), 200)
    (two,) = curves_of([record(0.5, 0.1), record(0.7, 1.0)])
    assert forecast(two, 200) is None
    assert worth_words(two, 200) == "2 runs do not tell what 200 more rows would add to dev accuracy."
