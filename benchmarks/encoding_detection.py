"""Encoding detection: share of files in legacy encodings that finetune, chardet and charset-normalizer decode exactly.

python benchmarks/encoding_detection.py --out results/benchmarks/encodings.json

The sentences are in encoding_detection.toml. Of each language and encoding: files of 1, 3 and 10 sentences, as lines
and as a column of a table in ASCII; and each sentence alone among lines in ASCII. English and Indonesian have such
files only: few accents, quotes and signs.
"""

import json
import random
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path

import machine
from charset_normalizer import from_bytes
from dated import out_parser, write_json

from finetune.data.encodings.detect import find_encoding
from finetune.data.open_files import open_bytes
from finetune.errors import UserError

TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SENTENCES, DRAWS, AROUND = (1, 3, 10), 4, 20


def written(sentences: list[str], *, table: bool) -> str:
    """Plain lines, or CSV rows with ASCII columns around the text."""
    if not table:
        return "\n".join(sentences) + "\n"
    rows = [
        f'{number},"{text}",{("yes", "no")[number % 2]},2024-05-{number + 10}' for number, text in enumerate(sentences)
    ]
    return "\n".join(["id,text,answer,date", *rows]) + "\n"


def by_finetune(file: Path) -> str | None:
    """The encoding, or None where the user is asked."""
    try:
        return find_encoding(file, partial(open_bytes, file, compression="")).name
    except UserError:
        return None


def by_charset_normalizer(file: Path) -> str | None:
    """Its best encoding."""
    best = from_bytes(file.read_bytes()).best()
    return None if best is None else best.encoding


def by_chardet(file: Path) -> str | None:
    """Its best encoding, however unsure."""
    import chardet

    found: str | None = chardet.detect(file.read_bytes(), compat_names=False)["encoding"]
    return found


READERS: dict[str, Callable[[Path], str | None]] = {
    "finetune": by_finetune,
    "chardet": by_chardet,
    "charset-normalizer": by_charset_normalizer,
}


def decoded(content: bytes, encoding: str | None) -> str | None:
    """The text in an encoding."""
    return None if encoding is None else content.decode(encoding, "replace")


def running_text(language: str) -> Iterator[tuple[str, str]]:
    """(encoding, content) of files in a language with letters beyond ASCII."""
    for encoding, number, draw in product(TEXTS[language]["encodings"], SENTENCES, range(DRAWS)):
        if "around" not in TEXTS[language]:
            drawn = random.Random(f"{language} {number} {draw}").choices(TEXTS[language]["sentences"], k=number)
            yield from ((encoding, written(drawn, table=table)) for table in (False, True))


def one_line_in_ascii(language: str) -> Iterator[tuple[str, str]]:
    """(encoding, content) of files with one sentence after lines in ASCII, of English if the language has none."""
    around = TEXTS[language].get("around", TEXTS["English"]["around"])
    for encoding, sentence in product(TEXTS[language]["encodings"], TEXTS[language]["sentences"]):
        yield encoding, written([*random.Random(sentence).choices(around, k=AROUND), sentence], table=False)


def outcomes(files: Iterator[tuple[str, str]], path: Path) -> dict[str, Counter[str]]:
    """How many of the files each reader reads as written, wrongly, or not at all."""
    counts = {reader: Counter[str]() for reader in READERS}
    for encoding, content in files:
        path.write_bytes(content.encode(encoding))
        for reader, detects in READERS.items():
            found = decoded(path.read_bytes(), detects(path))
            counts[reader]["refused" if found is None else "right" if found == content else "wrong"] += 1
    return counts


def main() -> None:
    """Writes and reads all files; counts those that were right, wrong and refused."""
    parser = out_parser("Detection of encodings, against chardet and charset-normalizer", required=False)
    options = parser.parse_args()
    result: dict[str, object] = {"about": "files read as written, wrongly, or refused", **machine.facts()}
    result["versions of others"] = {name: version(name) for name in ("chardet", "charset-normalizer")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        for kind, files in (("running text", running_text), ("one line in ASCII", one_line_in_ascii)):
            by_language = {language: outcomes(files(language), path) for language in TEXTS}
            counts = {
                reader: {language: dict(found[reader]) for language, found in by_language.items() if found[reader]}
                for reader in READERS
            }
            in_all = {reader: sum((found[reader] for found in by_language.values()), Counter()) for reader in READERS}
            print(json.dumps({kind: in_all}, indent=1), flush=True)
            result[kind] = {"in all": in_all, **counts}
    write_json(options.out, result)


if __name__ == "__main__":
    main()
