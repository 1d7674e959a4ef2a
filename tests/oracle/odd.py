"""Names of files, texts that begin like a formula, one label only, and texts that look damaged but are not."""

import csv
from collections.abc import Iterator
from pathlib import Path

from .files import TABS, Dialect, lines, put_table, table
from .layout import Layout, Row, Text, Written
from .words import one_of, opinions


def layouts() -> Iterator[Layout]:
    """Classes 9 to 12."""
    yield from _names()
    yield from _formulas()
    yield from _one_label()
    yield from _looks_damaged()


def _names() -> Iterator[Layout]:
    for name, file in (
        ("a name with blanks and brackets", "my reviews (v2) [final].csv"),
        ("a name in Korean", "리뷰 모음.csv"),
        ("the name of a shipped task", "glue-mrpc"),
        ("points in the name", "reviews.2024.05.train.v1.csv"),
    ):
        columns = {"text": opinions("ko", 90, 801), "label": one_of(["예", "아니오"], 90, 802)}
        yield table(name, 9, "ko", columns, file=file)

    def twins(folder: Path) -> Written:
        other = {"text": opinions("es", 80, 803), "label": one_of(["a", "b"], 80, 804)}
        put_table(folder / "old" / "train.csv", other)
        here = {"text": opinions("es", 80, 805), "label": one_of(["c", "d"], 80, 806)}
        rows: list[Row] = [Text(t, None, y) for t, y in zip(*here.values(), strict=True)]
        return Written(path=put_table(folder / "new" / "train.csv", here), rows=rows)

    yield Layout(name="a file of the same name in another folder", kind=9, language="es", write=twins)


def _formulas() -> Iterator[Layout]:
    def begun(language: str, seed: int, count: int = 120) -> list[str]:
        return [f"{'@=+-'[n % 4]}{text}" for n, text in enumerate(opinions(language, count, seed))]

    yield table(
        "texts that begin with @ = + -",
        10,
        "en",
        {"tweet": begun("en", 811), "sentiment": one_of(["pos", "neg"], 120, 812)},
        text="tweet",
        label="sentiment",
    )
    yield table(
        "the same with tabs and no header",
        10,
        "ru",
        {"label": one_of(["0", "1"], 120, 813), "text": begun("ru", 814)},
        file="t.tsv",
        dialect=Dialect(delimiter="\t", quoting=csv.QUOTE_NONE, header=False),
    )
    yield table(
        "labels that begin with a sign",
        10,
        "fr",
        {"avis": opinions("fr", 120, 815), "signe": one_of(["+", "-", "="], 120, 816)},
        text="avis",
        label="signe",
    )
    yield table(
        "apostrophes in front are part of the text",
        10,
        "en",
        {"text": [f"'{text}" for text in begun("en", 817)], "label": one_of(["yes", "no"], 120, 818)},
    )


def _one_label() -> Iterator[Layout]:
    only = {"text": opinions("en", 90, 821), "label": ["spam"] * 90}
    yield _refused("the same label in every row", table("", 11, "en", only))
    several = [{"text": text, "labels": ["news"]} for text in opinions("de", 90, 822)]
    yield _refused(
        "lists with one label only", lines("", 11, "de", several, lambda o: Text(o["text"], None, tuple(o["labels"])))
    )
    none = [{"text": text, "labels": []} for text in opinions("fr", 90, 823)]
    yield _refused("lists without any label", lines("", 11, "fr", none, lambda o: Text(o["text"], None, ())))
    unlabelled = {"id": [str(n) for n in range(90)], "text": opinions("zh", 90, 824)}
    yield _refused("no label at all", table("", 11, "zh", unlabelled, label="id"))
    full = {"text": opinions("es", 90, 825), "label": ["x"] * 90, "clase": one_of(["vivo", "muerto"], 90, 826)}
    yield table("one column with one label, another with two", 11, "es", full, label="clase")


def _refused(name: str, layout: Layout) -> Layout:
    return Layout(name=name, kind=11, language=layout.language, write=layout.write, refused="label=")


def _looks_damaged() -> Iterator[Layout]:
    found = opinions("en", 100, 831)
    labels = one_of(["pos", "neg"], 100, 832)
    yield table("every row twice", 12, "en", {"text": found * 2, "label": labels * 2})
    long = [
        " ".join(opinions("de", 60, 840 + n)) if n % 10 == 0 else text for n, text in enumerate(opinions("de", 90, 833))
    ]
    yield table("some very long texts", 12, "de", {"text": long, "label": one_of(["a", "b"], 90, 834)})
    words = ["nan", "NULL", "None", "N/A", "null", "true"]
    short = [words[n % 6] if n % 9 == 0 else text for n, text in enumerate(found)]
    yield table("texts such as nan and N/A", 12, "en", {"text": short, "label": labels})
    yield table(
        "labels such as None and NA", 12, "en", {"text": found, "label": one_of(["NA", "None", "null"], 100, 835)}
    )
    inches = [f'{text} 5" and 12" wide' if n % 3 else text for n, text in enumerate(opinions("en", 100, 836))]
    yield table("single quotes and inches", 12, "en", {"text": inches, "label": labels}, file="s.tsv", dialect=TABS)
    yield _missing()


def _missing() -> Layout:
    """Rows without a text or a label are left out."""
    found = ["" if n % 11 == 3 else text for n, text in enumerate(opinions("ja", 120, 837))]
    labels = ["" if n % 13 == 5 else label for n, label in enumerate(one_of(["肯定", "否定"], 120, 838))]
    return table("some texts and labels are missing", 12, "ja", {"text": found, "label": labels})
