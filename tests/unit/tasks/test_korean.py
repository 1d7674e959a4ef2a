"""Korean data sets: official files and the Hub's copies, how they are read, and their faults."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.klue import mrc, ner, sts, write_hub, write_klue, write_official, ynat
from support.korean import write_korean
from support.relations import klue_rows
from transformers import AutoTokenizer

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.registry import find

KLUE = ("klue-ynat", "klue-sts", "klue-nli", "klue-ner", "klue-mrc")


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return Source(folder=write_klue(tmp_path_factory.mktemp("klue")), explicit=True)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    return Source(folder=write_korean(tmp_path_factory.mktemp("korean")))


def test_klues_official_files_are_read(official: Source) -> None:
    topic, pair, inference, _, question = (find(name).load(official, "dev").rows[0] for name in KLUE)
    assert (topic.id, topic.text, topic.gold) == ("ynat-v1_00000", "국회 대통령 소식 0", "정치")
    assert (pair.id, pair.text, pair.pair) == ("klue-sts-v1_00000", "숙소가 아주 깨끗하고 조용해요", "숙소가")
    assert (inference.text, inference.pair, inference.gold) == ("0일에 비가 많이 온다", "비가 온다", "entailment")
    assert (question.id, question.answers, question.start) == ("klue-mrc-v1_00000", ("한 달가량", "한 달"), 4)
    assert find("klue-mrc").load(official, "dev").rows[2].answers == ()  # plausible ones do not count
    assert find("klue-sts").load(official, "train").rows[2].gold == pytest.approx(3 - 1 / 7)  # `label` is rounded
    row = find("klue-ner").load(official, "dev").rows[1]
    assert (row.id, row.text) == ("klue-ner-v1_00001-wikitree", "김 구는 3월 1일 서울에 갔다.")
    assert "".join(row.words) == "김구는3월1일서울에갔다."
    assert row.gold[:3] == ("B-PS", "I-PS", "O")  # the I-PS of the space between is left out
    assert [row.text[start] for start in row.starts] == list(row.words)
    relation = find("klue-re").load(official, "train")
    assert relation.rows[2].text == "2번째로 <obj:LOC>서울</obj:LOC>에서 <subj:PER>손흥민</subj:PER>은 노래했다."
    assert (relation.rows[2].gold, relation.notes) == ("per:place_of_birth", ())
    assert find("klue-re").new_tokens(relation.rows) == ["</obj>", "</subj>", "<obj>", "<subj>"]  # as in KLUE's code
    for name in (*KLUE, "klue-re"):
        with pytest.raises(UserError, match="no split 'test'"):
            find(name).load(official, "test")


@pytest.mark.parametrize("name", [*KLUE, "klue-re"])
def test_the_hub_has_equal_rows(name: str, official: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_hub(tmp_path)
    monkeypatch.chdir(tmp_path)
    here, there = find(name).load(Source(), "dev"), find(name).load(official, "dev")
    assert "klue/klue" in here.origin
    if name == "klue-ner":  # which has no guid there
        assert [row.id for row in here.rows[:2]] == ["dev-0", "dev-1"]
        assert [(r.text, r.words, r.gold) for r in here.rows] == [(r.text, r.words, r.gold) for r in there.rows]
    else:
        assert here.rows == there.rows


def test_tokens_are_labelled_by_their_first_character_and_give_it_to_all(tiny_bert: Path) -> None:
    """As KLUE-baseline aligns sub-tokens: the others continue what the first begins."""
    task = find("klue-ner")
    row = task.row("the cat 쀏cat")
    assert row.words == tuple("thecat쀏cat")
    (feature,) = task.encode([row], AutoTokenizer.from_pretrained(tiny_bert), 32)
    assert [word for _, word in feature.note.tolist()] == [0, 3, 6]  # the, cat, and an unknown word
    logits = 5 * np.eye(len(task.labels))[[task.labels.index(tag) for tag in ("O", "B-PS", "B-LC")]]
    (answer,) = task.decode([logits], [feature], [row])
    assert answer.value == ["O"] * 3 + ["B-PS", "I-PS", "I-PS", "B-LC", "I-LC", "I-LC", "I-LC"]


def changed(rows: list[dict[str, Any]], number: int, **cells: Any) -> str:
    rows[number] |= cells
    return json.dumps(rows)


def asked(**cells: Any) -> str:
    content = mrc()
    content["data"][0]["paragraphs"][0]["qas"][0].update(cells)
    return json.dumps(content)


def related(**cells: Any) -> str:
    return changed(klue_rows(3), 1, **cells)


FAR = klue_rows(3)[1]["object_entity"] | {"end_idx": 99}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ynat", '[{"guid": }]', r"train\.json:1: is not JSON"),
        ("ynat", '{"data": []}', r"train\.json: is not a list"),
        ("ynat", changed(ynat(), 2, title=" "), r"row 3: has no text in 'title'"),
        ("ynat", changed(ynat(), 2, label="연예"), r"row 3: 'label' is '연예'.*정치"),
        ("ynat", changed(ynat(), 2, **ynat()[0]), r"row 3: the guid 'ynat-v1_00000'.*row 1"),
        ("klue-sts", changed(sts(), 1, labels={"real-label": 7}), r"row 2: .*from 0 to 5"),
        ("klue-ner", "## klue-1\t가\n가\tO\n나\n", r"train\.tsv:3: expected a character, a tab.*'나'"),
        ("klue-ner", "## klue-1\t가\n가\tB-PER\n", r"train\.tsv:2: .*B-PER"),
        ("klue-ner", "## klue-1\t가\n가\tO\n## klue-2\t나\n나\tO\n", r"train\.tsv:3: there is no empty line"),
        ("klue-ner", "## klue-1\t가\n가\tO\n\n## klue-1\t나\n나\tO\n", r"row 2: the guid 'klue-1'"),
        ("klue-mrc", asked(is_impossible=True), r"'klue-mrc-v1_00000' has 2 answers and is_impossible"),
        ("klue-mrc", asked(guid="klue-mrc-v1_00001"), r"data\[1\].*'klue-mrc-v1_00001' is also that"),
        ("klue-re", related(label="friend"), r"has the label 'friend'; expected one of no_relation"),
        ("klue-re", related(object_entity=FAR), r"train\.json: row 2 .*an entity is at 5 to 99"),
        ("klue-re", related(subject_entity=klue_rows(3)[1]["object_entity"]), r"row 2 .*the same span twice"),
    ],
)
def test_faults_of_klues_files_name_file_and_place(name: str, text: str, expected: str, tmp_path: Path) -> None:
    write_official(tmp_path, f"{name}-v1.1_train.{'tsv' if name == 'klue-ner' else 'json'}", text)
    with pytest.raises(UserError, match=expected) as raised:
        find("klue-ynat" if name == "ynat" else name).load(Source(folder=tmp_path, explicit=True), "train")
    assert raised.value.way_out


def test_odd_rows_are_read(tmp_path: Path) -> None:
    write_official(tmp_path, "klue-ner-v1.1_dev.tsv", ner() + '## last\t#"\n#\tO\n"\tO\n')  # no comment
    row = find("klue-ner").load(Source(folder=tmp_path, explicit=True), "dev").rows[-1]
    assert (row.id, row.words) == ("last", ("#", '"'))
    write_official(tmp_path, "klue-re-v1.1_dev.json", related(object_entity=FAR | {"end_idx": 5}))
    (note,) = find("klue-re").load(Source(folder=tmp_path, explicit=True), "dev").notes
    assert "1 row where an entity's word is not what its offsets say" in note


def test_other_korean_files_are_read(source: Source) -> None:
    def rows(name: str, split: str) -> Any:
        return find(name).load(source, split).rows

    train, dev, test = (rows("nsmc", split) for split in ("train", "dev", "test"))
    assert len(train) + len(dev) == 6 * 72 and 0 < len(dev) < 6 * 72 / 10
    assert not {row.text for row in train} & {row.text for row in dev}
    assert (test[1].id, test[1].text, test[1].gold) == ("test-1", '배우 "정말 0 좋아요', "positive")
    train = find("kornli").load(source, "train")
    assert [len(rows("kornli", split)) for split in ("train", "dev", "test")] == [108, 36, 36]
    assert len({row.id for row in train.rows}) == 108 and "snli_1.0_train.ko.tsv and " in train.origin
    assert (train.rows[0].id, train.rows[-1].id, train.rows[0].gold) == ("snli-0", "multinli-35", "entailment")
    row, (asked, *_) = rows("korsts", "test")[1], rows("korquad", "dev")
    assert (row.text, row.pair, row.gold) == ("배우 좋다.", "음악 좋다.", 1.25)
    assert (asked.answers, asked.context[asked.start : asked.start + 2]) == (("서울",), "서울")
    train, dev, test = (rows("naver-ner", split) for split in ("train", "dev", "test"))
    assert (len(train) + len(dev), len(test)) == (18 * 24, 48) and dev
    assert (test[0].words, test[0].gold) == (("정말", "안나", "0", "영화", "봤다"), ("O", "B-PER", "I-PER", "O", "O"))


@pytest.mark.parametrize(
    ("task", "split", "file", "text", "expected"),
    [
        ("naver-ner", "train", "train.tsv", "안나 봤다\tPER-B\n", r"train.tsv:1: has 2 words and 1 tag"),
        ("naver-ner", "train", "train.tsv", "안나 봤다\tB-PER O\n", r"train.tsv:1: 'B-PER' is not a tag"),
        ("naver-ner", "train", "train.tsv", "1\t안나\tPER_B\n", r"train.tsv:1: "),  # the challenge's own files
        ("nsmc", "train", "ratings_train.txt", "id\tdocument\tlabel\n1\t좋다\t2\n", r"ratings_train.txt:2: .*'2'"),
        ("nsmc", "test", "ratings_test.txt", "id\ttext\tlabel\n1\t좋다\t1\n", r"ratings_test.txt:2: .*'document'"),
        ("korsts", "dev", "sts-dev.tsv", "score\tsentence1\tsentence2\n높음\t가\t나\n", r"sts-dev.tsv:2: '높음'"),
        ("kornli", "dev", "xnli.dev.ko.tsv", "sentence1\tsentence2\tgold_label\n가\t나\t-\n", r"xnli.dev.ko.tsv:2:"),
    ],
)
def test_faults_of_other_files(task: str, split: str, file: str, text: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=expected):
        find(task).load(Source(folder=tmp_path, explicit=True), split)
