"""`label-next`: the rows that are chosen, the file that is written for each task type, and what is refused."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun, as_csv, as_json_lines

import finetune
from finetune.data.source import source_of
from finetune.runs.record_files import load_record
from finetune.task_types.own_data import own_task

POOLS = {
    "sentence": ("pool.csv", as_csv(("review", "site"), *((f"a {i} dog and a cat ran {i}", "x") for i in range(30)))),
    "regression": ("pool.csv", as_csv(("a", "b"), *((f"one cat {i} ran", f"no dog {i} sat") for i in range(30)))),
    "multilabel": ("pool.jsonl", as_json_lines(*({"text": f"dogs {i} ran"} for i in range(30)))),
    "tagging": ("pool.csv", as_csv(("words",), *((f"a cat {i} sat",) for i in range(30)))),
    "span": (
        "pool.jsonl",
        as_json_lines(*({"question": "who ran?", "context": f"a dog ran {i}"} for i in range(30))),
    ),
    "choice": (
        "pool.csv",
        as_csv(("context", "choice1", "choice2"), *((f"dogs {i}", "ran", "sat") for i in range(30))),
    ),
    "choice by letter": (
        "pool.csv",
        as_csv(("question", "A", "B", "C"), *((f"dogs {i}", "ran", "sat", "lay") for i in range(30))),
    ),
}
FAST = ("sentence", "tagging")


@pytest.fixture
def asked(in_process: InProcess, finished_run: FinishedRun, tmp_path: Path) -> Any:
    """Types `label-next` for the run of a task type, and returns what it prints as JSON, or the error."""

    def ask(kind: str, *arguments: str, fails: bool = False) -> Any:
        run, (name, content) = finished_run(kind), POOLS[kind]
        origin = load_record(run / "record.json").data_origin["train"]  # relative to where the run was started
        (tmp_path / origin).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path("/") / origin, tmp_path / origin)
        if not (tmp_path / name).exists():
            (tmp_path / name).write_text(content)
        code, out, err = in_process("label-next", str(run), name, *arguments, "--json", data="")
        assert code == (2 if fails else 0), out + err
        return err if fails else json.loads(out)

    return ask


@pytest.mark.parametrize("kind", [k if k in FAST else pytest.param(k, marks=pytest.mark.slow) for k in POOLS])
def test_what_is_written_is_read_as_the_same_task_once_it_is_labelled(asked: Any, tmp_path: Path, kind: str) -> None:
    found = asked(kind, "--rows", "10", "-o", "next.jsonl")
    assert found["chosen"] == 10
    rows = [json.loads(line) for line in (tmp_path / "next.jsonl").read_text().splitlines()]
    sure = [row["certainty"] for row in rows if row["certainty"] is not None]
    assert sure == sorted(sure)
    (name,) = (name for name in rows[0] if name.startswith("suggested "))
    label = found["settings"]["label"]
    (tmp_path / "done.jsonl").write_text(as_json_lines(*(row | {label: row[name]} for row in rows)))
    task = own_task(str(tmp_path / "done.jsonl"), found["settings"])
    assert task.load(source_of(None), "train").rows


TRAINED = ("the cat sat 3", "THE  dog sat 4")  # rows of the run, but for case and spaces


def write_pool(folder: Path, *texts: str, column: str = "review") -> None:
    (folder / "pool.csv").write_text(as_csv((column, "note"), *((text, "red") for text in (*TRAINED, *texts))))


def test_rows_that_the_run_read_are_left_out_and_fewer_are_noted(asked: Any, tmp_path: Path) -> None:
    write_pool(tmp_path, "dogs ran", "Dogs  ran", "cats slept")
    found = asked("sentence", "--rows", "10")
    assert [found[name] for name in ("rows", "known", "chosen")] == [5, 2, 2]
    assert any("only 2 rows of the 10" in note for note in found["notes"])
    with (tmp_path / "next.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["review", "mark", "suggested mark", "certainty", "note"]
    assert all(row["mark"] == "" and row["suggested mark"] in ("good", "bad") for row in rows)


def test_python_gives_the_rows_of_the_command_in_memory(
    asked: Any, reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = asked("sentence", "--rows", "10")
    pool = pd.read_csv(tmp_path / "pool.csv")
    found = finetune.label_next(finetune.open_run(reviews), pool, rows=10)
    assert found.path is None and found.frame is not None
    assert {**typed, "path": None} == {name: value for name, value in vars(found).items() if name != "frame"}
    written = pd.read_csv(tmp_path / "next.csv", keep_default_na=False)
    names = ["review", "mark", "suggested mark"]
    assert found.frame[names].fillna("").values.tolist() == written[names].values.tolist()
    assert capsys.readouterr() == ("", "")
    for wrong, words in (({"rows": 0}, "rows is 0"), ({"text": "other"}, "'other'")):
        with pytest.raises(finetune.UserError, match=words):
            finetune.label_next(reviews, pool, **wrong)


@pytest.mark.parametrize(
    ("texts", "column", "arguments", "words"),
    [
        ((), "review", (), ["pool.csv", "all 2 rows", "already"]),
        (("a",), "other", (), ["no column 'review'", "text=other"]),
        (("a",), "review", ("-o", "pool.csv"), ["pool.csv", "overwrite"]),
        (("a",), "review", ("more.csv",), ["'more.csv'"]),
        (("a",), "review", ("--to", "doccano"), ["--to", "taken out"]),
        (("a",), "review", ("--random", "1"), ["--random", "taken out"]),
    ],
)
def test_what_cannot_be_done_is_one_line(
    asked: Any, tmp_path: Path, texts: tuple[str, ...], column: str, arguments: tuple[str, ...], words: list[str]
) -> None:
    write_pool(tmp_path, *texts, column=column)
    assert_error(asked("sentence", *arguments, fails=True), *words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "next.html"), ["next.html", ".csv"]),
        (("-o", "theirs.csv"), ["theirs.csv", "already exists"]),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_model_is_loaded(
    asked: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...], words: list[str]
) -> None:
    write_pool(tmp_path, "a")
    (tmp_path / "theirs.csv").write_text("theirs")
    monkeypatch.setattr("finetune.inference.predictor.load_predictor", None)
    assert_error(asked("sentence", *arguments, fails=True), *words)


def test_an_empty_pool_is_one_line(asked: Any, tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text("review\n")
    assert_error(asked("sentence", fails=True), "pool.csv", "no rows")
