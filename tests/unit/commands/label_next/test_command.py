"""What `label-next` writes for each task type and tool, once it is labelled there, is read by `run`."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.cli import InProcess, assert_error
from support.runs import DATA, FinishedRun, as_csv, as_json_lines

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
FILES = {"label-studio": "next.json", "doccano": "next.jsonl", "table": "next.csv"}
REFUSED = {("regression", "doccano"), ("span", "doccano"), ("choice", "doccano"), ("choice by letter", "doccano")}
REFUSED |= {("tagging", "table")}
FAST = {("sentence", "table"), ("sentence", "doccano"), ("multilabel", "label-studio"), ("tagging", "label-studio")}
USED = [
    pytest.param(kind, tool, marks=() if (kind, tool) in FAST else pytest.mark.slow)
    for kind in POOLS
    for tool in FILES
    if (kind, tool) not in REFUSED
]


def labelled(file: Path, tool: str) -> Path:
    """The file as the tool exports it, each suggestion taken for the label."""
    export = file.with_name(f"export{file.suffix}")
    if tool == "label-studio":
        tasks = json.loads(file.read_text())
        done = [{"id": i, "data": t["data"], "annotations": _annotations(t)} for i, t in enumerate(tasks, start=1)]
        export.write_text(json.dumps(done))
    elif tool == "doccano":
        documents = map(json.loads, file.read_text().splitlines())
        export.write_text(as_json_lines(*({"id": i, **one, "Comments": []} for i, one in enumerate(documents))))
    else:
        with file.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        (name,) = (name for name in rows[0] if name.startswith("suggested "))
        label = name.removeprefix("suggested ")
        whole = [row | {label: row[label] or row[name]} for row in rows]
        export.write_text(as_csv(tuple(whole[0]), *(tuple(row.values()) for row in whole)))
    return export


def _annotations(task: dict[str, Any]) -> list[dict[str, Any]]:
    return task.get("annotations") or [{"was_cancelled": False, "result": task["predictions"][0]["result"]}]


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


@pytest.mark.parametrize(("kind", "tool"), USED)
def test_what_is_written_and_labelled_is_read_as_the_same_task(
    asked: Any, finished_run: FinishedRun, tmp_path: Path, kind: str, tool: str
) -> None:
    found = asked(kind, "--rows", "10", "-o", FILES[tool])
    assert (found["chosen"], found["random"]) == (10, 1)
    data = finished_run(kind).parents[2] / DATA[kind][0]
    before = own_task(str(data), {})
    task = own_task(str(labelled(tmp_path / FILES[tool], tool)), found["settings"])
    assert type(task) is type(before)
    assert getattr(task, "labels", ()) == getattr(before, "labels", ())
    train, dev = (task.load(source_of(None), split).rows for split in ("train", "dev"))
    assert len(train) + len(dev) >= found["labelled_rows_written"] + 5
    drawn = json.loads((finished_run(kind) / "split.json").read_text())["dev"]
    assert len(dev) == len(drawn) + 1


@pytest.mark.parametrize(("kind", "tool"), sorted(REFUSED))
def test_a_tool_in_which_rows_cannot_be_labelled_is_refused_with_those_in_which_they_can(
    asked: Any, tmp_path: Path, kind: str, tool: str
) -> None:
    assert_error(asked(kind, "-o", FILES[tool], fails=True), "cannot be labelled in", "ends with")
    assert not (tmp_path / FILES[tool]).exists()


TRAINED = [("the cat sat 3",), ("THE  dog sat 4",)]  # rows of the run, but for case and spaces


def write_pool(folder: Path, *texts: str, column: str = "review") -> None:
    rows = [*TRAINED, *((text,) for text in texts)]
    (folder / "pool.csv").write_text(as_csv((column, "note"), *((text, "red") for (text,) in rows)))


def test_rows_with_labels_and_copies_are_left_out_and_fewer_are_noted(asked: Any, tmp_path: Path) -> None:
    write_pool(tmp_path, "the bird flew", "The  bird flew", "dogs ran", "cats slept")
    found = asked("sentence", "--rows", "10", "--new-only")
    assert [found[name] for name in ("rows", "labelled", "chosen", "random")] == [6, 2, 3, 0]
    assert any("only 3 rows of the 10" in note for note in found["notes"])
    with (tmp_path / "next.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 and {row["chosen"] for row in rows} <= {"unsure", "random"}
    assert all(row["mark"] == "" and row["suggested mark"] in ("good", "bad") for row in rows)


def test_python_gives_the_rows_of_the_command_in_memory(
    asked: Any, reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = asked("sentence", "--rows", "10")
    pool = pd.read_csv(tmp_path / "pool.csv")
    found = finetune.label_next(finetune.open_run(reviews), pool, rows=10)
    assert found.files == () and found.frame is not None
    assert {**told, "files": []} == found.facts()
    written = pd.read_csv(tmp_path / "next.csv", keep_default_na=False)
    names = ["review", "mark", "suggested mark", "chosen", "split"]
    assert found.frame[names].fillna("").values.tolist() == written[names].values.tolist()
    assert capsys.readouterr() == ("", "")
    for wrong, words in (({"rows": 0}, "rows is 0"), ({"random": 2}, "random is 2"), ({"text": "other"}, "'other'")):
        with pytest.raises(finetune.UserError, match=words):
            finetune.label_next(reviews, pool, **wrong)


@pytest.mark.parametrize(
    ("texts", "column", "arguments", "words"),
    [
        ((), "review", (), ["pool.csv", "all 2 rows", "already"]),
        (("a",), "other", (), ["no column 'review'", "text=other"]),
        (("a",), "review", ("--to", "prodigy"), ["'prodigy'", "label-studio, doccano, table"]),
        (("a",), "review", ("--to", "doccano"), ["next.csv", ".jsonl"]),
        (("a",), "review", ("-o", "pool.csv"), ["pool.csv", "overwrite"]),
        (("a",), "review", ("more.csv",), ["'more.csv'"]),
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
        (("--to", "doccano"), ["next.csv", ".jsonl"]),
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
