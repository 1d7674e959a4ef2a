"""Prediction from Python next to transformers' pipeline at the same precision: rows/s on MRPC's training pairs.

python benchmarks/against_pipeline.py --data DIR --out results/benchmarks/against_pipeline.json

MiniLM is first fine-tuned on a few rows in each precision, which is not measured; both sides then predict the same rows
with the same files, in turns, in one process. The pipeline is measured as it is by default, a row at a time, and with
batches of rows sorted by length. On a machine with other work BENCHMARK_CLOCK=cpu OMP_NUM_THREADS=1 counts the seconds
that a processor computed.
"""

import os
import statistics
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from machine import options, write
from measuring import CLOCK, MRPC, limits, timed
from transformers import AutoTokenizer, pipeline
from transformers.utils import logging

import finetune
from finetune.data.source import source_of

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SORTED_BATCH = 32  # rows
Rates = dict[str, list[float]]
FEW: dict[str, Any] = {"model": "minilm", "limit": 64, "train.epochs": 1, "device": "cpu", "progress": False}


def measured(
    precision: str, rows: list[dict[str, str]], rounds: int, run: Path
) -> tuple[dict[str, list[float]], float]:
    """Rows/s of ours, the pipeline's default and the pipeline with batches; the largest difference of a probability."""
    model = finetune.load(str(run))
    theirs = pipeline("text-classification", str(run / "model"), dtype=DTYPES[precision], device="cpu")
    tokens = lengths(run, rows)
    by_length = [rows[place] for place in sorted(range(len(rows)), key=tokens.__getitem__, reverse=True)]
    sides = {
        "finetune": partial(model.predict, rows),
        "pipeline": partial(theirs, rows),
        "pipeline, sorted batches": partial(theirs, by_length, batch_size=SORTED_BATCH),
    }
    pairs = zip(sides["finetune"](), sides["pipeline"](), strict=True)
    apart = max(float(abs(row[f"p({other['label']})"] - other["score"])) for row, other in pairs)
    rates: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(1 + rounds):  # the first warms up
        for name, predict in sides.items():
            rates[name].append(len(rows) / timed(predict))
    print(precision, rates, flush=True)
    return rates, apart


def lengths(run: Path, rows: list[dict[str, str]]) -> list[int]:
    """The tokens of each row."""
    tokenizer = AutoTokenizer.from_pretrained(run / "model")
    return [len(tokenizer(*row.values())["input_ids"]) for row in rows]


def main() -> None:
    """Measures, prints and writes."""
    given = options(__doc__, data=Path, rows=300, rounds=3, precisions=tuple(DTYPES))
    logging.set_verbosity_error()
    loaded = MRPC.load(source_of(given.data), "train").rows[: given.rows]
    rows = [{"text": row.text, "text_pair": str(row.pair)} for row in loaded]
    rates, apart = dict[str, dict[str, list[float]]](), dict[str, float]()
    with TemporaryDirectory() as out:
        for precision in given.precisions:
            settings = {**FEW, "train.precision": precision, "data_folder": given.data, "out": out}
            run = Path(finetune.run("glue-mrpc", **settings).folder)
            rates[precision], apart[precision] = measured(precision, rows, given.rounds, run)
        tokens = lengths(run, rows)
    found = {
        "settings": {"model": "minilm", "rows": len(rows), "clock": os.environ.get(CLOCK, "wall")},
        "median_rows_per_second": {
            precision: {name: statistics.median(rounds[1:]) for name, rounds in sides.items()}
            for precision, sides in rates.items()
        },
        "gflops": limits(),
        "lengths": {
            "tokens": statistics.fmean(tokens),
            "squared_tokens": statistics.fmean(length**2 for length in tokens),
        },
        "rounds": rates,
        "largest_difference_of_a_probability": apart,
    }
    write(given.out, "Rows/s of prediction from Python, and of transformers' pipeline at the same precision", found)


if __name__ == "__main__":
    main()
