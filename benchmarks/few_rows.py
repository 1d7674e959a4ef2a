"""The default of `finetune run FILE` from 8 to 2,000 rows a class, next to TF-IDF, a linear probe and SetFit.

python benchmarks/few_rows.py --out results/benchmarks/few_rows.json --sizes 8 32 128 --draws 5
python benchmarks/few_rows.py --few-labels --out results/benchmarks/few_labels.json --sets sst2 mrpc nsmc --sizes 8 32
python benchmarks/few_rows.py --files-alone --work FOLDER    # for setfit_few_rows.py, in an environment with SetFit

A draw is a training file of so many rows of each class; of numbers it has five times as many rows, of tags four times.
All methods are scored on the same test rows. With `--few-labels` the preset of this name is measured, next to the
linear probe: scores, CPU seconds of training and of fitting the head, peak memory. A finished draw is kept, so that the
same command goes on.
"""

import random
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from machine import Parts, options
from rows import SETS, Cells, write

import finetune
from finetune.models.model_folder import FEW_ROWS

TEST_ROWS, CLASSES_OF_NUMBERS, TAGS = 300, 5, 4
PROBE: dict[str, Any] = {"frozen": True, "train.solver": "logistic", "pooling": "mean"}


def drawn(rows: Sequence[tuple[Cells, str]], size: int, draw: int) -> list[Cells]:
    """So many rows of each class; empty where a class has fewer."""
    by_class: defaultdict[str, list[Cells]] = defaultdict(list)
    for cells, name in rows:
        by_class[name].append(cells)
    source = random.Random(f"{size}:{draw}")
    wanted = size if len(by_class) > 1 else size * (TAGS if "\t" in rows[0][0][-1] else CLASSES_OF_NUMBERS)
    if min(map(len, by_class.values())) < wanted:
        return []
    chosen = [cells for name in sorted(by_class) for cells in source.sample(by_class[name], wanted)]
    source.shuffle(chosen)
    return chosen


def files(name: str, size: int, draw: int, folder: Path) -> tuple[Path, Path] | None:
    """The training and the test file of a draw; None where the set has too few rows."""
    read = SETS[name][1]
    header, rows = read("train")
    train, test = drawn(rows, size, draw), [cells for cells, _ in read("dev")[1]]
    if not train:
        return None
    chosen = random.Random(0).sample(test, min(TEST_ROWS, len(test)))
    return write(folder / f"{name}-{size}-{draw}", header, train), write(folder / f"{name}-test", header, chosen)


def trained(train: Path, test: Path, work: Path, **settings: Any) -> Any:
    """The record of a run, scored on test."""
    return finetune.run(str(train), test=str(test), out=work / "results", progress=False, **settings).records[0]


def measured(name: str, size: int, draw: int, work: Path) -> dict[str, Any] | None:
    """The scores on test of the default run and of its baselines, from its record."""
    if (made := files(name, size, draw, work)) is None:
        return None
    started = time.process_time()
    record = trained(*made, work)
    seconds, metric = time.process_time() - started, record.headline
    scores = {"finetune": record.scores["test"][metric]}
    scores |= {method: found[metric] for method, found in record.baselines["test"].items()}
    if "linear-probe" not in scores and record.rows["train"] >= FEW_ROWS and made[0].suffix != ".conll":
        scores["linear-probe"] = trained(*made, work, **PROBE).scores["test"][metric]
    return {
        "rows": record.rows["train"] + record.rows["dev"], "metric": metric, "scores": scores,
        "interval": record.margins["test"].interval, "cpu_seconds": seconds, "run": record.id,
    }  # fmt: skip


def measured_preset(name: str, size: int, draw: int, work: Path) -> dict[str, Any] | None:
    """Scores on test of the preset and of the linear probe, CPU seconds of training, peak memory in bytes."""
    if (made := files(name, size, draw, work)) is None:
        return None
    times: dict[str, float] = {}  # of the processor, when each kind of step first began

    def watch(event: Any) -> None:
        times.setdefault(getattr(event, "what", type(event).__name__), time.process_time())

    record = trained(*made, work, preset="few-labels", callbacks=watch)
    metric = record.headline
    return {
        "score": record.scores["test"][metric], "linear-probe": record.baselines["test"]["linear-probe"][metric],
        "metric": metric, "cpu_seconds": times["scoring test"] - times["Training"],
        "peak_memory_bytes": record.peak_memory_bytes,
    }  # fmt: skip


def main() -> None:
    """Measures what is missing: all sets of a draw before the next one, small sizes first."""
    given = options(
        __doc__, sizes=(8, 32, 128, 512, 2_000), draws=5, sets=tuple(SETS), work=Path("build/few-rows"),
        files_alone=False, few_labels=False,
    )  # fmt: skip
    sets = {name: kind for name, (kind, _) in SETS.items()}
    about, measure = "test score by rows a class, of the default run and baselines", measured
    if given.few_labels:
        about, measure = "preset=few-labels: score by rows a class", measured_preset
    parts = Parts(given.out, about, key="draws", model="minilm", test_rows=TEST_ROWS, sets=sets)
    for size, draw, name in product(given.sizes, range(given.draws), given.sets):
        if given.files_alone:
            files(name, size, draw, given.work)
        else:
            parts.measure(f"{name} {size} {draw}", measure, name, size, draw, given.work)


if __name__ == "__main__":
    main()
