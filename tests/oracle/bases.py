"""Base tables of each task type for `changed.py`, other names of their columns, and columns that mean nothing."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from .files import Columns
from .layout import Asked, Chosen, Marked, Row, Tagged, Text
from .words import numbers, one_of, opinions, several, told

COUNT = 60
Spelled = Callable[[str], str]  # a column's name in the file
Cells = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Base:
    """A table of texts, its inputs in order and its label, and the row that a careful person reads in cells."""

    name: str
    language: str
    shape: str
    columns: Columns
    text: tuple[str, ...]
    label: tuple[str, ...]
    row: Callable[[Cells, Spelled], Row]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


NAMES_OF: Mapping[str, Sequence[str]] = {
    "text": ("review", "내용", "文本", "текст", "yorum", "Kommentar", "テキスト", "tweet_text", "message", "body"),
    "sentiment": ("label", "감정", "情感", "тональность", "duygu", "Stimmung", "polarity", "ラベル", "class"),
    "topic": ("category", "카테고리", "类别", "категория", "kategori", "Kategorie", "カテゴリ", "intent", "label"),
    "score": ("rating", "평점", "评分", "оценка", "Bewertung", "similarity", "label"),
    "body": ("content", "text"),
    "entities": ("spans", "label"),
    "premise": ("sentence1",),
    "hypothesis": ("sentence2",),
    "labels": ("tags", "categories", "topics"),
    "question": ("query", "질문", "вопрос", "Frage"),
    "context": ("passage", "본문", "контекст", "paragraph"),
    "answer": ("정답", "ответ", "Antwort"),
    "words": ("tokens", "sentence", "text"),
    "tags": ("ner_tags", "bio", "labels"),
}


def _drawn(choices: Sequence[str], empty: float = 0.0) -> Callable[[int, random.Random], list[str]]:
    return lambda count, draw: ["" if draw.random() < empty else draw.choice(choices) for _ in range(count)]


def _numbered(form: str) -> Callable[[int, random.Random], list[str]]:
    return lambda count, draw: [form.format(n, draw.randint(10**9, 10**10), draw.randint(1, 28)) for n in range(count)]


EXTRAS: Mapping[str, Callable[[int, random.Random], list[str]]] = {
    "id": _numbered("{0}"),
    "uuid": _numbered("{1:08x}-{1:012x}"),
    "created_at": _numbered("2023-04-{2:02} 10:1{2:02}"),
    "날짜": _numbered("2023년 5월 {2}일"),
    "datum": _numbered("{2}. März 2022"),
    "url": _numbered("https://example.org/{1}"),
    "user": _numbered("user_{1}"),
    "channel": _drawn(["web", "app", "shop"]),
    "source": _drawn(["web", "app", "shop"]),
    "lang": _drawn(["en"]),
    "city": _drawn(["New York", "San Francisco", "London, UK", "Rio de Janeiro", "Kuala Lumpur", "Bad Homburg"], 0.3),
    "şehir": _drawn(["İstanbul", "Ankara", "İzmir"]),
    "age": lambda count, draw: [str(draw.randint(16, 80)) for _ in range(count)],
    "likes": lambda count, draw: [str(draw.randint(0, 500)) for _ in range(count)],
    "price": lambda count, draw: [f"{draw.uniform(1, 90):.2f}" for _ in range(count)],
    "verified": _drawn(["0", "1"]),
    "notes": _drawn(["see above", "called back twice"], 0.9),
    "empty": _drawn([""]),
    "split": _drawn(["train", "test"]),
}


def _labelled(name: str, language: str, label: str, values: Sequence[str], seed: int) -> Base:
    columns = {"text": opinions(language, COUNT, seed), label: one_of(list(values), COUNT, seed)}
    return Base(
        name=name, language=language, shape="classification", columns=columns, text=("text",), label=(label,),
        row=lambda cells, _: Text(cells["text"], None, cells[label]),
    )  # fmt: skip


def _times() -> Base:
    base = _labelled("texts that begin with a time", "en", "sentiment", ["good", "bad"], 2711)
    texts = [
        f"{7 + n % 12}:30 {['Ann', 'Bo', 'Kim'][n % 3]} {['called', 'wrote', 'left'][n % 7 % 3]} {n}"
        for n in range(COUNT)
    ]
    return replace(base, columns={**base.columns, "text": texts})


def _pair() -> Base:
    premises = opinions("en", COUNT, 2601)
    hypotheses = [" ".join(text.split()[:6]) + " today" for text in premises]
    labels = one_of(["entailment", "neutral", "contradiction"], COUNT, 2602)
    columns = {"premise": premises, "hypothesis": hypotheses, "label": labels}
    return Base(
        name="pair", language="en", shape="classification", columns=columns, text=("premise", "hypothesis"),
        label=("label",), row=lambda cells, _: Text(cells["premise"], cells["hypothesis"], cells["label"]),
    )  # fmt: skip


def _number(name: str, language: str, *, whole: bool = False) -> Base:
    some = [f"{number:g}" for number in numbers(COUNT, 2611, 0, 100, 0 if whole else 2)]
    columns = {"text": opinions(language, COUNT, 2612), "score": some}
    return Base(
        name=name, language=language, shape="regression", columns=columns, text=("text",), label=("score",),
        row=lambda cells, _: Text(cells["text"], None, float(cells["score"])),
    )  # fmt: skip


def _several() -> Base:
    sets = several(["price", "staff", "food", "noise"], COUNT, 2621)
    columns = {"text": opinions("de", COUNT, 2622), "labels": [";".join(some) for some in sets]}
    return Base(
        name="several labels", language="de", shape="multi-label", columns=columns, text=("text",), label=("labels",),
        row=lambda cells, _: Text(cells["text"], None, tuple(cells["labels"].split(";"))),
    )  # fmt: skip


def _positions() -> Base:
    marks = [one_of(["0", "1"], COUNT, seed) for seed in range(2671, 2675)]
    columns = {
        "text": opinions("en", COUNT, 2675),
        "labels": [f"[{', '.join(cells)}]" for cells in zip(*marks, strict=True)],
    }
    return Base(
        name="labels by position", language="en", shape="multi-label", columns=columns, text=("text",),
        label=("labels",),
        row=lambda cells, _: Text(
            cells["text"], None, tuple(f"label {n}" for n, mark in enumerate(json.loads(cells["labels"]), 1) if mark)
        ),
    )  # fmt: skip


def _halves() -> Base:
    """Titles of which some are empty."""
    titles = [f"{' '.join(text.split()[:4])}, number {n}" for n, text in enumerate(opinions("en", COUNT, 2681))]
    titles = ["" if n % 30 == 0 else title for n, title in enumerate(titles)]
    columns = {"title": titles, "body": opinions("en", COUNT, 2681), "topic": one_of(["bill", "order"], COUNT, 2682)}
    return Base(
        name="titles and bodies", language="en", shape="classification", columns=columns, text=("title", "body"),
        label=("topic",), row=lambda cells, _: Text(cells["title"], cells["body"], cells["topic"]),
    )  # fmt: skip


def _entities() -> Base:
    some = [one for one in told("en", 3 * COUNT, 2691) if one.spans][:COUNT]
    columns = {"text": [one.text for one in some], "entities": [json.dumps(one.spans) for one in some]}
    return Base(
        name="entities", language="en", shape="tagging", columns=columns, text=("text",), label=("entities",),
        row=lambda cells, _: Marked(cells["text"], tuple((a, b, kind) for a, b, kind in json.loads(cells["entities"]))),
    )  # fmt: skip


def _flags() -> Base:
    marks = ("joy", "anger", "fear")
    flags = {name: one_of(["0", "1"], COUNT, seed) for seed, name in enumerate(marks, start=2631)}
    return Base(
        name="flags", language="ko", shape="multi-label", columns={"text": opinions("ko", COUNT, 2634), **flags},
        text=("text",), label=marks,
        row=lambda cells, name: Text(cells["text"], None, tuple(sorted(name(m) for m in marks if cells[m] == "1"))),
    )  # fmt: skip


def _choice(name: str, stem: str, labels: Sequence[str]) -> Base:
    options = [stem.format(place) if stem else "ABCD"[place] for place in range(4)]
    choices = {option: opinions("en", COUNT, seed) for seed, option in enumerate(options, start=2641)}
    asked = [f"What follows from this: {text}?" for text in opinions("en", COUNT, 2646)]
    columns = {"question": asked, **choices, "label": one_of(list(labels), COUNT, 2647)}
    return Base(
        name=name, language="en", shape="choice", columns=columns, text=("question", *options), label=("label",),
        row=lambda cells, _: Chosen(
            cells["question"], tuple(cells[option] for option in options), list(labels).index(cells["label"])
        ),
    )  # fmt: skip


def _span() -> Base:
    contexts = [text for text in opinions("en", 2 * COUNT, 2651) if len(text.split()) > 6][:COUNT]
    answers = [" ".join(text.split()[n % 5 : n % 5 + 1 + n % 3]) for n, text in enumerate(contexts)]
    columns = {"question": [f"Who or what, {n}?" for n in range(COUNT)], "context": contexts, "answer": answers}
    return Base(
        name="answers in contexts", language="en", shape="span", columns=columns, text=("question", "context"),
        label=("answer",),
        row=lambda cells, _: Asked(
            cells["question"], cells["context"], (cells["answer"],), cells["context"].find(cells["answer"])
        ),
    )  # fmt: skip


def _tags(name: str, language: str) -> Base:
    some = [one for one in told(language, 3 * COUNT, 2661) if one.spans][:COUNT]
    columns = {
        "words": [" ".join(word for word, _ in one.words) for one in some],
        "tags": [" ".join(one.tags) for one in some],
    }
    return Base(
        name=name, language=language, shape="tagging", columns=columns, text=("words",), label=("tags",),
        row=lambda cells, _: Tagged(tuple(cells["words"].split()), tuple(cells["tags"].split())),
    )  # fmt: skip


BASES: Sequence[Base] = (
    _labelled("moods", "en", "sentiment", ["positive", "negative", "neutral"], 2701),
    _labelled("Korean moods", "ko", "sentiment", ["긍정", "부정"], 2702),
    _labelled("Turkish topics", "tr", "topic", ["kargo", "ürün", "iade", "ödeme"], 2703),
    _labelled("Indonesian topics", "id", "topic", ["pengiriman", "harga", "layanan"], 2704),
    _labelled("Japanese moods", "ja", "sentiment", ["良い", "悪い", "普通"], 2705),
    _labelled("Chinese topics", "zh", "topic", ["物流", "质量", "服务"], 2706),
    _labelled("German tickets", "de", "topic", ["Rechnung", "Störung", "Kündigung"], 2707),
    _labelled("Russian moods", "ru", "sentiment", ["хорошо", "плохо"], 2708),
    _labelled("class numbers", "en", "sentiment", ["0", "1", "2"], 2709),
    _labelled("codes", "de", "topic", ["008.45", "250.00", "401.9", "585.6"], 2710),
    _times(),
    _halves(),
    _positions(),
    _entities(),
    _pair(),
    _number("numbers", "de"),
    _number("whole numbers", "en", whole=True),
    _several(),
    _flags(),
    _choice("choices by number", "answer{}", "0123"),
    _choice("choices by letter", "", "ABCD"),
    _span(),
    _tags("words and tags", "en"),
    _tags("German words and tags", "de"),
    _tags("Korean words and tags", "ko"),
)
