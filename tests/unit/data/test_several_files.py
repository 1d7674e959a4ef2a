"""Rows of several files, folders that `datasets` or the Hub lay out, and what is within a line or is no line."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.own_data import own_task

from finetune.data.reading import read_table
from finetune.data.source import Source
from finetune.errors import UserError

FEATURES = {
    "text": {"dtype": "string", "_type": "Value"},
    "label": {"names": ["poor", "fine"], "_type": "ClassLabel"},
}
STORED = {"huggingface": json.dumps({"info": {"features": FEATURES}})}
OLD = [(f"an old text number {n}", ["poor", "fine"][n % 2]) for n in range(30)]
NEW = [(f"a new text number {n}", ["poor", "fine"][n % 2]) for n in range(30)]


def write(file: Path, rows: list[tuple[str, str]], header: str = "text,label") -> Path:
    file.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")
    return file


def arrow(rows: list[tuple[str, str]]) -> pa.Table:
    cells = {"text": [text for text, _ in rows], "label": [FEATURES["label"]["names"].index(name) for _, name in rows]}
    return pa.table(cells).replace_schema_metadata(STORED)


def saved(folder: Path, *parts: list[tuple[str, str]], kind: Any = pa.ipc.new_stream) -> None:
    """As `Dataset.save_to_disk` writes it."""
    folder.mkdir(parents=True)
    names = [f"data-{number:05}-of-{len(parts):05}.arrow" for number in range(len(parts))]
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    for name, rows in zip(names, parts, strict=True):
        table = arrow(rows)
        with kind(str(folder / name), table.schema) as writer:
            writer.write_table(table)


def read(path: str | Path, *splits: str) -> dict[str, list[tuple[str, str]]]:
    task = own_task(str(path))
    return {split: sorted((row.text, row.gold) for row in task.load(Source(), split).rows) for split in splits}


def all_of(path: str | Path) -> list[tuple[str, str]]:
    return sorted(row for rows in read(path, "train", "dev").values() for row in rows)


def test_the_rows_of_two_files_are_trained_on_and_held_out_together(tmp_path: Path) -> None:
    old = write(tmp_path / "old.csv", OLD)
    new = write(tmp_path / "new.csv", [(name, text) for text, name in NEW] + [("fine", "")], header="label,text")
    task: Any = own_task(f"{old},{new}")
    splits = {split: task.load(Source(), split) for split in ("train", "dev")}
    rows = [row for loaded in splits.values() for row in loaded.rows]
    assert (sorted((row.text, row.gold) for row in rows), len({row.id for row in rows})) == (sorted(OLD + NEW), 60)
    assert any(f"row 31 of {new}" in note for note in splits["train"].notes)
    write(new, [*NEW, ("another text", "fine")])
    assert own_task(f"{old},{new}").load(Source(), "train").content != splits["train"].content
    assert task.name == "old.csv,new.csv"
    both = write(tmp_path / "old.csv,new.csv", NEW[:20])
    assert all_of(both) == sorted(NEW[:20])  # a comma in the name of a file that is there
    write(new, NEW, header="text,rating")
    with pytest.raises(UserError, match=r"different columns: 'label' is only in .*old\.csv"):
        own_task(f"{tmp_path / 'old.csv'},{new},{old}")
    with pytest.raises(UserError, match=r"nope\.csv: no such file"):
        own_task(f"{old},{tmp_path / 'nope.csv'}")


@pytest.mark.parametrize("kind", [pa.ipc.new_stream, pa.ipc.new_file])
def test_a_folder_of_save_to_disk_is_read_with_its_splits_and_names(kind: Any, tmp_path: Path) -> None:
    saved(tmp_path / "data" / "train", OLD, NEW[:10], kind=kind)
    saved(tmp_path / "data" / "validation", NEW[10:20])
    saved(tmp_path / "data" / "test", NEW[20:])
    (tmp_path / "data" / "dataset_dict.json").write_text('{"splits": ["train", "validation", "test"]}')
    expected = {"train": sorted(OLD + NEW[:10]), "dev": sorted(NEW[10:20]), "test": sorted(NEW[20:])}
    assert read(tmp_path / "data", "train", "dev", "test") == expected
    assert all_of(tmp_path / "data" / "train") == sorted(OLD + NEW[:10])
    assert all_of(tmp_path / "data" / "train" / "data-00000-of-00002.arrow") == sorted(OLD)
    saved(tmp_path / "cut", OLD)
    cut = tmp_path / "cut" / "data-00000-of-00001.arrow"
    cut.write_bytes(cut.read_bytes()[:200])
    with pytest.raises(UserError, match="is not a valid Arrow file"):
        own_task(tmp_path / "cut")


def test_the_parts_in_a_folder_of_the_hub_are_one_split(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nconfigs: []\n---\n")
    folder = tmp_path / "data"
    folder.mkdir()
    for number, rows in enumerate((OLD, NEW[:10])):
        pq.write_table(arrow(rows), folder / f"train-{number:05}-of-00002.parquet")
    pq.write_table(arrow(NEW[10:]), folder / "validation-00000-of-00001.parquet")
    assert read(tmp_path, "train", "dev") == {"train": sorted(OLD + NEW[:10]), "dev": sorted(NEW[10:])}
    (folder / "train-00001-of-00002.parquet").unlink()
    with pytest.raises(UserError, match="has 1 of 2 parts"):
        own_task(tmp_path)
    for name in ("english", "german"):
        (tmp_path / "two" / name).mkdir(parents=True)
        pq.write_table(arrow(OLD), tmp_path / "two" / name / "train-00000-of-00001.parquet")
    with pytest.raises(UserError, match="has several folders with data: english, german"):
        own_task(tmp_path / "two")


RETURNS = [
    (f"a fine\rday number {n}" if n % 3 == 1 else f"a bad day, number {n}", ["good", "bad"][n % 2]) for n in range(30)
]


@pytest.mark.parametrize(("end", "quote"), [("\n", '"'), ("\n", ""), ("\r\n", '"'), ("\r", '"')])
def test_a_carriage_return_is_part_of_a_cell(end: str, quote: str, tmp_path: Path) -> None:
    rows = [(text.replace("\r", " " if end == "\r" else "\r"), label) for text, label in RETURNS]
    cells = [(f"{quote}{text}{quote}", label) for text, label in [("text", "label"), *rows]]
    sign = "," if quote else "\t"
    (tmp_path / "data.csv").write_bytes("".join(sign.join(row) + end for row in cells).encode())
    table = read_table(tmp_path / "data.csv")
    assert not table.faults
    assert list(zip(table.columns["text"], table.columns["label"], strict=True)) == rows


@pytest.mark.parametrize("name", ["train.jsonl", "train.csv", "train.parquet"])
def test_a_pointer_of_git_lfs_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n")
    with pytest.raises(UserError, match=r"is a pointer of git-lfs.*`git lfs pull`"):
        own_task(tmp_path / name)
