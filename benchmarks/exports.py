"""Exports of MiniLM for every shape, next to torch: size, rows/s, latency, memory, start, and what int8 changes.

python benchmarks/exports.py --runs results --out results/benchmarks/exports.json

`--runs` has a finished run of MiniLM for each task of TASKS, with its weights. The contestants take turns in processes
of their own. A part that is in the output is kept, so that the same command goes on after an interruption.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

TASKS = (
    "mrpc",
    "sst2",
    "stsb",
    "conll-2003",
    "squad-v1-by-article",
    "codah",
)  # classes of pairs and texts, numbers, tags, ...
CONTESTANTS = ("torch fp32", "torch bf16", "onnx fp32", "onnx int8, 7 bits")
ROUNDS, SINGLE = 3, 200  # rounds in which all take turns; rows that are answered one by one
MEASURE = """
import json, resource, sys, time
begun = time.perf_counter()
from finetune.inference.predictor import load_predictor
predictor = load_predictor(sys.argv[1], device="cpu")
started = time.perf_counter() - begun
if sys.argv[5]:
    from dataclasses import replace
    import torch
    from finetune.models.device import build_accelerator
    accelerator = build_accelerator(torch.device("cpu"), sys.argv[5])
    predictor = replace(predictor, engine=replace(predictor.engine, accelerator=accelerator))
from finetune.runs.lookup import require_run
from finetune.runs.folder import read_predictions
from finetune.runs.record_files import load_record
from finetune.task_types.predictions import row_of_line
from pathlib import Path
run = require_run(sys.argv[2], Path("results"))
lines = read_predictions(run.predictions(load_record(run.record_file).first_split), without=("n_best",))
rows = [row_of_line(predictor.task, line, run.path) for line in lines][: int(sys.argv[3]) or None]
predictor.answers(rows[:8])
begun = time.perf_counter()
predictor.answers(rows)
rate = len(rows) / (time.perf_counter() - begun)
each = []
for row in rows[: int(sys.argv[4])]:
    begun = time.perf_counter()
    predictor.answers([row])
    each.append(1000 * (time.perf_counter() - begun))
each.sort()
print(json.dumps({
    "rows/s": rate, "p50 ms": each[len(each) // 2], "p99 ms": each[int(0.99 * (len(each) - 1))],
    "start s": started, "memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def exported(run: Path, folder: Path, *, int8: bool) -> dict[str, Any]:
    """Exports a run unless that is done, whatever int8 loses; its size, and its check."""
    if not (folder / "export.json").is_file():
        command = [sys.executable, "-m", "finetune", "export", str(run), "-o", str(folder)]
        command += ["--int8", "--tolerance", "100"] if int8 else []
        subprocess.run([*command, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    check = json.loads((folder / "export.json").read_text())["check"]
    size = sum(file.stat().st_size for file in folder.glob("model.*")) / 1e6
    return {"MB": size, "changed": check["rows"] - check["equal"], "rows": check["rows"], "score": check["score"]}


def measured(model: Path, run: Path, *, limit: int, precision: str) -> dict[str, float]:
    """One contestant's round, in a process of its own; `precision` is that of torch, empty for an export."""
    single = str(min(limit, SINGLE) if limit else SINGLE)
    arguments = [sys.executable, "-c", MEASURE, str(model), str(run), str(limit), single, precision]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measures what is not in the output yet, and writes it after each round."""
    parser = out_parser(__doc__)
    parser.add_argument("--runs", type=Path, default=Path("results"))
    parser.add_argument("--work", type=Path, default=Path("build/exports"), help="Folder of the exports.")
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--limit", type=int, default=0, help="Rows of dev; default: all.")
    given = parser.parse_args()
    found: dict[str, Any] = json.loads(given.out.read_text()) if given.out.is_file() else {"tasks": {}}
    found |= {"machine": machine.facts(), "limit": given.limit}
    for task in given.tasks:
        runs = sorted(file.parents[1] for file in given.runs.glob(f"{task}/*/model/config.json"))
        if not runs:
            print(f"{task}: no run with weights in {given.runs}", file=sys.stderr)
            continue
        of_task = found["tasks"].setdefault(task, {name: {"rounds": []} for name in CONTESTANTS})
        for number in range(ROUNDS):
            for name in CONTESTANTS:
                one = of_task[name]
                if len(one["rounds"]) > number:
                    continue
                folder = given.work / task / name.replace(" ", "-").replace(",", "")
                of_torch = name.startswith("torch")
                if not of_torch:
                    folder.parent.mkdir(parents=True, exist_ok=True)
                    one |= exported(runs[0], folder, int8="int8" in name)
                precision = name.removeprefix("torch ") if of_torch else ""
                model = runs[0] if of_torch else folder
                one["rounds"].append(measured(model, runs[0], limit=given.limit, precision=precision))
                write_json(given.out, found)
                print(f"{time.strftime('%H:%M')} {task} {name} {one['rounds'][-1]}", file=sys.stderr)


if __name__ == "__main__":
    main()
