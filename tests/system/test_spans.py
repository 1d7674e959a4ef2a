"""Own data with two spans, from the file to answers: run, predict, evaluate, check, fix, and rows in Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.paths import only_run
from support.predicted_files import read, written
from support.relations import klue_rows, write_klue_re
from support.runs import as_json_lines

import finetune as package
from finetune.errors import UserError

FAST = ("max_length=48", "train.epochs=1", "train.batch_size=8", "train.least_updates=1")


def relation_rows(count: int) -> list[dict[str, Any]]:
    """Sentences with spans as `[start, end, type]`, exclusive ends, and a relation."""
    rows = []
    for number in range(count):
        first, second = ("cat", "dog") if number % 2 else ("dog", "cat")
        text = f"the {first} saw the {second} on day {number}"
        spans = [[(at := text.index(word)), at + 3, "ANIMAL"] for word in ("cat", "dog")]
        rows.append({"text": text, "e1": spans[0], "e2": spans[1], "relation": "sees" if number % 2 else "seen"})
    return rows


def test_a_file_is_predicted_scored_and_explained_with_its_columns(
    here: Finetune, tmp_path: Path, tiny_bert: Path
) -> None:
    (tmp_path / "pets.jsonl").write_text(as_json_lines(*relation_rows(40)))
    done = here("run", "pets.jsonl", f"model={tiny_bert}", "span_ends=exclusive", *FAST, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    trained, rows = only_run(tmp_path), relation_rows(6)
    rows[2]["e2"] = [0, 99]
    (tmp_path / "new.jsonl").write_text(as_json_lines(*rows))
    done = here("predict", trained, "new.jsonl", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (tmp_path / "new.predicted.jsonl").read_text().splitlines()]
    assert [row["e1"] for row in found] == [row["e1"] for row in rows]
    assert {row["prediction"] for number, row in enumerate(found) if number != 2} <= {"sees", "seen"}
    assert "a span from 0 to 99, and the text has" in found[2]["error"]
    model = package.load(trained, device="cpu")
    named = model({name: rows[0][name] for name in ("text", "e1", "e2")})
    assert named.value == found[0]["prediction"] == model.predict([rows[0]])[0]["prediction"]
    marked = "the <obj:ANIMAL>dog</obj:ANIMAL> saw the <subj:ANIMAL>cat</subj:ANIMAL> on day 0"
    assert model(marked).probabilities == pytest.approx(named.probabilities, abs=1e-6)
    with pytest.raises(UserError, match=r"no <subj>.*'e1' or 'e2'"):
        model({"text": "the dog saw the cat"})
    with pytest.raises(UserError, match=r"<obj:PLANT>.*<obj:ANIMAL>"):
        model(marked.replace("obj:ANIMAL", "obj:PLANT"))
    renamed = [{"text": row["text"], "a": row["e1"], "b": row["e2"], "relation": row["relation"]} for row in rows[3:]]
    (tmp_path / "other.jsonl").write_text(as_json_lines(*renamed))
    scored = here("evaluate", trained, "other.jsonl", "spans=a,b", "--json", "--device", "cpu")
    assert "macro f1" in json.loads(scored.stdout)["dev"], scored.stderr
    explained = here("explain", trained, "--rows", "new.jsonl", "--device", "cpu")
    assert explained.returncode == 0, explained.stderr


def test_check_counts_rows_whose_spans_do_not_fit(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    rows = relation_rows(40)
    rows[3]["e1"], rows[4]["e2"] = [4, 90, "ANIMAL"], rows[4]["e1"]
    (tmp_path / "pets.jsonl").write_text(as_json_lines(*rows))
    asked = here("check", "pets.jsonl", f"model={tiny_bert}")
    assert (asked.returncode, "span_ends=exclusive" in asked.stderr) == (2, True)
    done = here("check", "pets.jsonl", f"model={tiny_bert}", "span_ends=exclusive", "max_length=12", "--json")
    found = {one["code"]: one for one in json.loads(done.stdout)["findings"]}
    assert (found["span-outside"]["rows"], found["spans-overlap"]["rows"]) == ([4], [5])
    assert "cut" in found and "contradiction" not in found


def test_fix_leaves_a_text_with_the_offsets_of_its_spans(here: Finetune, tmp_path: Path) -> None:
    rows = relation_rows(40)
    for row in rows:
        row["text"] = f" \u0007{row['text']}"
        for name in ("e1", "e2"):
            row[name] = {"start": row[name][0] + 2, "end": row[name][1] + 2, "word": {"e1": "cat", "e2": "dog"}[name]}
    (tmp_path / "pets.jsonl").write_text(as_json_lines(*rows))
    here("check", "pets.jsonl", "--fix", "fixed.jsonl")
    fixed = [json.loads(line) for line in (tmp_path / "fixed.jsonl").read_text().splitlines()]
    assert len(fixed) == 40
    for row in fixed:
        words = [row["text"][row[name]["start"] : row[name]["end"]] for name in ("e1", "e2")]
        assert words == ["cat", "dog"]


def test_klues_columns_in_a_csv_file_are_predicted_by_the_shipped_task(
    here: Finetune, tmp_path: Path, tiny_bert: Path
) -> None:
    write_klue_re(tmp_path / "data" / "klue-re-v1.1")
    settings = (f"model={tiny_bert}", "max_length=64", "train.epochs=1")
    ran = here("run", "klue-re", *settings, "--device", "cpu", data=tmp_path / "data")
    assert ran.returncode == 0, ran.stderr
    official = here("predict", "klue-re", tmp_path / "data/klue-re-v1.1/klue-re-v1.1_test.json", "-o", "test.jsonl")
    assert official.returncode == 0, official.stderr
    answers = [json.loads(line)["prediction"] for line in (tmp_path / "test.jsonl").read_text().splitlines()]
    columns = ("sentence", "subject_entity", "object_entity")
    written(tmp_path / "new.csv", [columns, *(tuple(row[name] for name in columns) for row in klue_rows(6))])
    done = here("predict", "klue-re", "new.csv")
    assert done.returncode == 0, done.stderr
    assert [row["prediction"] for row in read(tmp_path / "new.predicted.csv")] == answers and len(answers) == 6
