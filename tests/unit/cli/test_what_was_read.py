"""What the commands show of data before they train, and what they ask where two readings fit."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.cli import Finetune, assert_error
from support.own_data import own_task

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.runs.resolve import load_recipe
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.starting_recipe import commented, starting_recipe

WORDS = ("soup", "train", "garden", "window", "river", "letter", "market")


def sentence(number: int) -> str:
    return f"the {WORDS[number % 7]} near the {WORDS[number // 7 % 7]} was number {number}"


def write(path: Path, header: str, row: Callable[[int], str], rows: int = 60) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*([header] if header else []), *map(row, range(rows))]) + "\n", encoding="utf-8")
    return path


def two_labels(folder: Path) -> Path:
    return write(
        folder / "data.csv", "note,mark a,mark b", lambda i: f"{sentence(i)},{'xyz'[i % 3]},{'pq'[i // 3 % 2]}"
    )


def test_check_and_init_begin_with_the_first_rows_and_the_labels(here: Finetune, tmp_path: Path) -> None:
    write(
        tmp_path / "mail.csv",
        "id,topic of mail,airline,text",
        lambda i: f"{900 + i},{('bill', 'help')[i % 2]},{'ABC'[i % 3]},{sentence(i)}",
    )
    shown = here("check", "mail.csv").stdout
    assert "row 1: text = 'the soup near the soup was number 0', label = bill" in shown
    assert "row 2: text = 'the train near the soup was number 1', label = help" in shown
    assert "labels: bill 30, help 30" in shown
    assert "not the label, but could be: label=airline (3 values: A, B, C)" in shown
    started = here("init", "mail.csv").stdout
    assert "#   row 1: text = 'the soup near the soup was number 0', label = bill" in started
    assert 'label = "topic of mail"' in started


def test_run_shows_the_first_rows_before_it_trains(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    write(tmp_path / "mail.csv", "text,label", lambda i: f"{sentence(i)},{'ab'[i % 2]}")
    done = here("run", "mail.csv", f"model={tiny_bert}", "train.epochs=1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.index("row 1: text = 'the soup") < done.stderr.index("epoch 1/1")
    assert "labels: a 30, b 30" in done.stderr


def test_where_two_columns_could_be_the_label_the_command_stops_and_its_settings_work(
    here: Finetune, tmp_path: Path
) -> None:
    two_labels(tmp_path)
    for command in ("run", "check", "init"):
        done = here(command, "data.csv")
        assert (done.returncode, done.stdout) == (2, "")
        assert_error(done.stderr, "'label=mark a' (3 values: x, y, z)")
    assert 'label = "mark b"' in here("init", "data.csv", "label=mark b").stdout


def test_on_a_terminal_the_user_is_asked(tmp_path: Path) -> None:
    two_labels(tmp_path)
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "finetune", "init", "data.csv"],
        cwd=tmp_path, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    os.close(terminal)
    os.write(keyboard, b"9\n2\n")  # the first answer is none of the numbers
    output, _ = process.communicate(timeout=120)
    asked = os.read(keyboard, 65536).decode()
    assert process.returncode == 0, asked
    assert "mark a" in asked
    assert 'label = "mark a"' in output or 'label = "mark b"' in output


def test_commas_that_can_mean_two_things_are_asked_about(tmp_path: Path) -> None:
    data = write(tmp_path / "a.tsv", "text\tscore", lambda i: f"{sentence(i)}\t{1000 + 37 * i:,}")
    with pytest.raises(Ambiguous, match=r"decimal=, .*decimal=\. .*shape=multi-label"):
        own_task(str(data), {})
    labels = {
        sign: [row.gold for row in own_task(str(data), {"decimal": sign}).load(Source(), "train").rows[:1]]
        for sign in (",", ".")
    }
    assert labels[","][0] * 1000 == labels["."][0]


def test_a_file_most_of_which_cannot_be_read_is_not_trained_on(tmp_path: Path) -> None:
    data = write(
        tmp_path / "a.jsonl", "", lambda i: json.dumps({"text": sentence(i), "label": i % 2}) if i % 3 else "{oh"
    )
    with pytest.raises(UserError, match=r"cannot be read \(JSON Lines.*17 more.*--fix`"):
        own_task(data)


def test_names_of_numbered_labels_come_from_a_file_a_setting_or_the_data(tmp_path: Path) -> None:
    data = write(tmp_path / "x" / "a.csv", "text,label", lambda i: f"{sentence(i)},{i % 3}")
    assert own_task(str(data), {}).labels == ("0", "1", "2")
    for given in ("0=bad,1=fair,2=good", {"0": "bad", "1": "fair", "2": "good"}, ["bad", "fair", "good"]):
        assert own_task(str(data), {"labels": given}).labels == ("bad", "fair", "good")
    (tmp_path / "x" / "labels.txt").write_text("bad\nfair\ngood\n")
    assert own_task(str(data), {}).labels == ("bad", "fair", "good")
    with pytest.raises(UserError, match="numbers"):
        own_task(str(data), {"labels": "7=x,8=y"})
    features = {"label": {"_type": "ClassLabel", "names": ["no", "yes"]}, "text": {"_type": "Value"}}
    table = pa.table({"text": [sentence(i) for i in range(40)], "label": [i % 2 for i in range(40)]})
    info = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    pq.write_table(table.replace_schema_metadata(info), tmp_path / "rows.parquet")
    assert own_task(str(tmp_path / "rows.parquet"), {}).labels == ("no", "yes")


def test_a_folder_for_each_class_is_read(tmp_path: Path) -> None:
    for split, count in (("train", 30), ("test", 10)):
        for label in ("pos", "neg", "unsup"):
            for number in range(count):
                file = tmp_path / "films" / split / label / f"{number}_7.txt"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{label} {sentence(number)}")
    task = own_task(str(tmp_path / "films"), {})
    rows = [row for split in ("train", "dev") for row in task.load(Source(), split).rows]
    assert {(row.gold, row.text.split()[0]) for row in rows} == {("pos", "pos"), ("neg", "neg")}
    assert (len(rows), len(task.load(Source(), "test").rows)) == (60, 20)


def test_names_of_labels_and_signs_go_into_the_recipe_and_back(tmp_path: Path) -> None:
    data = write(tmp_path / "x" / "a.csv", "text,label", lambda i: f"{sentence(i)},{i % 3}")
    (tmp_path / "x" / "labels.txt").write_text("bad\nfair\ngood\n")
    started, task = starting_recipe(str(data), {})
    (tmp_path / "my.toml").write_text(commented(started, task))
    (tmp_path / "x" / "labels.txt").unlink()
    again = load_recipe(tmp_path / "my.toml")
    assert own_task(again.task, again.options).labels == ("bad", "fair", "good")
    amounts = write(tmp_path / "b.tsv", "text\tscore", lambda i: f"{sentence(i)}\t{1000 + 37 * i:,}")
    started, _ = starting_recipe(str(amounts), {"decimal": "."})
    assert own_task(str(amounts), started.options).load(Source(), "train").rows[0].gold >= 1000


def test_a_column_that_names_splits_is_told_as_not_used(here: Finetune, tmp_path: Path) -> None:
    split = ("train", "train", "test")
    write(tmp_path / "a.csv", "text,label,split", lambda i: f"{sentence(i)},{'ab'[i % 2]},{split[i % 3]}")
    shown = here("check", "a.csv").stdout
    assert "'split'" in shown
    assert "warning split-column" in shown


def test_the_column_that_split_names_is_used(here: Finetune, tmp_path: Path) -> None:
    split = ("train", "train", "dev")
    write(tmp_path / "a.csv", "text,label,split", lambda i: f"{sentence(i)},{'ab'[i % 2]},{split[i % 3]}")
    shown = here("check", "a.csv", "split=split").stdout
    assert "split-column" not in shown
    assert "alone" not in shown
