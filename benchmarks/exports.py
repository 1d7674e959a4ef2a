"""Exports of MiniLM for every shape, next to torch: size, rows/s, latency, memory, start, and what int8 changes.

python benchmarks/exports.py --runs results --out results/benchmarks/exports.json

`--runs` has a finished run of MiniLM for each task of TASKS, with its weights. The contestants take turns in processes
of their own; `--limit` is the number of dev rows, of which some are answered one by one. A task that is in the output
is kept, so that the same command goes on after an interruption.
"""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import machine
import torch
from machine import Parts, options
from measuring import fresh, timed

from finetune.inference.predictor import load_predictor
from finetune.models.device import build_accelerator
from finetune.runs.folder import RunFolder, read_predictions
from finetune.runs.record_files import load_record
from finetune.task_types.predictions import row_of_line

TASKS = ("mrpc", "sst2", "stsb", "conll-2003", "squad-v1-by-article", "codah")  # of each shape
CONTESTANTS = ("torch fp32", "torch bf16", "onnx fp32", "onnx int8, 7 bits")
ROUNDS, SINGLE = 3, 200  # rounds in which all take turns; rows that are answered one by one


def exported(run: Path, folder: Path, *, int8: bool) -> dict[str, Any]:
    """Exports a run unless that is done, whatever int8 loses; its size, and its check."""
    if not (folder / "export.json").is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "finetune", "export", str(run), "-o", str(folder), "--quiet"]
        command += ["--int8", "--tolerance", "100"] if int8 else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    check = json.loads((folder / "export.json").read_text())["check"]
    size = sum(file.stat().st_size for file in (folder / "onnx").iterdir()) / 1e6
    return {"MB": size, "changed": check["rows"] - check["equal"], "rows": check["rows"], "score": check["score"]}


def answered(model: Path, run: Path, limit: int | None, precision: str) -> dict[str, float]:
    """One contestant's round; `precision` is that of torch, empty for an export."""
    began = time.perf_counter()
    predictor = load_predictor(model, device="cpu")
    started = time.perf_counter() - began
    if precision:
        accelerator = build_accelerator(torch.device("cpu"), precision)
        predictor = replace(predictor, engine=replace(predictor.engine, accelerator=accelerator))
    folder = RunFolder(run)
    lines = read_predictions(folder.predictions(load_record(folder.record_file).first_split), without=("n_best",))
    rows = [row_of_line(predictor.task, line, run) for line in lines][:limit]
    predictor.answers(rows[:8])
    rate = len(rows) / timed(lambda: predictor.answers(rows))
    single = sorted(1000 * timed(lambda row=row: predictor.answers([row])) for row in rows[:SINGLE])  # type: ignore[misc]
    return {
        "rows/s": rate, "p50 ms": single[len(single) // 2], "p99 ms": single[int(0.99 * (len(single) - 1))],
        "start s": started, "memory MB": machine.memory()["VmHWM"] / 2**20,
    }  # fmt: skip


def measured(task: str, runs: Path, work: Path, limit: int | None) -> dict[str, Any] | None:
    """All contestants on a task, in rounds; None where it has no run."""
    run = next((file.parents[1] for file in sorted(runs.glob(f"{task}/*/model/config.json"))), None)
    if run is None:
        return None
    found: dict[str, dict[str, Any]] = {name: {"rounds": []} for name in CONTESTANTS}
    for _ in range(ROUNDS):
        for name, facts in found.items():
            engine, precision = name.split(" ", 1)
            folder = run
            if engine == "onnx":
                folder, precision = work / task / precision.replace(" ", "-").replace(",", ""), ""
                facts |= exported(run, folder, int8="int8" in name)
            facts["rounds"].append(fresh(answered, folder, run, limit, precision))
    return found


def main() -> None:
    """Measures what is missing."""
    given = options(__doc__, runs=Path("results"), work=Path("build/exports"), tasks=TASKS, limit=int)
    about = "exports next to torch: size, rows/s, latency, memory, start"
    parts = Parts(given.out, about, key="tasks", machine=machine.facts(), limit=given.limit or 0)
    for task in given.tasks:
        parts.measure(task, measured, task, given.runs, given.work, given.limit)


if __name__ == "__main__":
    main()
