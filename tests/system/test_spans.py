"""Own data with two spans, from the file to answers: run, predict, evaluate, check, fix, and rows in Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Finetune
from support.paths import only_run
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
