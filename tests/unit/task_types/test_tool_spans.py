"""Exports of labelling tools: the spans, labels and rows that a loaded task holds, and what `check` says of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.own_data import own_task

from finetune.commands.check.findings import findings_of
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.tagging.task import entity_spans

WORDS = "Jan Kos lives in New York and works for Orbit Inc"
ENTITIES = [("Jan Kos", "PER"), ("New York", "LOC"), ("Orbit Inc", "ORG")]


def text_and_spans(number: int, before: str = "") -> tuple[str, list[tuple[int, int, str, str]]]:
    """A text, and its entities as (start, end, own text, label)."""
    text = f"{before}In {number + 1900} {WORDS}"
    return text, [(text.index(own), text.index(own) + len(own), own, label) for own, label in ENTITIES]


def written(tmp_path: Path, rows: list[Any], *, lines: bool = False) -> str:
    path = tmp_path / ("rows.jsonl" if lines else "rows.json")
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return str(path)


def studio(number: int, text: str, spans: list[tuple[int, int, str, Any]]) -> dict[str, Any]:
    """A task of Label Studio."""
    results = [
        {
            "from_name": "label",
            "type": "labels",
            "value": {"start": a, "end": b, "text": own, "labels": label if isinstance(label, list) else [label]},
        }
        for a, b, own, label in spans
    ]
    return {"id": number, "data": {"text": text}, "annotations": [{"result": results}]}


def loaded(path: str, **options: str) -> Any:
    return own_task(path, options).load(Source(), "train")


def all_rows(path: str, **options: str) -> list[Any]:
    task = own_task(path, options)
    return [row for split in ("train", "dev") for row in task.load(Source(), split).rows]


def entities(path: str, **options: str) -> list[list[tuple[str, str]]]:
    """The text and type of each entity of each row of both splits, those with the fewest first."""
    rows = all_rows(path, **options)
    spans = [entity_spans(r.gold, r) if hasattr(r, "starts") else r.gold for r in rows]
    return sorted(([(r.text[a:b], y) for a, b, y in own] for r, own in zip(rows, spans, strict=True)), key=len)


def units(text: str, encoding: str, width: int) -> int:
    return len(text.encode(encoding)) // width


MISCOUNTED = {
    "UTF-16 units": lambda text, a, b: (units(text[:a], "utf-16-le", 2), units(text[:b], "utf-16-le", 2)),
    "bytes": lambda text, a, b: (units(text[:a], "utf-8", 1), units(text[:b], "utf-8", 1)),
    "the only place": lambda text, a, b: (a - text[:a].count("\r"), b - text[:b].count("\r")),
    "moved": lambda text, a, b: (a, b - 1),
    "moved to": lambda text, a, b: (a + 1 + a % 3, b + 1 + a % 3),
}


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("what", MISCOUNTED)
def test_a_span_whose_offsets_give_another_text_is_read_where_its_own_text_is(
    tmp_path: Path, what: str, lines: bool
) -> None:
    rows = []
    for number in range(30):
        text, spans = text_and_spans(number, "😀 éé Kos\r\nNew\r\n")
        rows.append(studio(number, text, [(*MISCOUNTED[what](text, a, b), own, y) for a, b, own, y in spans]))
    path = written(tmp_path, rows, lines=lines)
    assert entities(path) == [ENTITIES] * 30
    assert [note for note in loaded(path).notes if what in note and "27 more" in note]
    (finding,) = [one for one in findings_of(path, {}).findings if one.code == "span" and what in one.what]
    assert finding.count == 30


def test_a_span_whose_text_is_nowhere_is_left_out_and_an_end_past_the_text_is_clipped(tmp_path: Path) -> None:
    rows = []
    for number in range(40):
        text, spans = text_and_spans(number)
        (a, b, own, label), *others = spans
        last = (others[-1][0], others[-1][1] + 1, *others[-1][2:])
        rows.append(studio(number, text, [(a, b, own if number else "Zoe", label), others[0], last]))
    path = written(tmp_path, rows)
    assert entities(path) == [ENTITIES[1:], *[ENTITIES] * 39]
    found = {one.what: (one.severity, one.count) for one in findings_of(path, {}).findings if one.code == "span"}
    assert found == {
        "spans whose own text is at no or several other places: left out": ("warning", 1),
        "spans that end past the text: clipped": ("note", 40),
    }


def test_a_text_that_a_tool_normalised_moves_nothing(tmp_path: Path) -> None:
    rows = []
    for number in range(30):
        text, spans = text_and_spans(number)
        found = [{"start": a, "end": b, "value": own.upper() + "!", "entity": label} for a, b, own, label in spans]
        rows.append({"text": text, "entities": found})
    assert entities(written(tmp_path, rows)) == [ENTITIES] * 30


def test_two_labels_of_a_place_are_two_spans_and_the_first_where_a_word_has_one_tag(tmp_path: Path) -> None:
    both = [("Orbit Inc", "Unit"), ("Orbit Inc", "Title")]
    rows = []
    for number in range(30):
        text, spans = text_and_spans(number)
        rows.append(studio(number, text, [*spans[:2], (*spans[2][:3], ["Unit", "Title"])]))
    path = written(tmp_path, rows)
    assert [sorted(row) for row in entities(path)] == [sorted([*ENTITIES[:2], *both])] * 30
    assert entities(path, shape="tagging") == [[*ENTITIES[:2], both[0]]] * 30
    assert any("another label too: left out" in note for note in loaded(path, shape="tagging").notes)


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(
    "form",
    [
        lambda a, b, own, label: {"start_char": a, "end_char": b, "label": label},
        lambda a, b, own, label: [a, b, own, label],
        lambda a, b, own, label: [label, a, b],
        lambda a, b, own, label: {"BeginOffset": a, "EndOffset": b, "Type": label, "Text": own},
        lambda a, b, own, label: {"start_position": a, "end_position": b, "entity_type": label, "entity_value": own},
    ],
)
def test_names_and_lists_of_further_tools_are_spans(tmp_path: Path, form: Any, lines: bool) -> None:
    both = [text_and_spans(number) for number in range(30)]
    rows = [{"text": text, "ents": [form(*span) for span in spans]} for text, spans in both]
    assert entities(written(tmp_path, rows, lines=lines)) == [ENTITIES] * 30


def test_offsets_by_unknown_names_are_refused_by_these_names(tmp_path: Path) -> None:
    both = [text_and_spans(number) for number in range(30)]
    spans = [[{"offset": a, "length": b - a, "label": y} for a, b, _, y in found] for _, found in both]
    rows = [{"text": text, "ents": cell} for (text, _), cell in zip(both, spans, strict=True)]
    with pytest.raises(UserError, match=r"'ents' has offsets by unknown names: offset, length.*start and end"):
        loaded(written(tmp_path, rows))


def test_pairs_of_ner_annotator_are_rows_and_null_is_a_skipped_one(tmp_path: Path) -> None:
    both = [text_and_spans(number) for number in range(30)]
    pairs = [[text, {"entities": [[a, b, y] for a, b, _, y in spans]}] for text, spans in both]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"classes": ["PER", "LOC", "ORG"], "annotations": [None, *pairs, None]}))
    assert entities(str(path)) == [ENTITIES] * 30
    (finding,) = [one for one in findings_of(str(path), {}).findings if one.code == "rejected"]
    assert (finding.severity, finding.count, list(finding.rows)) == ("note", 2, [1, 32])
    assert entities(written(tmp_path, [None, *pairs], lines=True)) == [ENTITIES] * 30


def test_an_object_without_rows_is_refused_with_a_file_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    rows = [{"text": f"a film {number}", "label": "good"} for number in range(5)]
    path.write_text(json.dumps({"classes": ["good", "bad"], "old": rows, "new": rows}))
    with pytest.raises(UserError, match=r"holds the lists old, new.*/a/old\.json"):
        own_task(str(path), {})


def test_guesses_of_a_model_next_to_answers_of_people_are_refused(tmp_path: Path) -> None:
    guess = [{"label": "bad", "score": 0.9}]
    rows = [{"text": f"film {n}", "prediction": guess, "annotation": "good", "status": "Default"} for n in range(60)]
    with pytest.raises(UserError, match="export of Argilla"):
        own_task(written(tmp_path, rows, lines=True), {})
    cells = {"suggestions": {"entities": {"value": []}}, "responses": {"entities": [{"value": []}]}}
    with pytest.raises(UserError, match="export of Argilla"):
        own_task(written(tmp_path, [{"fields": {"text": f"film {n}"}, **cells} for n in range(60)], lines=True), {})
