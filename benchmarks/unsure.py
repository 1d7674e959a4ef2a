"""Whether the risk that `predict --risk` promises holds: one run a data set, and 200 draws of dev rows.

python benchmarks/unsure.py --out results/benchmarks/unsure.json
python benchmarks/unsure.py --out results/benchmarks/unsure.json --chosen results/nsmc/*    # runs of one recipe

A draw takes dev rows, with replacement, from a pool of rows that the model was not trained on: so the risk of a
threshold is known, it is that of the whole pool. Of the rows that a draw did not take it is counted too, with the error
by chance of that count. With `--chosen`, of runs on the same rows the best on each draw is taken, as the best epoch is
on dev, next to the first of them on the same draws. A finished set is kept, so that the same command goes on.
"""

import random
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import Parts, options
from rows import SETS, Table, rows_of, tagged, write

import finetune
from finetune.inference.unsure import dev_confidence
from finetune.metrics import selective
from finetune.runs.folder import RunFolder
from finetune.runs.record_files import load_record

Dev = tuple[np.ndarray, np.ndarray]  # the confidence of each row, and whether its prediction is right
TRAIN, POOL, SEED = 2_000, 6_000, 1
CHOSEN_RISK = 0.1
SETTINGS: dict[str, Any] = {"train.epochs": 2, "train.select": "last", "train.patience": None}


def choices(split: str) -> Table:
    """The rows of CODAH: a context, its four choices, and the number of the right one."""
    header = ("context", "choice1", "choice2", "choice3", "choice4", "label")
    return header, [((row.context, *row.choices, str(row.gold)), "") for row in rows_of("codah", split)]


RISKS: dict[str, tuple[str, Callable[[str], Table], float]] = {  # what it is, its reader, the risk that is asked for
    "sst2": ("labels, English", SETS["sst2"][1], 0.05),
    "nsmc": ("labels, Korean", SETS["nsmc"][1], 0.1),
    "mrpc": ("labels of pairs", SETS["mrpc"][1], 0.15),
    "conll-types": ("several labels", SETS["conll-types"][1], 0.05),
    "conll-tags": ("tags, by sentence", partial(tagged, "conll-2003"), 0.1),
    "codah": ("choices", choices, 0.4),
    "korsts": ("numbers of pairs, Korean", SETS["korsts"][1], 0.05),
}


def trained(name: str, folder: Path) -> Path:
    """The run of a set, whose dev rows chose nothing."""
    read = RISKS[name][1]
    header, train = read("train")
    rows = [cells for cells, _ in [*train, *read("dev")[1]]]
    random.Random(SEED).shuffle(rows)
    rows = list(dict.fromkeys(rows))
    size = min(TRAIN, len(rows) // 2)
    files = [write(folder / f"{name}-train", header, rows[:size])]
    files.append(write(folder / f"{name}-pool", header, rows[size : size + POOL]))
    given = {"dev": str(files[1]), "out": folder / "results", "progress": False, **SETTINGS}
    return Path(finetune.run(str(files[0]), **given).folder)


def of_risk(dev: Dev, rows: np.ndarray, risk: float) -> dict[str, Any]:
    """What the threshold of dev `rows`, of which some may be drawn twice, gives on all rows, and on the other rows."""
    confidence, right = dev
    threshold = selective.risk_threshold(confidence[rows], right[rows], risk)
    if threshold is None:
        return {"promised": False}
    answered = confidence >= threshold.threshold
    others = answered & ~np.isin(np.arange(len(right)), rows)
    return {
        "promised": True, "coverage": float(answered.mean()), "wrong": float((~right[answered]).mean()),
        "wrong_of_others": float((~right[others]).mean()),
    }  # fmt: skip


def summed(draws: Sequence[dict[str, Any]], risk: float) -> dict[str, Any]:
    """What is reported of the draws of one size."""
    promised = [draw for draw in draws if draw["promised"]]
    found: dict[str, Any] = {"draws": len(draws), "promised": len(promised)}
    if not promised:
        return found
    means = {name: float(np.mean([draw[name] for draw in promised])) for name in ("wrong", "coverage")}
    return found | means | {
        "broken": sum(draw["wrong"] > risk for draw in promised),
        "most_wrong": max(draw["wrong"] for draw in promised),
        "broken_on_others": sum(draw["wrong_of_others"] > risk for draw in promised),
    }  # fmt: skip


def dev_rows(count: int, size: int, draws: int) -> list[np.ndarray]:
    """Draws of so many dev rows."""
    return [np.random.default_rng([size, draw]).integers(0, count, size) for draw in range(draws)]


def measured(name: str, folder: Path | None, work: Path, all_sizes: Sequence[int], draws: int) -> dict[str, Any]:
    """The draws of a set, by the number of dev rows."""
    started = time.process_time()
    kind, _, risk = RISKS[name]
    folder = folder or trained(name, work)
    record = load_record(folder / "record.json")
    dev = dev_confidence(record, RunFolder(folder))
    right = dev[1]
    sizes = {
        str(size): summed([of_risk(dev, rows, risk) for rows in dev_rows(len(right), size, draws)], risk)
        for size in all_sizes
        if size <= len(right) // 2
    }
    return {
        "kind": kind, "encoder": record.model, "run": record.id, "rows": record.rows, "risk": risk,
        "dev": len(right), "right": float(right.mean()) if len(right) else None, "sizes": sizes,
        "cpu_seconds": time.process_time() - started,
    }  # fmt: skip


def chosen_best(folders: Sequence[Path], all_sizes: Sequence[int], draws: int) -> dict[str, Any]:
    """What choosing costs."""
    records = [load_record(folder / "record.json") for folder in folders]
    runs = [dev_confidence(record, RunFolder(folder)) for record, folder in zip(records, folders, strict=True)]
    sizes = {}
    for size in all_sizes:
        best, first = list[dict[str, Any]](), list[dict[str, Any]]()
        for rows in dev_rows(len(runs[0][1]), size, draws):
            winner = max(runs, key=lambda dev: dev[1][rows].mean())
            best.append(of_risk(winner, rows, CHOSEN_RISK))
            first.append(of_risk(runs[0], rows, CHOSEN_RISK))
        sizes[str(size)] = {"best of them": summed(best, CHOSEN_RISK), "one": summed(first, CHOSEN_RISK)}
    return {
        "task": records[0].task, "runs": [record.id for record in records], "risk": CHOSEN_RISK,
        "rows": len(runs[0][1]), "draws": draws, "sizes": sizes,
    }  # fmt: skip


def main() -> None:
    """Measures what is missing; `--run` is the run of one of the sets, in place of training."""
    given = options(
        __doc__, sets=tuple(RISKS), sizes=(250, 500, 1_000, 2_000), draws=200, work=Path("build/unsure"), run=Path,
        chosen=(Path(),),
    )  # fmt: skip
    about = "risk promised on draws of dev rows, counted on all other rows"
    parts = Parts(given.out, about, key="sets", model="minilm", draws=given.draws)
    if given.chosen != (Path(),):
        parts.write(chosen=chosen_best(given.chosen, given.sizes, given.draws))
        return
    for name in given.sets:
        parts.measure(name, measured, name, given.run, given.work, given.sizes, given.draws)


if __name__ == "__main__":
    main()
