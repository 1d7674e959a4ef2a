"""`finetune label-next` and `finetune.label_errors`: the rows to label, and the labels that look wrong."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.cli import InProcess, assert_error
from support.runs import FinishedRun, as_csv, as_json_lines
from support.toys import cat_rows

import finetune
from finetune.data.source import source_of
from finetune.runs.record_files import load_record
from finetune.task_types.own_data import own_task

POOLS: dict[str, list[dict[str, Any]]] = {
    "sentence": [{"review": f"a {i} dog and a cat ran {i}"} for i in range(30)],
    "regression": [{"a": f"one cat {i} ran", "b": f"no dog {i} sat"} for i in range(30)],
    "multilabel": [{"text": f"dogs {i} ran"} for i in range(30)],
    "tagging": [{"words": f"a cat {i} sat"} for i in range(30)],
    "span": [{"question": "who ran?", "context": f"a dog ran {i}"} for i in range(30)],
    "choice by letter": [{"question": f"dogs {i}", "A": "ran", "B": "sat", "C": "lay"} for i in range(30)],
}
FAST = ("sentence", "tagging")


@pytest.fixture
def asked(in_process: InProcess, finished_run: FinishedRun, tmp_path: Path) -> Any:
    """Types `label-next` for the run of a task type: exit code, output, error."""

    def ask(kind: str, pool: str, *arguments: str) -> tuple[int, str, str]:
        run = finished_run(kind)
        origin = load_record(run / "record.json").data_origin["train"]  # relative to where the run was started
        (tmp_path / origin).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path("/") / origin, tmp_path / origin)
        return in_process("label-next", str(run), pool, *arguments, "--json", data="")

    return ask


@pytest.mark.parametrize("kind", [k if k in FAST else pytest.param(k, marks=pytest.mark.slow) for k in POOLS])
def test_what_is_written_is_read_as_the_same_task_once_it_is_labelled(asked: Any, tmp_path: Path, kind: str) -> None:
    (tmp_path / "pool.jsonl").write_text(as_json_lines(*POOLS[kind]))
    code, out, err = asked(kind, "pool.jsonl", "--rows", "10", "-o", "next.jsonl")
    assert code == 0, err
    found, rows = json.loads(out), [json.loads(line) for line in (tmp_path / "next.jsonl").read_text().splitlines()]
    assert found["chosen"] == len(rows) == 10
    sure = [row["certainty"] for row in rows if row["certainty"] is not None]
    assert sure == sorted(sure)
    (name,) = (name for name in rows[0] if name.startswith("suggested "))
    done = [row | {found["settings"]["label"]: row[name]} for row in rows]
    (tmp_path / "done.jsonl").write_text(as_json_lines(*done))
    assert own_task(str(tmp_path / "done.jsonl"), found["settings"]).load(source_of(None), "train").rows


def test_rows_of_the_run_are_left_out(
    asked: Any, reviews: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ("the cat sat 3", "THE  dog sat 4", "dogs ran", "Dogs  ran", "cats slept")  # two of the run, one twice
    (tmp_path / "pool.csv").write_text(as_csv(("review", "note"), *((text, "red") for text in texts)))
    code, out, err = asked("sentence", "pool.csv", "--rows", "10")
    assert code == 0, err
    typed = json.loads(out)
    assert [typed[name] for name in ("rows", "known", "chosen")] == [5, 2, 2]
    assert any("only 2 rows of the 10" in note for note in typed["notes"])
    with (tmp_path / "next.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["review", "mark", "suggested mark", "certainty", "note"]
    assert {row["review"] for row in rows} == {"dogs ran", "cats slept"} and {row["mark"] for row in rows} == {""}
    pool = pd.read_csv(tmp_path / "pool.csv")
    found = finetune.label_next(finetune.open_run(reviews), pool, rows=10)
    assert found.path is None and found.frame is not None
    assert {**typed, "path": None} == {name: value for name, value in vars(found).items() if name != "frame"}
    assert found.frame["suggested mark"].tolist() == [row["suggested mark"] for row in rows]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("pool", "arguments", "words"),
    [
        ("review\nthe cat sat 3\n", (), ["pool.csv", "all 1 row", "already"]),
        ("other,note\na,b\n", (), ["'review'", "text=COLUMN"]),
        ("review\na\n", ("-o", "pool.csv"), ["pool.csv", "overwrite"]),
        ("review\na\n", ("-o", "theirs.csv"), ["theirs.csv", "already exists"]),
    ],
)
def test_what_cannot_be_done_is_one_line(
    asked: Any, tmp_path: Path, pool: str, arguments: tuple[str, ...], words: list[str]
) -> None:
    (tmp_path / "pool.csv").write_text(pool)
    (tmp_path / "theirs.csv").write_text("theirs")
    code, _, err = asked("sentence", "pool.csv", *arguments)
    assert code == 2
    assert_error(err, *words)
    assert (tmp_path / "theirs.csv").read_text() == "theirs"


OTHER = {"yes": "no", "no": "yes"}
LEARNS = {"learning_rate": 2e-3, "epochs": 3, "batch_size": 16}


def test_changed_labels_come_first(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows, changed = cat_rows(160), {3, 50, 90, 120}
    marks = [OTHER[str(row.gold)] if number in changed else row.gold for number, row in enumerate(rows)]
    frame = pd.DataFrame({"body": [row.text for row in rows], "mark": marks})
    found = finetune.label_errors(
        frame, text="body", label="mark", model=tiny_bert, folds=2, max_length=32, train=LEARNS
    )
    assert sorted(map(int, found["id"])) == list(range(1, 161))
    assert found["belief"].is_monotonic_increasing
    assert len({int(name) - 1 for name in found["id"][:16]} & changed) >= 3
    assert list(tmp_path.iterdir()) == []  # no run is left


def test_tags_are_judged_by_the_word(tiny_bert: Path) -> None:
    rows = [{"words": row.text.split()[:4], "tags": ["B-PET", "O", "O", "O"]} for row in cat_rows(40)]
    settings = {"shape": "tagging", "text": "words", "label": "tags", "train": {"epochs": 1, "batch_size": 16}}
    found = finetune.label_errors(pd.DataFrame(rows), model=tiny_bert, folds=2, max_length=48, **settings)
    assert len(found) == 40 and found["belief"].is_monotonic_increasing and np.isfinite(found["belief"]).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folds": 1}, "at least 2"),
        ({"folds": 3}, "2 different texts"),
        ({"train": {"select": "best"}}, "train.select"),
    ],
)
def test_what_cannot_be_judged_is_refused(tiny_bert: Path, given: dict[str, Any], said: str) -> None:
    frame = pd.DataFrame({"text": ["a b", "c d"] * 9, "label": ["x", "y"] * 9})
    with pytest.raises(finetune.UserError, match=said):
        finetune.label_errors(frame, model=tiny_bert, **given)
