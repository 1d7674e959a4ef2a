"""How time and memory grow from a thousand rows to a million: run, check, predict, label errors and search.

python benchmarks/growth.py --out results/benchmarks/growth.json

Files have made-up texts of 14 to 26 words with two labels, the encoder is tiny and random (2 layers of width 32), so
that what is measured is all but its products. Each command is a process of its own with an empty cache: `run` trains
one epoch, `predict` takes a model of 1,000 rows, `label errors` trains five folds for two epochs, `search` two settings
for one. Seconds are CPU seconds, which other work on the machine changes little. A size that would take more of them
than `--longest` by what the one before took is left out. What `run` takes beyond the fewest rows, and the seconds
until it trains, go to memory_by_rows.json next to the file.
"""

import csv
import itertools
import json
import random
import tempfile
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch
from machine import Parts, in_a_process, options
from measuring import encoder_config
from transformers import AutoModel

ROWS = (1_000, 10_000, 100_000, 1_000_000)
MODEL_ROWS = 1_000  # that the model of `predict` is trained on
VOCABULARY = 20_000
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIGNS = {"positive": ("lovely", "witty", "warm"), "negative": ("dull", "grim", "tedious")}
RUN = """
import sys, time
from pathlib import Path
import finetune.training.run_many, finetune.commands.run
from finetune.cli.app import main
Path(sys.argv[-1], "imported").write_text(str(time.time()))
main()
"""
LABEL_ERRORS = """
import sys
import finetune
found = finetune.label_errors(sys.argv[1], model=sys.argv[2], **{"train.batch_size": 128})
assert len(found) == int(sys.argv[3]), len(found)
"""
SPACE = "train.learning_rate = [1e-4, 1e-3]\n"
TRAIN = "train.batch_size=128 train.epochs=1 --out {folder}"
SEARCH = "{folder}/space.toml -o {folder}/best.toml"
COMMANDS = {
    "check": "-m finetune check {file} model={encoder} --json",
    "predict": "-m finetune predict {model} {file} -o {folder}/predicted.csv",
    "run": "-c RUN run {file} model={encoder} --quiet " + TRAIN,
    "search": f"-m finetune search {{file}} {SEARCH} model={{encoder}} --trials 2 --seeds 1 {TRAIN}",
    "label errors": "-c LABEL_ERRORS {file} {encoder} {rows}",
}
SCRIPTS = {"RUN": RUN, "LABEL_ERRORS": LABEL_ERRORS}


def words() -> list[str]:
    """Made-up words, the most frequent first."""
    generator = random.Random(0)
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    found = ("".join(generator.choices(syllables, k=generator.randint(1, 5))) for _ in itertools.count())
    return list(itertools.islice(dict.fromkeys(itertools.islice(found, 10 * VOCABULARY)), VOCABULARY))


def write_rows(file: Path, count: int) -> Path:
    """A CSV file of made-up rows."""
    generator, known = random.Random(1), words()
    frequencies = list(itertools.accumulate(1 / (place + 10) for place in range(len(known))))
    with file.open("w", encoding="utf-8", newline="") as opened:
        lines = csv.writer(opened)
        lines.writerow(("text", "label"))
        for _ in range(count):
            text = generator.choices(known, cum_weights=frequencies, k=generator.randint(14, 26))
            label = generator.choice(sorted(SIGNS))
            text[generator.randrange(len(text))] = generator.choice(SIGNS[label])
            lines.writerow((" ".join(text), label))
    return file


def write_encoder(folder: Path) -> Path:
    """A tiny random BERT that knows all words."""
    folder.mkdir()
    vocabulary = [*SPECIAL, *itertools.chain(*SIGNS.values()), *words()]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    config = {"tokenizer_class": "BertTokenizer", "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    torch.manual_seed(0)
    shape = {"width": 32, "inner": 64, "layers": 2, "heads": 2}
    AutoModel.from_config(encoder_config("bert", shape, vocab_size=len(vocabulary))).save_pretrained(folder)
    return folder


def measured(command: str, place: dict[str, Any], folder: Path) -> dict[str, float]:
    """What a command takes; a run also the seconds from the end of imports to the start of training."""
    (folder / "space.toml").write_text(SPACE)
    arguments = [SCRIPTS.get(part, part.format(**place, folder=folder)) for part in COMMANDS[command].split()]
    found = in_a_process(arguments, folder)
    if command == "run":
        (log,) = folder.glob("*/*/events.jsonl")
        events = map(json.loads, log.read_text().splitlines())
        training = next(float(event["time"]) for event in events if event["event"] == "training")
        found["seconds_to_training"] = training - float((folder / "imported").read_text())
        found["file_megabytes"] = place["file"].stat().st_size / 1e6
    return found


def main() -> None:
    """Measures what is missing, the fewest rows first."""
    given = options(__doc__, rows=ROWS, commands=tuple(COMMANDS), longest=600.0)
    parts = Parts(given.out, "time and memory by rows", key="measured", longest_cpu_seconds=given.longest)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        place: dict[str, Any] = {"encoder": write_encoder(scratch / "encoder"), "model": scratch / "model"}
        for count in (MODEL_ROWS, *given.rows):
            place |= {"file": write_rows(scratch / f"rows-{count}.csv", count), "rows": count}
            if not place["model"].is_dir():
                (scratch / "first").mkdir()
                measured("run", place, scratch / "first")
                next((scratch / "first").glob("*/*/model")).rename(place["model"])
                continue
            for command in given.commands:
                before = [line for line in parts.read().get("measured", []) if line["command"] == command]
                fewer = max((line for line in before if line["rows"] < count), key=itemgetter("rows"), default=None)
                if fewer is None or fewer["cpu_seconds"] * count / fewer["rows"] <= given.longest:
                    with tempfile.TemporaryDirectory(dir=scratch) as folder:
                        parts.measure({"command": command, "rows": count}, measured, command, place, Path(folder))
            place["file"].unlink()
    runs = [line for line in parts.read().get("measured", []) if "seconds_to_training" in line]
    memory = Parts(
        given.out and given.out.with_name("memory_by_rows.json"), "memory of finetune run by rows", key="runs"
    )
    memory.write(
        runs=[
            line | {"beyond_the_model_megabytes": line["peak_megabytes"] - runs[0]["peak_megabytes"]} for line in runs
        ]
    )


if __name__ == "__main__":
    main()
