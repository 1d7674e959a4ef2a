"""Entities as spans of characters: into tags of words and back, in every form that labelling tools write."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.own_data import own_task
from transformers import AutoTokenizer

from finetune.commands.check.findings import findings_of
from finetune.data.formats.spans import in_form, span_form
from finetune.data.records import Record
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.inference.predictor import Predictor
from finetune.models.feature import Feature
from finetune.task_types import Answer, TaggingRow, TaggingTask
from finetune.task_types.columns import Layout
from finetune.task_types.explained import Asked
from finetune.task_types.tagging.segments import segmented, spans_of, tags_for
from finetune.task_types.tagging.task import entity_spans

TEXT = "김철수는 New York에서 (don't) 산다"
SPANS = ((0, 3, "PER"), (5, 13, "LOC"))
LISTS: tuple[str, ...] = ("0", "1", "2")


def test_words_of_any_script_have_their_places() -> None:
    words, starts = segmented(TEXT)
    assert all(TEXT[start : start + len(word)] == word for word, start in zip(words, starts, strict=True))
    assert words[:6] == ("김", "철", "수", "는", "New", "York")
    assert words[8:13] == ("(", "don", "'", "t", ")")


@pytest.mark.parametrize(
    ("cell", "form"),
    [
        ([[0, 3, "PER"], [5, 13, "LOC"]], LISTS),
        ("[[0, 3, 'PER'], [5, 13, 'LOC']]", LISTS),
        ([[0, 3, "김철수", "PER"], [5, 13, "New York", "LOC"]], ("0", "1", "3")),
        ([["PER", 0, 3], ["LOC", 5, 13]], ("1", "2", "0")),
        (
            [
                {"start_offset": 0, "end_offset": 3, "label": "PER"},
                {"start_offset": 5, "end_offset": 13, "label": "LOC"},
            ],
            ("start_offset", "end_offset", "label"),
        ),
        (
            [{"start": 0, "end": 3, "labels": ["PER"]}, {"start": 5, "end": 13, "labels": ["LOC"]}],
            ("start", "end", "labels"),
        ),
    ],
)
def test_every_form_of_spans_is_read_and_written_again(cell: Any, form: tuple[str, ...]) -> None:
    assert span_form([cell]) == form
    found = spans_of(cell, form, TEXT)
    assert (found.spans, found.changes.total()) == (SPANS, 0)
    words, starts = segmented(TEXT)
    tags, changes = tags_for(words, starts, found.spans)
    assert not changes
    assert tags[:6] == ("B-PER", "I-PER", "I-PER", "O", "B-LOC", "I-LOC")
    assert entity_spans(tags, TaggingRow(id="", words=words, text=TEXT, starts=starts)) == list(SPANS)
    assert spans_of(in_form(SPANS, form, TEXT), form, TEXT).spans == SPANS


@pytest.mark.parametrize(
    ("spans", "kept", "change"),
    [
        ([[4, 14, "LOC"]], [(5, 14, "LOC")], "with outer blanks"),
        ([[0, 3, "PER"], [0, 2, "ORG"]], [(0, 3, "PER")], "that overlap a longer one"),
        ([[0, 99, "PER"], [5, 13, "LOC"]], [(5, 13, "LOC")], "outside the text"),
        ([[3, 3, "PER"]], [], "outside the text"),
    ],
)
def test_what_is_done_to_spans_is_counted(spans: Any, kept: Any, change: str) -> None:
    found = spans_of(spans, LISTS, TEXT)
    assert list(found.spans) == kept
    assert [what.startswith(change) for what in found.changes] == [True]


def test_a_span_within_a_word_is_widened_to_it_and_both_run_and_check_say_so(tmp_path: Path) -> None:
    rows = [{"text": f"a Londoner saw {i} rivers", "label": [[2, 8, "LOC"]]} for i in range(30)]
    rows += [{"text": f"nobody saw {i} rivers", "label": []} for i in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    loaded = own_task(str(tmp_path / "rows.jsonl"), {}).load(Source(), "train")
    assert {row.gold for row in loaded.rows if row.words[1] == "Londoner"} == {("O", "B-LOC", "O", "O", "O")}
    assert any("within a word" in note and "27 more" in note for note in loaded.notes)
    found = [finding for finding in findings_of(str(tmp_path / "rows.jsonl"), {}).findings if finding.code == "span"]
    assert [(finding.severity, finding.count) for finding in found] == [("note", 30)]


@pytest.mark.parametrize(
    ("label", "tags", "change"),
    [
        ([[0, 6, "LOC"], [6, 12, "LOC"]], ("B-LOC", "O", "O"), "in a word of another entity: left out"),
        ([[0, 6, "LOC"], [6, 16, "PER"]], ("B-LOC", "B-PER", "O"), "that begin in a word of another entity: shortened"),
    ],
)
def test_a_second_entity_in_a_word_is_counted_by_run_and_by_check(
    tmp_path: Path, label: Any, tags: tuple[str, ...], change: str
) -> None:
    rows = [{"text": f"BerlinLondon saw {i}", "label": label} for i in range(30)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    loaded = own_task(str(tmp_path / "rows.jsonl"), {}).load(Source(), "train")
    assert {row.gold for row in loaded.rows} == {tags}
    assert any(f"spans {change}" in note and "27 more" in note for note in loaded.notes)
    found = [one for one in findings_of(str(tmp_path / "rows.jsonl"), {}).findings if f"spans {change}" in one.what]
    assert [(finding.severity, finding.count) for finding in found] == [("warning", 30)]


TASK = TaggingTask(name="x", read=lambda *_: None, types=("PER", "LOC"), running_text=True)  # type: ignore[arg-type,return-value]


KOREAN = TASK.row("정하늘은 서울에서 산다.")
TAGS = ["B-PER", "I-PER", "I-PER", "O", "B-LOC", "I-LOC", *["O"] * 5]


@pytest.mark.parametrize(
    ("word", "label", "explained"),
    [
        ("서울", None, "B-LOC I-LOC: 서울"), ("서울에서", None, "B-LOC I-LOC O O: 서울에서"), ("하", None, "I-PER: 하"),
        ("서울", "B-PER", "B-PER I-PER: 서울"),
    ],
)  # fmt: skip
def test_a_word_is_explained_by_the_tags_of_its_characters(word: str, label: str | None, explained: str) -> None:
    places = np.array([(0, number) for number in range(len(KOREAN.words))])
    feature = Feature(row=0, input_ids=[], token_type_ids=None, label=None, reads=[], note=places)
    answer = Answer(value=TAGS, probabilities=[0.9] * len(TAGS))
    (target,) = TASK.explain_target(KOREAN, answer, [feature], Asked(word=word, label=label)).targets
    assert (target.label, len(target.picks)) == (explained, len(word))
    found = TASK.explain_target(KOREAN, answer, [feature], Asked())
    assert found.prediction == "정하늘 (PER), 서울 (LOC)"
    assert [one.label for one in found.targets] == ["PER: 정하늘", "LOC: 서울"]
    with pytest.raises(UserError, match=r"'부산' is not in the text.*서울에서"):
        TASK.explain_target(KOREAN, answer, [feature], Asked(word="부산"))


def test_words_that_share_a_token_are_read_once_and_answered_all(tiny_bert: Path) -> None:
    """`catdog` is made of letters here: each of them is a token, but of the words only the first ones are read."""
    text = "the cat sat, he ran"
    words = ("the", "c", "at", "sat", ",", "he", "ran")  # `cat` is one token and two words
    starts = (0, 4, 5, 8, 11, 13, 16)
    row = TaggingRow(
        id="1", words=words, starts=starts, text=text, gold=("O", "B-PER", "I-PER", "O", "O", "O", "B-LOC")
    )
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    (feature,) = TASK.encode([row], tokenizer, 32)
    read = [tokenizer.decode([feature.input_ids[place]]) for place in feature.reads or ()]
    assert read == ["the", "cat", "sat", ",", "he", "ran"]
    assert [TASK.labels[label] for label in feature.label] == ["O", "B-PER", "O", "O", "O", "B-LOC"]  # type: ignore[union-attr]
    logits = np.eye(len(TASK.labels))[list(feature.label)] * 9  # type: ignore[arg-type]
    (answer,) = TASK.decode([logits], [feature], [row])
    assert answer.value == list(row.gold or ())
    assert len(answer.probabilities or ()) == len(words)
    found = TASK.cells(answer, row)["entities"][0]
    assert found.pop("probability") == pytest.approx(min((answer.probabilities or ())[1:3]), abs=1e-6)
    assert found == {"type": "PER", "text": "cat", "start": 4, "end": 7}


class Model(Predictor):
    """Answers that the first three characters are a person."""

    def encoded(self, rows: Any) -> Any:
        return rows

    def answers_and_truncated(self, rows: Any, features: Any = None) -> Any:
        tags = [["B-PER", "I-PER", "I-PER", *["O"] * (len(row.words) - 3)] for row in rows]
        chances = [[1.0, 0.8, *[0.9] * (len(t) - 2)] for t in tags]
        return [Answer(value=t, probabilities=p) for t, p in zip(tags, chances, strict=True)], [False] * len(rows)


def cells_of(layout: Layout, record: Record) -> dict[str, Any]:
    engine: Any = SimpleNamespace(overlaps=False)
    model = Model(task=TASK, engine=engine, tokenizer=None, max_length=16, fingerprint="")
    ((one,),) = model.predicted([(record, layout)])
    return model.cells(one)


def test_predictions_are_spans_in_the_form_of_the_training_file() -> None:
    layout = Layout(shape="tagging", text=("text",), label=("entities",), spans=("start_offset", "end_offset", "label"))
    record = Record(row=1, line=1, values={"text": TEXT})
    assert cells_of(layout, record) == {
        "prediction": [{"start_offset": 0, "end_offset": 3, "text": "김철수", "label": "PER"}],
        "entities": [{"type": "PER", "text": "김철수", "start": 0, "end": 3, "probability": 0.8}],
    }
