"""`finetune compare`: differences between runs, from their predictions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from support.cli import Finetune, InProcess
from support.records import save_run
from support.runs import as_csv
from support.toys import choice_task, every_shape

from finetune.commands.compare import as_json, compare
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.significance import holm
from finetune.task_types.classification.task import SentenceRow
from finetune.task_types.parts import Answer
from finetune.task_types.registry import find
from finetune.task_types.span.questions import SpanAnswer
from finetune.task_types.span.task import SpanTask
from finetune.task_types.task import Task

RTE = find("rte")


def sentence_rows(count: int = 90, *, text: str = "row") -> list[SentenceRow]:
    """Rows of RTE, every third entailed."""
    labels = ("entailment", "not_entailment", "not_entailment")
    return [SentenceRow(id=f"{i}", text=f"{text} {i}", pair="p", gold=labels[i % 3]) for i in range(count)]


ROWS = sentence_rows()


def answered(wrong: Sequence[int], rows: Sequence[SentenceRow] = ROWS) -> list[Answer]:
    """The gold, but for some rows."""
    other = {"entailment": "not_entailment", "not_entailment": "entailment"}
    return [Answer(value=other[r.gold] if i in wrong else r.gold, probabilities=[0.5, 0.5]) for i, r in enumerate(rows)]


def saved(
    out: Path,
    answers: Sequence[Answer],
    *,
    task: Task = RTE,
    rows: Sequence[Any] = ROWS,
    seed: int = 1,
    lr: float = 1,
    **facts: Any,
) -> str:
    """The id of a new run under `out`."""
    finished = f"{len(list(out.glob('*/*')))}"
    recipe = {"task": task.name, "seed": seed, "lr": lr}
    return save_run(out, task, rows, answers, **{"recipe": recipe, "finished": finished, "data": "d", **facts}).name


def test_two_runs_are_compared_from_their_predictions(tmp_path: Path) -> None:
    a, b = (saved(tmp_path, answered(wrong), lr=lr) for lr, wrong in enumerate((range(30), [5, 80])))
    found = compare(a, b, out=tmp_path)
    accuracy = found.differences["accuracy"]
    assert (accuracy.a, accuracy.b) == (pytest.approx(60 / 90), pytest.approx(88 / 90))
    assert accuracy.p < 0.001 and accuracy.rows_needed < 90
    assert found.mcnemar == pytest.approx(stats.binomtest(1, 30).pvalue)
    assert [row["id"] for row in found.changed if row["better"] == "a"] == ["80"]
    assert len(found.changed) == 30
    assert (found.changed[0]["label"], found.changed[0]["a"]) == ("entailment", "not_entailment")
    assert "one seed" in found.notes[0]
    json.dumps(next(as_json(found)))


def test_every_shape_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = {task.name: task for task in every_shape()}
    monkeypatch.setattr("finetune.task_types.registry.available", lambda: every)
    for name, task in every.items():
        rows = task.load(Source(), "dev").rows
        kind = SpanAnswer if isinstance(task, SpanTask) else Answer
        values = [answer.value for answer in task.labels_of(rows)]
        mixed = [values[i - 1] if task.fits(values[i - 1], row) else values[i] for i, row in enumerate(rows)]
        given, gold = ([kind(value=value) for value in some] for some in (mixed, values))
        a, b = (saved(tmp_path, answers, task=task, rows=rows, lr=lr) for lr, answers in enumerate((gold, given)))
        found = compare(a, b, out=tmp_path)
        assert {metric: each.b for metric, each in found.differences.items()} == pytest.approx(
            {metric: value for metric, value in task.score(given, rows).items() if "/" not in metric}
        ), name
        headline = found.differences[task.metric_names[0]]
        assert headline.a == pytest.approx(1)
        low, high = headline.interval or (-1, 1)  # none where each row changed alike
        assert low <= headline.value <= high
        assert list(found.holm.values()) == pytest.approx(holm([each.p for each in found.differences.values()]))
        assert all(row["better"] == "a" for row in found.changed)


def test_seeds_are_taken_together(tmp_path: Path) -> None:
    ids = [
        saved(tmp_path, answered(range(seed, seed + wrong)), lr=wrong, seed=seed)
        for wrong in (20, 10)
        for seed in (1, 2, 3)
    ]
    found = compare(ids[1], ids[4], out=tmp_path, seeds=True)
    assert (sorted(found.a), found.a[0], sorted(found.b)) == (ids[:3], ids[1], ids[3:])
    assert found.differences["accuracy"].value == pytest.approx(10 / 90)
    assert (found.mcnemar, found.notes) == (None, [])
    (tmp_path / "rte" / ids[2] / "predictions-dev.parquet").unlink()
    two, left_out = compare(ids[1], ids[4], out=tmp_path, seeds=True).notes
    assert two.startswith("two seeds on a side: use 3 or more") and "seeds left out" in left_out
    with pytest.raises(UserError, match="differ only in seeds"):
        compare(ids[0], ids[1], out=tmp_path, seeds=True)
    wide = [saved(tmp_path, answered(range(n)), lr=lr, seed=seed) for lr in (3, 4) for seed, n in ((1, 5), (2, 80))]
    assert compare(wide[0], wide[2], out=tmp_path, seeds=True).differences["accuracy"].interval == (-1.0, 1.0)


def test_more_than_two_are_each_compared_with_the_first(in_process: InProcess, tmp_path: Path) -> None:
    out = tmp_path / "results"
    ids = [saved(out, answered(wrong), lr=lr) for lr, wrong in enumerate((range(30), [5, 80], range(28)))]
    pairs = compare(*ids, out=out)
    assert [pair.letter for pair in pairs] == ["B", "C"]
    for pair, other in zip(pairs, ids[1:], strict=True):
        assert pair.differences == compare(ids[0], other, out=out).differences
    assert [p for pair in pairs for p in pair.holm.values()] == holm(
        [one.p for pair in pairs for one in pair.differences.values()]
    )
    code, shown, err = in_process("compare", *ids, "--changed", "2", data=tmp_path)
    assert (code, err) == (0, "")
    assert [word for word in (f"A is {ids[0]}, C is {ids[2]}", "+31.1", "p (Holm)") if word not in shown] == []
    lines = in_process("compare", *ids, "--json", data=tmp_path)[1].splitlines()
    assert [pair["b"] for pair in map(json.loads, lines)] == [[ids[1]], [ids[2]]]


def test_what_cannot_be_compared_is_refused_with_the_reason(tmp_path: Path) -> None:
    a, b = saved(tmp_path, answered([])), saved(tmp_path, answered([1]), lr=2)
    more = saved(tmp_path, answered([2]), data="more")
    assert "different data" in compare(a, more, out=tmp_path).notes[0]
    gone = saved(tmp_path, answered([3]), lr=5)
    (tmp_path / "rte" / gone / "predictions-dev.parquet").unlink()
    fewer, changed = sentence_rows(80), sentence_rows(text="line")
    choices = choice_task().load(Source(), "dev").rows
    other = saved(tmp_path, choice_task().labels_of(choices), task=choice_task(), rows=choices)
    for runs, split, words in (
        (
            [a, saved(tmp_path, answered([1], fewer), rows=fewer, lr=3)],
            None,
            "its 80 rows are not the 90 of the other run",
        ),
        (
            [a, saved(tmp_path, answered([1], changed), rows=changed, lr=4)],
            None,
            "its row 1 .id '0'. differs from that",
        ),
        ([a, other], None, r"is a run of rte, .* of toy-choices"),
        ([a, "nothing"], None, "'nothing' names no finished run"),
        ([a, a], None, "are the same run"),
        ([a, b], "test", r"'test'.*dev"),
        ([a, gone], None, "no predictions found"),
    ):
        with pytest.raises(UserError, match=words):
            compare(*runs, out=tmp_path, **({"split": split} if split else {}))


@pytest.mark.slow
def test_rankings_are_compared_by_queries(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    rows = [(f"where is cat {i}", f"the animal {i} of {k} sat", int(k == i % 4)) for i in range(30) for k in range(4)]
    dev = [(query, passage, 0 if query.endswith(" 0") else label) for query, passage, label in rows[:40]]
    for name, some in (("asked.csv", rows), ("dev.csv", dev)):
        (tmp_path / name).write_text(as_csv(("query", "passage", "relevance"), *some))
    settings = ("shape=ranking", "dev=dev.csv", "train.epochs=1", "max_length=32", f"model={tiny_bert}", "--quiet")
    for seed in ("1", "2"):
        done = here("run", "asked.csv", *settings, f"seed={seed}")
        assert done.returncode == 0, done.stderr
    runs = [file.parent.name for file in tmp_path.glob("results/*/*/record.json")]
    shown = here("compare", *runs)
    said = " ".join((shown.stdout + shown.stderr).split())
    assert shown.returncode == 0 and "9 groups (40 rows) of dev" in said, said
    assert "groups needed" in said and "only 9 groups" in said and "rows needed" not in said.lower()
