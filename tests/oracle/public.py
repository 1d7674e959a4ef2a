"""Layouts of well-known public files, filled with sentences of the word lists."""

import csv
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .files import COMMAS, TABS, Dialect, cells_of, lines, put, put_table, table
from .layout import Layout, Row, Text, Written
from .words import one_of, opinions

BARE_TABS = Dialect(delimiter="\t", quoting=csv.QUOTE_NONE, header=False)
COUNT = 160


def layouts() -> Iterator[Layout]:
    """Posts, reviews, headlines."""
    yield from _posts()
    yield from _reviews()
    yield from _headlines()


def either(
    name: str,
    language: str,
    columns: Mapping[str, Sequence[str]],
    label: str,
    *readings: tuple[str, ...],
    file: str = "data.csv",
    dialect: Dialect = COMMAS,
) -> Layout:
    """A table whose text (or pair of texts) may be read in several ways, the first of which is asked for."""
    names = list(columns)

    def rows(cells: Sequence[Sequence[str]], reading: tuple[str, ...]) -> list[Row]:
        texts = [[row[names.index(column)] for column in reading] for row in cells]
        labels = [row[names.index(label)] for row in cells]
        return [Text(t[0], t[1] if len(t) > 1 else None, y) for t, y in zip(texts, labels, strict=True) if all(t)]

    def write(folder: Path) -> Written:
        path = put_table(folder / file, columns, dialect)
        first, *others = (rows([*zip(*columns.values(), strict=True)], reading) for reading in readings)
        return Written(path=path, rows=first, or_rows=others, reread=rows(cells_of(path, dialect), readings[0]))

    return Layout(
        name=name, kind=4, language=language, write=write, answers={"text": ",".join(readings[0]), "label": label}
    )


def _posts() -> Iterator[Layout]:
    draw = random.Random("posts")
    votes = [[draw.randint(0, 3) for _ in range(3)] for _ in range(COUNT)]
    hateful = {
        "": [str(n) for n in range(COUNT)],
        "count": [str(sum(some)) for some in votes],
        "hate_speech": [str(some[0]) for some in votes],
        "offensive_language": [str(some[1]) for some in votes],
        "neither": [str(some[2]) for some in votes],
        "class": [str(some.index(max(some))) for some in votes],
        "tweet": [f"!!! RT @user: {text}" for text in opinions("en", COUNT, 1001)],
    }
    yield table("counts of votes and the class that won", 4, "en", hateful, text="tweet", label="class")
    offensive = one_of(["NOT", "OFF"], COUNT, 1002)
    targeted = [draw.choice(["TIN", "UNT"]) if label == "OFF" else "NULL" for label in offensive]
    tasks = {
        "id": [str(86_000 + 7 * n) for n in range(COUNT)],
        "tweet": [f"@USER {text}" for text in opinions("en", COUNT, 1003)],
        "subtask_a": offensive,
        "subtask_b": targeted,
        "subtask_c": [draw.choice(["IND", "GRP"]) if kind == "TIN" else "NULL" for kind in targeted],
    }
    yield table("three tasks of which one is full", 4, "en", tasks, text="tweet", label="subtask_a", dialect=TABS)
    coarse = one_of(["OTHER", "OFFENSE"], COUNT, 1004)
    fine = [draw.choice(["INSULT", "ABUSE"]) if label == "OFFENSE" else "OTHER" for label in coarse]
    german = {"text": opinions("de", COUNT, 1005), "coarse": coarse, "fine": fine}
    yield table(
        "a coarse and a fine label without a header",
        4,
        "de",
        german,
        label="coarse",
        must_ask=True,
        file="train.txt",
        dialect=BARE_TABS,
    )
    moods = {
        "id": [str(6 * 10**17 + 977 * n) for n in range(COUNT)],
        "label": one_of(["neutral", "positive", "negative"], COUNT, 1006),
        "text": opinions("en", COUNT, 1007),
        "": [""] * COUNT,
    }
    yield table("a tab at the end of each row", 6, "en", moods, file="twitter-train.txt", dialect=BARE_TABS)
    felt = {"text": [text.replace(";", ",") for text in opinions("en", COUNT, 1008)]}
    felt["feeling"] = one_of(["joy", "sadness", "anger", "love"], COUNT, 1009)
    yield table(
        "text;feeling without a header",
        8,
        "en",
        felt,
        label="feeling",
        file="train.txt",
        dialect=Dialect(delimiter=";", quoting=csv.QUOTE_NONE, header=False),
    )
    disaster = {
        "id": [str(n * 3) for n in range(COUNT)],
        "keyword": one_of(["", "ablaze", "flood", "wreck"], COUNT, 1010),
        "location": one_of(["", "", "Lagos", "Leeds", "Quito"], COUNT, 1011),
        "text": opinions("en", COUNT, 1012),
        "target": one_of(["0", "1"], COUNT, 1013),
    }
    yield table("keywords and locations", 4, "en", disaster, label="target", file="train.csv")
    corona = {
        "UserName": [str(3_799 + n) for n in range(COUNT)],
        "ScreenName": [str(48_751 + n) for n in range(COUNT)],
        "Location": one_of(["London", "", "Oslo", "Rome"], COUNT, 1014),
        "TweetAt": [f"{n % 28 + 1:02}-03-2020" for n in range(COUNT)],
        "OriginalTweet": opinions("en", COUNT, 1015),
        "Sentiment": one_of(["Neutral", "Positive", "Extremely Negative"], COUNT, 1016),
    }
    yield table("users and places before the text", 5, "en", corona, text="OriginalTweet", label="Sentiment")


def _reviews() -> Iterator[Layout]:
    draw = random.Random("reviews")
    stars = one_of(["5", "4", "3", "2", "1"], COUNT, 1021)
    clothes = {
        "": [str(n) for n in range(COUNT)],
        "Clothing ID": [str(draw.randint(700, 1_100)) for _ in range(COUNT)],
        "Age": [str(draw.randint(19, 88)) for _ in range(COUNT)],
        "Title": opinions("en", COUNT, 1022),
        "Review Text": opinions("en", COUNT, 1023),
        "Rating": stars,
        "Recommended IND": [str(int(star > "2")) for star in stars],
        "Positive Feedback Count": [str(draw.randint(0, 40)) for _ in range(COUNT)],
        "Department Name": one_of(["Tops", "Dresses", "Bottoms"], COUNT, 1024),
        "Class Name": one_of(["Knits", "Dresses", "Pants", "Skirts"], COUNT, 1025),
    }
    yield either(
        "a rating and the class of the product",
        "en",
        clothes,
        "Rating",
        ("Review Text",),
        ("Title", "Review Text"),
        ("Review Text", "Title"),
    )
    games = {
        "app_id": [str(draw.randint(10, 90) * 10) for _ in range(COUNT)],
        "app_name": one_of(["Hill Climb", "Deep Cave", "Star Tram"], COUNT, 1026),
        "review_text": opinions("en", COUNT, 1027),
        "review_score": one_of(["1", "-1"], COUNT, 1028),
        "review_votes": one_of(["0", "1"], COUNT, 1029),
    }
    yield either("three names with the word review", "en", games, "review_score", ("review_text",))
    yelp = {
        "stars": one_of(["1", "2", "3", "4", "5"], COUNT, 1030),
        "text": [f'{text} "{text[:9]}"\\n\\n{text}' for text in opinions("en", COUNT, 1031)],
    }
    yield table(
        "a class and a text, all in quotes, no header",
        5,
        "en",
        yelp,
        label="stars",
        file="train.csv",
        dialect=Dialect(quoting=csv.QUOTE_ALL, header=False),
    )
    films = [
        {"film-url": f"https://films.example/f{n}.html", "review": text, "polarity": label}
        for n, (text, label) in enumerate(
            zip(opinions("fr", COUNT, 1032), map(int, one_of(["0", "1"], COUNT, 1033)), strict=True)
        )
    ]
    yield lines("polarity as a number", 4, "fr", films, lambda o: Text(o["review"], None, str(o["polarity"])))
    quoted = {"Ressort": one_of(["Web", "Sport", "Etat"], COUNT, 1034), "text": opinions("de", COUNT, 1035)}
    long = [f"{text}; {text[:20]}" if n % 3 else text for n, text in enumerate(quoted["text"])]

    def single(folder: Path) -> Written:
        body = [f"{y};'{t}'\n" if ";" in t else f"{y};{t}\n" for t, y in zip(long, quoted["Ressort"], strict=True)]
        rows: list[Row] = [Text(t, None, y) for t, y in zip(long, quoted["Ressort"], strict=True)]
        kept: list[Row] = [
            Text(f"'{t}'" if ";" in t else t, None, y) for t, y in zip(long, quoted["Ressort"], strict=True)
        ]
        return Written(path=put(folder / "articles.csv", "".join(body)), rows=rows, or_rows=[kept])

    yield Layout(
        name="cells in single quotes",
        kind=6,
        language="de",
        write=single,
        answers={"text": "column 2", "label": "column 1"},
    )


def _headlines() -> Iterator[Layout]:
    sarcastic = [
        {"is_sarcastic": int(label), "headline": text, "article_link": f"https://news.example/{n}"}
        for n, (text, label) in enumerate(
            zip(opinions("en", COUNT, 1041), one_of(["0", "1"], COUNT, 1042), strict=True)
        )
    ]
    yield lines(
        "is_sarcastic in front",
        4,
        "en",
        sarcastic,
        lambda o: Text(o["headline"], None, str(o["is_sarcastic"])),
        file="headlines.json",
    )
    fake = {
        "id": [str(n) for n in range(COUNT)],
        "title": opinions("en", COUNT, 1043),
        "author": [f"{name} {n % 45}" for n, name in enumerate(one_of(["Ann Lo", "Bo Ek", "Cy Fox"], COUNT, 1044))],
        "text": opinions("en", COUNT, 1045),
        "label": one_of(["0", "1"], COUNT, 1046),
    }
    yield either("title, author and text", "en", fake, "label", ("text",), ("title", "text"))
    topics = ["정치", "경제", "사회", "생활문화"]
    chosen = one_of(topics, COUNT, 1047)
    news = [
        {
            "guid": f"ynat-v1_train_{n:05}",
            "title": text,
            "predefined_news_category": topics[n % 4],
            "label": label,
            "annotations": {"annotators": ["18", "03", "13"], "annotations": {"first-scope": [label] * 3}},
            "url": f"https://news.example/article/{n}",
            "date": f"2016.06.{n % 28 + 1:02}. 오전 9:36",
        }
        for n, (text, label) in enumerate(zip(opinions("ko", COUNT, 1048), chosen, strict=True))
    ]
    yield lines(
        "a label next to the category of before",
        7,
        "ko",
        news,
        lambda o: Text(o["title"], None, o["label"]),
        file="train.json",
        answers={"text": "title", "label": "label"},
    )
    answers = {
        "Id": [str(34_552_656 + 91 * n) for n in range(COUNT)],
        "Title": opinions("en", COUNT, 1049),
        "Body": [
            f"<p>{text}</p>\n<pre><code>x = {n}</code></pre>" for n, text in enumerate(opinions("en", COUNT, 1050))
        ],
        "Tags": one_of(["<java><repeat>", "<python>", "<r><plot>", "<c++>"], COUNT, 1051),
        "CreationDate": [f"2016-01-{n % 28 + 1:02} 00:21:59" for n in range(COUNT)],
        "Y": one_of(["HQ", "LQ_CLOSE", "LQ_EDIT"], COUNT, 1052),
    }
    yield either("tags, a date and Y", "en", answers, "Y", ("Title", "Body"), ("Body",), ("Body", "Title"))
