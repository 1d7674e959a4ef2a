"""Layouts of real files, where they are at hand: read, never copied into this repository."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from .layout import Asked, Chosen, Layout, Row, Tagged, Text, Written

MOST = 3_000  # lines of a file that are taken


def layouts(data: Path) -> Iterator[Layout]:
    """Files of GLUE, CoNLL-2003, WNUT-17, KorSTS, NSMC, CODAH and SQuAD."""
    choices = {"shape": "choice", "text": "column 2,column 3,column 4,column 5,column 6", "label": "column 7"}
    without = {"text": "column 4", "label": "column 2"}
    for name, language, file, row, answers in (
        ("Korean reviews", "ko", "nsmc/ratings_train.txt", lambda row: Text(row[1], None, row[2]), {}),
        ("Korean pairs with a number", "ko", "korsts/sts-train.tsv", lambda r: Text(r[5], r[6], float(r[4])), {}),
        (
            "choices without a header",
            "en",
            "codah/full_data.tsv",
            lambda r: Chosen(r[1], tuple(r[2:6]), int(r[6])),
            choices,
        ),
        (
            "acceptability without a header",
            "en",
            "glue/CoLA/train.tsv",
            lambda row: Text(row[3], None, row[1]),
            without,
        ),
        ("sentences of film reviews", "en", "glue/SST-2/train.tsv", lambda row: Text(row[0], None, row[1]), {}),
        ("entailment", "en", "glue/RTE/train.tsv", lambda row: Text(row[1], row[2], row[3]), {}),
        ("similarity with many columns", "en", "glue/STS-B/train.tsv", lambda r: Text(r[7], r[8], float(r[9])), {}),
        ("paraphrases between ids", "en", "glue/MRPC/msr_paraphrase_train.txt", lambda r: Text(r[3], r[4], r[0]), {}),
    ):
        yield _beginning(name, language, data / file, row, answers)
    yield _words("English entities in two columns", data / "wnut17" / "wnut17train.conll", "\t", 1)
    yield _words("news with four columns in IOB1", data / "conll2003" / "eng.testa", " ", 3)
    yield _squad(data / "squad" / "dev-v1.1.json")


def _beginning(
    name: str, language: str, source: Path, row: Callable[[list[str]], Row], answers: dict[str, str]
) -> Layout:
    """The first rows of a table with tabs, whose header is missing where `answers` are needed; those of pandas."""
    header = None if answers else 0

    def write(folder: Path) -> Written:
        lines = source.read_text(encoding="utf-8-sig").split("\n")[: MOST + 1]
        path = folder / source.name
        path.write_text("\n".join(line for line in lines if line) + "\n", encoding="utf-8")
        frame = pd.read_csv(path, sep="\t", quoting=3, header=header, dtype=str, keep_default_na=False)
        found = [row(list(cells)) for cells in frame.itertuples(index=False, name=None)]
        rows = [some for some in found if not isinstance(some, Text) or some.text.strip()]
        return Written(path=path, rows=rows)

    return Layout(name=name, kind="plain-tables", language=language, write=write, answers=answers)


def _words(name: str, source: Path, separator: str, tag: int) -> Layout:
    def write(folder: Path) -> Written:
        text = source.read_text(encoding="utf-8").replace("\r\n", "\n")
        kept = "\n".join(text.split("\n")[:MOST])
        path = folder / f"{source.stem}.txt"
        path.write_text(kept, encoding="utf-8")
        return Written(path=path, rows=[_iob2(row) for row in _sentences(kept, separator, tag)])

    return Layout(name=name, kind="words-with-tags", language="en", write=write)


def _sentences(text: str, separator: str, tag: int) -> list[Row]:
    """Of each block of lines the first column and that of the tags, without marks of documents."""
    found = list[Row]()
    for block in re.split(r"\n[ \t]*\n", text):
        cells = [line.split(separator) for line in block.split("\n") if line and not line.startswith("-DOCSTART-")]
        if cells:
            found.append(Tagged(tuple(row[0] for row in cells), tuple(row[tag] for row in cells)))
    return found


def _iob2(row: Row) -> Row:
    """A B where an entity begins, which IOB1 leaves out."""
    assert isinstance(row, Tagged)
    tags: list[str] = []
    for before, tag in zip(["O", *row.tags], row.tags, strict=False):
        begins = tag.startswith("I-") and before[2:] != tag[2:]
        tags.append(f"B-{tag[2:]}" if begins else tag)
    return Tagged(row.words, tuple(tags))


def _squad(source: Path) -> Layout:
    def write(folder: Path) -> Written:
        articles = json.loads(source.read_text(encoding="utf-8"))["data"][:6]
        path = folder / "squad.json"
        path.write_text(json.dumps({"data": articles, "version": "1.1"}), encoding="utf-8")
        rows: list[Row] = [
            Asked(
                qa["question"],
                part["context"],
                tuple(a["text"] for a in qa["answers"]),
                qa["answers"][0]["answer_start"],
            )
            for article in articles
            for part in article["paragraphs"]
            for qa in part["qas"]
        ]
        return Written(path=path, rows=rows)

    return Layout(name="questions in SQuAD's layout", kind="plain-tables", language="en", write=write)
