"""Memory of `finetune run` by rows, and the seconds until training starts.

python benchmarks/memory_by_rows.py --out results/benchmarks/memory_by_rows.json

Files have made-up texts of 14 to 26 words with two labels, the encoder is tiny and random. Each run trains one epoch
and scores dev, in a separate process. The model and the libraries are what the run of the fewest rows takes.
"""

import csv
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

ROOT = Path(__file__).resolve().parents[1]
ROWS = (1_000, 10_000, 100_000, 1_000_000)
VOCABULARY = 20_000
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIGNS = {"positive": ("lovely", "witty", "warm"), "negative": ("dull", "grim", "tedious")}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
RUN = """
import sys, time
import finetune.training.run_many, finetune.commands.run.command
from finetune.cli.app import main
print(time.time(), flush=True)
main()
"""


def words() -> list[str]:
    """Made-up words, the most frequent first."""
    generator = random.Random(0)
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    found = ("".join(generator.choices(syllables, k=generator.randint(1, 5))) for _ in itertools.count())
    return list(itertools.islice(dict.fromkeys(itertools.islice(found, 10 * VOCABULARY)), VOCABULARY))


def rows(count: int) -> Iterator[tuple[str, str]]:
    """Texts with labels; deterministic."""
    generator, known = random.Random(1), words()
    frequencies = list(itertools.accumulate(1 / (place + 10) for place in range(len(known))))
    for _ in range(count):
        text = generator.choices(known, cum_weights=frequencies, k=generator.randint(14, 26))
        label = generator.choice(sorted(SIGNS))
        text[generator.randrange(len(text))] = generator.choice(SIGNS[label])
        yield " ".join(text), label


def write_encoder(folder: Path) -> None:
    """A tiny random BERT that knows all words."""
    import torch
    from transformers import BertConfig, BertModel

    folder.mkdir()
    vocabulary = [*SPECIAL, *itertools.chain(*SIGNS.values()), *words()]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    config = {"tokenizer_class": "BertTokenizer", "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(vocabulary), **SIZES)).save_pretrained(folder)


def measured(file: Path, encoder: Path) -> tuple[float, float]:
    """(seconds from the end of imports to the start of training, peak memory in MB) of a run."""
    out = file.parent / f"results-{file.stem}"
    settings = [f"model={encoder}", "train.batch_size=128", "train.epochs=1", "--out", str(out)]
    command = [sys.executable, "-c", RUN, "run", str(file), *settings, "--quiet"]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "FINETUNE_CACHE": str(file.parent / "cache"),
    }
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    imported = float(process.stdout.readline())
    while (started := _training_time(out)) is None and not _ended(process):
        time.sleep(0.1)
    peak, status = _peak(process)
    if started is None or status:
        raise SystemExit(f"the run ended with {status}")
    return started - imported, peak


def _ended(process: "subprocess.Popen[str]") -> bool:
    """Whether a process has ended, without taking its exit status, which comes with its memory."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _peak(process: "subprocess.Popen[str]") -> tuple[float, int]:
    """(peak memory in MB, exit status) of a process, after its end."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1e3, process.returncode


def _training_time(out: Path) -> float | None:
    """The Unix time at which training began."""
    lines = [line for file in out.glob("*/*/events.jsonl") for line in file.read_text().splitlines(keepends=True)]
    events = (json.loads(line) for line in lines if line.endswith("\n"))
    return next((float(event["time"]) for event in events if event["event"] == "training"), None)


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Memory of `finetune run` by rows", required=False)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="rows of the files, the fewest first")
    options = parser.parse_args()
    facts = machine.facts()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder, encoder = Path(name), Path(name) / "encoder"
        write_encoder(encoder)
        for count in options.rows:
            file = folder / f"rows-{count}.csv"
            with file.open("w", encoding="utf-8", newline="") as opened:
                csv.writer(opened).writerows([("text", "label"), *rows(count)])
            seconds, peak = measured(file, encoder)
            beyond = peak - found[0]["peak_megabytes"] if found else 0.0
            line = {"rows": count, "file_megabytes": file.stat().st_size / 1e6, "peak_megabytes": peak}
            line |= {"beyond_the_model_megabytes": beyond, "seconds_to_training": seconds}
            found.append(line)
            print(json.dumps(line), flush=True)
    write_json(options.out, {"about": "memory of finetune run by rows", **facts, "runs": found})


if __name__ == "__main__":
    main()
