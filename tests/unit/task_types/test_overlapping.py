"""Spans that overlap or nest: from the file to pairs of words, and back to characters."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cli import InProcess, assert_error
from support.own_data import own_task
from support.toys import overlap_task
from transformers import AutoTokenizer

from finetune.commands.check.findings import findings_of
from finetune.data.source import Source
from finetune.models.feature import label_counts
from finetune.task_types import Answer
from finetune.task_types.plugins.overlapping import OverlapRow, OverlapTask

TEXT = "the embassy of Rome was shut"


def written(path: Path, spans: Sequence[Any], count: int = 40, text: str = TEXT) -> str:
    """A file of so many rows, of which every second one has these spans."""
    rows = [{"text": f"{text} {i}", "spans": spans if i % 2 else []} for i in range(count)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def task_of(types: Sequence[str] = ("LOC", "ORG"), **fields: Any) -> OverlapTask:
    return OverlapTask(name="x", read=lambda *_: None, types=tuple(types), **fields)  # type: ignore[arg-type,return-value]


def certain(task: OverlapTask, features: Sequence[Any]) -> list[np.ndarray]:
    """Logits that say exactly what the features' labels say."""
    return [
        np.concatenate([20 * np.eye(3, dtype=np.float32)[tags] for tags in feature.label.values()], axis=1)
        for feature in features
    ]


@pytest.mark.parametrize(
    ("spans", "shape"),
    [
        ([[0, 18, "ORG"], [15, 18, "LOC"]], "overlapping-spans"),
        ([[0, 11, "ORG"], [4, 18, "ORG"]], "overlapping-spans"),
        ([[15, 19, "LOC"], [15, 19, "CITY"]], "overlapping-spans"),
        ([[0, 11, "ORG"], [15, 19, "LOC"]], "tagging"),
        ([[15, 19, "LOC"], [15, 19, "LOC"]], "tagging"),
    ],
)
def test_a_file_whose_spans_overlap_is_of_this_form(tmp_path: Path, spans: Any, shape: str) -> None:
    layout = own_task(written(tmp_path / "a.jsonl", spans), {}).read.layout  # type: ignore[attr-defined]
    assert layout.shape == shape
    assert ("20 of 40 (50 %)" in layout.reasons["shape"]) == (shape == "overlapping-spans")


def test_a_few_overlaps_in_flat_data_are_left_out_with_a_remedy_that_keeps_them(tmp_path: Path) -> None:
    rows = [{"text": f"Rome saw {i}", "spans": [[0, 4, "LOC"]]} for i in range(300)]
    rows[7]["spans"] = [[0, 4, "LOC"], [0, 8, "ORG"]]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    task = own_task(str(path), {})
    assert task.read.layout.shape == "tagging"  # type: ignore[attr-defined]
    assert any("shape=overlapping-spans" in note for note in task.load(Source(), "train").notes)
    kept = own_task(str(path), {"shape": "overlapping-spans"}).load(Source(), "train").rows
    assert sum(len(row.gold) for row in kept) in (270, 271, 272)
    assert own_task(str(path), {"shape": "overlapping-spans"}).types == ("LOC", "ORG")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spans", "kept", "what"),
    [
        ([[0, 18, "ORG"], [15, 99, "LOC"]], {(0, 18, "ORG")}, "outside the text"),
        ([[0, 18, "ORG"], [9, 9, "LOC"]], {(0, 18, "ORG")}, "outside the text, empty"),
        ([[0, 18, "ORG"], [15, 12, "LOC"]], {(0, 18, "ORG")}, "outside the text"),
        ([[0, 18, "ORG"], [14, 19, "LOC"]], {(0, 18, "ORG"), (15, 19, "LOC")}, "with outer blanks"),
    ],
)
def test_spans_that_cannot_be_used_are_counted(tmp_path: Path, spans: Any, kept: Any, what: str) -> None:
    path = Path(written(tmp_path / "a.jsonl", [[0, 18, "ORG"], [15, 18, "LOC"]]))
    row = {"id": "odd", "text": TEXT, "spans": spans}
    path.write_text(path.read_text(encoding="utf-8") + "\n" + json.dumps(row), encoding="utf-8")
    task = own_task(str(path), {})
    loaded = [task.load(Source(), split) for split in ("train", "dev")]
    assert {span for split in loaded for row in split.rows if row.text == TEXT for span in row.gold} == kept
    assert any(what in note for note in loaded[0].notes)
    found = findings_of(str(path), {}).findings
    assert [one.count for one in found if one.code == "span" and what in one.what] == [1]


def test_a_column_without_spans_and_a_row_without_text_are_named(tmp_path: Path, in_process: InProcess) -> None:
    (tmp_path / "a.csv").write_text("text,mark\n" + "the cat sat,good\n" * 30)
    code, _, err = in_process(
        "check", str(tmp_path / "a.csv"), "shape=overlapping-spans", "text=text", "label=mark", data=""
    )
    assert code == 2
    assert_error(err, "mark")
    path = Path(written(tmp_path / "b.jsonl", [[0, 18, "ORG"], [15, 18, "LOC"]]))
    path.write_text(path.read_text() + '\n{"text": "", "spans": []}\n{"text": "a b", "spans": "none of them"}')
    found = {one.code: one for one in findings_of(str(path), {}).findings}
    assert found["missing-text"].count == 1
    assert "none of them" in found["unusable"].what


def test_labels_become_tags_and_the_tags_the_same_spans(tiny_bert: Path) -> None:
    task = overlap_task().fit(rows := overlap_task().load(Source(), "train").rows)
    assert task.depth == 2  # phrases overlap phrases
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 32)
    answers = task.decode(certain(task, features), features, rows)
    assert all({*row.gold} == _spans(answer) for row, answer in zip(rows, answers, strict=True))
    assert task.score(answers, rows)["f1"] == 1
    words = sum(len(row.text.split()) for row in rows)
    assert label_counts(features) == {f"{layer} {kind}": words for kind in task.types for layer in (1, 2)}


def _spans(answer: Answer) -> set[tuple[int, int, str]]:
    return {(one["start"], one["end"], one["label"]) for one in answer.value}


def test_a_text_of_many_windows_gives_each_span_once(tiny_bert: Path) -> None:
    text = " ".join(["the cat sat red dog"] * 12)
    spans = [(i, i + 11, "ORG") for i in range(0, len(text) - 19, 20)]
    spans += [(i + 4, i + 7, "LOC") for i in range(0, 200, 20)] + [(0, 199, "ORG")]
    rows = [OverlapRow(id="1", text=text, gold=tuple(spans))]
    task = task_of().fit(rows)
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 18)
    assert len(features) > 3 and task.depth == 2
    (answer,) = task.decode(certain(task, features), features, rows)
    assert _spans(answer) == {*spans} and len(answer.value) == len(spans)
    assert all(chance > 0.99 for chance in answer.probabilities)


def test_a_span_inside_a_word_is_learned_as_the_word_and_deeper_layers_are_left_out(tiny_bert: Path) -> None:
    rows = [OverlapRow(id="1", text="the cat sat down", gold=((0, 7, "ORG"), (0, 11, "ORG"), (5, 7, "LOC")))]
    task = task_of(depth=1).fit(rows)
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 18)
    (answer,) = task.decode(certain(task, features), features, rows)
    assert _spans(answer) == {(0, 11, "ORG"), (4, 7, "LOC")}
