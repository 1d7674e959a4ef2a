"""Layouts that were once read wrongly: flags and constants next to the label, signs of nothing, objects in cells."""

import csv
import io
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .files import COMMAS, TABS, Columns, Dialect, lines, put_table, table
from .layout import Layout, Marked, Row, Text, Written
from .public import BARE_TABS, either
from .words import Told, one_of, opinions, several, told

COUNT = 150


def layouts() -> Iterator[Layout]:
    """Columns next to the label, pairs, signs of nothing, several labels, entities."""
    yield from _beside()
    yield from _pairs()
    yield from _nothing()
    yield from _in_cells()
    yield from _entities()


def _flags(seed: int) -> list[str]:
    return one_of(["0", "1"], COUNT, seed)


def _beside() -> Iterator[Layout]:
    jobs = {
        "job_id": [str(n + 1) for n in range(COUNT)],
        "title": opinions("en", COUNT, 1201),
        "location": one_of(["US, NY, New York", "GB, , London", "DE, BE, Berlin"], COUNT, 1202),
        "department": one_of(["", "", "Sales", "Finance"], COUNT, 1203),
        "salary_range": one_of(["", "", "20000-28000"], COUNT, 1204),
        "company_profile": opinions("en", COUNT, 1205),
        "description": [" ".join([text] * 3) for text in opinions("en", COUNT, 1206)],
        "requirements": opinions("en", COUNT, 1207),
        "benefits": opinions("en", COUNT, 1208),
        "telecommuting": _flags(1209),
        "has_company_logo": _flags(1210),
        "has_questions": _flags(1211),
        "employment_type": one_of(["Full-time", "Contract", ""], COUNT, 1212),
        "required_experience": one_of(["", "Internship", "Associate"], COUNT, 1213),
        "required_education": one_of(["", "Bachelor's Degree"], COUNT, 1214),
        "industry": one_of(["", "Retail", "Energy"], COUNT, 1215),
        "function": one_of(["", "Marketing", "Engineering"], COUNT, 1216),
        "fraudulent": _flags(1217),
    }
    both = ("title", "description")
    yield either("flags that are not side by side", "en", jobs, "fraudulent", ("description",), both)
    splits = {
        "id": [str(n) for n in range(COUNT)],
        "text": opinions("en", COUNT, 1218),
        "part": one_of(["train", "dev", "test"], COUNT, 1219),
        "tone": one_of(["calm", "angry", "glad"], COUNT, 1220),
    }
    yield table("train and test next to the label", 4, "en", splits, label="tone")
    batch = {
        "HITId": [f"3{n * 7_919_123:09X}" for n in range(COUNT)],
        "Title": ["Judge a short review"] * COUNT,
        "Description": ["Read the text and say what its author thinks of the product"] * COUNT,
        "Reward": ["$0.02"] * COUNT,
        "WorkerId": one_of(["A1X", "A2Y", "A3Z"], COUNT, 1221),
        "AssignmentStatus": ["Approved"] * COUNT,
        "WorkTimeInSeconds": [str(5 + n * 7 % 90) for n in range(COUNT)],
        "Input.text": opinions("en", COUNT, 1222),
        "Answer.sentiment": one_of(["Positive", "Negative", "Neutral"], COUNT, 1223),
    }
    yield table(
        "a title and a description that are always the same",
        5,
        "en",
        batch,
        text="Input.text",
        label="Answer.sentiment",
        dialect=Dialect(quoting=csv.QUOTE_ALL),
    )
    intents = {"text": opinions("en", 300, 1224), "label": one_of([str(n) for n in range(77)], 300, 1225)}
    yield table("77 intents as whole numbers", 3, "en", intents, file="train.csv")


def _pairs() -> Iterator[Layout]:
    premises, claims = opinions("en", COUNT, 1231), opinions("en", COUNT, 1232)
    labels = one_of(["entailment", "neutral", "contradiction"], COUNT, 1233)
    objects = [
        {
            "annotator_labels": [label],
            "captionID": f"{n}.jpg#0",
            "gold_label": "-" if n % 50 == 7 else label,
            "pairID": f"{n}.jpg#0r1",
            "sentence1": premise,
            "sentence2": claim,
        }
        for n, (premise, claim, label) in enumerate(zip(premises, claims, labels, strict=True))
    ]
    yield lines(
        "a hyphen where annotators disagree",
        11,
        "en",
        objects,
        lambda o: None if o["gold_label"] == "-" else Text(o["sentence1"], o["sentence2"], o["gold_label"]),
        answers={"text": "sentence1,sentence2", "label": "gold_label"},
    )
    rounds = [
        {
            "uid": f"{n * 7_919_123:08x}",
            "context": premise,
            "hypothesis": claim,
            "label": label[0],
            "model_label": guess,
            "emturk": n % 2 == 0,
            "genre": "wiki",
            "reason": reason if n % 5 else "",
            "tag": "",
        }
        for n, (premise, claim, label, guess, reason) in enumerate(
            zip(premises, claims, labels, one_of(list("enc"), COUNT, 1234), opinions("en", COUNT, 1235), strict=True)
        )
    ]
    yield lines(
        "a context and a hypothesis, with a model's label",
        4,
        "en",
        rounds,
        lambda o: Text(o["context"], o["hypothesis"], o["label"]),
        answers={"text": "context,hypothesis", "label": "label"},
    )


def _nothing() -> Iterator[Layout]:
    bodies, labels = opinions("en", COUNT, 1251), one_of(["good", "bad"], COUNT, 1252)

    def dump(folder: Path) -> Written:
        holed = {"id": [str(n) for n in range(COUNT)], "body": list(bodies), "label": labels}
        holed["body"][5::13] = ["\\N"] * len(holed["body"][5::13])
        path = put_table(folder / "dump.tsv", holed, TABS)
        return Written(path=path, rows=_read(path, "\t", "body", "label", nothing={"\\N"}))

    yield Layout(name="\\N for no text", kind=11, language="en", write=dump, answers={"text": "body", "label": "label"})

    def frame(folder: Path) -> Written:
        holed = {"text": list(bodies), "label": list(labels)}
        holed["text"][4::40], holed["label"][9::30] = ["nan"] * 4, ["nan"] * 5
        path = put_table(folder / "frame.csv", holed)
        kept = [row for row in _read(path, ",", "text", "label", nothing=set()) if row.label != "nan"]
        return Written(path=path, rows=kept, or_rows=[[row for row in kept if row.text != "nan"]])

    yield Layout(name="nan of a data frame", kind=11, language="en", write=frame)


def _read(path: Path, delimiter: str, text: str, label: str, *, nothing: set[str]) -> list[Text]:
    """The rows of a table whose cells are not signs of nothing."""
    quoting: Any = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    found = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")), delimiter=delimiter, quoting=quoting)
    return [Text(row[text], None, row[label]) for row in found if not {row[text], row[label]} & nothing]


def _in_cells() -> Iterator[Layout]:
    texts, draw = opinions("en", COUNT, 1261), random.Random("cells")
    parts = ("price", "service", "quality")
    chosen = several(list(parts), COUNT, 1262)
    marks = {"comment": texts, **{part: ["Yes" if part in some else "No" for some in chosen] for part in parts}}
    columns = {"text": "comment", "label": ",".join(parts)}
    yield _several("columns of yes and no", marks, chosen, columns)
    feelings = several([str(n) for n in range(28)], COUNT, 1263, most=2)
    ids = [f"ee{n * 7_919_123:05x}" for n in range(COUNT)]
    numbers = {"text": texts, "labels": [", ".join(some) for some in feelings], "id": ids}
    unnamed = {"text": "column 1", "label": "column 2"}
    yield _several("numbers with a comma and a blank", numbers, feelings, unnamed, file="train.tsv", dialect=BARE_TABS)
    fields = several(["cs.CL", "cs.LG", "cs.AI", "stat.ML"], COUNT, 1264)
    papers = {"title": opinions("en", COUNT, 1265), "abstract": [f"{text} {text}" for text in texts]}
    papers["categories"] = [" ".join(some) for some in fields]
    asked = {"text": "abstract", "label": "categories", "shape": "multi-label"}
    yield _several("categories between blanks", papers, fields, asked, must_ask=True)
    genres = several(["Action", "Comedy", "Drama", "Horror"], COUNT, 1266)
    films = {
        "budget": [str(draw.randint(1, 250) * 10**6) for _ in texts],
        "genres": [json.dumps([{"id": len(one) * 7, "name": one} for one in some]) for some in genres],
        "homepage": [f"https://films.example/{n}" if n % 3 else "" for n in range(COUNT)],
        "overview": texts,
        "vote_average": [str(draw.randint(30, 85) / 10) for _ in texts],
    }
    named = {"text": "overview", "label": "genres.name"}
    yield _several("genres as objects in JSON in a cell", films, genres, named, kind=7)


def _several(
    name: str,
    columns: Columns,
    labels: Sequence[Sequence[str]],
    answers: dict[str, str],
    *,
    kind: int = 3,
    file: str = "data.csv",
    dialect: Dialect = COMMAS,
    must_ask: bool = False,
) -> Layout:
    """A table whose rows have several labels each."""
    text = answers["text"] if dialect.header else next(iter(columns))

    def write(folder: Path) -> Written:
        rows: list[Row] = [Text(t, None, tuple(sorted(y))) for t, y in zip(columns[text], labels, strict=True)]
        return Written(path=put_table(folder / file, columns, dialect), rows=rows)

    return Layout(name=name, kind=kind, language="en", write=write, answers=answers, must_ask=must_ask)


def _entities() -> Iterator[Layout]:
    short = [
        {
            "curid": str(3_572_156 + n),
            "text": fact.text,
            "entities": [{"name": fact.text[s:e], "span": [s, e], "type": kind} for s, e, kind in fact.spans],
        }
        for n, fact in enumerate(told("ja", 90, 1271))
    ]
    yield lines(
        "objects with a span and a type",
        2,
        "ja",
        short,
        lambda o: Marked(o["text"], tuple((*e["span"], e["type"]) for e in o["entities"])),
        file="ner.json",
    )
    tasks = [_task(n, fact, cancelled=n % 10 == 7) for n, fact in enumerate(told("en", 90, 1272))]
    yield lines("an annotation that was cancelled", 2, "en", tasks, _of_task, file="export.json")


def _task(number: int, fact: Told, *, cancelled: bool) -> dict[str, Any]:
    """A task of Label Studio with one annotation."""
    found = [{"start": s, "end": e, "text": fact.text[s:e], "labels": [kind]} for s, e, kind in fact.spans]
    result = [{"value": value, "id": f"r{number}", "from_name": "label", "type": "labels"} for value in found]
    annotation = {"id": number, "result": [] if cancelled else result, "was_cancelled": cancelled}
    return {"id": number, "annotations": [annotation], "predictions": [], "data": {"text": fact.text}}


def _of_task(task: Any) -> Row | None:
    annotation = task["annotations"][0]
    values = [one["value"] for one in annotation["result"]]
    spans = tuple((value["start"], value["end"], value["labels"][0]) for value in values)
    return None if annotation["was_cancelled"] else Marked(task["data"]["text"], spans)
