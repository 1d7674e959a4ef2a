"""Records that are damaged or come from strangers: left out with one warning, and an error where they are named."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.hostile.records import fuzz_records, write_runs

from finetune.cli.terminal import OBEYED
from finetune.errors import UserError
from finetune.runs.lookup import find_run, latest_run
from finetune.runs.record_files import MOST_RECORD_BYTES, DamagedRecord, all_records, load_record


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Four runs of MRPC, of which tests damage the first."""
    write_runs(tmp_path / "results")
    return tmp_path / "results"


def first(results: Path) -> Path:
    return sorted(results.glob("mrpc/*/record.json"))[0]


DAMAGE: dict[str, dict[str, Any]] = {
    "headline is no score": {"headline": "accurcy"},
    "no scores": {"scores": {}},
    "a split without a metric": {"scores": {"dev": {"accuracy": 0.5, "f1": 0.5}, "test": {"accuracy": 0.5}}},
    "a score that is a text": {"scores": {"dev": {"accuracy": "0.5"}}},
    "a score that cannot be drawn": {"scores": {"dev": {"accuracy": 1e300, "f1": 0.5}}},
    "a split with a path": {"scores": {"../../x": {"accuracy": 0.5, "f1": 0.5}}},
    "an id with a path": {"id": "../../x"},
    "an id of control characters": {"id": "\x1b[31m"},
    "a recipe without a seed": {"recipe": {"task": "mrpc"}},
    "a seed that is a text": {"recipe": {"task": "mrpc", "seed": "1"}},
}
ALONE: dict[str, dict[str, Any]] = {  # what `ls` does not look at
    "baselines of no split": {"baselines": {}},
    "a baseline without a metric": {"baselines": {"dev": {"majority": {}}}},
    "no number of rows": {"rows": {}},
    "an epoch without a loss": {"epochs": [{"epoch": 1}]},
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


def test_no_text_of_a_record_is_a_command_to_the_terminal_or_a_line_of_its_own(here: Finetune, results: Path) -> None:
    bad = "\x1b[31m \x9b2J \u202e [bold] $x$ <b>\nnote: forged"
    file = first(results)
    facts = json.loads(file.read_text())
    scores = {f"dev {bad}": {f"f1 {bad}": 0.5, f"PER {bad}/f1": 0.5}}
    facts |= {
        "task": f"mrpc {bad}", "model": f"m {bad}", "headline": f"f1 {bad}", "scores": scores, "notes": [f"x {bad}"],
        "baselines": {split: {f"b {bad}": given} for split, given in scores.items()}, "rows": dict.fromkeys(scores, 1),
    }  # fmt: skip
    file.write_text(json.dumps(facts))
    for command in (["ls"], ["show", str(file.parent)], ["report", str(file.parent)]):
        done = here(*command)
        assert (done.returncode, OBEYED.findall(done.stdout + done.stderr)) == (0, []), done.stderr
        assert "\nnote: forged" not in done.stdout + done.stderr
    page = (results.parent / "report.html").read_text(encoding="utf-8")
    assert OBEYED.findall(page) == [] and "<b>" not in page.replace("<b dir=", "")


@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.nightly)])
def test_random_damage_to_a_record_stops_no_command(count: int, results: Path) -> None:
    outcome = fuzz_records(count, 1, results, reports=60)
    assert outcome.faults == []
    assert outcome.tried == outcome.survived == count
    assert 0 < outcome.refused < count
