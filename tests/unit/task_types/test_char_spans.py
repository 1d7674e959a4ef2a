"""Entities as spans of characters: what is read of labelling tools' files, into tags or overlapping spans and back."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.own_data import own_task, rows_of
from transformers import AutoTokenizer

from finetune.commands.check.findings import findings_of
from finetune.data.formats.spans import in_form, span_form
from finetune.errors import UserError
from finetune.task_types import Answer, TaggingRow, TaggingTask
from finetune.task_types.plugins.overlapping import OverlapRow, OverlapTask
from finetune.task_types.tagging.task import entity_spans

ENTITIES = [("Jan Kos", "PER"), ("New York", "LOC"), ("Orbit Inc", "ORG")]
Span = tuple[int, int, str, str]  # start, end, own text, label


def text_and_spans(number: int, before: str = "") -> tuple[str, list[Span]]:
    text = f"{before}In {number + 1900} Jan Kos lives in New York and works for Orbit Inc"
    return text, [(text.index(own), text.index(own) + len(own), own, label) for own, label in ENTITIES]


def written(folder: Path, rows: Sequence[Any], *, lines: bool = True) -> str:
    path = folder / ("rows.jsonl" if lines else "rows.json")
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return str(path)


def entities(path: str, **options: str) -> list[list[tuple[str, str]]]:
    """The text and type of each entity of each row of both splits, rows with the fewest first."""
    rows = rows_of(path, options)
    spans = [entity_spans(row.gold, row) if hasattr(row, "starts") else row.gold for row in rows]
    return sorted(([(row.text[a:b], y) for a, b, y in own] for row, own in zip(rows, spans, strict=True)), key=len)


def span_findings(path: str) -> dict[str, tuple[str, int]]:
    """What is said of spans, with severity and number."""
    return {one.what: (one.severity, one.count) for one in findings_of(path, {}).findings if one.code == "span"}


FORMS: list[Callable[[int, int, str, str], Any]] = [
    lambda a, b, own, label: [a, b, label],
    lambda a, b, own, label: [a, b, own, label],
    lambda a, b, own, label: [label, a, b],
    lambda a, b, own, label: [a, b, own, label] if a % 5 else [a, b, label],  # both allow the reading as three
    lambda a, b, own, label: {"start": a, "end": b, "labels": [label]},
    lambda a, b, own, label: {"start_offset": a, "end_offset": b, "label": label},
    lambda a, b, own, label: {"start_char": a, "end_char": b, "label": label},  # f17
    lambda a, b, own, label: {"BeginOffset": a, "EndOffset": b, "Type": label, "Text": own},
    lambda a, b, own, label: [a, b, label] if a % 2 else {"start": a, "end": b, "label": label},
]


@pytest.mark.parametrize("as_text", [False, True], ids=["json", "text"])
@pytest.mark.parametrize("form", FORMS)
def test_spans_are_read_in_every_form(form: Any, as_text: bool, tmp_path: Path) -> None:
    cells = [(text, [form(*span) for span in spans]) for text, spans in map(text_and_spans, range(30))]
    rows = [{"text": text, "ents": json.dumps(cell) if as_text else cell} for text, cell in cells]
    assert entities(written(tmp_path, rows)) == [ENTITIES] * 30


@pytest.mark.parametrize(
    ("place", "cell"),
    [
        (1, [8, 15, "Jan Kos", "PER"]),
        (2, ["PER", 8, 15]),
        (4, {"start": 8, "end": 15, "text": "Jan Kos", "labels": ["PER"]}),
        (5, {"start_offset": 8, "end_offset": 15, "text": "Jan Kos", "label": "PER"}),
    ],
)
def test_predictions_are_written_in_the_form_of_the_file(place: int, cell: Any) -> None:
    text, spans = text_and_spans(0)
    form = span_form([[FORMS[place](*one) for one in spans]])
    assert form is not None and in_form([(8, 15, "PER")], form, text) == [cell]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (lambda spans: [spans], "row 1:.*'ents' holds"),
        (lambda spans: [[a + 0.5, b, y] for a, b, _, y in spans], "row 1:.*'ents' holds"),
        (lambda spans: [[a + 900, b + 900, y] for a, b, _, y in spans], "row 1:.*'ents' holds"),
        (lambda spans: [{"offset": a, "length": b - a, "label": y} for a, b, _, y in spans],
         r"'ents' has offsets by unknown names: offset, length.*start and end"),
    ],
)  # fmt: skip
def test_other_lists_and_objects_are_shown_and_never_labels(cell: Any, said: str, tmp_path: Path) -> None:
    rows = [{"text": text, "ents": cell(spans)} for text, spans in map(text_and_spans, range(30))]
    for settings in ({}, {"label": "ents"}, {"label": "ents", "shape": "multi-label"}):
        with pytest.raises(UserError, match=said):
            own_task(written(tmp_path, rows), settings)


def studio(text: str, spans: list[Any]) -> dict[str, Any]:
    """A task of Label Studio."""
    values = [{"start": a, "end": b, "text": own, "labels": [y] if isinstance(y, str) else y} for a, b, own, y in spans]
    results = [{"from_name": "label", "type": "labels", "value": value} for value in values]
    return {"data": {"text": text}, "annotations": [{"result": results}]}


def units(text: str, encoding: str) -> int:
    return len(text.encode(encoding)) // (2 if "16" in encoding else 1)


MISCOUNTED: dict[str, Callable[[str, int, int], tuple[int, int]]] = {  # f02, f06
    "UTF-16 units": lambda text, a, b: (units(text[:a], "utf-16-le"), units(text[:b], "utf-16-le")),
    "bytes": lambda text, a, b: (units(text[:a], "utf-8"), units(text[:b], "utf-8")),
    "the only place": lambda text, a, b: (a - text[:a].count("\r"), b - text[:b].count("\r")),
    "moved": lambda text, a, b: (a, b - 1),
    "moved to": lambda text, a, b: (a + 1 + a % 3, b + 1 + a % 3),
}


@pytest.mark.parametrize("what", MISCOUNTED)
def test_a_span_whose_offsets_give_another_text_is_read_where_its_own_text_is(what: str, tmp_path: Path) -> None:
    rows = []
    for number in range(30):
        text, spans = text_and_spans(number, "😀 éé Kos\r\nNew\r\n")
        rows.append(studio(text, [(*MISCOUNTED[what](text, a, b), own, y) for a, b, own, y in spans]))
    path = written(tmp_path, rows, lines=False)
    assert entities(path) == [ENTITIES] * 30
    assert [one for said, one in span_findings(path).items() if what in said] == [("note", 30)]


def test_a_span_whose_text_is_nowhere_is_left_out_and_an_end_past_the_text_is_clipped(tmp_path: Path) -> None:
    rows = []
    for number in range(40):
        text, ((a, b, own, label), other, (c, d, last, kind)) = text_and_spans(number)
        rows.append(studio(text, [(a, b, own if number else "Zoe", label), other, (c, d + 1, last, kind)]))
    path = written(tmp_path, rows, lines=False)
    assert entities(path) == [ENTITIES[1:], *[ENTITIES] * 39]
    assert span_findings(path) == {
        "spans whose own text is at no or several other places: left out": ("warning", 1),
        "spans that end past the text: clipped": ("note", 40),
    }


@pytest.mark.parametrize(
    ("spans", "kept", "said"),
    [
        ([[2, 8, "LOC"]], [("Londoner", "LOC")], ("note", "within a word")),
        ([[1, 11, "LOC"]], [("Londoner", "LOC")], ("note", "outer blanks")),
        ([[2, 99, "LOC"], [11, 14, "PER"]], [("saw", "PER")], ("warning", "outside the text")),
        ([[2, 2, "LOC"], [11, 14, "PER"]], [("saw", "PER")], ("warning", "outside the text")),
        ([[2, 6, "LOC"], [6, 10, "PER"]], [("Londoner", "LOC")], ("warning", "left out")),
        ([[2, 6, "LOC"], [6, 14, "PER"]], [("Londoner", "LOC"), ("saw", "PER")], ("warning", "shortened")),
    ],
)
def test_check_tells_what_a_run_does_to_spans(spans: Any, kept: Any, said: tuple[str, str], tmp_path: Path) -> None:
    rows = [{"text": f"a Londoner saw Jan {i}", "label": spans} for i in range(5)]
    usual = {"text": "a Londoner saw Jan", "label": [[2, 10, "LOC"], [11, 14, "PER"], [15, 18, "PER"]]}
    path = written(tmp_path, [*rows, *[usual] * 55])
    assert entities(path)[:5] == [kept] * 5
    found = [one for what, one in span_findings(path).items() if said[1] in what]
    assert found == [(said[0], 5)], span_findings(path)


def test_overlapping_spans_become_tags_and_the_tags_the_same_spans(tiny_bert: Path) -> None:
    many = [(i, i + 11, "ORG") for i in range(0, 220, 20)] + [(4, 7, "LOC"), (0, 199, "ORG")]
    inside, whole = [(0, 7, "ORG"), (0, 11, "ORG"), (5, 7, "LOC")], [(0, 11, "ORG"), (4, 7, "LOC")]
    for text, spans, fields, found in (
        (" ".join(["the cat sat red dog"] * 12), many, {}, many),  # many windows
        ("the cat sat down", inside, {"depth": 1}, whole),  # deeper layers are left out
    ):
        rows = [OverlapRow(id="1", text=text, gold=tuple(spans))]
        task = OverlapTask(name="x", read=None, types=("LOC", "ORG"), **fields).fit(rows)  # type: ignore[arg-type]
        features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 18)
        labels = [one.label.values() for one in features]
        logits = [np.concatenate([20 * np.eye(3, dtype=np.float32)[tags] for tags in one], axis=1) for one in labels]
        (answer,) = task.decode(logits, features, rows)
        assert sorted((one["start"], one["end"], one["label"]) for one in answer.value) == sorted(found)
        assert all(chance > 0.99 for chance in answer.probabilities or ())


def test_words_that_share_a_token_are_read_once_and_answered_all(tiny_bert: Path) -> None:
    task = TaggingTask(name="x", read=None, types=("PER", "LOC"), running_text=True)  # type: ignore[arg-type]
    words, starts = ("the", "c", "at", "sat", ",", "he", "ran"), (0, 4, 5, 8, 11, 13, 16)  # `cat`: one token, two words
    gold = ("O", "B-PER", "I-PER", "O", "O", "O", "B-LOC")
    row = TaggingRow(id="1", words=words, starts=starts, text="the cat sat, he ran", gold=gold)
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    (feature,) = task.encode([row], tokenizer, 32)
    read = [tokenizer.decode([feature.input_ids[place]]) for place in feature.reads or ()]
    assert read == ["the", "cat", "sat", ",", "he", "ran"]
    (answer,) = task.decode([np.eye(len(task.labels))[list(feature.label)] * 9], [feature], [row])  # type: ignore[arg-type]
    assert answer.value == list(gold)
    first = task.cells(Answer(value=answer.value), row)["entities"][0]
    assert first == {"type": "PER", "text": "cat", "start": 4, "end": 7}
