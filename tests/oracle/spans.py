"""Entities by characters, as the exports of labelling tools have them."""

from collections.abc import Iterator, Sequence
from typing import Any

from .files import lines
from .layout import Layout, Marked, Row, Text
from .words import Told, one_of, opinions, told

KEYS = ("start", "end", "label")


def layouts() -> Iterator[Layout]:
    """Triples, objects, the tools' own layouts, and marks that do not fit the words."""
    yield from _triples()
    yield from _objects()
    yield from _label_studio()
    yield from _prodigy()
    yield from _misfits()


def _rows(facts: Sequence[Told]) -> dict[str, Marked]:
    return {fact.text: Marked(fact.text, fact.spans) for fact in facts}


def _triples() -> Iterator[Layout]:
    for language, key in (("en", "label"), ("ko", "label"), ("ja", "labels"), ("ru", "entities")):
        objects = [
            {"id": number, "text": fact.text, key: [list(span) for span in fact.spans], "Comments": []}
            for number, fact in enumerate(told(language, 90, 101), start=1)
        ]
        yield lines(
            f"triples in '{key}', {language}",
            2,
            language,
            objects,
            lambda o, key=key: Marked(o["text"], tuple((s, e, t) for s, e, t in o[key])),
            file="admin.jsonl",
        )
    spacy = [[fact.text, {"entities": [list(span) for span in fact.spans]}] for fact in told("de", 90, 102)]
    yield lines(
        "pairs of text and entities, as spaCy's",
        2,
        "de",
        spacy,
        lambda o: Marked(o[0], tuple((s, e, t) for s, e, t in o[1]["entities"])),
        file="train.json",
    )


def _objects() -> Iterator[Layout]:
    for language, keys in (("fr", ("start_offset", "end_offset", "label")), ("zh", ("start", "end", "type"))):
        objects = [
            {
                "text": fact.text,
                "entities": [dict(zip(("id", *keys), (n, *span), strict=True)) for n, span in enumerate(fact.spans)],
                "relations": [],
            }
            for fact in told(language, 90, 103)
        ]
        yield lines(
            f"objects with {', '.join(keys)}",
            2,
            language,
            objects,
            lambda o, keys=keys: Marked(o["text"], tuple(tuple(e[k] for k in keys) for e in o["entities"])),
        )


def _label_studio() -> Iterator[Layout]:
    facts = told("en", 80, 104)
    values = [
        [{"start": s, "end": e, "text": fact.text[s:e], "labels": [kind]} for s, e, kind in fact.spans]
        for fact in facts
    ]
    full = [
        {
            "id": number,
            "data": {"text": fact.text},
            "annotations": [
                {
                    "id": number + 1000,
                    "was_cancelled": False,
                    "result": [
                        {"value": one, "id": f"r{at}", "from_name": "label", "to_name": "text", "type": "labels"}
                        for at, one in enumerate(found)
                    ],
                }
            ],
            "project": 3,
        }
        for number, (fact, found) in enumerate(zip(facts, values, strict=True), start=1)
    ]

    def marked(text: str, found: list[dict[str, Any]]) -> Marked:
        return Marked(text, tuple((one["start"], one["end"], one["labels"][0]) for one in found))

    yield lines(
        "Label Studio's JSON with entities",
        2,
        "en",
        full,
        lambda o: marked(o["data"]["text"], [r["value"] for r in o["annotations"][0]["result"]]),
        file="project-3.json",
    )
    least = [
        {"text": fact.text, "id": n, "label": found, "annotator": 1, "annotation_id": n + 9, "lead_time": 3.5}
        for n, (fact, found) in enumerate(zip(facts, values, strict=True))
    ]
    yield lines(
        "Label Studio's JSON_MIN with entities",
        2,
        "en",
        least,
        lambda o: marked(o["text"], o["label"]),
        file="project-4.json",
    )
    yield from _choices()


def _choices() -> Iterator[Layout]:
    pairs = list(zip(opinions("es", 80, 105), one_of(["bueno", "malo"], 80, 106), strict=True))
    full = [
        {
            "id": number,
            "data": {"review": text},
            "annotations": [{"result": [{"value": {"choices": [label]}, "from_name": "sentiment", "type": "choices"}]}],
        }
        for number, (text, label) in enumerate(pairs)
    ]
    yield lines(
        "Label Studio's JSON with choices",
        2,
        "es",
        full,
        lambda o: Text(o["data"]["review"], None, o["annotations"][0]["result"][0]["value"]["choices"][0]),
        file="project-5.json",
    )
    least = [
        {
            "text": text,
            "id": n,
            "sentiment": label,
            "annotator": 1,
            "annotation_id": n + 9,
            "lead_time": 3.5 + n,
            "created_at": f"2024-05-01T10:{n % 60:02}:00.000Z",
        }
        for n, (text, label) in enumerate(pairs)
    ]
    yield lines(
        "Label Studio's JSON_MIN with choices",
        2,
        "es",
        least,
        lambda o: Text(o["text"], None, o["sentiment"]),
        file="project-6.json",
    )


def _prodigy() -> Iterator[Layout]:
    objects = []
    for number, fact in enumerate(told("en", 90, 107)):
        places = fact.words
        tokens = [{"text": word, "start": at, "end": at + len(word), "id": n} for n, (word, at) in enumerate(places)]
        spans = [{"start": s, "end": e, "token_start": 0, "token_end": 0, "label": kind} for s, e, kind in fact.spans]
        answer = "reject" if number % 7 == 3 else "accept"
        objects.append(
            {"text": fact.text, "_input_hash": 7**number % 2**31, "tokens": tokens, "spans": spans, "answer": answer}
        )

    def row(one: Any) -> Row | None:
        spans = tuple((span["start"], span["end"], span["label"]) for span in one["spans"])
        return Marked(one["text"], spans) if one["answer"] == "accept" else None

    yield lines("Prodigy's spans, accepted and rejected", 2, "en", objects, row)


def _misfits() -> Iterator[Layout]:
    """Marks that end in a blank mean the words; those that cut a word or overlap may be read in several ways."""
    facts = told("en", 90, 108)
    blank = [
        {"text": fact.text, "label": [[s, e + (fact.text[e : e + 1] == " "), kind] for s, e, kind in fact.spans]}
        for fact in facts
    ]
    rows = _rows(facts)
    yield lines("marks that end in a blank", 2, "en", blank, lambda o: rows[o["text"]])
    cut, overlapping = {}, {}
    for number, fact in enumerate(facts):
        spans = list(fact.spans)
        if spans and number % 5 == 0:
            start, end, kind = spans[0]
            cut[fact.text] = (
                [[start, end - 1, kind], *map(list, spans[1:])],
                Marked(fact.text, fact.spans, ((start, end),)),
            )
            overlapping[fact.text] = (
                [
                    [start, end, kind],
                    [start, start + len(fact.text[start:end].split()[0]), "MISC"],
                    *map(list, spans[1:]),
                ],
                Marked(fact.text, fact.spans, ((start, end),)),
            )
    for name, some in (("marks that cut a word", cut), ("marks that overlap", overlapping)):
        objects = [
            {"text": fact.text, "label": some.get(fact.text, ([list(s) for s in fact.spans], None))[0]}
            for fact in facts
        ]
        yield lines(
            name, 2, "en", objects, lambda o, some=some: some[o["text"]][1] if o["text"] in some else rows[o["text"]]
        )
