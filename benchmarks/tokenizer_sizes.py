"""Vocabularies of several sizes on English and Korean text: how each splits held-out documents.

python benchmarks/tokenizer_sizes.py --data DIR --out results/benchmarks/tokenizer_sizes.json

The texts are Simple English Wikipedia and the reviews of NSMC's training file. A text is added to the file when it is
done.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import machine
from dated import out_parser, write_json

import finetune

SIZES = (4_096, 8_192, 16_384)
ABOUT = "How vocabularies of several sizes split held-out documents"


TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Simple English Wikipedia": ("text/simplewiki.txt.xz", {}),
    "NSMC (Korean reviews)": ("nsmc/ratings_train.txt", {"text": "document"}),
}  # each with its file, and how it is read


def splits(file: Path, options: dict[str, Any], scratch: Path) -> dict[str, dict[str, float]]:
    """How each vocabulary splits the text, by its name."""
    found: dict[str, dict[str, float]] = {}
    for size in SIZES:
        trained = finetune.tokenizer(file, path=scratch / f"{file.name}-{size}", size=size, **options)
        found[f"{size:,}"] = {"tokens per word": trained.tokens_per_word, "unknown tokens": trained.unknown}
    return found


def main() -> None:
    """Trains, prints and writes."""
    parser = out_parser(ABOUT)
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    options = parser.parse_args()
    result: dict[str, Any] = {"about": ABOUT, **machine.facts(), "texts": {}}
    with tempfile.TemporaryDirectory() as place:
        for name, (file, reading) in TEXTS.items():
            result["texts"][name] = splits(options.data / file, reading, Path(place))
            print(name, json.dumps(result["texts"][name]), flush=True)
            write_json(options.out, result)


if __name__ == "__main__":
    main()
