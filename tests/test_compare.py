"""Differences: counts that add up to scores, the paired bootstrap and McNemar against libraries, and `compare`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score as sklearn_accuracy
from statsmodels.stats.contingency_tables import mcnemar as theirs_mcnemar
from statsmodels.stats.multitest import multipletests
from toys import choice_task, every_shape, labels_task, save_predictions, span_task

from finetune.analysis.compare import compare
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics import scores as metrics
from finetune.metrics.metric import Metric
from finetune.metrics.significance import Rescored, holm, mcnemar, paired_bootstrap
from finetune.metrics.sums import Counted, mean_counted
from finetune.runs.record import RunRecord
from finetune.task_types.registry import find
from finetune.task_types.sentence.task import SentenceRow
from finetune.task_types.span.answers import SpanAnswer
from finetune.task_types.span.task import SpanTask
from finetune.task_types.task import Answer, Task

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("task", every_shape(), ids=lambda task: task.name)
def test_counts_add_up_to_the_scores(task: Task) -> None:
    rows = task.load(Source(), "dev").rows
    gold = [answer.value for answer in task.gold(rows)]
    order = RANDOM.permutation(len(rows))
    mixed = [Answer(value=gold[j] if i % 3 and task.fits(gold[j], rows[i]) else gold[i]) for i, j in enumerate(order)]
    if isinstance(task, type(labels_task())):
        mixed[0] = Answer(value=[])
    for answers in (mixed, task.gold(rows)):
        scores, found = task.score(answers, rows), task.counted(answers, rows)
        assert set(scores) - set(found) <= {"spearman"}
        assert {name: each.score for name, each in found.items()} == pytest.approx(
            {name: scores[name] for name in found}
        )


@pytest.mark.parametrize(
    "metric",
    [metrics.accuracy, metrics.macro_f1, metrics.matthews, metrics.f1_of("a"), metrics.class_metric("b", "recall")],
    ids=["accuracy", "macro-f1", "matthews", "f1", "recall"],
)
def test_a_resample_scores_as_its_rows_do(metric: Metric) -> None:
    gold, answers = RANDOM.choice(list("abc"), 60).tolist(), RANDOM.choice(list("abcd"), 60).tolist()
    assert metric.score is not None and metric.sums is not None
    found = metric.sums(gold, answers)
    chosen = RANDOM.integers(0, 60, (5, 60))
    weights = np.stack([np.bincount(rows, minlength=60) for rows in chosen]).astype(float)
    expected = [metric.score([gold[i] for i in rows], [answers[i] for i in rows]) for rows in chosen]
    assert found.resampled(weights) == pytest.approx(expected)


def test_pearson_of_a_resample_and_a_metric_that_is_no_sum() -> None:
    gold = RANDOM.normal(100, 1, 50)
    answers = gold + RANDOM.normal(0, 1, 50)
    found = metrics.pearson.sums(gold.tolist(), answers.tolist())
    weights = RANDOM.integers(0, 3, (4, 50)).astype(float)
    rows = [np.repeat(np.arange(50), weight.astype(int)) for weight in weights]
    assert found.resampled(weights) == pytest.approx([stats.pearsonr(gold[i], answers[i]).statistic for i in rows])
    assert metrics.spearman.sums is None
    ranks = Rescored(metric=lambda i: metrics.spearman.score(gold[i], answers[i]), size=50)
    assert ranks.resampled(weights) == pytest.approx([stats.spearmanr(gold[i], answers[i]).statistic for i in rows])


def hits(count: int, share: float) -> np.ndarray:
    return RANDOM.random(count) < share


def test_the_interval_is_scipys() -> None:
    a, b = hits(400, 0.7), hits(400, 0.78)
    ours = paired_bootstrap([mean_counted(a)], [mean_counted(b)])

    def difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return y.mean(axis) - x.mean(axis)

    theirs = stats.bootstrap(
        (a.astype(float), b.astype(float)),
        difference,
        paired=True,
        vectorized=True,
        method="percentile",
        random_state=0,
    )
    assert ours.value == pytest.approx(b.mean() - a.mean())
    assert ours.interval == pytest.approx(tuple(theirs.confidence_interval), abs=0.006)
    z = stats.ttest_rel(b.astype(float), a.astype(float))  # for means of 400 rows the two agree
    assert ours.p == pytest.approx(z.pvalue, abs=0.01)


def test_how_many_rows_would_tell_a_difference() -> None:
    a, b = hits(500, 0.70), hits(500, 0.74)
    ours = paired_bootstrap([mean_counted(a)], [mean_counted(b)])
    spread = np.std(b.astype(float) - a, ddof=1)
    expected = ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * spread / ours.value) ** 2
    assert ours.rows_needed == pytest.approx(expected, rel=0.05)
    assert paired_bootstrap([mean_counted(a)], [mean_counted(a)]).rows_needed is None
    assert paired_bootstrap([mean_counted(a)], [mean_counted(a)]).p == 1.0


def test_mcnemar_is_statsmodels() -> None:
    a, b = hits(200, 0.7), hits(200, 0.8)
    table = [[sum(a & b), sum(a & ~b)], [sum(~a & b), sum(~a & ~b)]]
    assert mcnemar(a, b) == pytest.approx(theirs_mcnemar(table, exact=True).pvalue)
    assert mcnemar(a, a) == 1.0


def rejections(draw: Callable[[], tuple[list[Counted], list[Counted]]], trials: int) -> float:
    return sum(paired_bootstrap(*draw(), resamples=400, seed=i).p < 0.05 for i in range(trials)) / trials


def test_equal_models_are_told_apart_in_five_per_cent_of_cases() -> None:
    def one_seed() -> tuple[list[Counted], list[Counted]]:
        return [mean_counted(hits(300, 0.8))], [mean_counted(hits(300, 0.8))]

    assert 0.02 <= rejections(one_seed, 500) <= 0.085


def test_seeds_count_towards_chance() -> None:
    """Two methods alike, whose seeds differ by more than their rows: with the rows alone most would seem different."""

    def several() -> tuple[list[Counted], list[Counted]]:
        sides = [[mean_counted(hits(1_000, share)) for share in RANDOM.normal(0.8, 0.03, 5)] for _ in range(2)]
        return sides[0], sides[1]

    assert rejections(several, 120) <= 0.16

    def first_only() -> tuple[list[Counted], list[Counted]]:
        a, b = several()
        return a[:1], b[:1]

    assert rejections(first_only, 60) > 0.3


def fixed(rows: int, right: float) -> Counted:
    return mean_counted(np.arange(rows) < right * rows)


def test_where_seeds_alone_differ_the_test_is_welchs() -> None:
    """With so many rows that these are no chance; two seeds a side, for which a bootstrap of them would be too sure."""
    scores = [0.80, 0.83], [0.86, 0.90]
    ours = paired_bootstrap(*([fixed(20_000, score) for score in side] for side in scores), resamples=500)
    theirs = stats.ttest_ind(scores[1], scores[0], equal_var=False)
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.03)
    assert ours.rows_needed is None  # no number of rows would tell it


def test_so_few_rows_show_nothing() -> None:
    """A sign test of three rows in one direction has p 0.25, of one row 1."""
    for rows, p in ((3, 0.25), (1, 1.0)):
        ours = paired_bootstrap([mean_counted(np.zeros(rows))], [mean_counted(np.ones(rows))])
        assert ours.p == p


def test_holms_p_is_that_of_statsmodels() -> None:
    for values in ([0.04, 0.01, 0.03, 0.5], [0.01, 0.01], [0.9, 0.6, 0.8], [0.2]):
        assert holm(values) == pytest.approx(multipletests(values, method="holm")[1])


def test_without_any_spread_there_is_no_interval() -> None:
    """Two models that are right on the same rows, one seed a side: other rows may tell them apart."""
    same = [mean_counted([1, 0, 1, 1] * 20)]
    for other in (same, [mean_counted(np.zeros(80))]):
        assert (paired_bootstrap(same, other, resamples=200).interval is None) == (other is same)
    assert paired_bootstrap(same, same, resamples=200).p == 1
    assert paired_bootstrap([fixed(30, 1)], [fixed(30, 0)], resamples=200).interval is None
    nothing = Rescored(metric=lambda chosen: float("nan"), size=30)
    undefined = paired_bootstrap([nothing], [fixed(30, 1)], resamples=20)
    assert (undefined.interval, undefined.p, undefined.rows_needed) == (None, 1.0, None)


def sentence_rows(count: int, *, text: str = "row") -> list[SentenceRow]:
    """Rows of RTE, every third entailed."""
    labels = ("entailment", "not_entailment", "not_entailment")
    return [SentenceRow(id=f"{i}", text=f"{text} {i}", pair="p", gold=labels[i % 3]) for i in range(count)]


def answered(rows: Sequence[SentenceRow], *, wrong: Sequence[int]) -> list[Answer]:
    """The gold, but for some rows."""
    other = {"entailment": "not_entailment", "not_entailment": "entailment"}
    return [Answer(value=other[r.gold] if i in wrong else r.gold, probabilities=[0.5, 0.5]) for i, r in enumerate(rows)]


def saved_run(
    out: Path, task: Task, rows: Sequence[Any], answers: Sequence[Answer], *, data: str = "d", **recipe: Any
) -> str:
    """What `finetune run` leaves and git does not keep, but for the weights; the run's id."""
    name = f"{len(list(out.glob('*/*'))):010d}"
    path = out / task.name / name
    path.mkdir(parents=True)
    save_predictions(path / "predictions-dev.parquet", task, rows, answers)
    record = RunRecord(
        id=name, task=task.name, task_version=1, finished=name, recipe={"task": task.name, "seed": 1} | recipe,
        model="m", weights="w", data=data, data_origin={}, rows={}, features={}, truncated={}, notes=[], versions={},
        git_commit=None, device="cpu", precision="fp32", processes=1, seconds={}, examples_per_second=1.0,
        peak_memory_bytes=1, epochs=[], selected_epoch=1, headline=task.metrics[0].name,
        scores={"dev": task.score(answers, rows)}, baselines={"dev": {}}, new_weights=[],
    )  # fmt: skip
    (path / "record.json").write_text(record.model_dump_json())
    return name


def test_two_runs_are_compared_from_their_predictions(tmp_path: Path) -> None:
    rows = sentence_rows(90)
    a = saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=range(30)), lr=1)
    b = saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=[5, 80]), lr=2)
    found = compare(a, b, out=tmp_path)
    accuracy = found.differences["accuracy"]
    assert (accuracy.a, accuracy.b) == (pytest.approx(60 / 90), pytest.approx(88 / 90))
    assert accuracy.p < 0.001
    assert accuracy.rows_needed is not None
    assert accuracy.rows_needed < 90
    assert found.mcnemar == pytest.approx(stats.binomtest(1, 30).pvalue)
    assert [change.row["id"] for change in found.changed if change.better == "a"] == ["80"]
    assert len(found.changed) == 30
    assert (found.changed[0].gold, found.changed[0].a) == ("entailment", "not_entailment")
    assert "one seed on a side" in found.notes[0]
    json.dumps(found.as_json())


def test_every_shape_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {task.name: task for task in every_shape()}
    monkeypatch.setattr("finetune.task_types.registry.available", lambda: every)
    for name, task in every.items():
        rows = task.load(Source(), "dev").rows
        gold = task.gold(rows)
        kind = SpanAnswer if isinstance(task, SpanTask) else Answer
        values = [answer.value for answer in gold]
        mixed = [values[i - 1] if task.fits(values[i - 1], row) else values[i] for i, row in enumerate(rows)]
        given, gold = ([kind(value=value) for value in some] for some in (mixed, values))
        a, b = (saved_run(tmp_path, task, rows, answers, lr=lr) for lr, answers in enumerate((gold, given)))
        found = compare(a, b, out=tmp_path)
        scores = task.score(given, rows)
        assert {metric: each.b for metric, each in found.differences.items()} == pytest.approx(
            {metric: value for metric, value in scores.items() if "/" not in metric}
        ), name
        headline = found.differences[task.metrics[0].name]
        assert headline.a == pytest.approx(1)
        low, high = headline.interval or (-1, 1)  # none where each row changed alike
        assert low <= headline.value <= high
        assert list(found.holm.values()) == pytest.approx(holm([each.p for each in found.differences.values()]))
        assert all(change.better == "a" for change in found.changed)


def test_a_label_that_the_gold_lacks_and_a_metric_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = (metrics.macro_f1, Metric("accuracy", sklearn_accuracy, per_row=True))
    task = replace(find("rte"), name="mine", labels=("x", "y", "z"), metrics=mine)
    monkeypatch.setattr("finetune.task_types.registry.available", lambda: {"mine": task})
    rows = [SentenceRow(id=f"{i}", text="t", gold="xy"[i % 2]) for i in range(40)]
    for label in "zx":
        saved_run(tmp_path, task, rows, [Answer(value=label if i == 3 else row.gold) for i, row in enumerate(rows)])
    a, b = (f"{i:010d}" for i in range(2))
    found = compare(a, b, out=tmp_path)
    assert found.changed == []  # both have row 3 wrong
    assert found.mcnemar is None
    assert found.differences["accuracy"].a == 39 / 40


def test_seeds_are_taken_together(tmp_path: Path) -> None:
    rows = sentence_rows(60)
    ids = [
        saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=range(seed, seed + wrong)), lr=wrong, seed=seed)
        for wrong in (20, 10)
        for seed in (1, 2, 3)
    ]
    found = compare(ids[1], ids[4], out=tmp_path, seeds=True)
    assert sorted(found.a) == ids[:3]
    assert found.a[0] == ids[1]
    assert sorted(found.b) == ids[3:]
    assert found.differences["accuracy"].value == pytest.approx(10 / 60)
    assert found.mcnemar is None
    assert found.notes == []
    (tmp_path / "rte" / ids[2] / "predictions-dev.parquet").unlink()
    assert "seeds left out" in compare(ids[1], ids[4], out=tmp_path, seeds=True).notes[0]
    with pytest.raises(UserError, match="are the same run, or differ in seeds alone"):
        compare(ids[0], ids[1], out=tmp_path, seeds=True)


def test_several_metrics_have_an_adjusted_p(in_process: Any, tmp_path: Path) -> None:
    rows = span_task().load(Source(), "dev").rows
    answers = [SpanAnswer(value=row.answers[0]) for row in rows]
    worse = [replace(answer, value="the") if index % 9 == 0 else answer for index, answer in enumerate(answers)]
    task = replace(span_task(), name="squad-v1")
    a, b = (saved_run(tmp_path / "results", task, rows, given, lr=lr) for lr, given in enumerate((answers, worse)))
    code, out, err = in_process("compare", a, b, data=tmp_path)
    assert code == 0, err
    assert "p (Holm)" in out
    assert "adjusted for the 2 metrics" in " ".join(out.split())
    code, out, _ = in_process("compare", a, b, "--json", data=tmp_path)
    found = json.loads(out)
    assert list(found["holm"]) == ["f1", "em"]
    assert found["holm"]["em"] >= found["differences"]["em"]["p"]


def test_what_cannot_be_compared_is_refused_with_the_reason(tmp_path: Path) -> None:
    rows = sentence_rows(9)
    a = saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=[]))
    for others, words in (
        (sentence_rows(8), "its 8 rows are not the 9 of the other run"),
        (sentence_rows(9, text="line"), "its row 1 .id '0'. is another than that of the other run"),
    ):
        b = saved_run(tmp_path, find("rte"), others, answered(others, wrong=[1]), lr=len(others))
        with pytest.raises(UserError, match=words):
            compare(a, b, out=tmp_path)
    other = saved_run(tmp_path, choice_task(), choice_task().load(Source(), "dev").rows, choice_gold())
    with pytest.raises(UserError, match=r"is a run of rte, .* of toy-choices"):
        compare(a, other, out=tmp_path)
    with pytest.raises(UserError, match="names no finished run"):
        compare(a, "nothing", out=tmp_path)
    with pytest.raises(UserError, match="are the same run"):
        compare(a, a, out=tmp_path)
    with pytest.raises(UserError, match=r"was not scored on 'test'\. Choose one of dev"):
        compare(a, b, out=tmp_path, split="test")
    trained_on_more = saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=[2]), data="more")
    assert "trained on different data" in compare(a, trained_on_more, out=tmp_path).notes[0]
    (tmp_path / "rte" / trained_on_more / "predictions-dev.parquet").unlink()
    with pytest.raises(UserError, match="no predictions there"):
        compare(a, trained_on_more, out=tmp_path)


def choice_gold() -> list[Answer]:
    return choice_task().gold(choice_task().load(Source(), "dev").rows)


def test_the_command_prints_a_table_and_the_rows_that_changed(in_process: Any, tmp_path: Path) -> None:
    rows = sentence_rows(40)
    a = saved_run(tmp_path / "results", find("rte"), rows, answered(rows, wrong=range(12)), lr=1)
    b = saved_run(tmp_path / "results", find("rte"), rows, answered(rows, wrong=[39]), lr=2)
    code, out, _ = in_process("compare", a, b, "--changed", "2", data=tmp_path)
    assert code == 0
    assert "McNemar" in out
    assert "1 rows that only A has right, 12 that only B has right" in out
    assert "row 0" in out
    assert "row 2" not in out
    code, out, _ = in_process("compare", a, b, "--json", data=tmp_path)
    assert json.loads(out)["differences"]["accuracy"]["difference"] == pytest.approx(11 / 40)
    code, _, err = in_process("compare", a, "gone", data=tmp_path)
    assert (code, err) == (2, "error: 'gone' names no finished run in results. `finetune ls` lists the runs\n")
