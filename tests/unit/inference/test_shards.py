"""Many Parquet files: rows, their order and columns are the input's."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.parquet_folders import TEXTS, predict_folder

from finetune.data import parquet_groups
from finetune.inference.predictor import Predictor
from finetune.inference.shards import predict
from finetune.inference.shards.plan import InputFile, Plan, Shard, shards_of
from finetune.inference.shards.workers import device_of
from finetune.runs.events import Event, RowsPredicted
from finetune.task_types.columns import Layout

pytestmark = pytest.mark.usefixtures("small_shards")


def test_rows_order_and_columns_are_the_inputs(reviewer: Predictor, parquets: Path, tmp_path: Path) -> None:
    seen: list[Event] = []
    expected = [one["prediction"] for one in reviewer.predict(TEXTS)]
    assert len(set(expected)) == 2
    found = predict_folder(reviewer, parquets, tmp_path / "out", seen=seen)
    assert (found.files, found.rows, found.failed, found.errors) == (3, 60, 0, {})
    for name, begins, ends in (("a", 0, 25), ("year=2026/b", 25, 60), ("empty", 0, 0)):
        before = pq.ParquetFile(parquets / f"{name}.parquet")
        after = pq.ParquetFile(tmp_path / "out" / f"{name}.parquet")
        assert after.read(before.schema_arrow.names).equals(before.read())
        predicted = after.read().to_pylist()
        assert [row["prediction"] for row in predicted] == expected[begins:ends]
        assert after.schema_arrow.names[3:] == ["prediction", "p(bad)", "p(good)", "error"][0 if ends else 3 :]
        assert str(after.schema_arrow.field("error").type) == "string"
    last = [event for event in seen if isinstance(event, RowsPredicted)][-1]
    assert (last.done, last.total) == (60, 60)


def test_shards_are_whole_row_groups() -> None:
    found = list(shards_of("a", (10, 10, 10, 5, 100, 3), rows=20))
    assert [(one.groups, one.rows) for one in found] == [
        ((0, 2), 20), ((2, 5), 115), ((5, 6), 3),
    ]  # fmt: skip


def test_only_the_models_columns_are_read_to_predict(
    reviewer: Predictor, parquets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    real = predict.batches

    def noted(address: str, groups: Any, columns: Any = None, **named: Any) -> Iterator[Any]:
        read.append(columns)
        return real(address, groups, columns, **named)

    monkeypatch.setattr(predict, "batches", noted)
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert [columns for columns in read if columns] == [["review"]] * 4  # the output has all


def test_rows_without_a_text_have_an_error_and_names_are_free(reviewer: Predictor, tmp_path: Path) -> None:
    table = pa.table({"review": ["the cat sat", None, "the dog sat"], "prediction": ["mine"] * 3, "error": [1, 2, 3]})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    found = predict_folder(reviewer, tmp_path / "in", tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert found.failed == 1
    assert [row["prediction"] for row in rows] == ["mine"] * 3
    assert [row["predicted prediction"] for row in rows] == ["good", None, "bad"]
    assert ["no text" in (row["predicted error"] or "") for row in rows] == [False, True, False]
    assert [row["error"] for row in rows] == [1, 2, 3]


def test_classes_that_a_file_names_keep_their_names(reviewer: Predictor, tmp_path: Path) -> None:
    from datasets import ClassLabel, Dataset, Features, Value, load_dataset

    features = Features({"review": Value("string"), "label": ClassLabel(names=["no", "yes"])})
    (tmp_path / "in").mkdir()
    Dataset.from_dict({"review": TEXTS[:4], "label": [0, 1, 0, 1]}, features=features).to_parquet(
        tmp_path / "in" / "a.parquet"
    )
    predict_folder(reviewer, tmp_path / "in", tmp_path / "out")
    files = str(tmp_path / "out" / "a.parquet")
    read = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    assert read.features["label"].names == ["no", "yes"]
    assert read["prediction"] == [one["prediction"] for one in reviewer.predict(TEXTS[:4])]


def test_each_worker_has_a_gpu_unless_one_is_named() -> None:
    assert [device_of(number, None, 2) for number in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert [device_of(1, given, 2) for given in ("cuda", "cuda:0", "cpu")] == ["cuda:1", "cuda:0", "cpu"]
    assert [device_of(1, None, gpus) for gpus in (0, 1)] == [None, None]


def test_a_row_group_that_is_larger_than_a_batch_is_written_in_parts(
    reviewer: Predictor, parquets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = parquet_groups.batches
    monkeypatch.setattr(predict, "batches", lambda *given, **_: real(*given, rows=7))
    predict_folder(reviewer, parquets, tmp_path / "out")
    written = pq.ParquetFile(tmp_path / "out" / "a.parquet")
    assert [written.metadata.row_group(n).num_rows for n in range(written.num_row_groups)] == [7, 7, 6, 5]
    assert written.read(["n"]).column("n").to_pylist() == list(range(25))


def test_a_remote_file_system(reviewer: Predictor, parquets: Path, tmp_path: Path) -> None:
    fsspec.filesystem("memory").put(f"{parquets}/", "/bucket/in/", recursive=True)
    assert predict_folder(reviewer, "memory://bucket/in", tmp_path / "out").errors == {}
    predict_folder(reviewer, parquets, tmp_path / "local")
    for name in ("a", "empty", "year=2026/b"):
        remote, local = (pq.read_table(tmp_path / folder / f"{name}.parquet") for folder in ("out", "local"))
        assert remote.equals(local)
    again = predict_folder(reviewer, "memory://bucket/in/**/*.parquet", tmp_path / "out")
    assert (again.rows, again.before) == (60, 60)


def test_a_plan_is_a_plain_value(tmp_path: Path) -> None:
    shard = Shard(file="a", number=0, groups=(0, 1), rows=1)
    file = InputFile(name="a", address="a", size=1, version="1", shards=(shard,))
    plan = Plan(folder=tmp_path, model="m", layout=Layout(shape="classification", text=("review",)), files={"a": file})
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert plan.left() == [shard]
