"""Several columns that could be the label: a careful person takes the one that its name, fill and values speak for."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .files import COMMAS, EXCEL, TABS, Columns, Dialect, cells_of, lines, put_table, table
from .layout import Layout, Text, Written
from .words import numbers, one_of, opinions, several

FEELINGS = [
    *("admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion", "curiosity", "desire"),
    *("disappointment", "disapproval", "disgust", "embarrassment", "excitement", "fear", "gratitude", "grief", "joy"),
    *("love", "nervousness", "optimism", "pride", "realization", "relief", "remorse", "sadness", "surprise", "neutral"),
]


def layouts() -> Iterator[Layout]:
    """Tweets, reviews, pairs, twins of a label, columns of 0 and 1, and what nobody could decide."""
    yield from _tweets()
    yield from _reviews()
    yield from _twins()
    yield from _flags()
    yield from _undecided()


def _tweets() -> Iterator[Layout]:
    draw = random.Random("tweets")
    count = 200
    moods = one_of(["negative", "neutral", "positive"], count, 301)
    reasons = ["Late Flight", "Lost Luggage", "Rude Crew", "Long Lines"]
    columns = {
        "tweet_id": [str(570_300_000_000_000_000 + 991 * n) for n in range(count)],
        "airline_sentiment": moods,
        "airline_sentiment_confidence": [f"{n:.4f}" for n in numbers(count, 302, 0.3, 1, 4)],
        "negativereason": [draw.choice(reasons) if mood == "negative" else "" for mood in moods],
        "airline": one_of(["Northern", "Skyways", "Blue Wing", "Delphi"], count, 303),
        "airline_sentiment_gold": [mood if n % 50 == 7 else "" for n, mood in enumerate(moods)],
        "name": [f"user{n % 170}" for n in range(count)],
        "retweet_count": [str(draw.choice([0, 0, 0, 1, 2])) for _ in range(count)],
        "text": [f"@{draw.choice(['northern', 'skyways'])} {text}" for text in opinions("en", count, 304)],
        "tweet_created": [f"2015-02-{n % 28 + 1:02} 11:{n % 60:02}:36 -0800" for n in range(count)],
        "user_timezone": one_of(["Eastern Time", "Pacific Time", ""], count, 305),
    }
    yield table("tweets about airlines", 4, "en", columns, label="airline_sentiment", file="Tweets.csv")
    spanish = {
        "usuario": [f"@u{n % 90}" for n in range(150)],
        "ciudad": one_of(["Lima", "Quito", "Bogotá"], 150, 306),
        "mensaje_texto": opinions("es", 150, 307),
        "sentimiento_cliente": one_of(["alegre", "molesto", "neutro"], 150, 308),
        "fecha": [f"{n % 28 + 1:02}/03/2023" for n in range(150)],
    }
    yield table(
        "a compound name in Spanish", 4, "es", spanish, text="mensaje_texto", label="sentimiento_cliente", dialect=EXCEL
    )


def _reviews() -> Iterator[Layout]:
    count = 150
    stars, kinds = (
        one_of(["5", "4", "3", "2", "1"], count, 311),
        one_of(["toys", "books", "garden", "shoes"], count, 312),
    )
    bodies, titles = opinions("en", count, 313), opinions("en", count, 314)
    columns = {
        "review_id": [f"en_{100_000 + 37 * n}" for n in range(count)],
        "product_id": [f"product_en_{n * 7 % 60:07}" for n in range(count)],
        "stars": stars,
        "review_body": bodies,
        "review_title": titles,
        "language": ["en"] * count,
        "product_category": kinds,
    }

    def write(folder: Path) -> Written:
        path = put_table(folder / "reviews_en.csv", columns)
        again = [Text(row[3], row[4], row[2]) for row in cells_of(path)]
        both = [Text(body, title, star) for body, title, star in zip(bodies, titles, stars, strict=True)]
        turned = [Text(title, body, star) for body, title, star in zip(bodies, titles, stars, strict=True)]
        alone = [Text(body, None, star) for body, star in zip(bodies, stars, strict=True)]
        return Written(path=path, rows=both, reread=again, or_rows=[turned, alone])

    yield Layout(
        name="stars and a category of products",
        kind=4,
        language="en",
        write=write,
        answers={"text": "review_body,review_title", "label": "stars"},
    )
    yield table(
        "a label's name in capitals after a full category",
        4,
        "de",
        {
            "Filiale": one_of(["Nord", "Süd"], 120, 315),
            "Kommentar": opinions("de", 120, 316),
            "TOXICITY_LABEL": one_of(["NONE", "TOXIC"], 120, 317),
            "Kanal": one_of(["Mail", "Chat", "Telefon"], 120, 318),
        },
        text="Kommentar",
        label="TOXICITY_LABEL",
    )
    yield table(
        "정답 between other columns",
        4,
        "ko",
        {
            "번호": [str(n + 1) for n in range(120)],
            "문장": opinions("ko", 120, 319),
            "정답": one_of(["긍정", "부정"], 120, 320),
            "출처": one_of(["블로그", "뉴스", "댓글"], 120, 321),
        },
        text="문장",
        label="정답",
        file="data.tsv",
        dialect=TABS,
    )


def _twins() -> Iterator[Layout]:
    """The same label twice, as a number and as a name: either is right."""
    numbers_ = one_of(["0", "1", "2"], 120, 331)
    names = [["World", "Sports", "Business"][int(n)] for n in numbers_]
    found = opinions("en", 120, 332)
    objects = [
        {"text": t, "label": int(n), "label_text": name} for t, n, name in zip(found, numbers_, names, strict=True)
    ]
    by_number = [Text(text, None, label) for text, label in zip(found, numbers_, strict=True)]

    def write(folder: Path) -> Written:
        written = lines("", 4, "en", objects, lambda o: Text(o["text"], None, o["label_text"])).write(folder)
        return Written(path=written.path, rows=written.rows, reread=written.reread, or_rows=[by_number])

    yield Layout(
        name="label and label_text", kind=4, language="en", write=write, answers={"text": "text", "label": "label_text"}
    )
    count = 150
    gold = one_of(["entailment", "neutral", "contradiction", "-"], count, 333)
    votes = [one_of(["entailment", "neutral", "contradiction"], count, 334 + n) for n in range(5)]
    columns: dict[str, list[str]] = {
        "gold_label": gold,
        "sentence1_binary_parse": [f"( {text} )" for text in opinions("en", count, 340)],
        "sentence2_binary_parse": [f"( {text} )" for text in opinions("en", count, 341)],
        "sentence1": opinions("en", count, 340),
        "sentence2": opinions("en", count, 341),
        "captionID": [f"{n * 7919}.jpg#{n % 5}" for n in range(count)],
        "pairID": [f"{n * 7919}.jpg#{n % 5}r1{'nec'[n % 3]}" for n in range(count)],
        **{f"label{n + 1}": some for n, some in enumerate(votes)},
    }

    def snli(folder: Path) -> Written:
        path = put_table(folder / "snli_train.txt", columns, TABS)
        every = [Text(row[3], row[4], row[0]) for row in cells_of(path, TABS)]
        agreed = [row for row in every if row.label != "-"]
        return Written(path=path, rows=every, or_rows=[agreed])

    yield Layout(
        name="gold_label and five votes",
        kind=4,
        language="en",
        write=snli,
        answers={"text": "sentence1,sentence2", "label": "gold_label"},
    )


def _flags() -> Iterator[Layout]:
    """Columns of 0 and 1, of which one is no label."""
    count = 260
    sets = [set(some) for some in several(FEELINGS, count, 351)]
    head: Columns = {
        "text": opinions("en", count, 352),
        "id": [f"eb{n * 524287 % 16**5:05x}" for n in range(count)],
        "author": [f"Reader_{n % 201}" for n in range(count)],
        "subreddit": one_of(["trains", "cooking", "films", "AskAnything"], count, 353),
        "created_utc": [f"{1546300800 + 86_413 * n}.0" for n in range(count)],
        "rater_id": [str(n * 7 % 82) for n in range(count)],
        "example_very_unclear": ["True" if n % 40 == 3 else "False" for n in range(count)],
    }
    columns = {**head, **{name: [str(int(name in some)) for some in sets] for name in FEELINGS}}
    yield _flagged("28 columns of 0 and 1, ids and a flag", "en", columns, FEELINGS)
    kinds = ["obszön", "beleidigend", "drohend", "harmlos"]
    marks = [set(some) for some in several(kinds, 150, 354, most=2)]
    german = {
        "nr": [str(n) for n in range(150)],
        "satz": opinions("de", 150, 355),
        **{kind: [str(int(kind in some)) for some in marks] for kind in kinds},
    }
    yield _flagged("columns of 0 and 1 behind a counter", "de", german, kinds, text="satz", dialect=EXCEL)


def _flagged(
    name: str, language: str, columns: Columns, flags: list[str], *, text: str = "text", dialect: Dialect = COMMAS
) -> Layout:
    names = list(columns)

    def rows(cells: Any) -> list[Any]:
        return [
            Text(row[names.index(text)], None, tuple(flag for flag in flags if row[names.index(flag)] == "1"))
            for row in cells
        ]

    def write(folder: Path) -> Written:
        path = put_table(folder / "full.csv", columns, dialect)
        return Written(path=path, rows=rows(zip(*columns.values(), strict=True)), reread=rows(cells_of(path, dialect)))

    answers = {"text": text, "label": ",".join(flags)}
    return Layout(name=name, kind=4, language=language, write=write, answers=answers)


def _undecided() -> Iterator[Layout]:
    count = 140
    colours, sizes = one_of(["red", "blue", "green"], count, 361), one_of(["small", "large", "medium"], count, 362)
    columns = {"c1": colours, "words": opinions("en", count, 363), "c2": sizes}
    yield table("two unnamed categories", 4, "en", columns, text="words", label="c1", must_ask=True)
    yield table(
        "two categories without a header",
        4,
        "fr",
        {
            "a": opinions("fr", count, 364),
            "b": one_of(["rouge", "bleu"], count, 365),
            "c": one_of(["grand", "petit"], count, 366),
        },
        text="a",
        label="c",
        must_ask=True,
        file="x.tsv",
        dialect=Dialect(delimiter="\t", quoting=3, header=False),
    )
    yield table(
        "two labels by name",
        4,
        "en",
        {
            "text": opinions("en", count, 367),
            "emotion": one_of(["joy", "anger", "fear"], count, 368),
            "topic": one_of(["trains", "food", "film"], count, 369),
        },
        label="topic",
        must_ask=True,
    )
    yield table(
        "a full label and a sparse one with a better name",
        4,
        "ru",
        {
            "комментарий": opinions("ru", count, 371),
            "тональность": one_of(["хорошо", "плохо"], count, 372),
            "label": [["хорошо", "плохо"][n % 2] if n % 30 == 0 else "" for n in range(count)],
        },
        text="комментарий",
        label="тональность",
    )
