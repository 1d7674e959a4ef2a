"""`finetune predict` on many rows: seconds, rows/s and peak memory of the command.

python benchmarks/predict_speed.py --data DIR --encoder minilm --out results/benchmarks/predict_minilm.json

The rows are SST-2's training sentences, repeated, in a CSV. The encoder is first fine-tuned on 200 of them, which is
not measured. `tiny` is a random BERT of 2 layers and width 64: with it, the time is mostly spent outside the encoder.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import machine
from dated import out_parser, write_json
from transformers import AutoTokenizer, BertConfig, BertModel

from finetune.data.source import source_of
from finetune.models import pretrained as weights
from finetune.task_types.registry import find


def tiny_encoder(folder: Path) -> Path:
    """A random encoder with MiniLM's vocabulary."""
    tokenizer = AutoTokenizer.from_pretrained(weights.resolve("minilm").folder)
    size = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    BertModel(BertConfig(vocab_size=len(tokenizer), **size)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def written(path: Path, sentences: list[tuple[str, str]], rows: int) -> Path:
    """A CSV with this number of rows."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "sentence", "label"])
        writer.writerows((number, *pair) for number, pair in enumerate(islice(cycle(sentences), rows)))
    return path


def main() -> None:
    """Trains, predicts, prints and writes."""
    parser = out_parser("Speed and memory of finetune predict", required=False)
    parser.add_argument("--data", type=Path, help="folder with SST-2; default: $FINETUNE_DATA, then the Hub")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--encoder", choices=["minilm", "tiny"], default="minilm")
    options = parser.parse_args()
    facts = machine.facts()
    rows = find("sst2").load(source_of(options.data), "train").rows
    sentences = [(row.text, row.gold) for row in rows]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = "minilm" if options.encoder == "minilm" else str(tiny_encoder(folder / "tiny"))
        train = written(folder / "train.csv", sentences, 200)
        many = written(folder / "many.csv", sentences, options.rows)
        command = [sys.executable, "-m", "finetune"]
        subprocess.run([*command, "run", train, f"model={model}", "train.epochs=1", "--quiet"], cwd=folder, check=True)
        begun = time.perf_counter()
        process = subprocess.Popen([*command, "predict", "train.csv", many, "-o", "out.csv", "--quiet"], cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        if status:
            raise SystemExit("the prediction failed")
        with (folder / "out.csv").open("rb") as file:
            lines = sum(1 for _ in file) - 1
        result = {
            "rows": lines,
            "megabytes": many.stat().st_size / 1e6,
            "encoder": options.encoder,
            "seconds": seconds,
            "rows_per_second": lines / seconds,
            "peak_memory_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        }
    print(json.dumps(result, indent=1))
    write_json(options.out, {"about": "finetune predict on a CSV", **facts, **result})


if __name__ == "__main__":
    main()
