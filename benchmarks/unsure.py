"""Whether the risk that `predict --risk` promises holds: one run a data set, and 200 draws of dev rows.

python benchmarks/unsure.py --out results/benchmarks/unsure.json
python benchmarks/unsure.py --out results/benchmarks/unsure.json --chosen results/nsmc/*    # runs of one recipe

A draw takes dev rows, with replacement, from a pool of rows that the model was not trained on: so the risk of a
threshold is known, it is that of the whole pool. Of the rows that a draw did not take it is counted too, with the error
by chance of that count. A finished set is kept, so that the same command goes on.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import few_rows
import machine
import numpy as np
from dated import out_parser, write_json

import finetune
from finetune.data.source import source_of
from finetune.inference.unsure import DevClaims, claims_of
from finetune.metrics import selective
from finetune.runs.folder import RunFolder
from finetune.runs.record_files import load_record
from finetune.task_types.registry import find

TRAIN, POOL, SEED = 2_000, 6_000, 1
SETTINGS: dict[str, Any] = {"train.epochs": 2, "train.select": "last", "train.patience": None}


def rows_of(read: Callable[[str], Any]) -> tuple[few_rows.Cells, list[few_rows.Cells]]:
    """The header and the rows of a set's train and dev, shuffled."""
    header, train = read("train")
    found = [cells for cells, _ in [*train, *read("dev")[1]]]
    random.Random(SEED).shuffle(found)
    return header, list(dict.fromkeys(found))


def choices(split: str) -> tuple[few_rows.Cells, list[tuple[few_rows.Cells, str]]]:
    """The rows of CODAH: a context, its four choices, and the number of the right one."""
    rows = find("codah").load(source_of(None), split).rows
    return ("context", "choice1", "choice2", "choice3", "choice4", "label"), [
        ((row.context, *row.choices, str(row.gold)), "") for row in rows
    ]


def tagged(split: str) -> tuple[few_rows.Cells, list[tuple[few_rows.Cells, str]]]:
    """Sentences of CoNLL-2003: their words and tags, a pair a line."""
    rows = find("conll-2003").load(source_of(None), split).rows
    return (), [(tuple(f"{w}\t{t}" for w, t in zip(r.words, r.gold, strict=True)), "") for r in rows]


SETS: dict[str, tuple[str, Callable[[str], Any], float]] = {  # what it is, its reader, the risk that is asked for
    "sst2": ("labels, English", few_rows.SETS["sst2"][1], 0.05),
    "nsmc": ("labels, Korean", few_rows.SETS["nsmc"][1], 0.1),
    "mrpc": ("labels of pairs", few_rows.SETS["mrpc"][1], 0.15),
    "conll-types": ("several labels", few_rows.types_of_entities, 0.05),
    "conll-tags": ("tags, by entity", tagged, 0.1),
    "codah": ("choices", choices, 0.4),
    "korsts": ("numbers of pairs, Korean", few_rows.SETS["korsts"][1], 0.05),
}


def trained(name: str, folder: Path) -> finetune.Run:
    """The run of a set, whose dev rows chose nothing."""
    header, rows = rows_of(SETS[name][1])
    size = min(TRAIN, len(rows) // 2)
    folder.mkdir(parents=True, exist_ok=True)
    train = few_rows.write(folder / f"{name}-train", header, rows[:size])
    dev = few_rows.write(folder / f"{name}-pool", header, rows[size : size + POOL])
    return finetune.run(str(train), dev=str(dev), out=folder / "results", progress=False, **SETTINGS)


@dataclass(frozen=True)
class Pool:
    """The claims of all rows as arrays: (confidence, whether right, row)."""

    claims: DevClaims
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray]

    @classmethod
    def of(cls, claims: DevClaims) -> "Pool":
        """With its arrays, once for all draws."""
        return cls(claims, (claims.decisions.confidence, claims.decisions.right, claims.decisions.row))


def of_risk(pool: Pool, rows: np.ndarray, risk: float) -> dict[str, Any]:
    """What the threshold of dev `rows`, of which some may be drawn twice, gives on all rows, and on the other rows."""
    confidence, right, row = pool.arrays
    begin, after = np.searchsorted(row, rows), np.searchsorted(row, rows, side="right")
    here = np.concatenate([np.arange(a, b) for a, b in zip(begin, after, strict=True)])
    effect = selective.design_effect(~right[here], np.repeat(np.arange(len(rows)), after - begin))
    found = selective.risk_threshold(confidence[here], right[here], risk, effect=effect)
    if found is None:
        return {"promised": False}
    kept = confidence >= found.threshold
    others = kept & ~np.isin(row, rows)
    return {
        "promised": True, "coverage": float(kept.mean()), "wrong": float((~right[kept]).mean()),
        "wrong_of_others": float((~right[others]).mean()), "effect": effect,
    }  # fmt: skip


def drawn_once(pool: Pool, rows: int, draw: int, risk: float) -> dict[str, Any]:
    """One draw of so many dev rows."""
    dev = np.random.default_rng([rows, draw]).integers(0, pool.claims.rows, rows)
    return of_risk(pool, dev, risk)


def summed(draws: Sequence[dict[str, Any]], risk: float) -> dict[str, Any]:
    """What is reported of the draws of one size."""
    kept = [one for one in draws if one.get("promised")]
    found: dict[str, Any] = {"draws": len(draws), "promised": len(kept)}
    if kept:
        wrong = np.array([one["wrong"] for one in kept])
        found |= {"broken": int((wrong > risk).sum()), "wrong": float(wrong.mean()), "most_wrong": float(wrong.max())}
        found |= {"broken_on_others": sum(one["wrong_of_others"] > risk for one in kept)}
        found |= {"coverage": float(np.mean([one["coverage"] for one in kept]))}
        found |= {"effect": float(np.mean([one["effect"] for one in kept]))}
    return found


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """The draws of a set, by the number of dev rows."""
    started = time.process_time()
    kind, _, risk = SETS[name]
    folder = options.run or Path(trained(name, options.work).model.folder).parent
    claims, record = claims_of(RunFolder(folder)), load_record(folder / "record.json")
    pool, sizes = Pool.of(claims), dict[str, Any]()
    for rows in (size for size in options.sizes if size <= claims.rows // 2):
        draws = [drawn_once(pool, rows, draw, risk) for draw in range(options.draws)]
        sizes[str(rows)] = summed(draws, risk)
        print(name, rows, sizes[str(rows)], flush=True)
    right = claims.decisions.right
    return {
        "kind": kind, "encoder": record.model, "run": record.id, "rows": record.rows, "risk": risk,
        "claims": len(right), "right": float(right.mean()) if len(right) else None, "sizes": sizes,
        "cpu_seconds": time.process_time() - started,
    }  # fmt: skip


def chosen_best(folders: Sequence[Path], options: argparse.Namespace, risk: float) -> dict[str, Any]:
    """What choosing costs: of runs on the same rows the best on each draw is taken, as the best epoch is on dev.

    Next to it the first of them, on the same draws.
    """
    runs = [RunFolder(folder) for folder in folders]
    claims = [claims_of(run) for run in runs]
    pools, right = [Pool.of(one) for one in claims], [one.decisions.right for one in claims]
    sizes = {}
    for rows in options.sizes:
        found: dict[str, list[dict[str, Any]]] = {"best of them": [], "one": []}
        for draw in range(options.draws):
            dev = np.random.default_rng([rows, draw]).integers(0, claims[0].rows, rows)
            best = max(range(len(pools)), key=lambda one: right[one][dev].mean())
            found["best of them"].append(of_risk(pools[best], dev, risk))
            found["one"].append(of_risk(pools[0], dev, risk))
        sizes[str(rows)] = {name: summed(draws, risk) for name, draws in found.items()}
        print(rows, sizes[str(rows)], flush=True)
    records = [record for run in runs if (record := run.record()) is not None]
    return {
        "task": records[0].task, "runs": [record.id for record in records], "risk": risk, "rows": claims[0].rows,
        "draws": options.draws, "sizes": sizes,
    }  # fmt: skip


def main() -> None:
    """Measures what is not there yet, and writes it."""
    parser = out_parser("Whether the risk that is promised holds")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1_000, 2_000])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--work", type=Path, default=Path("build/unsure"), help="folder of the files and runs")
    parser.add_argument("--run", type=Path, help="folder of a run, for one of the sets, in place of training")
    parser.add_argument(
        "--chosen", type=Path, nargs="+", help="folders of runs on the same rows, of which one is chosen"
    )
    options = parser.parse_args()
    before = json.loads(options.out.read_text()) if options.out.is_file() else {"sets": {}}
    if options.chosen:
        write_json(options.out, before | {"chosen": chosen_best(options.chosen, options, 0.1)})
        return
    for name in options.sets:
        if name in before["sets"]:
            continue
        before["sets"][name] = measured(name, options)
        facts = {"about": "risk promised on draws of dev rows, counted on all other rows", **machine.facts()}
        facts |= {"model": "minilm", "draws": options.draws}
        write_json(options.out, {**before, **facts, "sets": before["sets"]})


if __name__ == "__main__":
    main()
