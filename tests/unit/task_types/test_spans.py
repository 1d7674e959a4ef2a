"""Spans of texts in a user's columns, or marked there: found, given or asked, and rows whose spans do not fit."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.relations import klue_rows

from finetune.data.reading import table_of
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.candidates import Ambiguous
from finetune.task_types.classification.marked import SUBJECT_OBJECT, without_markers
from finetune.task_types.columns import Layout, NoRow
from finetune.task_types.guess import guess
from finetune.task_types.own_data import own_task
from finetune.task_types.types import columns_of, layout_from, layout_of, rows_of, trained_task

TEXTS = ["Ann met Bo in Rome", "Bo saw Cleo in Paris", "Cleo wrote to Ann Lee"]
SPANS = [([0, 3], [8, 10]), ([0, 2], [7, 11]), ([0, 4], [14, 21])]


def file_of(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def data(folder: Path, *columns: tuple[str, Sequence[Any]], times: int = 8) -> Path:
    """Rows of the texts with these columns, and a label."""
    rows = []
    for number in range(times * len(TEXTS)):
        place = number % len(TEXTS)
        row = {"sentence": TEXTS[place]} | {name: cells[place] for name, cells in columns}
        rows.append(row | {"label": ("knows", "saw")[number % 2]})
    return file_of(folder, rows)


def read(path: Path, **given: str) -> tuple[Layout, list[Any]]:
    table = table_of(path, "")
    layout = guess(table, given)
    return layout, [row for _, row in rows_of(layout, table)]


def texts(rows: Sequence[Any]) -> list[str]:
    return [str(row) if isinstance(row, NoRow) else row.text for row in rows]


MARKED = [
    "<subj>Ann</subj> met <obj>Bo</obj> in Rome",
    "<subj>Bo</subj> saw <obj>Cleo</obj> in Paris",
    "<subj>Cleo</subj> wrote to <obj>Ann Lee</obj>",
]


def objects(which: int, *, last: int = 0, **more: str) -> list[dict[str, Any]]:
    return [
        {"word": text[pair[which][0] : pair[which][1]], "start_idx": pair[which][0], "end_idx": pair[which][1] - last}
        | more
        for text, pair in zip(TEXTS, SPANS, strict=True)
    ]


@pytest.mark.parametrize("last", [0, 1], ids=["exclusive", "inclusive"])
def test_objects_with_offsets_are_found_and_their_words_say_where_they_end(last: int, tmp_path: Path) -> None:
    path = data(tmp_path, ("subject_entity", objects(0, last=last)), ("object_entity", objects(1, last=last)))
    layout, rows = read(path)
    assert (layout.text, layout.label) == (("sentence",), ("label",))
    assert layout.marked == ("subject_entity", "object_entity")
    assert layout.span_ends == ("exclusive", "inclusive")[last]
    assert texts(rows[:3]) == MARKED
    assert layout.options()["spans"] == "subject_entity,object_entity"
    again, rows = read(path, **{name: str(value) for name, value in layout.options().items()})
    assert (again.marked, again.span_ends, texts(rows[:3])) == (layout.marked, layout.span_ends, MARKED)


def test_a_type_is_in_the_marker(tmp_path: Path) -> None:
    path = data(tmp_path, ("e1", objects(0, type="PER")), ("e2", objects(1)))
    assert texts(read(path)[1])[0] == "<subj:PER>Ann</subj:PER> met <obj>Bo</obj> in Rome"


def test_klues_own_rows_and_the_texts_of_objects_that_csv_files_have(tmp_path: Path) -> None:
    rows = klue_rows(24)
    path = file_of(tmp_path, rows)
    layout, found = read(path)
    assert (layout.text, layout.label, layout.id) == (("sentence",), ("label",), "guid")
    assert found[2].text == "2번째로 <obj:LOC>서울</obj:LOC>에서 <subj:PER>손흥민</subj:PER>은 노래했다."
    written = [row | {name: str(row[name]) for name in ("subject_entity", "object_entity")} for row in rows]
    assert texts(read(file_of(tmp_path, written))[1]) == texts(found)


def test_an_end_that_offsets_leave_open_is_asked_about(tmp_path: Path) -> None:
    path = data(tmp_path, ("e1", [one for one, _ in SPANS]), ("e2", [[8, 10], [7, 11], [14, 17]]))
    with pytest.raises(Ambiguous, match="can end in two places") as question:
        read(path)
    assert [setting for setting, _ in question.value.choices] == ["span_ends=exclusive", "span_ends=inclusive"]
    assert "'Ann'" in question.value.choices[0][1]
    assert texts(read(path, span_ends="exclusive")[1])[1] == MARKED[1]
    ends_with_text = data(tmp_path, ("e1", [one for one, _ in SPANS]), ("e2", [two for _, two in SPANS]))
    assert read(ends_with_text)[0].span_ends == "exclusive"  # a last character would be behind the text


def test_names_are_asked_about_and_marked_where_they_are_once_in_the_text(tmp_path: Path) -> None:
    path = data(tmp_path, ("head", ["Ann", "Bo", "Cleo"]), ("tail", ["Bo", "Cleo", "Ann Lee"]))
    with pytest.raises(Ambiguous, match="'head' and 'tail' name two places") as question:
        read(path)
    assert [setting for setting, _ in question.value.choices] == ["spans=head,tail", "spans=none"]
    assert texts(read(path, spans="head,tail")[1][:3]) == MARKED
    layout, rows = read(path, spans="none", text="sentence")
    assert (layout.markers, rows[0].text) == ((), TEXTS[0])


@pytest.mark.parametrize("style", ["<e1>,<e2>", "[E1],[E2]", "<subj>,<obj>"])
def test_markers_in_every_text_are_found(style: str, tmp_path: Path) -> None:
    one, two = style.split(",")
    marked = [
        text.replace("<subj>", one).replace("</subj>", f"{one[0]}/{one[1:]}")
        .replace("<obj>", two).replace("</obj>", f"{two[0]}/{two[1:]}")
        for text in MARKED
    ]  # fmt: skip
    rows = [{"text": marked[i % 3], "label": "ab"[i % 2]} for i in range(24)]
    layout, found = read(file_of(tmp_path, rows))
    assert (layout.markers, layout.marked, layout.reasons["spans"]) == ((one, two), (), "markers in its texts")
    assert texts(found[:3]) == marked
    rows[5]["text"] = TEXTS[2]
    assert f"has no {one}" in texts(read(file_of(tmp_path, rows))[1])[5]


def test_tags_of_a_page_are_no_markers(tmp_path: Path) -> None:
    rows = [
        {"text": f"<b>{text}</b> said <i>nothing {i}</i>", "label": "ab"[i % 2]} for i, text in enumerate(TEXTS * 8)
    ]
    assert read(file_of(tmp_path, rows))[0].markers == ()


@pytest.mark.parametrize(
    ("span", "why"),
    [
        ({"word": "Ann", "start_idx": 0, "end_idx": 99}, "has a span from 0 to 99, and the text has 18 characters"),
        ({"word": "Bob", "start_idx": 0, "end_idx": 3}, "has 'Ann' at 0 to 3, and the word is 'Bob'"),
        ({"word": "Bo", "start_idx": 8, "end_idx": 10}, "has the same span twice"),
        ({"word": "met Bo"[:5], "start_idx": 4, "end_idx": 9}, "has two spans that cross"),
        ({"word": "Zoe"}, "has the name 'Zoe', which is not in the text"),
        ({"word": "n"}, "has the name 'n', which is 3 times in the text"),
        ({"start_idx": 3, "end_idx": 4}, "has only blanks in the span from 3 to 4"),
        ({"word": "Ann", "start_idx": 0, "end_idx": 3, "type": "a b"}, "has a span of the type 'a b'"),
        ([0], "has [0] in the column 'e1'; expected a span"),
        (None, "has None in the column 'e1'; expected a span"),
    ],
)
def test_a_row_whose_spans_do_not_fit_its_text_says_why(span: Any, why: str, tmp_path: Path) -> None:
    path = data(tmp_path, ("e1", objects(0)), ("e2", objects(1)))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[3]["e1"] = span
    _, found = read(file_of(tmp_path, rows))
    assert isinstance(found[3], NoRow)
    assert why in str(found[3])
    assert sum(isinstance(row, NoRow) for row in found) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spans": "e1"}, "Name two columns, or two markers"),
        ({"spans": "e1,e3"}, r"has no column 'e3' \(spans=e1,e3\)"),
        ({"span_ends": "open"}, "span_ends is 'open'"),
        ({"spans": "e1,e2", "shape": "multi-label"}, "shape=multi-label has none"),
    ],
)
def test_settings_that_name_no_spans_are_refused(given: dict[str, str], message: str, tmp_path: Path) -> None:
    path = data(tmp_path, ("e1", objects(0)), ("e2", objects(1)))
    with pytest.raises(UserError, match=message):
        read(path, **given)


def test_what_a_model_keeps_of_columns_is_unchanged_without_spans(tmp_path: Path) -> None:
    rows = [{"text": f"{text} {i}", "label": "ab"[i % 2]} for i, text in enumerate(TEXTS * 8)]

    def kept(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
        layout = read(path)[0]

        class Reader:
            pass

        reader = Reader()
        reader.layout = layout  # type: ignore[attr-defined]
        task = trained_task(layout, name="mine", read=reader)
        saved = layout_of(task)
        assert saved is not None
        assert layout_from(json.loads(json.dumps(saved))).markers == layout.markers
        return saved, columns_of(task)

    saved, decisive = kept(file_of(tmp_path, rows))
    assert not {"marked", "markers", "span_ends"} & {*saved, *decisive}
    saved, decisive = kept(data(tmp_path, ("e1", objects(0)), ("e2", objects(1))))
    assert (saved["marked"], decisive["markers"]) == (("e1", "e2"), ("<subj>", "<obj>"))


def test_a_text_is_on_one_side_of_dev_whatever_is_marked_in_it(tmp_path: Path) -> None:
    rows = []
    for number in range(120):
        names = [f"Ann{number}", f"Bo{number}", f"Cleo{number}"]
        text = " met ".join(names)
        for one, two, label in ((0, 1, "a"), (1, 2, "b"), (2, 0, "a")):
            spans = [{"word": names[place], "start": text.index(names[place])} for place in (one, two)]
            ends = [span | {"end": int(str(span["start"])) + len(str(span["word"]))} for span in spans]
            rows.append({"text": text, "e1": ends[0], "e2": ends[1], "label": label})
    task = own_task(str(file_of(tmp_path, rows)), {})
    sides = [
        {without_markers(row.text, SUBJECT_OBJECT) for row in task.load(Source(), split).rows}
        for split in ("train", "dev")
    ]
    assert len(sides[1]) > 5
    assert not sides[0] & sides[1]
