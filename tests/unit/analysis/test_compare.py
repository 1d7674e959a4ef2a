"""`finetune compare`: differences between runs, from their predictions."""

import json
from collections.abc import Sequence
from dataclasses import replace
from operator import eq
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from support.cli import Finetune, assert_error
from support.records import save_run
from support.runs import as_csv
from support.toys import choice_task, every_shape, span_task

from finetune.commands.compare import as_json, compare
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics import scores as metrics
from finetune.metrics.metric import Metric
from finetune.metrics.significance import holm
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from finetune.task_types.span.questions import SpanAnswer
from finetune.task_types.span.task import SpanTask
from finetune.task_types.task import Task


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
    """The id of a new run under `out`, its recipe with these settings."""
    recipe = {"task": task.name, "seed": 1} | recipe
    return save_run(out, task, rows, answers, data=data, recipe=recipe, finished=f"{len(list(out.glob('*/*')))}").name


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
    assert [row["id"] for row in found.changed if row["better"] == "a"] == ["80"]
    assert len(found.changed) == 30
    assert (found.changed[0]["label"], found.changed[0]["a"]) == ("entailment", "not_entailment")
    assert "one seed" in found.notes[0]
    json.dumps(next(as_json(found)))


def test_a_difference_of_few_seeds_is_within_what_two_scores_can_have(tmp_path: Path) -> None:
    rows = sentence_rows(90)
    wrong = {1: range(5), 2: range(60)}
    a, b = (
        [saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=some), lr=lr, seed=s) for s, some in wrong.items()]
        for lr in (1, 2)
    )
    found = compare(a[0], b[0], out=tmp_path, seeds=True)
    assert found.differences["accuracy"].interval == (-1.0, 1.0)


def test_runs_that_failed_or_are_below_their_baseline_are_said_to(tmp_path: Path) -> None:
    rows = sentence_rows(90)
    constant = [Answer(value="not_entailment") for _ in rows]
    nearly = [answered(rows, wrong=[])[0], *constant[1:]]
    baselines = {"majority": constant, "tfidf-logistic": answered(rows, wrong=[4, 50])}

    def saved(answers: Sequence[Answer], rate: int) -> str:
        recipe = {"task": "rte", "seed": 1, "lr": rate}
        return save_run(tmp_path, find("rte"), rows, answers, baselines=baselines, recipe=recipe).name

    every = [constant, nearly, answered(rows, wrong=[5]), answered(rows, wrong=[])]
    a, b, good, better = (saved(answers, rate) for rate, answers in enumerate(every))
    (said,) = [note for note in compare(a, b, out=tmp_path).notes if "TF-IDF" in note]
    assert said == (
        "A: 31.1 points worse than TF-IDF, and no better than a constant prediction; B: 30.0 points worse than TF-IDF "
        "(dev accuracy): a difference to such a run says little"
    )
    assert compare(good, b, out=tmp_path).notes[0].startswith("B: 30.0 points worse than TF-IDF (dev accuracy)")
    assert not any("TF-IDF" in note for note in compare(good, better, out=tmp_path).notes)


def test_every_shape_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {task.name: task for task in every_shape()}
    monkeypatch.setattr("finetune.task_types.registry.available", lambda: every)
    for name, task in every.items():
        rows = task.load(Source(), "dev").rows
        gold = task.labels_of(rows)
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
        headline = found.differences[task.metric_names[0]]
        assert headline.a == pytest.approx(1)
        low, high = headline.interval or (-1, 1)  # none where each row changed alike
        assert low <= headline.value <= high
        assert list(found.holm.values()) == pytest.approx(holm([each.p for each in found.differences.values()]))
        assert all(row["better"] == "a" for row in found.changed)


def test_a_label_that_the_gold_lacks_and_a_metric_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def share(gold: Sequence[Any], answers: Sequence[Any]) -> float:
        return sum(map(eq, gold, answers)) / len(gold)

    mine = (metrics.macro_f1, Metric("accuracy", share, per_row=True))
    task = replace(find("rte"), name="mine", labels=("x", "y", "z"), metrics=mine)
    monkeypatch.setattr("finetune.task_types.registry.available", lambda: {"mine": task})
    monkeypatch.setattr("finetune.analysis.compare.RESAMPLES", 1_000)
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
    two, left_out = compare(ids[1], ids[4], out=tmp_path, seeds=True).notes
    assert two.startswith("two seeds on a side: use 3 or more")
    assert "seeds left out" in left_out
    with pytest.raises(UserError, match="differ only in seeds"):
        compare(ids[0], ids[1], out=tmp_path, seeds=True)


def test_several_metrics_have_an_adjusted_p(in_process: Any, tmp_path: Path) -> None:
    rows = span_task().load(Source(), "dev").rows
    answers = [SpanAnswer(value=row.answers[0]) for row in rows]
    worse = [
        replace(answer, value="the", start=1) if index % 9 == 0 else answer for index, answer in enumerate(answers)
    ]
    task = replace(span_task(), name="squad-v1")
    a, b = (saved_run(tmp_path / "results", task, rows, given, lr=lr) for lr, given in enumerate((answers, worse)))
    code, out, err = in_process("compare", a, b, data=tmp_path)
    assert code == 0, err
    assert "p (Holm)" in out
    code, out, _ = in_process("compare", a, b, "--json", data=tmp_path)
    found = json.loads(out)
    assert list(found["holm"]) == ["f1", "em"]
    assert found["holm"]["em"] >= found["differences"]["em"]["p"]


def test_more_than_two_are_each_compared_with_the_first(in_process: Any, tmp_path: Path) -> None:
    rows = sentence_rows(90)
    wrong = {"a": range(30), "b": [5, 80], "c": range(28)}
    ids = [
        saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=some), layers=name) for name, some in wrong.items()
    ]
    pairs = compare(*ids, out=tmp_path)
    assert [pair.letter for pair in pairs] == ["B", "C"]
    for pair, other in zip(pairs, ids[1:], strict=True):
        assert pair.differences == compare(ids[0], other, out=tmp_path).differences
        assert all(pair.holm[name] >= one.p for name, one in pair.differences.items())
    assert [p for pair in pairs for p in pair.holm.values()] == holm(
        [one.p for pair in pairs for one in pair.differences.values()]
    )
    code, out, err = in_process("compare", *ids, "--out", str(tmp_path), data=tmp_path)
    assert (code, err) == (0, "")
    assert f"A is {ids[0]}, C is {ids[2]}" in out
    assert "+31.1" in out
    lines = in_process("compare", *ids, "--json", "--out", str(tmp_path), data=tmp_path)[1].splitlines()
    shown = list(map(json.loads, lines))
    assert [pair["b"] for pair in shown] == [[ids[1]], [ids[2]]]
    code, _, err = in_process("compare", ids[0], ids[1], ids[0], "--out", str(tmp_path), data=tmp_path)
    assert code == 2
    assert_error(err, "runs in common", ids[0])
    other = saved_run(tmp_path, find("wnli"), rows, answered(rows, wrong=[1]))
    code, _, err = in_process("compare", *ids, other, "--out", str(tmp_path), data=tmp_path)
    assert_error(err, f"{other} of wnli")


def test_notes_on_a_third_side_have_its_letter(tmp_path: Path) -> None:
    rows = sentence_rows(90)
    constant = [Answer(value="not_entailment", probabilities=[0.5, 0.5]) for _ in rows]
    good, better = answered(rows, wrong=range(10)), answered(rows, wrong=range(5))
    task, worse = find("rte"), answered(rows, wrong=range(60))
    ids = [saved_run(tmp_path, task, rows, some, layers=str(n)) for n, some in enumerate((good, better))]
    bad = save_run(
        tmp_path, task, rows, worse, baselines={"majority": constant}, recipe={"task": "rte", "seed": 1, "layers": "x"}
    ).name
    notes = [note for pair in compare(*ids, bad, out=tmp_path) for note in pair.notes]
    assert any(note.startswith("C: ") for note in notes)
    assert not any(note.startswith("B: ") for note in notes)


def test_what_cannot_be_compared_is_refused_with_the_reason(tmp_path: Path) -> None:
    rows = sentence_rows(9)
    a = saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=[]))
    for others, words in (
        (sentence_rows(8), "its 8 rows are not the 9 of the other run"),
        (sentence_rows(9, text="line"), "its row 1 .id '0'. differs from that of the other run"),
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
    with pytest.raises(UserError, match=r"'test'.*dev"):
        compare(a, b, out=tmp_path, split="test")
    trained_on_more = saved_run(tmp_path, find("rte"), rows, answered(rows, wrong=[2]), data="more")
    assert "different data" in compare(a, trained_on_more, out=tmp_path).notes[0]
    (tmp_path / "rte" / trained_on_more / "predictions-dev.parquet").unlink()
    with pytest.raises(UserError, match="no predictions found"):
        compare(a, trained_on_more, out=tmp_path)


def choice_gold() -> list[Answer]:
    return choice_task().labels_of(choice_task().load(Source(), "dev").rows)


def test_the_command_prints_a_table_and_the_rows_that_changed(in_process: Any, tmp_path: Path) -> None:
    rows = sentence_rows(40)
    a = saved_run(tmp_path / "results", find("rte"), rows, answered(rows, wrong=range(12)), lr=1)
    b = saved_run(tmp_path / "results", find("rte"), rows, answered(rows, wrong=[39]), lr=2)
    code, out, _ = in_process("compare", a, b, "--changed", "2", data=tmp_path)
    assert code == 0
    assert "McNemar" in out
    assert "12 that only B has right" in out
    assert "row 0" in out
    assert "row 2" not in out
    code, out, _ = in_process("compare", a, b, "--json", data=tmp_path)
    assert json.loads(out)["differences"]["accuracy"]["difference"] == pytest.approx(11 / 40)
    code, _, err = in_process("compare", a, "gone", data=tmp_path)
    assert code == 2
    assert_error(err, "'gone'", "finetune ls")


def test_rankings_are_compared_by_queries(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    rows = [(f"where is cat {i}", f"the animal {i} of {k} sat", int(k == i % 4)) for i in range(30) for k in range(4)]
    (tmp_path / "asked.csv").write_text(as_csv(("query", "passage", "relevance"), *rows))
    dev = [(query, passage, 0 if query.endswith(" 0") else label) for query, passage, label in rows[:40]]
    (tmp_path / "dev.csv").write_text(as_csv(("query", "passage", "relevance"), *dev))
    settings = ("shape=ranking", "dev=dev.csv", "train.epochs=1", "max_length=32", f"model={tiny_bert}", "--quiet")
    for seed in ("1", "2"):
        done = here("run", "asked.csv", *settings, f"seed={seed}")
        assert done.returncode == 0, done.stderr
    runs = [file.parent.name for file in tmp_path.glob("results/*/*/record.json")]
    shown = here("compare", *runs)
    said = " ".join((shown.stdout + shown.stderr).split())
    assert shown.returncode == 0 and "9 groups (40 rows) of dev" in said, said
    assert "over groups and seeds" in said and "groups needed" in said and "only 9 groups" in said
    assert "rows needed" not in said.lower()
