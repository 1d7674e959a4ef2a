"""Records that are damaged or come from strangers: left out with one warning, and an error where they are named."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.records import run

from finetune.errors import UserError
from finetune.runs.lookup import find_run, latest_run
from finetune.runs.record_files import MOST_RECORD_BYTES, DamagedRecord, all_records, load_record


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four runs of MRPC without checksums, of which tests damage the first."""
    for seed in range(4):
        file = tmp_path / "results" / "mrpc" / f"{seed:010d}" / "record.json"
        file.parent.mkdir(parents=True)
        file.write_text(run(0.5, seed=seed).model_copy(update={"id": file.parent.name}).model_dump_json())
    return tmp_path / "results"


def first(results: Path) -> Path:
    return sorted(results.glob("mrpc/*/record.json"))[0]


DAMAGE: dict[str, dict[str, Any]] = {
    "headline is no score": {"headline": "accurcy"},
    "no scores": {"scores": {}},
    "a split without a metric": {"scores": {"dev": {"accuracy": 0.5, "f1": 0.5}, "test": {"accuracy": 0.5}}},
    "a score that is a text": {"scores": {"dev": {"accuracy": "0.5"}}},
    "a score that cannot be drawn": {"scores": {"dev": {"accuracy": 1e300, "f1": 0.5}}},
    "an id with a path": {"id": "../../x"},
    "a recipe without a seed": {"recipe": {"task": "mrpc"}},
}
ALONE: dict[str, dict[str, Any]] = {  # what `ls` does not look at
    "baselines of no split": {"baselines": {}},
    "a baseline without a metric": {"baselines": {"dev": {"majority": {}}}},
    "a loss that cannot be drawn": {"epochs": [{"epoch": 1, "loss": 1e300, "headline": 0.5}]},
    "a number of 70 bits": {"peak_memory_bytes": 2**70},
}


@pytest.mark.parametrize("damage", [*DAMAGE, *ALONE])
def test_a_damaged_record_is_left_out_with_a_warning(damage: str, results: Path) -> None:
    file = first(results)
    file.write_text(json.dumps(json.loads(file.read_text()) | {**DAMAGE, **ALONE}[damage]))
    with pytest.warns(DamagedRecord, match=file.parent.name) as warned:
        assert len(all_records(results)) == 3
        found = latest_run("mrpc", results)
    assert found is not None
    assert found.path != file.parent
    assert all("delete its folder" in str(each.message) for each in warned)
    named = find_run(str(file.parent), results)
    assert named is not None
    with pytest.raises(UserError, match=r"record\.json"):
        load_record(named.record_file)


def test_a_record_is_a_small_regular_file(results: Path) -> None:
    file = first(results)
    deep = b'{"recipe": ' + b'{"a":' * 100_000
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, deep, b" " * (MOST_RECORD_BYTES + 1)):
        file.write_bytes(content)
        with pytest.raises(UserError, match=r"record\.json"):
            load_record(file)
    file.write_text(json.dumps({"notes": [1] * 100_000, "rows": {f"k{i}": "one" for i in range(10_000)}}))
    with pytest.raises(UserError, match="faults"):
        load_record(file)
    file.unlink()
    os.mkfifo(file)
    with pytest.warns(DamagedRecord, match="not a regular file"):
        assert len(all_records(results)) == 3
