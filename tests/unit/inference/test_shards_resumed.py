"""Many Parquet files: what is left is resumed, and inputs that change or cannot be read are noticed."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.parquet_folders import checksums, manifest, predict_folder, stop_after

from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.inference.shards import join, predict
from finetune.inference.shards.plan import Busy, Plan, load_plan
from finetune.inference.shards.work import finish, predict_all

pytestmark = pytest.mark.usefixtures("small_shards")


@pytest.mark.parametrize("windows", [0, 1, 3])
def test_the_same_call_resumes(
    reviewer: Predictor,
    parquets: Path,
    whole_checksums: dict[str, str],
    tmp_path: Path,
    windows: int,
) -> None:
    stop_after(windows, reviewer, parquets, tmp_path / "out")
    assert not manifest(tmp_path / "out")["complete"]
    assert 4 - len(load_plan(tmp_path / "out").left()) == windows  # a shard is a window here
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole_checksums


def test_a_kill_between_a_shard_and_its_output_costs_nothing(
    reviewer: Predictor,
    parquets: Path,
    whole_checksums: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    for module, name in ((predict, "join_file"), (join, "_compare"), (predict, "_write_scratch")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(module, name, die)
            predict_folder(reviewer, parquets, tmp_path / "out")
        assert not list((tmp_path / "out").glob("*.parquet"))
    found = predict_folder(reviewer, parquets, tmp_path / "out")
    assert (checksums(tmp_path / "out"), found.rows) == (whole_checksums, 60)


def test_the_same_call_again_checks_what_is_there(
    reviewer: Predictor,
    parquets: Path,
    whole_checksums: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "whole"
    with monkeypatch.context() as patch:
        patch.setattr(Predictor, "answers_and_truncated", None)
        again = predict_folder(reviewer, parquets, out)
    assert (again.rows, again.before, again.notes) == (60, 60, [])
    damaged = bytearray((out / "a.parquet").read_bytes())
    damaged[50] ^= 1
    (out / "a.parquet").write_bytes(damaged)
    (out / "year=2026" / "b.parquet").unlink()
    again = predict_folder(reviewer, parquets, out)
    assert (again.rows, again.before, len(again.notes)) == (60, 0, 2)
    assert checksums(out) == whole_checksums


def test_an_input_that_has_changed_is_an_error(reviewer: Predictor, parquets: Path, tmp_path: Path) -> None:
    stop_after(1, reviewer, parquets, tmp_path / "out")
    os.utime(parquets / "a.parquet", (1, 1))
    for _ in range(2):
        with pytest.raises(UserError, match=r"a\.parquet: has changed"):
            predict_folder(reviewer, parquets, tmp_path / "out")
    (parquets / "a.parquet").unlink()
    with pytest.raises(UserError, match=r"a\.parquet: was an input .* gone"):
        predict_folder(reviewer, parquets, tmp_path / "out")


def test_an_input_that_changes_meanwhile_is_an_error_each_time(
    reviewer: Predictor, parquets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = join._written

    def change(plan: Plan, file: Any, results: Any) -> Any:
        if file.name == "a.parquet":
            os.utime(parquets / "a.parquet", (1, 1))
        return written(plan, file, results)

    monkeypatch.setattr(join, "_written", change)
    found = predict_folder(reviewer, parquets, tmp_path / "out")
    assert (found.files, found.rows) == (2, 35)
    assert "has changed" in found.errors["a.parquet"]
    with pytest.raises(UserError, match="has changed"):
        predict_folder(reviewer, parquets, tmp_path / "out")


def test_other_content_of_the_same_time_and_size_is_noticed_when_the_output_is_compared(
    reviewer: Predictor, parquets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = join.batches

    def other_rows(address: str, *given: Any) -> Iterator[Any]:
        for batch in real(address, *given):
            if address.endswith("in/a.parquet"):
                batch = batch.set_column(1, "review", pa.array(["the cow sat"] * len(batch)))
            yield batch

    monkeypatch.setattr(join, "batches", other_rows)
    found = predict_folder(reviewer, parquets, tmp_path / "out")
    assert list(found.errors) == ["a.parquet"]
    assert not (tmp_path / "out" / "a.parquet").exists()


def test_another_model_is_an_error_and_new_files_are_added(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="another model"):
        predict_folder(replace(reviewer, fingerprint="other"), parquets, tmp_path / "whole")
    shutil.copy(parquets / "a.parquet", parquets / "c.parquet")
    found = predict_folder(reviewer, parquets, tmp_path / "whole")
    assert (found.files, found.rows, found.before) == (4, 85, 60)
    assert "1 file more" in found.notes[0]
    assert checksums(tmp_path / "whole")["c.parquet"] == whole_checksums["a.parquet"]


def test_the_others_continue_where_a_file_cannot_be_read(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path
) -> None:
    good = (parquets / "a.parquet").read_bytes()
    for damaged in (b"PAR1 and no more", good[:4] + b"\0" * 400 + good[404:]):  # no footer; a footer, but no pages
        (parquets / "a.parquet").write_bytes(damaged)
        found = predict_folder(reviewer, parquets, tmp_path / "out")
        assert (found.files, found.rows, list(found.errors)) == (2, 35, ["a.parquet"])
        assert "cannot be read" in found.errors["a.parquet"]
        assert not manifest(tmp_path / "out")["complete"]
    (parquets / "a.parquet").write_bytes(good)
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole_checksums


def test_a_shard_is_for_one_process(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path
) -> None:
    stop_after(0, reviewer, parquets, tmp_path / "out")
    plan = load_plan(tmp_path / "out")
    first, *others = plan.left()
    with plan.locked(first.key, wait=False):
        with pytest.raises(Busy):
            predict.predict_shard(reviewer, plan, first)
        for shard in others:
            assert predict.predict_shard(reviewer, plan, shard).rows == shard.rows
    reported: dict[str, int] = {}
    assert predict_all(reviewer, plan, reported.__setitem__) == {}
    assert reported == {first.key: first.rows}
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole_checksums
    assert predict.predict_shard(reviewer, plan, first).rows == first.rows  # of a plan that another has finished
    assert not (tmp_path / "out" / ".predict").exists()


def test_a_process_that_comes_last_leaves_the_manifest_as_it_is(
    reviewer: Predictor, parquets: Path, tmp_path: Path
) -> None:
    stop_after(0, reviewer, parquets, tmp_path / "out")
    slow = load_plan(tmp_path / "out")
    predict_folder(reviewer, parquets, tmp_path / "out")
    done = manifest(tmp_path / "out")
    assert (slow.left(), predict_all(reviewer, slow, lambda *_: None)) == ([], {})
    assert finish(slow, {}).rows == 60
    assert manifest(tmp_path / "out") == done
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "a.parquet", "empty.parquet", "manifest.json", "year=2026",
    ]  # fmt: skip
