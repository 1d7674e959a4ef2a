"""What a run costs: device time and memory."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.records import run

import finetune
from finetune.commands.table import ResultTable
from finetune.commands.table.declaration import PaperTable
from finetune.commands.table.lines import lines_of
from finetune.errors import UserError
from finetune.runs.events import logged_seconds
from finetune.runs.record import Cost, RunRecord
from finetune.runs.record_files import load_record
from finetune.training.record import run_cost

TABLE = PaperTable.model_validate({"title": "T", "row": [{"name": "M", "task": "mrpc", "metric": "accuracy"}]})


def test_two_processes_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Cost(device_seconds=2.0, peak_memory_bytes=10, peak_device_bytes=5)
    two = Cost(device_seconds=2.5, peak_memory_bytes=20, peak_device_bytes=6)
    unknown = Cost(device_seconds=1.0, peak_memory_bytes=1)
    accelerator: Any = SimpleNamespace(device=torch.device("cpu"), num_processes=2)

    def total(*costs: Cost) -> Cost:
        monkeypatch.setattr("finetune.training.record.gather_object", lambda _: list(costs))
        return run_cost(accelerator, 1.0)

    assert total(one, two) == Cost(device_seconds=4.5, peak_memory_bytes=30, peak_device_bytes=11)
    assert total(one, unknown) == Cost(device_seconds=3.0, peak_memory_bytes=11)
    assert total(unknown) == unknown


def test_a_record_with_joules_of_an_earlier_version_is_read() -> None:
    assert Cost.model_validate({"device_seconds": 2.0, "peak_memory_bytes": 10, "joules": 3.0}).device_seconds == 2.0


def test_the_time_of_interrupted_attempts_counts_and_that_between_them_does_not(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    assert logged_seconds(log) == 0.0
    events = [("start", 100.0), ("updates", 104.0), ("updates", 107.0), ("start", 5_000.0), ("updates", 5_002.0)]
    log.write_text("\n".join(json.dumps({"event": name, "time": time}) for name, time in events) + '\n{"event": "upd')
    assert logged_seconds(log) == 9.0


def test_a_record_has_the_cost_and_a_resumed_run_has_that_of_both_parts(
    reviews: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    cost = load_record(reviews / "record.json").cost
    assert cost is not None
    assert 0 < cost.device_seconds <= load_record(reviews / "record.json").seconds["total"]
    assert cost.peak_memory_bytes > 10**8
    assert cost.peak_device_bytes is None
    rows = [{"text": f"the {'cat' if i % 2 else 'dog'} {i}", "label": "ab"[i % 2]} for i in range(40)]

    def trained() -> Cost:
        found = finetune.run(
            rows, model=tiny_bert, out=tmp_path / "out", max_length=16, device="cpu", train={"epochs": 1}
        )
        there = found.record.cost
        assert there is not None
        (found.folder / "record.json").unlink()
        events = found.folder / "events.jsonl"
        events.write_text('{"event": "start", "time": 0.0}\n{"event": "updates", "time": 5000.0}\n')
        return there

    first, resumed = trained(), trained()
    assert first.device_seconds < 5_000
    assert 5_000 < resumed.device_seconds < 5_100


def with_known(record: RunRecord, **cost: Any) -> RunRecord:
    return record.model_copy(update={"cost": Cost(**cost)})


def test_a_table_shows_the_cost_and_blanks_for_older_records() -> None:
    some = [
        with_known(run(0.8, seed=1), device_seconds=100.0, peak_memory_bytes=2**30),
        with_known(run(0.9, seed=2), device_seconds=300.0, peak_memory_bytes=2**31),
        run(0.7, seed=1, model="older"),
    ]
    lines = [line for line in lines_of(TABLE, some) if line.runs]
    form = ResultTable(name="t", table=TABLE, lines=lines, cost=True).form()
    page = form.markdown("")
    ours, older = [line for line in page.splitlines() if line.startswith("| M |")]
    assert ours.endswith("| 200 s | 2.00 GiB |  |")
    assert older.endswith("|  |  |  |")
    assert form.option == " --cost"
    head, first, second = form.csv.splitlines()
    assert head.endswith("run_ids,device_seconds,peak_memory_bytes,peak_device_bytes")
    assert first.endswith("200,2147483648,")
    assert second.endswith(",,,")


def test_the_table_of_the_api_has_the_cost(tmp_path: Path) -> None:
    for seed in (1, 2):
        record = with_known(run(0.8, seed=seed), device_seconds=100.0, peak_memory_bytes=2**30)
        (tmp_path / "mrpc" / str(seed)).mkdir(parents=True)
        (tmp_path / "mrpc" / str(seed) / "record.json").write_text(record.model_dump_json())
    found = finetune.table("glue", out=tmp_path, cost=True)
    assert found.frame["device_seconds"].dropna().tolist() == [100.0, 100.0]  # F1 and accuracy
    assert "device time" in found.form().columns
    with pytest.raises(UserError, match="no form 'paper' with cost"):
        found.form("paper")
    assert "device_seconds" not in finetune.table("glue", out=tmp_path).frame
