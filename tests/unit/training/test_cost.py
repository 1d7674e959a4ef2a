"""What a run costs: its devices' time, memory, and energy where they report it."""

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from support.records import run

import finetune
from finetune.analysis.cost_columns import csv_columns, with_cost
from finetune.analysis.paper_table import Table, lines_of
from finetune.analysis.paper_table_formats import as_csv, as_markdown, runs_form
from finetune.errors import UserError
from finetune.runs.cost import Cost, logged_seconds
from finetune.runs.record import RunRecord
from finetune.runs.record_files import load_record
from finetune.training import energy
from finetune.training.energy import Counter, Energy, energy_of
from finetune.training.meter import total

CPU = torch.device("cpu")
TABLE = Table.model_validate({"title": "T", "row": [{"name": "M", "task": "mrpc", "metric": "accuracy"}]})


def processor(folder: Path, name: str, joules: float, *, size: float = 1000.0) -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "energy_uj").write_text(f"{int(joules * 1e6)}\n")
    (folder / name / "max_energy_range_uj").write_text(f"{int(size * 1e6)}\n")
    return folder / name / "energy_uj"


def test_processors_are_added_up_without_their_parts_and_over_the_end_of_a_counter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(energy, "POWERCAP", tmp_path)
    assert energy_of(CPU) is None
    processor(tmp_path, "intel-rapl:0", 990.0)
    processor(tmp_path, "intel-rapl:1", 10.0)
    processor(tmp_path, "intel-rapl:0:0", 5.0)
    found = energy_of(CPU)
    assert found is not None
    processor(tmp_path, "intel-rapl:0", 30.0)  # 40 more, of which 10 before the counter began again
    processor(tmp_path, "intel-rapl:0:0", 500.0)
    assert found.sample() == pytest.approx(40.0)
    processor(tmp_path, "intel-rapl:1", 12.0)
    assert found.sample() == pytest.approx(42.0)
    monkeypatch.setenv("LOCAL_RANK", "1")  # the other process of the machine counts
    second = energy_of(CPU)
    assert second is not None
    assert second.sample() == 0.0


def test_a_counter_that_fails_later_costs_the_number_not_the_run(tmp_path: Path) -> None:
    file = processor(tmp_path, "intel-rapl:0", 1.0)
    found = Energy([Counter(read=lambda: int(file.read_text()) / 1e6)])
    file.unlink()
    assert found.sample() is None
    assert found.sample() is None


def test_the_energy_of_a_gpu_is_that_of_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    millijoules = iter([1_000, 5_000, 9_500])
    nvml: Any = types.ModuleType("pynvml")
    nvml.NVMLError = type("NVMLError", (Exception,), {})
    nvml.nvmlInit = lambda: None
    nvml.nvmlDeviceGetHandleByUUID = lambda uuid: uuid
    nvml.nvmlDeviceGetTotalEnergyConsumption = lambda handle: {"GPU-abc": next(millijoules)}[handle]
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: types.SimpleNamespace(uuid="abc"))
    found = energy_of(torch.device("cuda"))
    assert found is not None
    assert found.sample() == pytest.approx(4.5)

    def unsupported(handle: Any) -> int:
        raise nvml.NVMLError

    nvml.nvmlDeviceGetTotalEnergyConsumption = unsupported
    assert energy_of(torch.device("cuda")) is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert energy_of(torch.device("cuda")) is None


def test_two_processes_add_up() -> None:
    one = Cost(device_seconds=2.0, peak_memory_bytes=10, peak_device_bytes=5, joules=3.0)
    two = Cost(device_seconds=2.5, peak_memory_bytes=20, peak_device_bytes=6, joules=0.0)
    assert total([one, two]) == Cost(device_seconds=4.5, peak_memory_bytes=30, peak_device_bytes=11, joules=3.0)
    unknown = Cost(device_seconds=1.0, peak_memory_bytes=1)
    assert total([one, unknown]) == Cost(device_seconds=3.0, peak_memory_bytes=11)
    assert total([unknown]) == unknown


def test_the_time_of_interrupted_attempts_counts_and_that_between_them_does_not(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    assert logged_seconds(log) == 0.0
    events = [("start", 100.0), ("updates", 104.0), ("updates", 107.0), ("start", 5_000.0), ("updates", 5_002.0)]
    log.write_text("\n".join(json.dumps({"event": name, "time": time}) for name, time in events) + '\n{"event": "upd')
    assert logged_seconds(log) == 9.0


def test_a_record_has_the_cost_and_a_resumed_run_has_that_of_both_parts(
    reviews: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = load_record(reviews / "record.json").cost
    assert cost is not None
    assert 0 < cost.device_seconds <= load_record(reviews / "record.json").seconds["total"]
    assert cost.peak_memory_bytes > 10**8
    assert cost.peak_device_bytes is None
    rows = [{"text": f"the {'cat' if i % 2 else 'dog'} {i}", "label": "ab"[i % 2]} for i in range(40)]
    monkeypatch.setattr(energy, "POWERCAP", tmp_path / "power")
    processor(tmp_path / "power", "intel-rapl:0", 1.0)

    def trained() -> Cost:
        found = finetune.train(
            rows, model=tiny_bert, out=tmp_path / "out", max_length=16, device="cpu", train={"epochs": 1}
        )
        there = found.record.cost
        assert there is not None
        (found.folder / "record.json").unlink()
        events = found.folder / "events.jsonl"
        events.write_text('{"event": "start", "time": 0.0}\n{"event": "updates", "time": 5000.0}\n')
        return there

    first, resumed = trained(), trained()
    assert first.joules == 0.0
    assert 5_000 < resumed.device_seconds < 5_100
    assert resumed.joules is None  # those of the first part are not known


def with_known(record: RunRecord, **cost: Any) -> RunRecord:
    return record.model_copy(update={"cost": Cost(**cost)})


def test_a_table_shows_the_cost_and_blanks_for_older_records() -> None:
    some = [
        with_known(run(0.8, seed=1), device_seconds=100.0, peak_memory_bytes=2**30, joules=7_200.0),
        with_known(run(0.9, seed=2), device_seconds=300.0, peak_memory_bytes=2**31),
        run(0.7, seed=1, model="older"),
    ]
    lines = [line for line in lines_of(TABLE, some) if line.runs]
    page = as_markdown("t", with_cost(runs_form(TABLE, lines), lines))
    ours, older = [line for line in page.splitlines() if line.startswith("| M |")]
    assert ours.endswith("| 200 s | 2.00 GiB |  | 2 Wh |")
    assert older.endswith("|  |  |  |  |")
    assert "--cost -o" in page
    head, first, second = as_csv(lines, csv_columns(lines)).splitlines()
    assert head.endswith("run_ids,device_seconds,peak_memory_bytes,peak_device_bytes,joules")
    assert first.endswith("200,2147483648,,7200")
    assert second.endswith(",,,,")


def test_the_table_of_the_api_has_the_cost(tmp_path: Path) -> None:
    for seed in (1, 2):
        record = with_known(run(0.8, seed=seed), device_seconds=100.0, peak_memory_bytes=2**30)
        (tmp_path / "mrpc" / str(seed)).mkdir(parents=True)
        (tmp_path / "mrpc" / str(seed) / "record.json").write_text(record.model_dump_json())
    found = finetune.table("glue", out=tmp_path, cost=True)
    assert found.frame["device_seconds"].dropna().tolist() == [100.0, 100.0]  # F1 and accuracy
    assert "device time" in found.form().header
    with pytest.raises(UserError, match="`form`"):
        found.form("paper")
    assert "device_seconds" not in finetune.table("glue", out=tmp_path).frame
