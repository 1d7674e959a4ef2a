"""Training of vocabularies: seconds and memory by kind, and the rate at which each tokenizes.

python benchmarks/train_tokenizers.py TEXT --out results/benchmarks/train_tokenizers.json

TEXT is a file with a text a line, also as .xz or .gz, of which the first --megabytes are used. Each kind is trained by
the command in a process of its own, which reads the corpus, holds documents out, trains and compares with minilm.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
from dated import out_parser, write_json
from transformers import AutoTokenizer

from finetune.data.open_files import compression_of, open_bytes
from finetune.models.tokenizers.train import KINDS

TOKENIZED = 10_000_000  # bytes
BATCH = 1_000  # texts


def write_start(text: Path, file: Path, size: int) -> None:
    """Writes the first `size` bytes of a text, up to a line's end."""
    with open_bytes(text, compression=compression_of(text)) as opened:
        start = opened.read(size)
    file.write_bytes(start[: start.rfind(b"\n") + 1])


def train(file: Path, folder: Path, kind: str, size: int) -> dict[str, float]:
    """Seconds and peak memory of the command."""
    command = [
        sys.executable,
        "-m",
        "finetune",
        "tokenizer",
        str(file),
        "-o",
        str(folder),
        "--kind",
        kind,
        "--size",
        str(size),
    ]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{kind}: the command ended with {os.waitstatus_to_exitcode(status)}")
    return {"seconds": time.perf_counter() - start, "peak_gigabytes": used.ru_maxrss / 1e6}


def rate(file: Path, folder: Path, rounds: int) -> float:
    """MB/s of tokenizing lines in batches: the best of some rounds."""
    with file.open("rb") as opened:
        lines = opened.read(TOKENIZED).decode("utf-8", "ignore").splitlines()
    tokenizer, best = AutoTokenizer.from_pretrained(folder), 0.0
    for _ in range(rounds):
        start = time.perf_counter()
        for first in range(0, len(lines), BATCH):
            tokenizer(lines[first : first + BATCH], add_special_tokens=False, verbose=False)
        best = max(best, TOKENIZED / 1e6 / (time.perf_counter() - start))
    return best


def main() -> None:
    """Measures, prints and writes."""
    parser = out_parser("Training of vocabularies", required=False)
    parser.add_argument("text", type=Path, help="a file of text")
    parser.add_argument("--megabytes", type=int, default=50, help="of the text that are trained on")
    parser.add_argument("--size", type=int, default=8192, help="tokens of a vocabulary")
    parser.add_argument("--rounds", type=int, default=3, help="times that it tokenizes")
    options = parser.parse_args()
    facts, kinds = machine.facts(), {}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "text.txt"
        write_start(options.text, file, options.megabytes * 1_000_000)
        for kind in KINDS:
            folder = Path(place) / kind
            kinds[kind] = train(file, folder, kind, options.size)
            kinds[kind]["megabytes_per_second"] = rate(file, folder, options.rounds)
            print(kind, json.dumps(kinds[kind]), flush=True)
    given = {"text": options.text.name, "megabytes": options.megabytes, "size": options.size}
    result = {"about": "Training of vocabularies", **facts, **given, "kinds": kinds}
    write_json(options.out, result)


if __name__ == "__main__":
    main()
