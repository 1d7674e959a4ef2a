"""What the columns of a file are taken for, by their names, types and cells; what is asked; and what is refused."""

import csv
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.own_data import offered, own_task, rows_of

from finetune.data.source import Source
from finetune.errors import UserError

COUNT = 60
DRAW = random.Random(26)
WORDS = ["river", "market", "garden", "window", "letter", "winter", "valley", "bridge", "doctor", "island", "summer"]
TEXTS = [" ".join(DRAW.choices(WORDS, k=9)) + "." for _ in range(COUNT)]
OTHERS = [" ".join(DRAW.choices([word[::-1] for word in WORDS], k=9)) + "?" for _ in range(COUNT)]
FOLLOWING = [" ".join(text.split()[:5]) + " by the sea" for text in TEXTS]
DATES = [f"{DRAW.randint(1, 28)}. {DRAW.choice(['März', 'Mai'])} {DRAW.randint(2015, 2024)}" for _ in range(COUNT)]
CLASSES = [DRAW.choice(["good", "bad", "mixed"]) for _ in range(COUNT)]
ONE, OTHER, THIRD = FLAGS = [[str(DRAW.randint(0, 1)) for _ in range(COUNT)] for _ in range(3)]
STARS = [str(DRAW.randint(1, 5)) for _ in range(COUNT)]


def again(*values: Any) -> list[Any]:
    return [values[number % len(values)] for number in range(COUNT)]


def written(path: Path, *columns: Sequence[Any], header: str = "") -> str:
    """A file of columns at tabs, without a header where none is given."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [*([header.split(",")] if header else []), *zip(*columns, strict=True)]
        csv.writer(file, delimiter="\t").writerows(rows)
    return str(path)


def layout(data: str | Path, **settings: str) -> Any:
    return own_task(data, settings).read.layout  # type: ignore[attr-defined]


SHARES = [f"{DRAW.random():.3f}" for _ in range(COUNT)]
MOODS = ["good" if star > "3" else "bad" for star in STARS]


@pytest.mark.parametrize(
    ("columns", "header", "shape", "texts", "label"),
    [
        ((TEXTS, again("경상", "전라"), SHARES), "발화,방언,화자", "classification", "발화", "방언"),
        ((TEXTS, OTHERS, SHARES), "sentence1,sentence2,score", "regression", "sentence1,sentence2", "score"),
        ((TEXTS, again("yes", "no"), again("yes", "yes", "no")), "a,rude,sad", "multi-label", "a", "rude,sad"),
        ((TEXTS, ONE, OTHER), "text,is_test,spam", "classification", "text", "spam"),
        ((TEXTS, again(1, 2), again(1, 1, 2)), "text,mood,place", "classification", "text", "mood"),
        ((CLASSES, TEXTS, FOLLOWING), "", "classification", "column 2,column 3", "column 1"),  # which share words
        ((TEXTS, STARS, MOODS), "text,rating,sentiment", "classification", "text", "sentiment"),
        # A value is the name of its column.
        ((TEXTS, again("ham", "spam")), "sentences,spam", "classification", "sentences", "spam"),
        (([f"{place} at 6:30" for place in TEXTS], ONE), "text,label", "classification", "text", "label"),  # f13
        ((TEXTS, again("008.45", "250.00", "401.9")), "note,code", "classification", "note", "code"),  # f07
    ],
)
def test_columns_are_read_as_a_careful_person_reads_them(
    columns: tuple[Sequence[Any], ...], header: str, shape: str, texts: str, label: str, tmp_path: Path
) -> None:
    data = written(tmp_path / "train.tsv", *columns, header=header)
    found = layout(data)
    assert (found.shape, ",".join(found.text), ",".join(found.label)) == (shape, texts, label)
    rows = rows_of(data)
    names = header.split(",") if header else [f"column {n}" for n in range(1, len(columns) + 1)]
    cells = dict(zip(names, columns, strict=True))
    assert [row.texts for row in rows] == list(zip(*(map(str, cells[name]) for name in texts.split(",")), strict=True))
    if shape == "classification":
        assert [row.gold for row in rows] == [str(cell) for cell in cells[label]]


@pytest.mark.parametrize(
    ("columns", "header", "settings"),
    [
        ((CLASSES, TEXTS, OTHERS), "", ["text=column 2", "text=column 3", "text=column 2,column 3"]),
        ((TEXTS, OTHERS, CLASSES), "q1,q2,mood", ["text=q1"]),
        ((TEXTS, STARS, CLASSES), "text,rating,sentiment", ["label=sentiment", "label=rating"]),
        ((ONE, TEXTS, OTHER, DATES, THIRD), "new,text,open,when,urgent",
         ["label=new,open,urgent", "label=new", "label=open", "label=urgent"]),
        ((TEXTS, *FLAGS), "text,hasImage,toxic,obscene",
         ["label=hasImage,toxic,obscene", "label=toxic,obscene", "label=hasImage", "label=toxic", "label=obscene"]),
        ((TEXTS, again("1.0", "1.1", "1.2")), "note,release", ["shape=classification", "shape=regression"]),  # f07
    ],
)  # fmt: skip
def test_two_meanings_are_asked(
    columns: tuple[list[str], ...], header: str, settings: list[str], tmp_path: Path
) -> None:
    data = written(tmp_path / "train.tsv", *columns, header=header)
    found = offered(data)
    assert [one for one in settings if one not in found] == [] and len({*found}) == len(found)
    assert settings[0] == found[0] or settings[0].startswith("text=")
    assert rows_of(data, dict([settings[0].split("=")]))


def test_columns_are_named_by_the_user(tmp_path: Path) -> None:
    path = written(tmp_path / "train.tsv", TEXTS, ONE, OTHERS, STARS, header="text,label,other,stars")
    found = layout(path, text="other", label="stars", group="label")
    assert (found.shape, found.text, found.label, found.group) == ("classification", ("other",), ("stars",), "label")
    assert layout(path, label="stars", shape="regression").shape == "regression"
    for given, said in (
        ({"text": "txt"}, "'txt'.*Did you mean 'text'"),
        ({"shape": "pairs"}, "shape is 'pairs'"),
        ({"text": "text+body"}, "has no column 'body'"),
        ({"text": "text+other", "shape": "tagging", "label": "label"}, "this data has shape=tagging"),
        ({"label": "label,stars", "shape": "regression"}, "reads one label, and the columns label, stars are several"),
    ):
        with pytest.raises(UserError, match=said):
            layout(path, **given)


def test_an_empty_half_of_a_pair_is_an_empty_text_and_joined_columns_are_one(tmp_path: Path) -> None:
    subjects = ["" if number % 6 == 0 else f"About {number}" for number in range(COUNT)]
    texts = ["" if number in (0, 1) else text for number, text in enumerate(TEXTS)]
    data = written(tmp_path / "data.tsv", subjects, texts, CLASSES, header="Subject,Description,queue")
    rows = rows_of(data, {"text": "Subject,Description"})
    assert [(row.text, row.pair) for row in rows[:2]] == [("About 1", ""), ("About 2", TEXTS[2])]
    assert len(rows) == COUNT - 1  # one has neither
    notes = " ".join(own_task(data, {"text": "Subject,Description"}).load(Source(), "train").notes)
    assert "'Subject' that are empty: read so (rows 7, 13, 19 and 6 more" in notes
    joined = rows_of(data, {"text": "Subject+Description"})
    assert [(row.text, row.pair) for row in joined[:2]] == [("About 1", None), (f"About 2 {TEXTS[2]}", None)]
