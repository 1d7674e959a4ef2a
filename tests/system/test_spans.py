"""Own data with two spans, from the file to answers: run, predict, evaluate, check, fix, and rows in Python."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.relations import klue_rows, write_klue_re

import finetune as package
from finetune.errors import UserError
from finetune.runs.lookup import latest_run

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


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def trained(here: Finetune, tmp_path: Path, tiny_bert: Path) -> Path:
    """A run on such rows, whose ends are given."""
    data = written(tmp_path / "pets.jsonl", relation_rows(40))
    done = here("run", data, f"model={tiny_bert}", "span_ends=exclusive", *FAST, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    found = latest_run(str(data), tmp_path / "results")
    assert found is not None
    return found.path


def test_a_file_is_predicted_scored_and_explained_with_its_columns(
    trained: Path, here: Finetune, tmp_path: Path
) -> None:
    rows = relation_rows(6)
    rows[2]["e2"] = [0, 99]
    new = written(tmp_path / "new.jsonl", rows)
    done = here("predict", trained, new, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (tmp_path / "new.predicted.jsonl").read_text().splitlines()]
    assert [row["e1"] for row in found] == [row["e1"] for row in rows]
    assert {row["prediction"] for number, row in enumerate(found) if number != 2} <= {"sees", "seen"}
    assert "a span from 0 to 99, and the text has" in found[2]["error"]
    model = package.load(trained, device="cpu")
    named = model({name: rows[0][name] for name in ("text", "e1", "e2")})
    assert named.value == found[0]["prediction"]
    marked = "the <obj:ANIMAL>dog</obj:ANIMAL> saw the <subj:ANIMAL>cat</subj:ANIMAL> on day 0"
    assert model(marked).probabilities == pytest.approx(named.probabilities, abs=1e-6)
    assert model.predict([rows[0]])[0]["prediction"] == named.value
    with pytest.raises(UserError, match=r"has no <subj>, and no column 'e1' or 'e2'"):
        model({"text": "the dog saw the cat"})
    with pytest.raises(UserError, match="has the marker <obj:PLANT>, and the model knows <obj:ANIMAL>"):
        model(marked.replace("obj:ANIMAL", "obj:PLANT"))
    renamed = [{"text": row["text"], "a": row["e1"], "b": row["e2"], "relation": row["relation"]} for row in rows[3:]]
    other = written(tmp_path / "other.jsonl", renamed)
    scored = here("evaluate", trained, other, "spans=a,b", "--json", "--device", "cpu")
    assert scored.returncode == 0, scored.stderr
    assert "macro f1" in json.loads(scored.stdout)["dev"]
    explained = here("explain", trained, "--rows", new, "--device", "cpu")
    assert explained.returncode == 0, explained.stderr


def test_check_counts_rows_whose_spans_do_not_fit(here: Finetune, tmp_path: Path, tiny_bert: Path) -> None:
    rows = relation_rows(40)
    rows[3]["e1"], rows[4]["e2"] = [4, 90, "ANIMAL"], rows[4]["e1"]
    data = written(tmp_path / "pets.jsonl", rows)
    asked = here("check", data, f"model={tiny_bert}")
    assert asked.returncode == 2
    assert "span_ends=exclusive" in asked.stderr
    done = here("check", data, f"model={tiny_bert}", "span_ends=exclusive", "max_length=12", "--json")
    found = {one["code"]: one for one in json.loads(done.stdout)["findings"]}
    assert (found["span-outside"]["rows"], found["spans-overlap"]["rows"]) == ([4], [5])
    assert "cut" in found
    assert "max_length 12: what is far from the two spans is left out" in done.stdout
    assert "contradiction" not in found


def test_fix_leaves_a_text_with_the_offsets_of_its_spans(here: Finetune, tmp_path: Path) -> None:
    rows = relation_rows(40)
    for row in rows:
        row["text"] = f" \u0007{row['text']}"
        for name in ("e1", "e2"):
            row[name] = {"start": row[name][0] + 2, "end": row[name][1] + 2, "word": {"e1": "cat", "e2": "dog"}[name]}
    data = written(tmp_path / "pets.jsonl", rows)
    done = here("check", data, "--fix", tmp_path / "fixed.jsonl")
    assert (tmp_path / "fixed.jsonl").exists(), done.stderr
    for line in (tmp_path / "fixed.jsonl").read_text().splitlines():
        row = json.loads(line)
        for name, word in (("e1", "cat"), ("e2", "dog")):
            assert row["text"][row[name]["start"] : row[name]["end"]] == word


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
    assert len(answers) == 6
    with (tmp_path / "new.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [{name: row[name] for name in ("sentence", "subject_entity", "object_entity")} for row in klue_rows(6)]
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    done = here("predict", "klue-re", tmp_path / "new.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "new.predicted.csv").open(encoding="utf-8") as file:
        assert [row["prediction"] for row in csv.DictReader(file)] == answers
