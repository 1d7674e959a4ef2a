"""What the commands show of data before they train, and what they ask where two readings fit."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def write(path: Path, header: str, row: Callable[[int], str]) -> Path:
    path.write_text("\n".join([header, *map(row, range(60))]) + "\n", encoding="utf-8")
    return path


def first_gold(data: Path, **settings: Any) -> Any:
    return own_task(str(data), settings).load(Source(), "train").rows[0].gold


def test_where_two_columns_could_be_the_label_the_command_stops_or_asks(here: Finetune, tmp_path: Path) -> None:
    write(tmp_path / "data.csv", "note,mark a,mark b", lambda i: f"{sentence(i)},{'xyz'[i % 3]},{'pq'[i // 3 % 2]}")
    for command in ("run", "check", "init"):
        done = here(command, "data.csv")
        assert (done.returncode, done.stdout) == (2, "")
        assert_error(done.stderr, "'label=mark a' (3 values: x, y, z)")
    assert 'label = "mark b"' in here("init", "data.csv", "label=mark b").stdout
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
    (second,) = [
        line.split("=")[1].split("  ")[0].strip("'") for line in asked.splitlines() if line.startswith("  2  ")
    ]
    assert f'label = "{second}"' in output


def test_commas_that_can_mean_two_things_are_asked_about(tmp_path: Path) -> None:
    data = write(tmp_path / "a.tsv", "text\tscore", lambda i: f"{sentence(i)}\t{1000 + 37 * i:,}")
    with pytest.raises(Ambiguous, match=r"decimal=, .*decimal=\. .*shape=multi-label"):
        own_task(str(data), {})
    assert first_gold(data, decimal=".") == 1000 * first_gold(data, decimal=",") >= 1000
    started, _ = starting_recipe(str(data), {"decimal": "."})
    assert first_gold(data, **started.options) >= 1000


def test_a_file_most_of_which_cannot_be_read_is_not_trained_on(tmp_path: Path) -> None:
    data = tmp_path / "a.jsonl"
    rows = [json.dumps({"text": sentence(i), "label": i % 2}) if i % 3 else "{oh" for i in range(60)]
    data.write_text("\n".join(rows))
    with pytest.raises(UserError, match=r"cannot be read \(JSON Lines.*17 more.*--fix`"):
        own_task(data)


def test_names_of_numbered_labels_come_from_a_file_a_setting_or_the_data(tmp_path: Path) -> None:
    data = write(tmp_path / "a.csv", "text,label", lambda i: f"{sentence(i)},{i % 3}")
    assert own_task(str(data), {}).labels == ("0", "1", "2")
    for given in ("0=bad,1=fair,2=good", {"0": "bad", "1": "fair", "2": "good"}, ["bad", "fair", "good"]):
        assert own_task(str(data), {"labels": given}).labels == ("bad", "fair", "good")
    with pytest.raises(UserError, match="numbers"):
        own_task(str(data), {"labels": "7=x,8=y"})
    (tmp_path / "labels.txt").write_text("bad\nfair\ngood\n")
    assert own_task(str(data), {}).labels == ("bad", "fair", "good")
    (tmp_path / "my.toml").write_text(commented(*starting_recipe(str(data), {})))
    (tmp_path / "labels.txt").unlink()
    again = load_recipe(tmp_path / "my.toml")
    assert own_task(again.task, again.options).labels == ("bad", "fair", "good")
    features = {"label": {"_type": "ClassLabel", "names": ["no", "yes"]}, "text": {"_type": "Value"}}
    table = pa.table({"text": [sentence(i) for i in range(40)], "label": [i % 2 for i in range(40)]})
    info = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    pq.write_table(table.replace_schema_metadata(info), tmp_path / "rows.parquet")
    assert own_task(str(tmp_path / "rows.parquet"), {}).labels == ("no", "yes")
