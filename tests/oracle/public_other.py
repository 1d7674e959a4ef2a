"""Layouts of well-known public files that are no plain tables: nested JSON, words with tags, folders."""

import json
from collections.abc import Iterator
from pathlib import Path

from .files import EXCEL, TABS, lines, put, put_table, table
from .ids import hashed
from .layout import Layout, Row, Text, Written
from .tags import sentences, tagged
from .words import one_of, opinions

COUNT = 160


def layouts() -> Iterator[Layout]:
    """Nested JSON, words with tags, folders."""
    yield from _nested()
    yield from _tags()
    yield from _folders()


def _nested() -> Iterator[Layout]:
    passages = [
        {"question": f"is note {n} about a trip", "title": f"Note {n}", "answer": n % 3 != 0, "passage": text}
        for n, text in enumerate(opinions("en", COUNT, 1061))
    ]
    yield lines(
        "questions with true and false",
        4,
        "en",
        passages,
        lambda o: Text(o["question"], o["passage"], str(o["answer"]).lower()),
        answers={"text": "question,passage", "label": "answer"},
    )
    pairs = [
        [text, label]
        for text, label in zip(
            opinions("es", COUNT, 1062), one_of(["reservar", "pagar", "cancelar"], COUNT, 1063), strict=True
        )
    ]

    def splits(folder: Path) -> Written:
        parts = {"train": pairs[:120], "val": pairs[120:140], "test": pairs[140:]}
        rows: list[Row] = [Text(text, None, label) for text, label in pairs[:120]]
        more: list[Row] = [Text(text, None, label) for text, label in pairs[:140]]
        every: list[Row] = [Text(text, None, label) for text, label in pairs]
        path = put(folder / "data_full.json", json.dumps(parts, ensure_ascii=False))
        return Written(path=path, rows=more, or_rows=[rows, every])

    yield Layout(
        name="splits in one object, rows as lists",
        kind=7,
        language="es",
        write=splits,
        refused="Write each into a separate file: python -c ",
    )
    yield lines(
        "rows as lists",
        7,
        "es",
        pairs,
        lambda o: Text(o[0], None, o[1]),
        file="pairs.json",
        answers={"text": "column 1", "label": "column 2"},
    )


def _tags() -> Iterator[Layout]:
    some = sentences("en", 1071, 90)

    def tag_first(folder: Path) -> Written:
        text = "\n".join("".join(f"{t}\t{w}\n" for w, t in zip(*one, strict=True)) for one in some)
        return Written(path=put(folder / "restaurant.bio", text), rows=tagged(some))

    yield Layout(name="the tag before the word", kind=1, language="en", write=tag_first)

    def numbered(folder: Path) -> Written:
        parts = ["".join(f"{w}\t{t}\n" for w, t in zip(*one, strict=True)) for one in some]
        text = "".join(
            (f"###MEDLINE:{95_000_000 + n}\n\n" if n % 5 == 0 else "") + part + "\n" for n, part in enumerate(parts)
        )
        return Written(path=put(folder / "Genia.iob2", text), rows=tagged(some))

    yield Layout(name="### and a number before each abstract", kind=1, language="en", write=numbered)

    def lower(folder: Path) -> Written:
        text = "\n".join(
            "".join(f"{w} {t.replace('PER', 'pers').replace('LOC', 'loc')}\n" for w, t in zip(*one, strict=True))
            for one in some
        )
        rows: list[Row] = tagged(
            [(w, [t.replace("PER", "pers").replace("LOC", "loc") for t in tags]) for w, tags in some]
        )
        return Written(path=put(folder / "train", text), rows=rows)

    yield Layout(name="types in small letters, no suffix", kind=1, language="en", write=lower)


def _folders() -> Iterator[Layout]:
    found, labels = opinions("en", COUNT, 1081), one_of(["pos", "neg"], COUNT, 1082)

    def by_class(folder: Path) -> Written:
        for n, (text, label) in enumerate(zip(found, labels, strict=True)):
            put(folder / "reviews" / "train" / label / f"{n}_{n % 10}.txt", text)
        return Written(path=folder / "reviews", rows=[Text(t, None, y) for t, y in zip(found, labels, strict=True)])

    yield Layout(name="a folder for each class, a file for each text", kind=8, language="en", write=by_class)

    def split_excel(folder: Path) -> Written:
        columns = {"Satz": opinions("de", COUNT, 1083), "Urteil": one_of(["richtig", "falsch"], COUNT, 1084)}
        for name, part in (("Trainingsdaten_train.csv", slice(0, 120)), ("Daten_validation.csv", slice(120, COUNT))):
            put_table(folder / "Satzurteile" / name, {key: cells[part] for key, cells in columns.items()}, EXCEL)
        rows: list[Row] = [Text(t, None, y) for t, y in zip(*columns.values(), strict=True)]
        return Written(path=folder / "Satzurteile", rows=rows)

    yield Layout(name="a folder of German Excel files", kind=8, language="de", write=split_excel)
    codes = {
        "code": hashed(COUNT, 9, 6),
        "phrase": opinions("fr", COUNT, 1085),
        "classe": one_of(["a", "b"], COUNT, 1086),
    }
    yield table(
        "a name with capitals and .TSV", 9, "fr", codes, text="phrase", label="classe", file="DONNEES.TSV", dialect=TABS
    )
