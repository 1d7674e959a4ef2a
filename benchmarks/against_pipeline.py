"""Prediction from Python next to transformers' pipeline at the same precision: rows/s on MRPC's training pairs.

python benchmarks/against_pipeline.py --data DIR --out results/benchmarks/against_pipeline.json

MiniLM is first fine-tuned on a few rows in each precision, which is not measured; both sides then predict the same rows
with the same files, in turns, in one process. The pipeline is measured as it is by default, a row at a time, and with
batches of rows sorted by length. On a machine with other work BENCHMARK_CLOCK=cpu OMP_NUM_THREADS=1 counts the seconds
that a processor computed.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import machine
import torch
from dated import out_parser, write_json
from measuring import CLOCK, MRPC, limits, seconds
from transformers import AutoTokenizer, pipeline
from transformers.utils import logging

import finetune
from finetune.data.source import source_of

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SORTED_BATCH = 32  # rows
Predict = Callable[[], Any]


def trained(folder: Path, precision: str, data: Path | None) -> Path:
    """The folder of a run that has learned from a few rows."""
    command = [sys.executable, "-m", "finetune", "run", "glue-mrpc", "model=minilm", "limit=64", "train.epochs=1"]
    options = [f"train.precision={precision}", "--out", str(folder / precision), "--quiet"]
    subprocess.run([*command, *options, *(["--data", str(data)] if data else [])], check=True)
    return next((folder / precision).glob("*/*/model")).parent


def encoded(run: Path, rows: list[tuple[str, str]]) -> list[list[int]]:
    """The tokens of each row."""
    tokenizer = AutoTokenizer.from_pretrained(run / "model")
    return [tokenizer(*row)["input_ids"] for row in rows]


def contestants(run: Path, precision: str, rows: list[tuple[str, str]]) -> dict[str, Predict]:
    """Ours, the pipeline's default, and the pipeline with batches."""
    ours = finetune.load(str(run))
    theirs = pipeline("text-classification", str(run / "model"), dtype=DTYPES[precision], device="cpu")
    lengths = [len(ids) for ids in encoded(run, rows)]
    pairs = [{"text": first, "text_pair": second} for first, second in rows]
    by_length = [pairs[i] for i in sorted(range(len(rows)), key=lengths.__getitem__, reverse=True)]
    return {
        "finetune": partial(ours.predict, pairs),
        "pipeline": partial(theirs, pairs),
        "pipeline, sorted batches": partial(theirs, by_length, batch_size=SORTED_BATCH),
    }


def difference(ours: list[Any], theirs: list[dict[str, Any]]) -> float:
    """The largest, of the probability of the label that the pipeline gives."""
    return max(float(abs(one[f"p({two['label']})"] - two["score"])) for one, two in zip(ours, theirs, strict=True))


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Prediction next to transformers' pipeline", required=False)
    parser.add_argument("--data", type=Path, help="folder with MRPC's files; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precisions", nargs="+", choices=DTYPES, default=list(DTYPES))
    options = parser.parse_args()
    logging.set_verbosity_error()
    facts = machine.facts()
    rows = [(row.text, row.pair) for row in MRPC.load(source_of(options.data), "train").rows[: options.rows]]
    rates: dict[str, dict[str, list[float]]] = {}
    apart: dict[str, float] = {}
    with TemporaryDirectory() as scratch:
        for precision in options.precisions:
            run = trained(Path(scratch), precision, options.data)
            sides, lengths = contestants(run, precision, rows), [len(ids) for ids in encoded(run, rows)]
            rates[precision] = {name: [] for name in sides}
            apart[precision] = difference(sides["finetune"](), sides["pipeline"]())
            for _ in range(1 + options.rounds):
                for name, predict in sides.items():
                    began = seconds()
                    predict()
                    rates[precision][name].append(len(rows) / (seconds() - began))
                    print(precision, name, f"{rates[precision][name][-1]:.1f} rows/s", flush=True)
    result = {
        "about": "Rows/s of prediction from Python, and of transformers' pipeline at the same precision",
        **facts,
        "settings": {"model": "minilm", "rows": len(rows), "clock": os.environ.get(CLOCK, "wall")},
        "median_rows_per_second": {  # the first round warms up
            precision: {name: statistics.median(found[1:]) for name, found in sides.items()}
            for precision, sides in rates.items()
        },
        "gflops": limits(),
        "lengths": {
            "tokens": statistics.fmean(lengths),
            "squared_tokens": statistics.fmean(length**2 for length in lengths),
        },
        "rounds": rates,
        "largest_difference_of_a_probability": apart,
    }
    write_json(options.out, result)


if __name__ == "__main__":
    main()
