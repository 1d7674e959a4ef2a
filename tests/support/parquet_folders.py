"""Folders of small Parquet files in, and of predictions out."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finetune.inference.predictor import Predictor
from finetune.inference.shards import begin
from finetune.inference.shards.begin import inputs
from finetune.inference.shards.work import FolderPrediction, predict_files
from finetune.runs.events import Event, unwatched
from finetune.storage.journal import Journal

TEXTS = [f"the {'cat' if i % 2 else 'dog'} sat {i}" for i in range(60)]


def write_folder(folder: Path) -> Path:
    """Three files in row groups of 10 rows, one in a Hive partition, and one without rows."""
    (folder / "year=2026").mkdir(parents=True)
    for name, start, end in (("a", 0, 25), ("year=2026/b", 25, 60), ("empty", 0, 0)):
        cells = {"n": pa.array(range(start, end), pa.int32()), "review": pa.array(TEXTS[start:end], pa.string())}
        table = pa.table(cells | {"tags": pa.array([["x", str(n)] for n in range(start, end)], pa.list_(pa.string()))})
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=10)
    return folder


def write_two(folder: Path, rows: int) -> Path:
    """Two files of so many rows in row groups of 500."""
    folder.mkdir()
    for name in ("a", "b"):
        texts = [f"the cat {name} sat {'on it ' * (n % 9)}" for n in range(rows)]
        pq.write_table(pa.table({"review": texts}), folder / f"{name}.parquet", row_group_size=500)
    return folder


def predict_folder(
    predictor: Predictor, target: Path | str, output: Path, *, seen: list[Event] | None = None, **options: Any
) -> FolderPrediction:
    watch = unwatched if seen is None else seen.append
    return predict_files(predictor, inputs([str(target)], output), output, options={}, watch=watch, **options)


def stop_after(windows: int, predictor: Predictor, target: Path, output: Path) -> None:
    """A prediction that ends as a kill would end it, after so many windows of rows are in journals."""
    add, left = Journal.add, iter(range(windows))

    def add_and_die(journal: Journal, *given: Any, **named: Any) -> None:
        add(journal, *given, **named)
        if next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Journal, "add", add_and_die)
        predict_folder(predictor, target, output)


def windows(state: Path) -> int:
    """How many windows of rows are in journals."""
    return sum(journal.read_bytes().count(b"\n[") for journal in state.rglob("*.part.jsonl"))


def checksums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each output by its name."""
    files = sorted(file for file in folder.rglob("*.parquet") if ".predict" not in file.parts)
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def is_complete(folder: Path) -> bool:
    """Whether the predictions of all inputs are written."""
    return any(folder.rglob("*.parquet")) and not (folder / ".predict").exists()


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of 20 rows."""
    monkeypatch.setattr(begin, "SHARD_ROWS", 20)


@pytest.fixture
def parquets(tmp_path: Path) -> Path:
    """A folder of Parquet files."""
    return write_folder(tmp_path / "in")


@pytest.fixture
def whole_checksums(reviewer: Predictor, parquets: Path, tmp_path: Path) -> dict[str, str]:
    """The checksums of an undisturbed prediction, which is in `whole`."""
    predict_folder(reviewer, parquets, tmp_path / "whole")
    return checksums(tmp_path / "whole")
