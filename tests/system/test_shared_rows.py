"""Rows that two splits share, or a run with one that it learned from, and what else `run` says of the data as `check`.

A score on rows that the model was trained on is told from one on others: on the screen, in the record, by `evaluate`.
"""

import json
import shutil
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


def record_of(folder: Path) -> Any:
    return load_record(only_run(folder) / "record.json")


def test_rows_of_test_that_are_training_rows(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    changed = [(text.upper().replace(" ", "  "), label) for text, label in rows(0, 10)]  # the same to the encoder
    write(tmp_path / "a.csv", rows(0, 60))
    write(tmp_path / "dev.csv", rows(100, 50))
    write(tmp_path / "test.csv", [*changed, *rows(200, 10)])
    code, out, _ = in_process("run", "a.csv", "dev=dev.csv", "test=test.csv", f"model={tiny_bert}", *FAST, data="")
    assert code == 0
    what = "10 of the 20 rows of test have texts that are also in train"
    assert out.splitlines()[:3] == [
        f"error leak: {what}",
        "  -> Remove them from one file; they inflate the scores of test",
        "  finetune check a.csv dev=dev.csv test=test.csv",
    ]
    assert f"{what}, so that it is too high" in out
    record, folder = record_of(tmp_path), only_run(tmp_path)
    assert [(one.code, one.split, one.count) for one in record.findings] == [("leak", "test", 10)]
    assert what in verdict_of([record]).sentence
    assert what in model_card(RunFolder(folder))
    again = in_process("run", "a.csv", "dev=dev.csv", "test=test.csv", f"model={tiny_bert}", *FAST, data="")[1]
    assert f"error leak: {what}" in again
    code, out, _ = in_process("check", "a.csv", "dev=dev.csv", "test=test.csv", "--json", data="")
    (found,) = (one for one in json.loads(out)["findings"] if one["code"] == "leak")
    assert (code, found["count"]) == (1, 10)


def test_a_clean_record_has_no_findings(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", rows(0, 60))
    write(tmp_path / "dev.csv", rows(100, 50))
    assert in_process("run", "a.csv", "dev=dev.csv", f"model={tiny_bert}", *FAST, data="")[0] == 0
    assert "findings" not in json.loads((only_run(tmp_path) / "record.json").read_text())


def test_a_column_of_splits_that_leaks(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    lines = [(*row, "train") for row in rows(0, 40)] + [(*row, "dev") for row in rows(30, 20)]
    write(tmp_path / "a.csv", lines, ("text", "label", "part"))
    code, out, _ = in_process("run", "a.csv", "split=part", f"model={tiny_bert}", *FAST, data="")
    assert code == 0
    assert "10 of the 20 rows of dev have texts that are also in train" in out
    assert "split=part" in next(line for line in out.splitlines() if "finetune check" in line)


def test_a_task_of_published_data_is_compared_too(rte: Path, in_process: InProcess, tiny_bert: Path) -> None:
    shutil.copy(rte / "RTE" / "train.tsv", rte / "RTE" / "dev.tsv")
    code, out, _ = in_process("run", "glue-rte", f"model={tiny_bert}", *FAST, "--json", data=rte)
    (found,) = json.loads(out)["findings"]
    assert (code, found["code"], found["count"], found["command"]) == (0, "leak", 64, "")


def test_evaluate_counts_training_rows_of_the_run_and_of_those_before(
    in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path / "first.csv", rows(0, 40))
    write(tmp_path / "second.csv", rows(40, 40))
    write(tmp_path / "dev.csv", rows(100, 50))
    write(tmp_path / "some.csv", [*rows(0, 5), *rows(40, 7), *rows(300, 8)])
    train = ("dev=dev.csv", *FAST, "--quiet")
    assert in_process("run", "first.csv", f"model={tiny_bert}", *train, data="")[0] == 0
    first = only_run(tmp_path).name
    (tmp_path / "first.csv").unlink()  # what it was trained on is known without it
    assert in_process("run", "second.csv", f"model={first}", *train, data="")[0] == 0
    code, out, err = in_process("evaluate", "second.csv", "some.csv", "--json", "--device", "cpu", data="")
    (second,) = (file.parent.name for file in tmp_path.glob("results/second.csv/*/record.json"))
    assert (code, json.loads(out)["shared"]) == (0, {"dev": {second: 7, first: 5}})
    assert f"7 of the 20 rows of dev have texts that run {second} was trained on" in err
    code, out, err = in_process("evaluate", "second.csv", "dev.csv", "--json", "--device", "cpu", data="")
    assert (code, "shared" in json.loads(out), "was trained on" in err) == (0, False, False)
    found = finetune.evaluate(second, str(tmp_path / "some.csv"), device="cpu")
    assert found.shared == {"dev": {second: 7, first: 5}}


def test_rows_that_the_encoder_or_a_teacher_was_trained_on(
    in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path / "first.csv", rows(0, 60))
    write(tmp_path / "dev.csv", rows(100, 50))
    assert in_process("run", "first.csv", "dev=dev.csv", f"model={tiny_bert}", *FAST, "--quiet", data="")[0] == 0
    first = only_run(tmp_path).name
    write(tmp_path / "second.csv", rows(20, 40))
    settings = ("train.epochs=1", "max_length=16", "--device", "cpu")
    for how in ([f"model={first}"], [f"model={tiny_bert}", f"distil.teacher={first}", "distil.weak=true"]):
        code, out, err = in_process("run", "second.csv", *how, *settings, data="")
        assert code == 0, err
        assert f"4 of the 4 rows of dev have texts that run {first} was trained on" in out
        assert ("36 of these rows" in err) == (how == [f"model={first}"])  # the probe reads the encoder
        assert "if rows of dev are among them" not in out + err


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["-1"] * 6, "all rows have '-1', which no training row has"),
        (["hidden"] * 6, "all rows have 'hidden', which no training row has"),
        ([""] * 6, "no row has one"),
        (None, "it has no column 'label'"),
    ],
)
def test_a_test_file_without_labels_is_not_scored_and_that_is_told(
    labels: list[str] | None, said: str, in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path / "a.csv", rows(0, 60))
    texts = [text for text, _ in rows(200, 6)]
    lines: list[Row] = [(text,) for text in texts] if labels is None else list(zip(texts, labels, strict=True))
    write(tmp_path / "test.csv", lines, ("text", "label")[: len(lines[0])])
    code, out, _ = in_process("run", "a.csv", "test=test.csv", f"model={tiny_bert}", *FAST, data="")
    assert code == 0
    assert out.startswith("warning no-test-labels: ") and said in out
    assert "finetune predict RUN test.csv" in out
    record = record_of(tmp_path)
    assert [*record.scores] == ["dev"] and {*record.labels["train"]} == {"good", "bad"}
    assert in_process("check", "a.csv", "test=test.csv", data="")[0] == 0


def test_a_label_of_test_alone_is_no_class(in_process: InProcess, tiny_bert: Path, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", rows(0, 60))
    write(tmp_path / "test.csv", [*rows(200, 6), ("the bird sat", "mixed"), ("a bird sat", "mixed"), *rows(210, 2)])
    code, out, _ = in_process("run", "a.csv", "test=test.csv", f"model={tiny_bert}", *FAST, data="")
    assert code == 0
    assert out.startswith("warning unseen-label: test: labels without a row in a.csv: 'mixed' (rows 7, 8")
    assert "2 rows with the label 'mixed', unknown to the model" in out
    record = record_of(tmp_path)
    assert record.rows["test"] == 8
    assert not any("mixed" in name for scores in record.scores.values() for name in scores)


def test_rows_of_test_without_a_label_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", rows(0, 60))
    write(tmp_path / "test.csv", [*rows(200, 6), ("the bird sat", "")])
    task = own_task(tmp_path / "a.csv", {"test": str(tmp_path / "test.csv")})
    assert len(load_splits(task, source_of(None))["test"].rows) == 6


def test_labels_that_differ_in_case_are_told_first_with_the_command(
    in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    lines = [(text, label.upper() if n % 5 == 0 else label) for n, (text, label) in enumerate(rows(0, 60))]
    write(tmp_path / "a.csv", lines)
    code, out, _ = in_process("run", "a.csv", f"model={tiny_bert}", *FAST, data="")
    assert code == 0
    first, _, command = out.splitlines()[:3]
    assert first.startswith("warning label-variant: train: labels that differ only in case or spaces: 'GOOD' for")
    assert command == "  finetune check a.csv --fix fixed.csv"
    assert in_process(*command.split()[1:], data="")[0] == 0
    assert "GOOD" not in (tmp_path / "fixed.csv").read_text()
    (run,) = (path.parent for path in tmp_path.glob("results/*/*/record.json"))
    for command in (["init", "a.csv"], ["evaluate", str(run), "a.csv"]):
        code, _, err = in_process(*command, data="")
        assert code == 0 and "warning label-variant: " in err and "'GOOD' for" in err


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (["split=nosuch"], "split-cell"),
        (["split=earlier.json"], "refused"),
    ],
)
def test_check_tries_what_run_would(
    settings: list[str], code: str, in_process: InProcess, tiny_bert: Path, tmp_path: Path
) -> None:
    write(tmp_path / "a.csv", rows(0, 60))
    (tmp_path / "earlier.json").write_text('{"dev": ["row-of-another-file"]}')
    ended, out, _ = in_process("check", "a.csv", *settings, "--json", data="")
    found = [one["code"] for one in json.loads(out)["findings"] if one["severity"] == "error"]
    assert (ended, found) == (1, [code])
    assert in_process("run", "a.csv", f"model={tiny_bert}", *settings, *FAST, data="")[0] == 2
