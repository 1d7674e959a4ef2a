"""Tables that differ in names, order, delimiter, header, quotes, line ends and suffix, as `varied` draws them."""

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path

from .files import EXCEL, TABS, Dialect, lines, mixed, put, table
from .layout import Asked, Chosen, Layout, Text, Written
from .words import LANGUAGES, numbers, one_of, opinions, told

TEXT_NAMES = {
    "en": ("text", "Review", "tweet_text"),
    "ko": ("문장", "리뷰", "내용"),
    "de": ("Text", "rezension", "Kommentar"),
    "fr": ("texte", "avis", "Commentaire"),
    "es": ("texto", "opinion", "Reseña"),
    "ru": ("text", "отзыв", "Текст"),
    "ja": ("text", "レビュー", "本文"),
    "zh": ("text", "评论", "内容"),
}
LABEL_NAMES = {
    "en": ("label", "Sentiment", "category"),
    "ko": ("레이블", "감정", "정답"),
    "de": ("label", "Klasse", "stimmung"),
    "fr": ("label", "Classe", "sentiment"),
    "es": ("etiqueta", "label", "Clase"),
    "ru": ("label", "класс", "Метка"),
    "ja": ("label", "ラベル", "感情"),
    "zh": ("label", "标签", "情感"),
}
CLASSES = {
    "en": ["good", "bad", "so-so"],
    "ko": ["긍정", "부정", "중립"],
    "de": ["gut", "schlecht"],
    "fr": ["bon", "mauvais"],
    "es": ["bueno", "malo", "neutro"],
    "ru": ["хорошо", "плохо"],
    "ja": ["良い", "悪い"],
    "zh": ["好", "坏", "一般"],
}
FILES = {
    ",": ("data.csv", "data.csv.gz", "data.txt"),
    "\t": ("data.tsv", "data.txt", "data.csv"),
    ";": ("data.csv", "data.txt"),
    "|": ("data.csv", "data.txt.gz"),
}


def varied(number: int) -> Layout:
    """One table of texts and classes, drawn by its number."""
    draw = random.Random(f"varied {number}")
    language = LANGUAGES[number % len(LANGUAGES)]
    delimiter = draw.choice([*FILES])
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, *([csv.QUOTE_NONE] if delimiter in "\t|" else [])])
    dialect = Dialect(
        delimiter=delimiter,
        quoting=quoting,
        header=draw.random() < 0.7,
        ends=draw.choice(["\n", "\n", "\r\n"]),
        encoding=draw.choice(["utf-8", "utf-8", "utf-8-sig"]),
    )
    count = draw.randint(60, 240)
    text, label = draw.choice(TEXT_NAMES[language]), draw.choice(LABEL_NAMES[language])
    columns = {text: opinions(language, count, number), label: one_of(CLASSES[language], count, number)}
    if draw.random() < 0.5:
        columns |= {"id": [str(10_000 + 7 * row) for row in range(count)]}
    file = draw.choice(FILES[delimiter])
    spelled = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}[delimiter]
    quotes = {csv.QUOTE_MINIMAL: "some quotes", csv.QUOTE_ALL: "all quoted", csv.QUOTE_NONE: "no quotes"}[quoting]
    head = "header" if dialect.header else "no header"
    name = f"varied {number}: {file}, {spelled}, {quotes}, {head}, columns {'/'.join(mixed(columns, number))}"
    return table(name, 0, language, mixed(columns, number), text=text, label=label, file=file, dialect=dialect)


def layouts() -> Iterator[Layout]:
    """Varied tables, then pairs, numbers, questions and choices."""
    yield from map(varied, range(16))
    yield from _pairs()
    yield from _questions()
    yield from _choices()
    yield from _signs()


def _pairs() -> Iterator[Layout]:
    first, second = opinions("en", 90, 1), opinions("en", 90, 2)
    scores = [f"{number:.3f}" for number in numbers(90, 1, 0, 5, 1)]
    columns = {"genre": one_of(["news", "forum"], 90, 3), "score": scores, "sentence1": first, "sentence2": second}
    yield table(
        "pairs with a number",
        0,
        "en",
        columns,
        text="sentence1",
        pair="sentence2",
        label="score",
        value=float,
        file="sts.tsv",
        dialect=TABS,
    )
    columns = {
        "Quality": one_of(["1", "0"], 90, 4),
        "#1 ID": [str(700_000 + 13 * n) for n in range(90)],
        "#2 ID": [str(800_000 + 17 * n) for n in range(90)],
        "#1 String": first,
        "#2 String": second,
    }
    yield table(
        "pairs between two ids",
        0,
        "en",
        columns,
        text="#1 String",
        pair="#2 String",
        label="Quality",
        file="pairs.txt",
        dialect=TABS,
    )
    korean = {"문장1": opinions("ko", 80, 5), "문장2": opinions("ko", 80, 6), "유사": one_of(["예", "아니오"], 80, 7)}
    yield table(
        "pairs in Korean", 0, "ko", korean, text="문장1", pair="문장2", label="유사", file="쌍.csv", dialect=EXCEL
    )


def _questions() -> Iterator[Layout]:
    facts = [fact for fact in told("en", 150, 11) if fact.spans]
    places = [(fact.text[start:end], start) for fact in facts for start, end, _ in fact.spans[:1]]
    rows = list(zip(facts, places, strict=True))
    squad = [
        {
            "id": f"q{number}",
            "question": f"Which name comes first in note {number}?",
            "context": fact.text,
            "answers": {"text": [answer], "answer_start": [start]},
        }
        for number, (fact, (answer, start)) in enumerate(rows)
    ]
    yield lines(
        "questions with lists of answers",
        0,
        "en",
        squad,
        lambda o: Asked(o["question"], o["context"], tuple(o["answers"]["text"]), o["answers"]["answer_start"][0]),
    )
    korean = [
        {
            "질문": f"{number}번 글에 처음 나오는 이름은?",
            "본문": fact.text,
            "정답": fact.text[slice(*fact.spans[0][:2])],
        }
        for number, fact in enumerate(fact for fact in told("ko", 120, 12) if fact.spans)
    ]
    yield lines(
        "questions in Korean with one answer",
        0,
        "ko",
        korean,
        lambda o: Asked(o["질문"], o["본문"], (o["정답"],), o["본문"].find(o["정답"])),
    )


def _choices() -> Iterator[Layout]:
    endings = [opinions("en", 80, seed) for seed in range(20, 24)]
    starts = [f"{text} Then" for text in opinions("en", 80, 24)]
    right = one_of(["0", "1", "2", "3"], 80, 25)

    def write(folder: Path) -> Written:
        names = ["ctx", "ending0", "ending1", "ending2", "ending3", "label"]
        cells = [[*row] for row in zip(starts, *endings, right, strict=True)]
        text = "".join(
            json.dumps(row, ensure_ascii=False)[1:-1].replace('", "', '","') + "\n" for row in [names, *cells]
        )
        rows = [Chosen(row[0], tuple(row[1:5]), int(row[5])) for row in cells]
        path = put(folder / "swag.csv", text)
        with path.open(newline="", encoding="utf-8") as file:
            again = [Chosen(row[0], tuple(row[1:5]), int(row[5])) for row in list(csv.reader(file))[1:]]
        return Written(path=path, rows=rows, reread=again)

    yield Layout(name="choices in columns", kind=0, language="en", write=write)
    listed = [
        {"question": start, "choices": list(some), "answer": "ABCD"[int(number)]}
        for start, *some, number in zip(starts, *endings, right, strict=True)
    ]
    yield lines(
        "choices in a list, the label a letter",
        0,
        "en",
        listed,
        lambda o: Chosen(o["question"], tuple(o["choices"]), "ABCD".index(o["answer"])),
    )


def _signs() -> Iterator[Layout]:
    posts = [f"{text} {sign}" for text, sign in zip(opinions("es", 100, 31), "🔥😡👍🎉🤷" * 20, strict=True)]
    labels = one_of(["🙂", "🙁"], 100, 32)
    yield table("emoji in texts and as labels", 0, "es", {"tweet": posts, "emoji": labels}, text="tweet", label="emoji")
    two = [f"{one}\n\n{other}" for one, other in zip(opinions("fr", 70, 33), opinions("fr", 70, 34), strict=True)]
    columns = {"Avis": two, "Note": one_of(["positif", "négatif"], 70, 35)}
    yield table("cells of several lines", 0, "fr", columns, text="Avis", label="Note", dialect=EXCEL)
    said = [f'"{text.split()[0]} {text}' for text in opinions("de", 90, 36)]
    columns = {"satz": said, "art": one_of(["zitat", "frage"], 90, 37)}
    yield table(
        "quotes that mean nothing in tabs", 0, "de", columns, text="satz", label="art", file="s.tsv", dialect=TABS
    )
    objects = [
        {"meta": {"n": n}, "body": text, "class": label}
        for n, (text, label) in enumerate(
            zip(opinions("zh", 80, 38), one_of(["体育", "财经", "科技"], 80, 39), strict=True)
        )
    ]
    yield lines(
        "JSON with an object next to the text",
        0,
        "zh",
        objects,
        lambda o: Text(o["body"], None, o["class"]),
        file="news.json",
    )
    yield from _encoded()


def _encoded() -> Iterator[Layout]:
    for language, encoding in (
        ("ko", "cp949"),
        ("de", "cp1252"),
        ("ja", "utf-16"),
        ("ja", "shift_jis"),
        ("zh", "gb18030"),
        ("ru", "cp1251"),
        ("ru", "koi8-r"),
    ):
        columns = {"text": opinions(language, 120, 41), "label": one_of(CLASSES[language], 120, 42)}
        answers = {"text": "text", "label": "label", "encoding": encoding}
        yield table(f"in {encoding}", 0, language, columns, dialect=Dialect(encoding=encoding), answers=answers)
