"""KLUE-RE and SemEval-2010 task 8, from their official files."""

import json
from pathlib import Path

import pytest
from support.klue import write_hub
from support.relations import klue_rows, write_klue_re, write_semeval

from finetune.data.source import Source
from finetune.errors import UserError
from finetune.task_types.registry import find


def test_klue_marks_both_entities_whose_ends_are_inclusive(tmp_path: Path) -> None:
    write_klue_re(tmp_path / "klue-re-v1.1")
    task, source = find("klue-re"), Source(folder=tmp_path)
    loaded = task.load(source, "train")
    assert not loaded.notes
    assert loaded.rows[2].text == "2번째로 <obj:LOC>서울</obj:LOC>에서 <subj:PER>손흥민</subj:PER>은 노래했다."
    assert loaded.rows[2].gold == "per:place_of_birth"
    assert task.new_tokens(loaded.rows) == ["</obj>", "</subj>", "<obj>", "<subj>"]  # as KLUE's own code has them
    with pytest.raises(UserError, match="klue-re has no split 'test'"):
        task.load(source, "test")


def test_the_hub_has_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_klue_re(tmp_path / "official")
    write_hub(tmp_path)
    monkeypatch.chdir(tmp_path)
    here, there = (
        find("klue-re").load(Source(), "dev"),
        find("klue-re").load(Source(folder=tmp_path / "official"), "dev"),
    )
    assert here.origin == "klue/klue (re, validation)"
    assert here.rows == there.rows


def test_what_is_wrong_with_an_official_file_is_told(tmp_path: Path) -> None:
    write_klue_re(tmp_path)
    file, rows = tmp_path / "klue-re-v1.1_dev.json", klue_rows(3)
    rows[1]["object_entity"]["end_idx"] = 99
    file.write_text(json.dumps(rows))
    with pytest.raises(UserError, match=r"dev\.json: row 2 .*an entity is at 5 to 99, and the sentence has"):
        find("klue-re").load(Source(folder=tmp_path), "dev")
    rows[1]["object_entity"]["end_idx"] = 5
    file.write_text(json.dumps(rows))
    assert (
        "1 row where an entity's word is not what its offsets say"
        in (find("klue-re").load(Source(folder=tmp_path), "dev").notes[0])
    )
    del rows[1]["object_entity"]["type"]
    file.write_text(json.dumps(rows))
    with pytest.raises(UserError, match=r"row 2 .*has the entity.*has word, start_idx, end_idx and type"):
        find("klue-re").load(Source(folder=tmp_path), "dev")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"sentence": None}, r"row 2: has no text in 'sentence'"),
        ({"label": 5}, r"row 2: has no text in 'label'"),
        ({"label": "friend"}, r"has the label 'friend'; expected one of no_relation"),
        ({"guid": "klue-re-v1_00000"}, r"row 2: the guid 'klue-re-v1_00000' is also that of row 1"),
        ({"subject_entity": None}, r"row 2 .*has the entity None"),
        ({"subject_entity": {"word": "a", "start_idx": 0, "end_idx": 0, "type": "a b"}}, r"row 2 .*has the entity"),
        ({"subject_entity": klue_rows(3)[1]["object_entity"]}, r"row 2 .*has the same span twice"),
    ],
    ids=lambda given: str(given)[:20],
)
def test_a_wrong_row_of_klue_is_named(changed: dict[str, object], what: str, tmp_path: Path) -> None:
    write_klue_re(tmp_path)
    rows = klue_rows(3)
    rows[1] |= changed
    (tmp_path / "klue-re-v1.1_dev.json").write_text(json.dumps(rows))
    with pytest.raises(UserError, match=what):
        find("klue-re").load(Source(folder=tmp_path), "dev")


def test_semeval_takes_every_tenth_training_sentence_as_dev(tmp_path: Path) -> None:
    write_semeval(tmp_path)
    task, source = find("semeval-2010-8"), Source(folder=tmp_path)
    train, dev, test = (task.load(source, split).rows for split in ("train", "dev", "test"))
    assert [len(train), len(dev), len(test)] == [36, 4, 12]
    assert [row.id for row in dev] == ["10", "20", "30", "40"]
    assert (dev[0].text, dev[0].gold) == ("The <e1>storm</e1> came from the <e2>flood</e2> 10.", "Cause-Effect(e2,e1)")
    lines = (tmp_path / "TRAIN_FILE.TXT").read_text().replace("Cause-Effect(e2,e1)", "Cause-Effect", 1)
    (tmp_path / "TRAIN_FILE.TXT").write_text(lines)
    with pytest.raises(UserError, match=r"TRAIN_FILE\.TXT:2: unknown relation 'Cause-Effect'"):
        task.load(source, "train")
