"""Spans that overlap or nest: from the file to pairs of words, and back to characters."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.cli import InProcess, assert_error
from support.own_data import own_task
from support.toys import overlap_task
from transformers import AutoTokenizer

from finetune.commands.check.api import findings_of
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.backbone import Backbone
from finetune.models.batch import collate
from finetune.models.feature import label_counts
from finetune.models.model_folder import load_encoder
from finetune.task_types import Answer
from finetune.task_types.plugins.overlapping import (
    OverlapRow,
    OverlapTask,
    SpansAnswer,
    as_values,
    words_with_tokens,
)
from finetune.task_types.plugins.overlapping_pairs import KEYS, pair_logits

NESTED = ((0, 18, "ORG"), (14, 18, "LOC"), (14, 18, "CITY"))
TEXT = "the embassy of Rome was shut"


def written(path: Path, spans: Sequence[Any], count: int = 40, text: str = TEXT) -> str:
    """A file of so many rows, of which every second one has these spans."""
    rows = [{"text": f"{text} {i}", "spans": spans if i % 2 else []} for i in range(count)]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def task_of(types: Sequence[str] = ("LOC", "ORG"), **fields: Any) -> OverlapTask:
    return OverlapTask(name="x", read=lambda *_: None, types=tuple(types), **fields)  # type: ignore[arg-type,return-value]


def certain(task: OverlapTask, features: Sequence[Any]) -> list[np.ndarray]:
    """Logits that say exactly what the features' labels say, if a pair's end decides: made from their codes."""
    found = []
    for feature in features:
        logits = np.zeros((len(feature.reads), 2 * len(task.types) + 2 * KEYS), np.float32)
        logits[:, : 2 * len(task.types)] = -20
        for _, word, code in np.asarray(feature.label).tolist():
            after, kind = divmod(code, len(task.types))
            if word >= 0 and word + after < len(logits):
                logits[word, kind] = logits[word + after, len(task.types) + kind] = 20
        found.append(logits)
    return found


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
        ([[0, 18, "ORG"], [0, 18, "ORG"]], {(0, 18, "ORG")}, "given more than once"),
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
    assert [one.count for one in found if one.code == "read-span" and what in one.what] == [1]


def test_a_file_of_spans_outside_their_texts_is_refused_with_one_of_them(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", [[0, 18, "ORG"], [15, 99, "LOC"]])
    for label in ({}, {"label": "spans"}):
        with pytest.raises(UserError) as error:
            own_task(path, {"shape": "overlapping-spans"} | label)
        assert "a.jsonl" in error.value.what and "no character spans within a text" in error.value.what


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


def test_labels_become_pairs_and_the_pairs_the_same_spans(tiny_bert: Path) -> None:
    task = overlap_task().fit(rows := overlap_task().load(Source(), "train").rows)
    assert task.longest_span == 3
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 32)
    answers = task.decode(certain(task, features), features, rows)
    wrong = [row for row, answer in zip(rows, answers, strict=True) if not {*row.gold} <= _spans(answer)]
    assert not wrong
    assert task.score(task.labels_of(rows), rows)["f1"] == 1
    assert label_counts(features) == {"label": sum(len(row.text.split()) for row in rows)}


def _spans(answer: Answer) -> set[tuple[int, int, str]]:
    return {(one["start"], one["end"], one["label"]) for one in answer.value}


def test_a_text_of_many_windows_gives_each_span_once_and_names_those_that_are_cut(tiny_bert: Path) -> None:
    text = " ".join(["the cat sat red dog"] * 12)
    spans = [(i, i + 11, "ORG") for i in range(0, len(text) - 19, 20)] + [
        (i + 4, i + 7, "LOC") for i in range(0, 200, 20)
    ]
    rows = [OverlapRow(id="1", text=text, gold=(*sorted(spans), (0, 199, "ORG")))]
    task = task_of(longest_span=60)
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 18)
    assert len(features) > 3
    (answer,) = task.decode(certain(task, features), features, rows)
    found = [(one["start"], one["end"], one["label"]) for one in answer.value]
    assert {*spans} <= {*found} and len(found) == len(set(found))
    assert answer.label_probabilities[-1] == 0
    assert [p > 0.99 for p in answer.label_probabilities] == [True] * len(spans) + [False]
    (note,) = task.score_notes([answer], rows)
    assert note.startswith(f"1 of {len(spans) + 1} spans cannot be predicted") and "max_length" in note


def test_spans_longer_than_the_limit_or_inside_a_token_are_counted_not_predicted(tiny_bert: Path) -> None:
    task = task_of(longest_span=2)
    rows = [OverlapRow(id="1", text="the cat sat down", gold=((0, 7, "ORG"), (0, 11, "ORG"), (5, 7, "LOC")))]
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 18)
    (answer,) = task.decode(certain(task, features), features, rows)
    assert [p > 0 for p in answer.label_probabilities] == [True, False, False]
    assert (0, 7, "ORG") in _spans(answer) and (0, 11, "ORG") not in _spans(answer)


def test_a_korean_particle_is_no_part_of_a_span() -> None:
    text = "서울시청에서 만나요"
    one_each = words_with_tokens(text, [(i, i + 1) for i, sign in enumerate(text) if sign != " "])
    assert one_each[3].tolist() == [3, 3, 4]  # 에서 is left out
    shared = words_with_tokens(text, [(0, 2), (2, 4), (4, 6), (7, 10)])
    assert shared[:, 1:].tolist() == [[0, 2], [2, 4], [4, 6], [7, 10]]
    wide = words_with_tokens(text, [(0, 3), (3, 6), (7, 10)])
    assert 4 not in wide[:, 2]  # a token has both the end of the name and the particle: such spans are counted


def test_pairs_are_scored_in_numpy_as_in_the_head_and_the_loss_counts_owned_starts(tiny_bert: Path) -> None:
    task = overlap_task().fit(rows := overlap_task().load(Source(), "train").rows[:5])
    features = task.encode(rows, AutoTokenizer.from_pretrained(tiny_bert), 32)
    head = task.head(Backbone(load_encoder(tiny_bert)[0]))
    head.initialise()
    assert head.output.bias[:6].tolist() == [-2.0] * 6 and not head.output.bias[6:].any()
    batch = collate(features, pad_id=0)
    logits = torch.randn(len(features), batch.positions.shape[1], len(head.labels))  # type: ignore[union-attr]
    scores = head.pair_scores(logits, task.longest_span)
    total = 0.0
    for given, ours, feature in zip(logits, scores, features, strict=True):
        words = len(feature.reads or ())
        found = pair_logits(given[:words].numpy(), len(task.types), task.longest_span)
        there = np.isfinite(found)
        assert there.sum() == sum(min(task.longest_span, words - place) for place in range(words)) * len(task.types)
        np.testing.assert_allclose(found[there], ours[:words].numpy()[there], atol=1e-5)
        target = np.zeros_like(found)
        for _, word, code in np.asarray(feature.label).tolist():
            if word >= 0:
                target[word, code // len(task.types), code % len(task.types)] = 1
        total += np.logaddexp(0, -found[there] * (2 * target[there] - 1)).sum()
    assert float(head.loss(logits, batch.labels["label"])) == pytest.approx(total, rel=1e-4)


def test_dev_chooses_the_threshold_and_candidates_are_decide() -> None:
    def answer(*chances: float) -> SpansAnswer:
        spans = as_values((i, i + 1, "LOC") for i in range(len(chances)))
        return SpansAnswer(
            value=[], candidates=[one | {"probability": p} for one, p in zip(spans, chances, strict=True)]
        )

    answers, golds = [answer(0.9, 0.2), answer(0.3)], [((0, 1, "LOC"), (1, 2, "LOC")), ()]
    rows = [OverlapRow(id=str(i), text="abc", gold=gold) for i, gold in enumerate(golds)]
    assert task_of().tune([answer(0.9, 0.4), answer(0.3)], rows) == {"threshold": pytest.approx(0.35)}
    first = replace(rows[0], gold=((0, 1, "LOC"),))
    assert task_of().tune(answers, [first, rows[1]]) == {"threshold": 0.5}
    chosen = task_of().tune(answers, rows)
    assert task_of(threshold=0.5).tune(answers, rows) == {}
    decided = task_of(**chosen).decide(answers)
    assert [len(one.value) for one in decided] == [2, 1]
    assert decided[0].probabilities == [0.9, 0.2]


def test_the_dictionary_knows_what_was_mostly_a_span() -> None:
    texts = [("Rome is in Rome", ((0, 4, "LOC"), (11, 15, "LOC"))), ("May in May", ((0, 3, "PER"),)), ("May, May", ())]
    train = [OverlapRow(id="", text=text, gold=gold) for text, gold in texts]
    (answer,) = task_of().baselines(train, [OverlapRow(id="", text="in Rome, Romes, May")])["span-dictionary"]
    assert _spans(answer) == {(3, 7, "LOC")}
