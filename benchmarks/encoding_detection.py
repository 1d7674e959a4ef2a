"""Encoding detection: share of files in legacy encodings that finetune and charset-normalizer decode exactly.

python benchmarks/encoding_detection.py --out results/benchmarks/encodings.json

The sentences are in encoding_detection.toml; the letter orders of `finetune/data/encodings` were not tuned on them. Of
each language and encoding: files of 1, 3 and 10 sentences, as lines and as a column of a table in ASCII.
"""

import argparse
import json
import random
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path

import machine
from charset_normalizer import from_bytes

from finetune.data.encodings.detect import find_encoding
from finetune.data.open_files import open_bytes
from finetune.errors import UserError

TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SENTENCES, DRAWS = (1, 3, 10), 4
READERS = ("finetune", "charset-normalizer")


def written(sentences: list[str], *, table: bool) -> str:
    """Plain lines, or CSV rows with ASCII columns around the text."""
    if not table:
        return "\n".join(sentences) + "\n"
    rows = [
        f'{number},"{text}",{("yes", "no")[number % 2]},2024-05-{number + 10}' for number, text in enumerate(sentences)
    ]
    return "\n".join(["id,text,answer,date", *rows]) + "\n"


def read(reader: str, file: Path) -> str | None:
    """The text as a reader decodes it; None if it refuses."""
    if reader == "charset-normalizer":
        best = from_bytes(file.read_bytes()).best()
        return None if best is None else file.read_bytes().decode(best.encoding, "replace")
    try:
        found = find_encoding(file, partial(open_bytes, file, compression=""))
    except UserError:
        return None
    return file.read_bytes().decode(found.name, "replace")


def cases(language: str) -> Iterator[tuple[str, str]]:
    """(encoding, content) of every file of a language."""
    for encoding, number, draw in product(TEXTS[language]["encodings"], SENTENCES, range(DRAWS)):
        drawn = random.Random(f"{language} {number} {draw}").choices(TEXTS[language]["sentences"], k=number)
        yield from ((encoding, written(drawn, table=table)) for table in (False, True))


def main() -> None:
    """Writes and reads all files; counts those that were right, wrong and refused."""
    parser = argparse.ArgumentParser(description="Detection of encodings, against charset-normalizer")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    counts = {reader: {language: Counter[str]() for language in TEXTS} for reader in READERS}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file.csv"
        for language in TEXTS:
            for encoding, content in cases(language):
                file.write_bytes(content.encode(encoding))
                for reader in READERS:
                    found = read(reader, file)
                    verdict = "refused" if found is None else "right" if found == content else "wrong"
                    counts[reader][language][verdict] += 1
    totals = {reader: dict(sum(by_language.values(), Counter())) for reader, by_language in counts.items()}
    print(json.dumps({"in all": totals, **counts}, indent=1))
    if options.out is not None:
        result = {"about": "files read as written, wrongly, or refused", **machine.facts(), "in all": totals, **counts}
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
