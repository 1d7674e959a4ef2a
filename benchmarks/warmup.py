"""Post-norm against pre-norm encoders, new and deep, with and without warm-up, at several learning rates.

python benchmarks/warmup.py --out results/benchmarks/warmup.json

Each is pre-trained on a made-up text in which a word is known from the one before it, so that a few hundred updates are
enough to learn it. A run is added to the file when it is finished, and the same command continues where an earlier one
stopped.
"""

import argparse
import itertools
import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dated import resumed

import finetune
from finetune.inference.feature_batches import Diverged

ABOUT = "New encoders pre-trained on a made-up text: post-norm and pre-norm, with and without warm-up"
SETTINGS: dict[str, Any] = {
    "size": "6x64x2",
    "words": 40,
    "updates": 250,
    "batch_size": 16,
    "learning_rates": [1e-3, 3e-3, 1e-2],
    "warmups": [0.0, 0.1],
    "norms": ["post", "pre"],
    "seeds": [1, 2, 3],
}
FORMS = {"post": "", "pre": "-prenorm"}
DOCUMENTS, LINES, WORDS = 400, 2, 9  # of the text; words of a line


def write_text(path: Path, *, words: int) -> None:
    """A text whose words follow each other in a circle, from a random one on."""
    drawn = random.Random(0)
    letters = "abcdefghijklmnopqrstuvwxyz"
    known = drawn.sample(["".join(pair) for pair in itertools.product(letters, repeat=2)], words)

    def line() -> str:
        first = drawn.randrange(words)
        return " ".join(known[(first + place) % words] for place in range(WORDS))

    path.write_text("\n\n".join("\n".join(line() for _ in range(LINES)) for _ in range(DOCUMENTS)) + "\n")


def trained(text: Path, settings: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    """The masked accuracy on dev and the mean loss of the last part of a run; or that it diverged."""
    try:
        run = finetune.train(
            text,
            model=f"new:{settings['size']}{FORMS[point['norm']]}",
            out=text.parent / "results",
            device="cpu",
            progress=False,
            shape="text",
            max_length=32,
            seed=point["seed"],
            **{
                "train.updates": settings["updates"],
                "train.batch_size": settings["batch_size"],
                "train.learning_rate": point["learning_rate"],
                "train.warmup": point["warmup"],
                "train.precision": "fp32",
            },
        )
    except Diverged as error:
        return {"diverged": error.what}
    record = run.records[0]
    return {
        "accuracy": record.scores["dev"]["masked accuracy"],
        "loss": record.epochs[-1]["loss"],
        "unigram": record.baselines["dev"]["unigram"]["masked accuracy"],
    }


def main() -> None:
    """Measures what the file lacks."""
    parser = argparse.ArgumentParser(description=ABOUT)
    parser.add_argument("--updates", type=int, default=SETTINGS["updates"])
    parser.add_argument("--size", default=SETTINGS["size"])
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args()
    settings = SETTINGS | {"updates": options.updates, "size": options.size}
    result = resumed(options.out, ABOUT, settings)
    names = ("seed", "learning_rate", "warmup", "norm")
    with TemporaryDirectory() as folder:
        text = Path(folder) / "circle.txt"
        write_text(text, words=settings["words"])
        for values in itertools.product(*(settings[f"{name}s"] for name in names)):
            point = dict(zip(names, values, strict=True))
            if any({name: run[name] for name in names} == point for run in result["runs"]):
                continue
            result["runs"].append(point | trained(text, settings, point))
            print(json.dumps(result["runs"][-1]), flush=True)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
