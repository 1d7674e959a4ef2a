"""Words with tags in tables with a header, characters with tags, and lists in JSON, CSV and Parquet."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from .files import lines, put, put_lines
from .layout import Layout, Marked, Row, Tagged, Written
from .tags import column_file, sentences, tagged
from .words import Told, told


def layouts() -> Iterator[Layout]:
    """Tables, characters, lists."""
    yield from _tables()
    yield from _characters()
    yield from _lists()


def _tables() -> Iterator[Layout]:
    some = sentences("en", 71)

    def kaggle(name: str, *, every: bool) -> Layout:
        def write(folder: Path) -> Written:
            rows = [
                (f"Sentence: {number}" if every or not at else "", word, "NN", tag)
                for number, (words, tags) in enumerate(some, start=1)
                for at, (word, tag) in enumerate(zip(words, tags, strict=True))
            ]
            path = folder / "ner_dataset.csv"
            pd.DataFrame(rows, columns=["Sentence #", "Word", "POS", "Tag"]).to_csv(path, index=False)
            frame = pd.read_csv(path, dtype=str, keep_default_na=False)
            numbers = frame["Sentence #"].replace("", None).ffill()
            parts = frame.groupby(numbers, sort=False)
            reread: list[Row] = [Tagged(tuple(part["Word"]), tuple(part["Tag"])) for _, part in parts]
            return Written(path=path, rows=tagged(some), reread=reread)

        return Layout(name=name, kind=1, language="en", write=write, answers={"text": "Word", "label": "Tag"})

    yield kaggle("the sentence's number in its first row", every=False)
    yield kaggle("the sentence's number in every row", every=True)
    yield column_file(
        "header word,tag and empty lines",
        "en",
        "ner.csv",
        lambda _, word, tag: f'"{word.replace(chr(34), chr(34) * 2)}",{tag}\n',
        seed=72,
        begin="word,tag\n",
    )
    yield column_file(
        "header token,label and rows of empty cells",
        "es",
        "ner.csv",
        lambda _, word, tag: f'"{word.replace(chr(34), chr(34) * 2)}",{tag}\n',
        seed=73,
        begin="token,label\n",
        between=",\n",
    )
    yield column_file(
        "no boundary between sentences",
        "fr",
        "ner.tsv",
        lambda _, word, tag: f"{word}\t{tag}\n",
        seed=74,
        between="",
        refused="sentence|empty line|blank line",
    )


def _characters() -> Iterator[Layout]:
    def file(name: str, language: str, path: str, head: Callable[[int, Told], str]) -> Layout:
        facts = told(language, 80, 91)

        def write(folder: Path) -> Written:
            parts = [
                head(number, fact) + "".join(f"{char}\t{tag}\n" for char, tag in fact.characters)
                for number, fact in enumerate(facts, start=1)
            ]
            rows = [Marked(fact.text, fact.spans) for fact in facts]
            return Written(path=put(folder / path, "\n".join(parts)), rows=rows)

        return Layout(name=name, kind=1, language=language, write=write)

    def klue(number: int, fact: Told) -> str:
        text = fact.text
        for start, end, kind in reversed(fact.spans):
            text = f"{text[:start]}<{text[start:end]}:{kind}>{text[end:]}"
        return f"## klue-{number:05}\t{text}\n"

    yield file("characters with ## headers", "ko", "klue.tsv", klue)
    yield file("characters, a blank as a word", "ko", "syllables.txt", lambda *_: "")
    yield file("characters without blanks", "zh", "msra.txt", lambda *_: "")


def _lists() -> Iterator[Layout]:
    some = sentences("de", 95)
    objects = [{"id": str(n), "tokens": words, "ner_tags": tags} for n, (words, tags) in enumerate(some)]
    yield lines(
        "lists of tokens and names of tags",
        1,
        "de",
        objects,
        lambda o: Tagged(tuple(o["tokens"]), tuple(o["ner_tags"])),
    )
    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]

    def by_number(folder: Path) -> Written:
        numbered = [{"tokens": words, "ner_tags": [names.index(tag) for tag in tags]} for words, tags in some]
        put(folder / "elsewhere" / "tag_names.txt", "\n".join(names) + "\n")
        return Written(path=put_lines(folder / "ner.jsonl", numbered), rows=tagged(some))

    yield Layout(
        name="lists of tokens and numbers of tags",
        kind=1,
        language="de",
        write=by_number,
        must_ask=True,
        answers={"labels": "{folder}/elsewhere/tag_names.txt"},
    )

    def literal(name: str, spell: Callable[[list[str]], str]) -> Layout:
        def write(folder: Path) -> Written:
            path = folder / "ner.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([["Tokens", "NER"], *([spell(words), spell(tags)] for words, tags in some)])
            return Written(path=path, rows=tagged(some))

        return Layout(name=name, kind=1, language="de", write=write, answers={"text": "Tokens", "label": "NER"})

    yield literal("lists as Python writes them, in cells", repr)
    yield literal("lists as JSON, in cells", lambda words: json.dumps(words, ensure_ascii=False))

    def parquet(folder: Path) -> Written:
        path = folder / "ner.parquet"
        pd.DataFrame({"tokens": [w for w, _ in some], "tags": [t for _, t in some]}).to_parquet(path)
        reread: list[Row] = [
            Tagged(tuple(w), tuple(t)) for w, t in pd.read_parquet(path).itertuples(index=False, name=None)
        ]
        return Written(path=path, rows=tagged(some), reread=reread)

    yield Layout(name="lists in Parquet", kind=1, language="de", write=parquet)
