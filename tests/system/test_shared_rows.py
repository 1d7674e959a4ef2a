"""Rows that two splits share, or a run with one that it learned from, and what else `run` says of the data as `check`.

A score on rows that the model was trained on is told from one on others: on the screen, in the record, by `evaluate`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import InProcess
from support.own_data import own_task
from support.paths import only_run

import finetune
from finetune.analysis.card import model_card
from finetune.data.source import source_of
from finetune.runs.folder import RunFolder
from finetune.runs.record_files import load_record
from finetune.runs.verdict import verdict_of
from finetune.task_types.prepare import load_splits

FAST = ("frozen=true", "train.solver=logistic", "max_length=16", "--device", "cpu")
Row = tuple[str, ...]


def rows(first: int, count: int) -> list[Row]:
    """Different texts with a label each."""
    words = ("cat", "dog")
    return [(f"the {words[n % 2]} sat on mat {n}", ("good", "bad")[n % 2]) for n in range(first, first + count)]


def write(file: Path, lines: list[Row], head: Row = ("text", "label")) -> Path:
    file.write_text("\n".join(",".join(line) for line in (head, *lines)) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def ran(in_process: InProcess, tiny_bert: Path) -> Any:
    """Runs a file with the tiny encoder, or another that is named: (standard output, error)."""

    def run(*typed: str, data: Path | str = "") -> tuple[str, str]:
        model = () if any(word.startswith("model=") for word in typed) else (f"model={tiny_bert}",)
        code, out, err = in_process("run", *typed, *model, *FAST, data=data)
        assert code == 0, err
        return out, err

    return run


def record_of(folder: Path) -> Any:
    return load_record(only_run(folder) / "record.json")


def test_rows_of_test_that_are_training_rows(ran: Any, in_process: InProcess, tmp_path: Path) -> None:
    changed = [(text.upper().replace(" ", "  "), label) for text, label in rows(0, 10)]  # the same to the encoder
    write(tmp_path / "a.csv", rows(0, 60))
    write(tmp_path / "dev.csv", rows(100, 50))
    write(tmp_path / "test.csv", [*changed, *rows(200, 10)])
    typed = ("a.csv", "dev=dev.csv", "test=test.csv")
    out, _ = ran(*typed)
    what = "10 of the 20 rows of test have texts that are also in train"
    first, _, command = out.splitlines()[:3]
    assert (first, command) == (f"error leak: {what}", "  finetune check a.csv dev=dev.csv test=test.csv")
    record, folder = record_of(tmp_path), only_run(tmp_path)
    assert [(one.code, one.split, one.count) for one in record.findings] == [("leak", "test", 10)]
    assert what in verdict_of([record]).sentence and what in model_card(RunFolder(folder))
    assert f"error leak: {what}" in ran(*typed)[0]
    code, out, _ = in_process("check", *typed, "--json", data="")
    assert (code, [one["count"] for one in json.loads(out)["findings"] if one["code"] == "leak"]) == (1, [10])


def test_evaluate_counts_training_rows_of_the_run_and_of_those_before(
    ran: Any, in_process: InProcess, tmp_path: Path
) -> None:
    write(tmp_path / "first.csv", rows(0, 40))
    write(tmp_path / "second.csv", rows(40, 40))
    write(tmp_path / "dev.csv", rows(100, 50))
    write(tmp_path / "some.csv", [*rows(0, 5), *rows(40, 7), *rows(300, 8)])
    ran("first.csv", "dev=dev.csv")
    first = only_run(tmp_path).name
    (tmp_path / "first.csv").unlink()  # what it was trained on is known without it
    ran("second.csv", f"model={first}", "dev=dev.csv")
    code, out, err = in_process("evaluate", "second.csv", "some.csv", "--json", "--device", "cpu", data="")
    (second,) = (file.parent.name for file in tmp_path.glob("results/second.csv/*/record.json"))
    assert (code, json.loads(out)["shared"]) == (0, {"dev": {second: 7, first: 5}})
    assert f"7 of the 20 rows of dev have texts that run {second} was trained on" in err
    code, out, err = in_process("evaluate", "second.csv", "dev.csv", "--json", "--device", "cpu", data="")
    assert (code, "shared" in json.loads(out), "was trained on" in err) == (0, False, False)
    found = finetune.evaluate(second, str(tmp_path / "some.csv"), device="cpu")
    assert found.shared == {"dev": {second: 7, first: 5}}


def test_rows_that_the_encoder_or_a_teacher_was_trained_on(
    ran: Any, in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path / "first.csv", rows(0, 60))
    write(tmp_path / "dev.csv", rows(100, 50))
    ran("first.csv", "dev=dev.csv")
    first = only_run(tmp_path).name
    write(tmp_path / "second.csv", rows(20, 40))
    settings = ("train.epochs=1", "max_length=16", "--device", "cpu")
    for how in ([f"model={first}"], [f"model={tiny_bert}", f"distil.teacher={first}", "distil.weak=true"]):
        code, out, err = in_process("run", "second.csv", *how, *settings, data="")
        assert code == 0, err
        assert f"4 of the 4 rows of dev have texts that run {first} was trained on" in out
        assert ("36 of these rows" in err) == (how == [f"model={first}"])  # the probe reads the encoder


@pytest.mark.parametrize(
    ("labels", "said"),
    [(["-1"] * 6, "'-1'"), ([""] * 6, "no row has one"), (None, "no column 'label'")],
)
def test_a_test_file_without_labels_is_not_scored_and_that_is_told(
    labels: list[str] | None, said: str, ran: Any, in_process: InProcess, tmp_path: Path
) -> None:
    write(tmp_path / "a.csv", rows(0, 60))
    texts = [text for text, _ in rows(200, 6)]
    lines: list[Row] = [(text,) for text in texts] if labels is None else list(zip(texts, labels, strict=True))
    write(tmp_path / "test.csv", lines, ("text", "label")[: len(lines[0])])
    out, _ = ran("a.csv", "test=test.csv")
    assert out.startswith("warning no-test-labels: ") and said in out
    record = record_of(tmp_path)
    assert [*record.scores] == ["dev"] and {*record.labels["train"]} == {"good", "bad"}
    assert in_process("check", "a.csv", "test=test.csv", data="")[0] == 0


def test_a_label_of_test_alone_is_no_class_and_a_row_without_one_is_left_out(ran: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", rows(0, 60))
    write(tmp_path / "test.csv", [*rows(200, 6), ("the bird sat", "mixed"), ("a bird sat", "mixed"), *rows(210, 2)])
    out, _ = ran("a.csv", "test=test.csv")
    assert out.startswith("warning unseen-label: ") and "'mixed' (rows 7, 8" in out
    record = record_of(tmp_path)
    assert record.rows["test"] == 8
    assert not any("mixed" in name for scores in record.scores.values() for name in scores)
    write(tmp_path / "test.csv", [*rows(200, 6), ("the bird sat", "")])
    task = own_task(tmp_path / "a.csv", {"test": str(tmp_path / "test.csv")})
    assert len(load_splits(task, source_of(None))["test"].rows) == 6
