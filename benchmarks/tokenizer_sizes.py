"""Vocabularies of several sizes on English and Korean text: how each splits held-out documents.

python benchmarks/tokenizer_sizes.py --data DIR --out results/benchmarks/tokenizer_sizes.json

The texts are Simple English Wikipedia and the reviews of NSMC's training file.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from machine import Parts, options

import finetune

SIZES = (4_096, 8_192, 16_384)
TEXTS: dict[str, tuple[str, dict[str, Any]]] = {  # the file, and how it is read
    "Simple English Wikipedia": ("text/simplewiki.txt.xz", {}),
    "NSMC (Korean reviews)": ("nsmc/ratings_train.txt", {"text": "document"}),
}


def splits(file: Path, reading: dict[str, Any]) -> dict[str, dict[str, float]]:
    """How each vocabulary splits the text, by its size."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        trained = {size: finetune.tokenizer(file, path=folder / str(size), size=size, **reading) for size in SIZES}
    return {
        f"{size:,}": {"tokens per word": found.tokens_per_word, "unknown tokens": found.unknown}
        for size, found in trained.items()
    }


def main() -> None:
    """Trains what is missing."""
    given = options(__doc__, data=Path)
    parts = Parts(given.out, "How vocabularies of several sizes split held-out documents", key="texts")
    for name, (file, reading) in TEXTS.items():
        parts.measure(name, splits, given.data / file, reading)


if __name__ == "__main__":
    main()
