"""KLUE's official files and the Hub's copy, how they are read, and their faults."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.klue import mrc, ner, nli, sts, write_hub, write_klue, write_official, ynat
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.models.feature import Feature
from finetune.task_types.registry import find

KLUE = ("klue-ynat", "klue-sts", "klue-nli", "klue-ner", "klue-mrc")


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return Source(folder=write_klue(tmp_path_factory.mktemp("klue")), explicit=True)


def test_official_files_are_read_with_their_guids(official: Source) -> None:
    topic, pair, inference, _, question = (find(name).load(official, "dev").rows[0] for name in KLUE)
    assert (topic.id, topic.text, topic.gold) == ("ynat-v1_00000", "국회 대통령 소식 0", "정치")
    assert (pair.id, pair.text, pair.pair) == ("klue-sts-v1_00000", "숙소가 아주 깨끗하고 조용해요", "숙소가")
    assert (inference.text, inference.pair, inference.gold) == ("0일에 비가 많이 온다", "비가 온다", "entailment")
    assert (question.id, question.answers, question.start) == ("klue-mrc-v1_00000", ("한 달가량", "한 달"), 4)


def test_the_label_of_similarity_is_the_one_that_is_not_rounded(official: Source) -> None:
    row = find("klue-sts").load(official, "train").rows[2]
    assert row.gold == pytest.approx(3 - 1 / 7)
    assert row.gold < 3  # `label` is 2.9 here, and for 2.96 it would be 3.0


def test_only_answers_count_and_not_plausible_ones(official: Source) -> None:
    rows = find("klue-mrc").load(official, "dev").rows
    assert [row.answers for row in rows[:3]] == [("한 달가량", "한 달"), ("한 달가량", "한 달"), ()]


def test_entities_have_all_characters_but_spaces(official: Source) -> None:
    rows = find("klue-ner").load(official, "dev").rows
    assert len(rows) == 12
    row = rows[1]
    assert (row.id, row.text) == ("klue-ner-v1_00001-wikitree", "김 구는 3월 1일 서울에 갔다.")
    assert "".join(row.words) == "김구는3월1일서울에갔다."
    assert row.gold[:3] == ("B-PS", "I-PS", "O")  # the I-PS of the space between is left out
    assert [row.text[start] for start in row.starts] == list(row.words)


def test_tokens_are_labelled_by_their_first_character_and_give_it_to_all(tiny_bert: Path) -> None:
    """As KLUE-baseline aligns sub-tokens: the others continue what the first begins."""
    task = find("klue-ner")
    row = task.row("the cat 쀏cat")
    assert row.words == tuple("thecat쀏cat")
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    (feature,) = task.encode([row], tokenizer, 32)
    assert [word for _, word in feature.note.tolist()] == [0, 3, 6]  # the, cat, and an unknown word
    logits = _logits(feature, {0: "O", 1: "B-PS", 2: "B-LC"}, task.labels)
    (answer,) = task.decode([logits], [feature], [row])
    assert answer.value == ["O"] * 3 + ["B-PS", "I-PS", "I-PS", "B-LC", "I-LC", "I-LC", "I-LC"]


def _logits(feature: Feature, tags: dict[int, str], labels: tuple[str, ...]) -> np.ndarray:
    logits = np.zeros((len(feature.reads or ()), len(labels)), dtype=np.float32)
    for place, tag in tags.items():
        logits[place, labels.index(tag)] = 5
    return logits


@pytest.mark.parametrize("name", KLUE)
def test_the_hub_has_the_same_rows(
    name: str, official: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hub(tmp_path)
    monkeypatch.chdir(tmp_path)
    task = find(name)
    for split in ("train", "dev"):
        here, there = task.load(Source(), split), task.load(official, split)
        assert "klue/klue" in here.origin
        if name == "klue-ner":  # which has no guid there
            assert [row.id for row in here.rows[:2]] == [f"{split}-0", f"{split}-1"]
            assert [(r.text, r.words, r.gold) for r in here.rows] == [(r.text, r.words, r.gold) for r in there.rows]
        else:
            assert here.rows == there.rows


def test_a_test_split_is_refused(official: Source) -> None:
    for name in KLUE:
        with pytest.raises(UserError, match="no split 'test'"):
            find(name).load(official, "test")


def changed(rows: list[dict[str, Any]], change: Callable[[list[dict[str, Any]]], Any]) -> str:
    change(rows)
    return json.dumps(rows)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ynat", '[{"guid": }]', r"train\.json:1: is not JSON"),
        ("ynat", '{"data": []}', r"train\.json: is not a list"),
        ("ynat", "[3]", r"row 1: has no text in 'title'"),
        ("ynat", changed(ynat(), lambda rows: rows[2].update(title=" ")), r"row 3: has no text in 'title'"),
        ("ynat", changed(ynat(), lambda rows: rows[2].update(label="연예")), r"row 3: 'label' is '연예'.*정치"),
        ("ynat", changed(ynat(), lambda rows: rows[2].update(label=["정치"])), r"row 3: 'label' is \['정치'\]"),
        ("ynat", changed(ynat(), lambda rows: rows[2].pop("label")), r"row 3: 'label' is None"),
        ("ynat", changed(ynat(), lambda rows: rows[2].update(rows[0])), r"row 3: the guid 'ynat-v1_00000'.*row 1"),
        ("klue-sts", changed(sts(), lambda rows: rows[1].update(labels=3)), r"row 2: 'labels.real-label' is None"),
        ("klue-sts", changed(sts(), lambda rows: rows[1]["labels"].update({"real-label": 7})), r"row 2: .*from 0 to 5"),
        ("klue-sts", changed(sts(), lambda rows: rows[1]["labels"].update({"real-label": True})), r"row 2: .* True"),
        ("klue-nli", changed(nli(), lambda rows: rows[0].pop("guid")), r"row 1: has no text in 'guid'"),
    ],
)
def test_faults_of_lists_name_file_and_row(name: str, text: str, expected: str, tmp_path: Path) -> None:
    write_official(tmp_path, f"{name}-v1.1_train.json", text)
    task = "klue-ynat" if name == "ynat" else name
    with pytest.raises(UserError, match=expected) as raised:
        find(task).load(Source(folder=tmp_path, explicit=True), "train")
    assert raised.value.way_out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## klue-1\t가\n가\tO\n나\n", r"train\.tsv:3: expected a character, a tab.*'나'"),
        ("## klue-1\t가\n가\tB-PER\n", r"train\.tsv:2: .*B-PER"),
        ("## klue-1\t가\n\tO\n", r"train\.tsv:2: "),
        ("가\tO\n", r"train\.tsv:1: there is no line '## guid'"),
        ("## klue-1\t가\n가\tO\n## klue-2\t나\n나\tO\n", r"train\.tsv:3: there is no empty line"),
        ("## klue-1\t가\n가\tO\n\n## klue-1\t나\n나\tO\n", r"row 2: the guid 'klue-1'"),
        ("## klue-1\t \n \tO\n\n", r"'klue-1' has no words"),
    ],
)
def test_faults_of_entities_name_file_and_line(text: str, expected: str, tmp_path: Path) -> None:
    write_official(tmp_path, "klue-ner-v1.1_train.tsv", text)
    with pytest.raises(UserError, match=expected) as raised:
        find("klue-ner").load(Source(folder=tmp_path, explicit=True), "train")
    assert raised.value.way_out


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"guid": None}, r"qas\[0\]: has no 'guid'"),
        ({"is_impossible": True}, r"qas\[0\]: question 'klue-mrc-v1_00000' has 2 answers and is_impossible true"),
        ({"guid": "klue-mrc-v1_00001"}, r"data\[1\].*'klue-mrc-v1_00001' is also that of .*data\[0\]"),
    ],
)
def test_faults_of_questions_name_file_and_place(change: dict[str, Any], expected: str, tmp_path: Path) -> None:
    content = mrc()
    content["data"][0]["paragraphs"][0]["qas"][0].update(change)
    write_official(tmp_path, "klue-mrc-v1.1_train.json", json.dumps(content))
    with pytest.raises(UserError, match=expected) as raised:
        find("klue-mrc").load(Source(folder=tmp_path, explicit=True), "train")
    assert raised.value.way_out


def test_a_sign_that_looks_like_a_comment_is_a_character(tmp_path: Path) -> None:
    write_official(tmp_path, "klue-ner-v1.1_dev.tsv", ner() + '## last\t#"\n#\tO\n"\tO\n')
    row = find("klue-ner").load(Source(folder=tmp_path, explicit=True), "dev").rows[-1]
    assert (row.id, row.words) == ("last", ("#", '"'))
