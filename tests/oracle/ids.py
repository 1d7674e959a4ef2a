"""Ids, counters, hashes, dates and urls around the text: none of them is text or label."""

import hashlib
from collections.abc import Iterator

from .files import COMMAS, TABS, Dialect, lines, table
from .layout import Layout, Text
from .words import numbers, one_of, opinions

ALL_QUOTED = Dialect(quoting=1, header=False)


def hashed(count: int, seed: int, length: int = 16) -> list[str]:
    return [hashlib.md5(f"{seed} {n}".encode()).hexdigest()[:length] for n in range(count)]


def layouts() -> Iterator[Layout]:
    """Ids in front and behind, without a header, and in JSON."""
    yield from _with_header()
    yield from _nameless()
    yield from _without_header()
    yield from _objects()


def _with_header() -> Iterator[Layout]:
    count = 130
    yield table(
        "hashes and urls in front",
        5,
        "en",
        {
            "hash": hashed(count, 1),
            "url": [f"https://example.org/p/{n * 13}" for n in range(count)],
            "text": opinions("en", count, 401),
            "label": one_of(["ham", "spam"], count, 402),
        },
    )
    yield table(
        "ids that a spreadsheet ruined",
        5,
        "en",
        {
            "tweet_id": [f"{1.2 + n / 999:.5f}E+17" for n in range(count)],
            "tweet": opinions("en", count, 403),
            "class": one_of(["0", "1", "2"], count, 404),
        },
        text="tweet",
        label="class",
    )
    yield table(
        "ruined ids that repeat, behind the label",
        5,
        "es",
        {
            "texto": opinions("es", count, 405),
            "odio": one_of(["no", "sí"], count, 406),
            "cuenta": [f"{1 + n % 40 / 100:.2f}E+18" for n in range(count)],
        },
        text="texto",
        label="odio",
    )
    yield table(
        "dates before and after",
        5,
        "de",
        {
            "Datum": [f"{n % 28 + 1:02}.{n % 12 + 1:02}.2021" for n in range(count)],
            "Beitrag": opinions("de", count, 407),
            "Art": one_of(["Lob", "Kritik"], count, 408),
            "geändert": [f"2022-01-{n % 28 + 1:02}T08:{n % 60:02}:00" for n in range(count)],
        },
        text="Beitrag",
        label="Art",
    )
    yield table(
        "a counter behind the label",
        5,
        "zh",
        {
            "句子": opinions("zh", count, 409),
            "态度": one_of(["支持", "反对"], count, 410),
            "n": [str(n) for n in range(1, count + 1)],
        },
        text="句子",
        label="态度",
        file="d.tsv",
        dialect=TABS,
    )
    yield table(
        "one-word codes next to the text",
        5,
        "fr",
        {
            "code": [f"AX-{n:04}-{'BCDF'[n % 4]}" for n in range(count)],
            "ville": [f"Ville{n}" for n in range(count)],
            "avis_client": opinions("fr", count, 411),
            "humeur": one_of(["ravi", "fâché", "neutre"], count, 412),
        },
        text="avis_client",
        label="humeur",
    )
    yield table(
        "numbers measured of the text",
        5,
        "en",
        {
            "length": [str(len(text)) for text in opinions("en", count, 413)],
            "comment": opinions("en", count, 413),
            "likes": [str(int(n)) for n in numbers(count, 414, 0, 900, 0)],
            "is_sarcastic": one_of(["0", "1"], count, 415),
        },
        text="comment",
        label="is_sarcastic",
    )


def _without_header() -> Iterator[Layout]:
    count = 200
    days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    posts = {
        "target": one_of(["0", "4"], count, 421),
        "ids": [str(1_467_810_369 + 977 * n) for n in range(count)],
        "date": [f"{days[n % 7]} Apr {n % 28 + 1:02} 22:{n % 60:02}:45 PDT 2009" for n in range(count)],
        "flag": ["NO_QUERY"] * count,
        "user": [f"_user{n * 7 % 171}_" for n in range(count)],
        "text": [f"@someone {text}" for text in opinions("en", count, 422)],
    }
    yield table("posts with six columns and no header", 5, "en", posts, label="target", dialect=ALL_QUOTED)
    news = {
        "class": one_of(["1", "2", "3", "4"], count, 423),
        "title": [text.split(".")[0] for text in opinions("en", count, 424)],
        "description": [
            f"{one} {two}" for one, two in zip(opinions("en", count, 425), opinions("en", count, 426), strict=True)
        ],
    }
    yield table(
        "class, title, description without a header",
        5,
        "en",
        news,
        text="title",
        pair="description",
        label="class",
        dialect=ALL_QUOTED,
    )
    acceptable = {
        "source": one_of(["gj04", "bc01", "sks13"], 150, 427),
        "label": one_of(["1", "0"], 150, 428),
        "mark": ["" if n % 3 else "*" for n in range(150)],
        "text": opinions("en", 150, 429),
    }
    yield table(
        "a source, a label and a mark without a header",
        5,
        "en",
        acceptable,
        file="in_domain.tsv",
        dialect=Dialect(delimiter="\t", quoting=3, header=False),
    )
    japanese = {
        "n": [str(n) for n in range(1, 121)],
        "文": opinions("ja", 120, 430),
        "判定": one_of(["可", "不可"], 120, 431),
    }
    yield table(
        "a counter, a text and a label without a header",
        5,
        "ja",
        japanese,
        text="文",
        label="判定",
        dialect=Dialect(header=False),
    )


def _objects() -> Iterator[Layout]:
    count = 120
    objects = [
        {"_id": {"$oid": code}, "created": 1_600_000_000 + 977 * n, "lang": "ru", "post": text, "stance": label}
        for n, (code, text, label) in enumerate(
            zip(hashed(count, 2, 24), opinions("ru", count, 441), one_of(["за", "против"], count, 442), strict=True)
        )
    ]
    yield lines("ids in an object, times in seconds", 5, "ru", objects, lambda o: Text(o["post"], None, o["stance"]))
    yield table(
        "pairs between ids",
        5,
        "en",
        {
            "id": [str(n) for n in range(count)],
            "qid1": [str(2 * n + 1) for n in range(count)],
            "qid2": [str(2 * n + 2) for n in range(count)],
            "question1": opinions("en", count, 443),
            "question2": opinions("en", count, 444),
            "is_duplicate": one_of(["0", "1"], count, 445),
        },
        text="question1",
        pair="question2",
        label="is_duplicate",
        dialect=COMMAS,
    )


def _nameless() -> Iterator[Layout]:
    """Names of columns that say nothing: the values alone tell what they are."""
    count = 140
    yield table(
        "columns f1 to f4 with a counter and a hash",
        5,
        "de",
        {
            "f1": [str(n) for n in range(500, 500 + count)],
            "f2": opinions("de", count, 451),
            "f3": one_of(["froh", "traurig", "wütend"], count, 452),
            "f4": hashed(count, 3),
        },
        text="f2",
        label="f3",
    )
    yield table(
        "user names, times and a label without a header",
        5,
        "es",
        {
            "u": [f"usuario_{n * 7919 % 9973}" for n in range(count)],
            "h": [f"{n % 24:02}:{n * 7 % 60:02}:11" for n in range(count)],
            "y": one_of(["sí", "no"], count, 453),
            "t": opinions("es", count, 454),
        },
        text="t",
        label="y",
        file="x.tsv",
        dialect=Dialect(delimiter="\t", quoting=3, header=False),
    )
    yield table(
        "ruined ids and a counter behind, without a header",
        5,
        "ko",
        {
            "t": opinions("ko", count, 455),
            "y": one_of(["1", "0"], count, 456),
            "i": [f"{1.1 + n % 60 / 100:.2f}E+17" for n in range(count)],
            "n": [str(n) for n in range(1, count + 1)],
        },
        text="t",
        label="y",
        dialect=Dialect(header=False, delimiter=";"),
    )
    yield table(
        "addresses of mails and of pages",
        5,
        "fr",
        {
            "de": [f"client{n}@exemple.fr" for n in range(count)],
            "lien": [f"www.exemple.fr/avis/{n * 3}.html" for n in range(count)],
            "propos": opinions("fr", count, 457),
            "ton": one_of(["poli", "brusque"], count, 458),
        },
        text="propos",
        label="ton",
    )
