"""Labels in objects: a field of them is the label, never the object as a whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .files import lines, objects_of, put_lines
from .layout import Layout, Row, Text, Written
from .words import numbers, one_of, opinions


def layouts() -> Iterator[Layout]:
    """Objects with one field, with several, in lists, and in cells of a table."""
    first, second = opinions("ko", 120, 601), opinions("ko", 120, 602)
    scores = list(numbers(120, 603, 0, 5))
    objects = [
        {
            "guid": f"sts-{n}",
            "source": "lee",
            "sentence1": a,
            "sentence2": b,
            "labels": {"label": score, "real-label": round(score + 0.04, 2), "binary-label": int(score >= 3)},
        }
        for n, (a, b, score) in enumerate(zip(first, second, scores, strict=True))
    ]

    def sts(folder: Path) -> Written:
        path = put_lines(folder / "sts.jsonl", objects)

        def rows(some: list[Any], field: str) -> list[Row]:
            return [Text(o["sentence1"], o["sentence2"], float(o["labels"][field])) for o in some]

        return Written(path=path, rows=rows(objects, "label"), reread=rows(objects_of(path), "label"))

    yield Layout(
        name="three fields: a number, a finer one, a class",
        kind=7,
        language="ko",
        write=sts,
        answers={"text": "sentence1,sentence2", "label": "labels.label", "shape": "regression"},
    )
    moods = one_of(["calm", "tense"], 110, 611)
    single = [
        {"text": t, "annotation": {"label": y, "annotator": "ann", "seconds": 3 + n % 7, "at": n * 977}}
        for n, (t, y) in enumerate(zip(opinions("en", 110, 612), moods, strict=True))
    ]
    yield lines(
        "one field is the label",
        7,
        "en",
        single,
        lambda o: Text(o["text"], None, o["annotation"]["label"]),
        answers={"text": "text", "label": "annotation.label"},
    )
    two = [
        {"texto": t, "labels": {"tono": tone, "tema": topic}}
        for t, tone, topic in zip(
            opinions("es", 110, 613),
            one_of(["serio", "irónico"], 110, 614),
            one_of(["cine", "vino"], 110, 615),
            strict=True,
        )
    ]
    yield lines(
        "two fields that are as good",
        7,
        "es",
        two,
        lambda o: Text(o["texto"], None, o["labels"]["tema"]),
        answers={"text": "texto", "label": "labels.tema"},
        must_ask=True,
    )
    nested = [
        {"data": {"text": t, "lang": "fr"}, "meta": {"source": "web"}, "label": y}
        for t, y in zip(opinions("fr", 110, 616), one_of(["oui", "non"], 110, 617), strict=True)
    ]
    yield lines(
        "the text in an object",
        7,
        "fr",
        nested,
        lambda o: Text(o["data"]["text"], None, o["label"]),
        answers={"text": "data.text", "label": "label"},
    )
    listed = [
        {"sentence": t, "labels": [{"name": y, "confidence": 0.5 + n % 5 / 10}]}
        for n, (t, y) in enumerate(
            zip(opinions("de", 110, 618), one_of(["laut", "leise", "still"], 110, 619), strict=True)
        )
    ]

    def list_of_objects(folder: Path) -> Written:
        path = put_lines(folder / "marks.jsonl", listed)
        alone: list[Row] = [Text(o["sentence"], None, o["labels"][0]["name"]) for o in listed]
        several: list[Row] = [Text(o["sentence"], None, (o["labels"][0]["name"],)) for o in objects_of(path)]
        return Written(path=path, rows=alone, or_rows=[several])

    yield Layout(
        name="a list of objects with a name each",
        kind=7,
        language="de",
        write=list_of_objects,
        answers={"text": "sentence", "label": "labels.name"},
    )
