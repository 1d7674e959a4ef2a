"""Numbers as labels: decimal commas, thousands, several labels by number, classes that are numbers."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from .files import EXCEL, TABS, Dialect, lines, put, put_table, table, texts
from .layout import Layout, Text, Written
from .words import numbers, one_of, opinions, several

FEELINGS = ["joy", "anger", "fear", "grief", "pride", "relief", "love", "doubt", "hope", "shame", "envy", "calm"]
WANTED = ("cancel", "book", "ask", "move", "pay", "find")
THINGS = ("flight", "room", "card", "refund", "seat", "table", "train", "bike", "visa", "bus")
BARE = Dialect(delimiter="\t", quoting=3, header=False)


def by_number(count: int, seed: int, names: int = 12) -> list[str]:
    """Cells such as 4,11: one label or two, by number."""
    return [
        ",".join(map(str, sorted(map(int, some))))
        for some in several([str(n) for n in range(names)], count, seed, most=2)
    ]


def parts(cell: str) -> tuple[str, ...]:
    return tuple(sorted(part.strip() for part in cell.split(",")))


def comma(cell: str) -> float:
    return float(cell.replace(".", "").replace(",", "."))


def layouts() -> Iterator[Layout]:
    """Labels by number, decimals, thousands, what could be either, classes."""
    yield from _labels_by_number()
    yield from _labels_by_name()
    yield from _decimals()
    yield from _thousands()
    yield from _classes()


def _labels_by_number() -> Iterator[Layout]:
    cells = by_number(160, 201)
    ids = [f"e{9_000 + 31 * n:x}{'abcdefghij'[n % 10]}" for n in range(160)]
    columns = {"text": opinions("en", 160, 202), "labels": cells, "id": ids}
    yield table("4,11 without a header", 3, "en", columns, label="labels", value=parts, file="train.tsv", dialect=BARE)
    yield table("4,11 with a header", 3, "en", columns, label="labels", value=parts, file="emotions.tsv", dialect=TABS)
    columns = {"texte": opinions("fr", 160, 203), "émotion": [cell.replace(",", ", ") for cell in by_number(160, 204)]}
    yield table("4, 11 in a quoted cell", 3, "fr", columns, text="texte", label="émotion", value=parts)

    def named(folder: Path) -> Written:
        put(folder / "emotions.txt", "\n".join(FEELINGS) + "\n")
        both = zip(opinions("en", 160, 205), cells, strict=True)
        rows = [Text(text, None, tuple(sorted(FEELINGS[int(n)] for n in cell.split(",")))) for text, cell in both]
        path = put_table(folder / "train.tsv", {"t": opinions("en", 160, 205), "l": cells, "i": ids}, BARE)
        unnamed = [Text(text, None, parts(cell)) for text, cell in zip(opinions("en", 160, 205), cells, strict=True)]
        return Written(path=path, rows=rows, or_rows=[unnamed])

    yield Layout(
        name="4,11 with a list of names next to it",
        kind=3,
        language="en",
        write=named,
        answers={"labels": "{folder}/emotions.txt", "text": "column 1", "label": "column 2"},
    )


def _labels_by_name() -> Iterator[Layout]:
    topics = {
        "en": ["sport", "money", "health", "politics", "climate"],
        "ko": ["경제", "사회", "문화", "과학"],
        "de": ["Sport", "Geld", "Kultur", "Wetter"],
        "ru": ["спорт", "наука", "деньги", "кино"],
    }
    spellings: tuple[tuple[str, str, str, Callable[[list[str]], str]], ...] = (
        ("with bars", "en", "topics", "|".join),
        ("with commas and blanks", "ko", "주제", ", ".join),
        ("with semicolons", "de", "Themen", ";".join),
        ("as a list of JSON", "ru", "темы", lambda some: json.dumps(some, ensure_ascii=False)),
        ("as a list of Python", "en", "labels", repr),
    )
    for number, (name, language, label, spell) in enumerate(spellings):
        sets = several(topics[language], 140, 250 + number)
        cells = {spell(some): tuple(sorted(some)) for some in sets}
        columns = {"text": opinions(language, 140, 260 + number), label: [spell(some) for some in sets]}
        yield table(
            f"several labels {name}", 3, language, columns, label=label, value=lambda cell, cells=cells: cells[cell]
        )
    objects = [
        {"text": text, "labels": some}
        for text, some in zip(opinions("fr", 140, 270), several(["loisir", "ville", "argent"], 140, 271), strict=True)
    ]
    yield lines(
        "several labels in a list of JSON Lines", 3, "fr", objects, lambda o: Text(o["text"], None, tuple(o["labels"]))
    )


def _decimals() -> Iterator[Layout]:
    def shown(count: int, seed: int, low: float, high: float, digits: int = 2) -> list[str]:
        return [f"{n:.{digits}f}".replace(".", ",") for n in numbers(count, seed, low, high, digits)]

    german = {"Kundentext": opinions("de", 120, 211), "Note": shown(120, 212, 1, 6, 1)}
    yield table(
        "decimal commas from a German Excel",
        3,
        "de",
        german,
        text="Kundentext",
        label="Note",
        value=comma,
        dialect=EXCEL,
    )
    mixed = {
        "Kommentar": opinions("de", 120, 213),
        "Wert": [cell.removesuffix(",0") for cell in shown(120, 214, -2, 2, 1)],
    }
    yield table(
        "decimal commas, some whole and below zero",
        3,
        "de",
        mixed,
        text="Kommentar",
        label="Wert",
        value=comma,
        file="werte.tsv",
        dialect=TABS,
    )
    french = {
        "phrase1": opinions("fr", 120, 215),
        "phrase2": opinions("fr", 120, 216),
        "score": shown(120, 217, 0, 5, 3),
    }
    yield table(
        "pairs with three decimals behind commas",
        3,
        "fr",
        french,
        text="phrase1",
        pair="phrase2",
        label="score",
        value=comma,
        dialect=EXCEL,
    )
    russian = {"текст": opinions("ru", 120, 218), "оценка": shown(120, 219, 0, 1, 2)}
    yield table(
        "shares with decimal commas",
        3,
        "ru",
        russian,
        text="текст",
        label="оценка",
        value=comma,
        dialect=Dialect(delimiter=";"),
    )


def _thousands() -> Iterator[Layout]:
    draw = random.Random("thousands")
    prices = [draw.choice([draw.randint(15, 999), draw.randint(1_000, 2_400_000)]) for _ in range(120)]
    english = {"description": opinions("en", 120, 221), "price": [f"{n:,}" for n in prices]}
    yield table(
        "thousands with commas, and millions",
        3,
        "en",
        english,
        text="description",
        label="price",
        value=lambda cell: float(cell.replace(",", "")),
    )
    spanish = {"reseña": opinions("es", 120, 222), "precio": [_spanish(n + 0.5) for n in prices]}
    yield table(
        "thousands with points, decimals with commas",
        3,
        "es",
        spanish,
        text="reseña",
        label="precio",
        value=comma,
        dialect=EXCEL,
    )
    cents = {"review": opinions("en", 120, 223), "amount": [f"{n + 0.25:,.2f}" for n in prices]}
    yield table(
        "thousands with commas, decimals with points",
        3,
        "en",
        cents,
        text="review",
        label="amount",
        value=lambda cell: float(cell.replace(",", "")),
    )
    unclear = {"text": opinions("en", 120, 224), "value": [f"{draw.randint(1_000, 9_999):,}" for _ in range(120)]}
    yield replace(
        table(
            "1,234 in every row",
            3,
            "en",
            unclear,
            label="value",
            value=lambda cell: float(cell.replace(",", "")),
            answers={"text": "text", "label": "value", "shape": "regression", "decimal": "."},
        ),
        must_ask=True,
    )


def _spanish(number: float) -> str:
    return f"{number:,.1f}".replace(",", "_").replace(".", ",").replace("_", ".")


def _classes() -> Iterator[Layout]:
    stars = {"text": opinions("ko", 150, 231), "별점": one_of(["5", "4", "3", "2", "1"], 150, 232)}
    yield table("stars are classes", 3, "ko", stars, label="별점")
    signs = {"tweet": opinions("es", 150, 233), "polarity": one_of(["1", "-1", "0"], 150, 234)}
    yield table("-1, 0 and 1 are classes", 3, "es", signs, text="tweet", label="polarity")
    floats = {"content": opinions("zh", 150, 235), "label": one_of(["1.0", "0.0"], 150, 236)}

    def write(folder: Path) -> Written:
        rows = texts((text, None, label) for text, label in zip(*floats.values(), strict=True))
        whole = texts((text, None, label[0]) for text, label in zip(*floats.values(), strict=True))
        return Written(path=put_table(folder / "data.csv", floats), rows=rows, or_rows=[whole])

    yield Layout(
        name="1.0 and 0.0 are classes",
        kind=3,
        language="zh",
        write=write,
        answers={"text": "content", "label": "label"},
    )
    levels = {
        "text": opinions("en", 150, 237),
        "score": [f"{n / 4:g}" for n in random.Random(5).choices(range(21), k=150)],
    }
    yield table("quarters from 0 to 5 are numbers", 3, "en", levels, label="score", value=float)
    ages = {"post": opinions("en", 150, 238), "age": [str(int(n)) for n in numbers(150, 239, 13, 90, 0)]}
    yield table("ages are numbers", 3, "en", ages, text="post", label="age", value=float)
    intents = [f"{verb}_{thing}" for verb in WANTED for thing in THINGS]
    many = {"utterance": opinions("en", 600, 240), "intent": one_of(intents, 600, 241)}
    yield table("sixty classes", 3, "en", many, text="utterance", label="intent")
