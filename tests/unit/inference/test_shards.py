"""Many Parquet files: rows and order are the input's, what is left is resumed, and the manifest proves every row."""

import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.parquet_folders import TEXTS, checksums, manifest, predict_folder, write_folder

from finetune.data import parquet_groups
from finetune.errors import UserError
from finetune.inference.journal import Journal
from finetune.inference.predictor import Predictor
from finetune.inference.shards import begin, join, predict
from finetune.inference.shards.plan import Busy, Plan, Shard, load, shards_of
from finetune.inference.shards.work import finish, predict_all
from finetune.inference.shards.workers import device_of
from finetune.runs.events import Event, RowsPredicted


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(begin, "SHARD_ROWS", 20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "in")


@pytest.fixture
def whole(reviewer: Predictor, folder: Path, tmp_path: Path) -> dict[str, str]:
    """The checksums of an undisturbed prediction."""
    predict_folder(reviewer, folder, tmp_path / "whole")
    return checksums(tmp_path / "whole")


def dies_after(windows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends the work as a kill would, after so many windows of rows are in journals."""
    add, left = Journal.add, iter(range(windows))

    def add_and_die(journal: Journal, *given: Any, **named: Any) -> None:
        add(journal, *given, **named)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "add", add_and_die)


def test_rows_order_and_columns_are_the_inputs(reviewer: Predictor, folder: Path, tmp_path: Path) -> None:
    seen: list[Event] = []
    expected = [one["answer"] for one in reviewer.predict(TEXTS)]
    assert len(set(expected)) == 2
    found = predict_folder(reviewer, folder, tmp_path / "out", seen=seen)
    assert (found.files, found.rows, found.failed, found.errors) == (3, 60, 0, {})
    for name, begins, ends in (("a", 0, 25), ("year=2026/b", 25, 60), ("empty", 0, 0)):
        before = pq.ParquetFile(folder / f"{name}.parquet")
        after = pq.ParquetFile(tmp_path / "out" / f"{name}.parquet")
        assert after.read(before.schema_arrow.names).equals(before.read())
        predicted = after.read().to_pylist()
        assert [row["answer"] for row in predicted] == expected[begins:ends]
        assert after.schema_arrow.names[3:] == ["answer", "p(bad)", "p(good)", "error"][0 if ends else 3 :]
        assert str(after.schema_arrow.field("error").type) == "string"
    last = [event for event in seen if isinstance(event, RowsPredicted)][-1]
    assert (last.done, last.total) == (60, 60)


def test_the_manifest_counts_every_row_once(reviewer: Predictor, folder: Path, tmp_path: Path) -> None:
    predict_folder(reviewer, folder, tmp_path / "out")
    found = manifest(tmp_path / "out")
    assert (found["complete"], found["rows"]) == (True, 60)
    for file in found["files"]:
        written = tmp_path / "out" / file["name"]
        assert file["output"]["sha256"] == sha256(written.read_bytes()).hexdigest()
        assert file["output"]["rows"] == pq.read_metadata(written).num_rows
        ends = [shard["first"] + shard["rows"] for shard in file["shards"]]
        assert [shard["first"] for shard in file["shards"]] == [0, *ends][:-1]
        assert [shard["rows"] for shard in file["shards"]] == [one["rows"] for one in file["output"]["shards"]]
    assert [len(file["shards"]) for file in found["files"]] == [2, 0, 2]
    assert not (tmp_path / "out" / ".predict").exists()


def test_shards_are_whole_row_groups() -> None:
    found = list(shards_of("a", (10, 10, 10, 5, 100, 3), rows=20))
    assert [(one.groups, one.first, one.rows) for one in found] == [
        ((0, 2), 0, 20), ((2, 5), 20, 115), ((5, 6), 135, 3),
    ]  # fmt: skip


@pytest.mark.parametrize("windows", [0, 1, 3])
def test_the_same_call_resumes(
    reviewer: Predictor,
    folder: Path,
    whole: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    windows: int,
) -> None:
    with monkeypatch.context() as patch:
        dies_after(windows, patch)
        with pytest.raises(KeyboardInterrupt):
            predict_folder(reviewer, folder, tmp_path / "out")
    assert not manifest(tmp_path / "out")["complete"]
    assert 4 - len(load(tmp_path / "out").left()) == windows  # a shard is a window here
    predict_folder(reviewer, folder, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole


def test_a_kill_between_a_shard_and_its_output_costs_nothing(
    reviewer: Predictor, folder: Path, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    for module, name in ((predict, "join_file"), (join, "_compare"), (predict, "_write_scratch")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(module, name, die)
            predict_folder(reviewer, folder, tmp_path / "out")
        assert not list((tmp_path / "out").glob("*.parquet"))
    found = predict_folder(reviewer, folder, tmp_path / "out")
    assert (checksums(tmp_path / "out"), found.rows) == (whole, 60)


def test_the_same_call_again_checks_what_is_there(
    reviewer: Predictor, folder: Path, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "whole"
    with monkeypatch.context() as patch:
        patch.setattr(Predictor, "answers_and_truncated", None)
        again = predict_folder(reviewer, folder, out)
    assert (again.rows, again.before, again.notes) == (60, 60, [])
    damaged = bytearray((out / "a.parquet").read_bytes())
    damaged[50] ^= 1
    (out / "a.parquet").write_bytes(damaged)
    (out / "year=2026" / "b.parquet").unlink()
    again = predict_folder(reviewer, folder, out)
    assert (again.rows, again.before, len(again.notes)) == (60, 0, 2)
    assert checksums(out) == whole


def test_an_input_that_has_changed_is_an_error(
    reviewer: Predictor, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        dies_after(1, patch)
        predict_folder(reviewer, folder, tmp_path / "out")
    os.utime(folder / "a.parquet", (1, 1))
    for _ in range(2):
        with pytest.raises(UserError, match=r"a\.parquet: has changed"):
            predict_folder(reviewer, folder, tmp_path / "out")
    (folder / "a.parquet").unlink()
    with pytest.raises(UserError, match=r"a\.parquet: was an input .* gone"):
        predict_folder(reviewer, folder, tmp_path / "out")


def test_an_input_that_changes_meanwhile_is_an_error_each_time(
    reviewer: Predictor, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = join._written

    def change(plan: Plan, file: Any, results: Any) -> Any:
        if file.name == "a.parquet":
            os.utime(folder / "a.parquet", (1, 1))
        return written(plan, file, results)

    monkeypatch.setattr(join, "_written", change)
    found = predict_folder(reviewer, folder, tmp_path / "out")
    assert (found.files, found.rows) == (2, 35)
    assert "has changed" in found.errors["a.parquet"]
    with pytest.raises(UserError, match="has changed"):
        predict_folder(reviewer, folder, tmp_path / "out")


def test_other_content_of_the_same_time_and_size_is_noticed_when_the_output_is_compared(
    reviewer: Predictor, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = join.batches

    def other_rows(address: str, *given: Any) -> Iterator[Any]:
        for batch in real(address, *given):
            if address.endswith("in/a.parquet"):
                batch = batch.set_column(1, "review", pa.array(["the cow sat"] * len(batch)))
            yield batch

    monkeypatch.setattr(join, "batches", other_rows)
    found = predict_folder(reviewer, folder, tmp_path / "out")
    assert list(found.errors) == ["a.parquet"]
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_another_model_is_an_error_and_new_files_are_added(
    reviewer: Predictor, folder: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    from dataclasses import replace

    with pytest.raises(UserError, match="another model"):
        predict_folder(replace(reviewer, fingerprint="other"), folder, tmp_path / "whole")
    shutil.copy(folder / "a.parquet", folder / "c.parquet")
    found = predict_folder(reviewer, folder, tmp_path / "whole")
    assert (found.files, found.rows, found.before) == (4, 85, 60)
    assert "1 file more" in found.notes[0]
    assert checksums(tmp_path / "whole")["c.parquet"] == whole["a.parquet"]


def test_the_others_continue_where_a_file_cannot_be_read(
    reviewer: Predictor, folder: Path, whole: dict[str, str], tmp_path: Path
) -> None:
    good = (folder / "a.parquet").read_bytes()
    for damaged in (b"PAR1 and no more", good[:4] + b"\0" * 400 + good[404:]):  # no footer; a footer, but no pages
        (folder / "a.parquet").write_bytes(damaged)
        found = predict_folder(reviewer, folder, tmp_path / "out")
        assert (found.files, found.rows, list(found.errors)) == (2, 35, ["a.parquet"])
        assert "cannot be read" in found.errors["a.parquet"]
        assert not manifest(tmp_path / "out")["complete"]
    (folder / "a.parquet").write_bytes(good)
    predict_folder(reviewer, folder, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole


def test_a_shard_is_for_one_process(
    reviewer: Predictor, folder: Path, whole: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        dies_after(0, patch)
        predict_folder(reviewer, folder, tmp_path / "out")
    plan = load(tmp_path / "out")
    first, *others = plan.left()
    with plan.locked(first.key, wait=False):
        with pytest.raises(Busy):
            predict.predict_shard(reviewer, plan, first)
        for shard in others:
            assert predict.predict_shard(reviewer, plan, shard).rows == shard.rows
    reported: dict[str, int] = {}
    assert predict_all(reviewer, plan, reported.__setitem__) == {}
    assert reported == {first.key: first.rows}
    predict_folder(reviewer, folder, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole
    assert predict.predict_shard(reviewer, plan, first).rows == first.rows  # of a plan that another has finished
    assert not (tmp_path / "out" / ".predict").exists()


def test_only_the_models_columns_are_read_to_predict(
    reviewer: Predictor, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Any] = []
    real = predict.batches

    def noted(address: str, groups: Any, columns: Any, **named: Any) -> Iterator[Any]:
        read.append(columns)
        return real(address, groups, columns, **named)

    monkeypatch.setattr(predict, "batches", noted)
    predict_folder(reviewer, folder, tmp_path / "out")
    assert read == [["review"]] * 4


def test_rows_without_a_text_have_an_error_and_names_are_free(reviewer: Predictor, tmp_path: Path) -> None:
    table = pa.table({"review": ["the cat sat", None, "the dog sat"], "answer": ["mine"] * 3, "error": [1, 2, 3]})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "a.parquet")
    found = predict_folder(reviewer, tmp_path / "in", tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "a.parquet").to_pylist()
    assert found.failed == 1
    assert [row["answer"] for row in rows] == ["mine"] * 3
    assert [row["predicted answer"] for row in rows] == ["good", None, "bad"]
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
    assert read["answer"] == [one["answer"] for one in reviewer.predict(TEXTS[:4])]


def test_a_process_that_comes_last_leaves_the_manifest_as_it_is(
    reviewer: Predictor, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        dies_after(0, patch)
        predict_folder(reviewer, folder, tmp_path / "out")
    slow = load(tmp_path / "out")
    predict_folder(reviewer, folder, tmp_path / "out")
    done = manifest(tmp_path / "out")
    assert (slow.left(), predict_all(reviewer, slow, lambda *_: None)) == ([], {})
    assert finish(slow, {}).rows == 60
    assert manifest(tmp_path / "out") == done
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "a.parquet", "empty.parquet", "manifest.json", "year=2026",
    ]  # fmt: skip


def test_each_worker_has_a_gpu_unless_one_is_named() -> None:
    assert [device_of(number, None, 2) for number in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert [device_of(1, given, 2) for given in ("cuda", "cuda:0", "cpu")] == ["cuda:1", "cuda:0", "cpu"]
    assert [device_of(1, None, gpus) for gpus in (0, 1)] == [None, None]


def test_a_row_group_that_is_larger_than_a_batch_is_written_in_parts(
    reviewer: Predictor, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = parquet_groups.batches
    monkeypatch.setattr(join, "batches", lambda address, *given: real(address, *given, rows=7))
    predict_folder(reviewer, folder, tmp_path / "out")
    written = pq.ParquetFile(tmp_path / "out" / "a.parquet")
    assert [written.metadata.row_group(n).num_rows for n in range(written.num_row_groups)] == [7, 7, 6, 5]
    assert written.read(["n"]).column("n").to_pylist() == list(range(25))


def test_a_remote_file_system(reviewer: Predictor, folder: Path, whole: dict[str, str], tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").put(f"{folder}/", "/bucket/in/", recursive=True)
    found = predict_folder(reviewer, "memory://bucket/in", tmp_path / "out")
    assert found.errors == {}
    assert checksums(tmp_path / "out") == whole
    predict_folder(reviewer, "memory://bucket/in/**/*.parquet", tmp_path / "out")
    assert manifest(tmp_path / "out")["files"][0]["address"] == "memory:///bucket/in/a.parquet"


def test_a_shard_is_a_plain_value() -> None:
    import pickle

    shard = Shard(file="a", number=0, groups=(0, 1), first=0, rows=1)
    assert pickle.loads(pickle.dumps(shard)) == shard
