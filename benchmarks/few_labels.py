"""`preset=few-labels` on the files of few_rows.py, next to the linear probe: scores, CPU seconds, peak memory.

python benchmarks/few_rows.py --files-alone --work FOLDER
python benchmarks/few_labels.py FOLDER --sets sst2 mrpc nsmc --sizes 8 32 64 --out results/benchmarks/few_labels.json

Seconds are those of training and fitting the head, as in setfit_few_rows.py. A finished draw is kept, so that the same
command goes on.
"""

import itertools
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

from finetune.data.source import Source
from finetune.inference.engine import Engine
from finetune.runs.events import unwatched
from finetune.training.contrastive import FEW_TO_LEARN, fit_contrastive, fit_then_all
from finetune.training.evaluation import DevEvaluation
from finetune.training.few_rows import LinearProbe
from finetune.training.prepare import build_run, plan_run
from finetune.training.targets import load_target
from finetune.training.trainer import Trainer

PRESET = "few-labels"


def measured(train: Path, test: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Scores on test of the preset and of the linear probe, CPU seconds of training, peak memory in bytes."""
    given = {"preset": PRESET, "test": str(test), **settings}
    planned = plan_run(load_target(str(train), given), source=Source())
    build_run(planned)
    task, features = planned.task, planned.features
    engine = planned.engine = Engine(
        model=planned.model, accelerator=planned.accelerator, pad_id=planned.tokenizer.pad_token_id, watch=unwatched
    )
    trainer = Trainer(engine=engine, settings=planned.recipe.train, data_seed=planned.recipe.seeds[1])
    every = planned.evaluation = DevEvaluation(
        task=task, rows=planned.rows, features={split: features[split] for split in task.dev_splits}
    )
    machine.reset_peak()
    started = time.process_time()
    few = len(planned.train_rows) + len(planned.rows["dev"]) < FEW_TO_LEARN
    fit = partial(fit_then_all, drawn=features["dev"]) if few else fit_contrastive
    _, found = fit(
        trainer, features[task.train_split], every.on([split for split in task.dev_splits if split != "test"])
    )
    seconds = time.process_time() - started
    name, peak = task.metrics[0].name, machine.memory().get("VmHWM")
    score = every.completed(engine, found).scores["test"][name]
    LinearProbe().after_scoring(planned)
    probe = task.score(planned.baselines["test"]["linear-probe"], planned.rows["test"])[name]
    return {"score": score, "linear-probe": probe, "metric": name, "cpu_seconds": seconds, "peak_memory_bytes": peak}


def main() -> None:
    """Measures what is not there yet, prints and writes it."""
    parser = out_parser("The preset few-labels")
    parser.add_argument("folder", type=Path, help="of few_rows.py --files-alone")
    parser.add_argument("--sets", nargs="+", required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 32, 64])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--settings", type=json.loads, default={}, help="others than the preset's, as JSON")
    options = parser.parse_args()
    before = json.loads(options.out.read_text()) if options.out.is_file() else {"draws": {}}
    for draw, size, name in itertools.product(range(options.draws), options.sizes, options.sets):
        key, train = f"{name} {size} {draw}", options.folder / f"{name}-{size}-{draw}.csv"
        if key in before["draws"] or not train.is_file():
            continue
        before["draws"][key] = measured(train, options.folder / f"{name}-test.csv", options.settings)
        print(key, before["draws"][key], flush=True)
        facts = {"about": f"preset={PRESET}: score by rows a class", **machine.facts(), "model": "minilm"}
        write_json(options.out, {**facts, "draws": before["draws"]})


if __name__ == "__main__":
    main()
