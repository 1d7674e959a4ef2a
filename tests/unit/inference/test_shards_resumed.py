"""Many Parquet files: what is left is resumed, and inputs that change or cannot be read are noticed."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.parquet_folders import checksums, is_complete, predict_folder, stop_after

from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.inference.shards import predict
from finetune.inference.shards.plan import Busy, InputFile, Plan
from finetune.inference.shards.work import finish, predict_all

pytestmark = pytest.mark.usefixtures("small_shards")


def stopped_plan(windows: int, predictor: Predictor, target: Path, output: Path) -> Plan:
    """What a prediction that was stopped after so many windows has left."""
    stop_after(windows, predictor, target, output)
    plans: list[Plan] = []
    predict_folder(predictor, target, output, executor=lambda plan, _: plans.append(plan) or {})
    return plans[0]


@pytest.mark.parametrize("windows", [0, 1, 3])
def test_the_same_call_resumes(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path, windows: int
) -> None:
    plan = stopped_plan(windows, reviewer, parquets, tmp_path / "out")
    assert 4 - len(plan.left()) == windows  # a shard is a window here
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

    for module, name in ((predict, "write_output"), (predict, "_tables"), (predict, "_write_scratch")):
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
    (out / "year=2026" / "b.parquet").unlink()
    again = predict_folder(reviewer, parquets, out)
    assert (again.rows, again.before) == (60, 25)
    assert checksums(out) == whole_checksums


@pytest.mark.parametrize("damaged", [b"", b"PAR1 and no more"])
def test_an_output_that_is_not_whole_is_an_error_until_it_is_removed(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path, damaged: bytes
) -> None:
    output = tmp_path / "whole" / "a.parquet"
    output.write_bytes(damaged)
    with pytest.raises(UserError, match=r"whole/a\.parquet: already exists.*damaged.*remove it"):
        predict_folder(reviewer, parquets, tmp_path / "whole")
    output.unlink()
    assert predict_folder(reviewer, parquets, tmp_path / "whole").before == 35
    assert checksums(tmp_path / "whole") == whole_checksums


def test_an_input_that_has_changed_is_predicted_again_unless_it_has_an_output(
    reviewer: Predictor, parquets: Path, tmp_path: Path
) -> None:
    stop_after(1, reviewer, parquets, tmp_path / "out")
    pq.write_table(pa.table({"review": ["the cow sat"] * 25}), parquets / "a.parquet", row_group_size=10)
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert pq.read_table(tmp_path / "out" / "a.parquet").column("review").to_pylist() == ["the cow sat"] * 25
    os.utime(parquets / "a.parquet", (1, 1))
    with pytest.raises(UserError, match=r"out/a\.parquet: already exists.*its input has changed"):
        predict_folder(reviewer, parquets, tmp_path / "out")


def test_an_input_that_changes_while_its_output_is_written_has_none(
    reviewer: Predictor, parquets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = predict._tables

    def change(plan: Plan, file: InputFile, *given: Any) -> Iterator[Any]:
        yield from tables(plan, file, *given)
        if file.name == "a.parquet":
            os.utime(parquets / "a.parquet", (1, 1))

    with monkeypatch.context() as patch:
        patch.setattr(predict, "_tables", change)
        found = predict_folder(reviewer, parquets, tmp_path / "out")
    assert (found.files, found.rows) == (2, 35)
    assert "has changed" in found.errors["a.parquet"]
    assert not (tmp_path / "out" / "a.parquet").exists()
    assert predict_folder(reviewer, parquets, tmp_path / "out").rows == 60


def test_another_model_is_an_error_before_any_output_is_there(
    reviewer: Predictor, parquets: Path, tmp_path: Path
) -> None:
    stop_after(0, reviewer, parquets, tmp_path / "out")
    with pytest.raises(UserError, match="another model"):
        predict_folder(replace(reviewer, fingerprint="other"), parquets, tmp_path / "out")


def test_another_model_is_an_error_and_new_files_are_added(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="another model"):
        predict_folder(replace(reviewer, fingerprint="other"), parquets, tmp_path / "whole")
    shutil.copy2(parquets / "a.parquet", parquets / "c.parquet")
    found = predict_folder(reviewer, parquets, tmp_path / "whole")
    assert (found.files, found.rows, found.before) == (4, 85, 60)
    assert checksums(tmp_path / "whole")["c.parquet"] == whole_checksums["a.parquet"]


def test_the_others_continue_where_a_file_cannot_be_read(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path
) -> None:
    good, when = (parquets / "a.parquet").read_bytes(), (parquets / "a.parquet").stat()
    for damaged in (b"PAR1 and no more", good[:4] + b"\0" * 400 + good[404:]):  # no footer; a footer, but no pages
        (parquets / "a.parquet").write_bytes(damaged)
        found = predict_folder(reviewer, parquets, tmp_path / "out")
        assert (found.files, found.rows, list(found.errors)) == (2, 35, ["a.parquet"])
        assert "cannot be read" in found.errors["a.parquet"]
        assert not is_complete(tmp_path / "out")
    (parquets / "a.parquet").write_bytes(good)
    os.utime(parquets / "a.parquet", ns=(when.st_atime_ns, when.st_mtime_ns))
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole_checksums


def test_a_shard_is_for_one_process(
    reviewer: Predictor, parquets: Path, whole_checksums: dict[str, str], tmp_path: Path
) -> None:
    plan = stopped_plan(0, reviewer, parquets, tmp_path / "out")
    first, *others = plan.left()
    with plan.locked(first.key, wait=False):
        with pytest.raises(Busy):
            predict.predict_shard(reviewer, plan, first)
        for shard in others:
            predict.predict_shard(reviewer, plan, shard)
        assert plan.left() == [first]
    reported: dict[str, int] = {}
    assert predict_all(reviewer, plan, reported.__setitem__) == {}
    assert reported == {first.key: first.rows}
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert checksums(tmp_path / "out") == whole_checksums
    predict.predict_shard(reviewer, plan, first)  # of a plan that another has finished
    assert is_complete(tmp_path / "out")


def test_a_process_that_comes_last_finds_all_done(reviewer: Predictor, parquets: Path, tmp_path: Path) -> None:
    slow = stopped_plan(0, reviewer, parquets, tmp_path / "out")
    predict_folder(reviewer, parquets, tmp_path / "out")
    assert (slow.left(), predict_all(reviewer, slow, lambda *_: None)) == ([], {})
    assert finish(slow, {}).rows == 60
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["a.parquet", "empty.parquet", "year=2026"]
