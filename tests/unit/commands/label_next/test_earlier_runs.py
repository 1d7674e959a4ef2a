"""Rows of the run whose labels a run kept are not asked for again."""

import csv
import json
from pathlib import Path

from support.cli import InProcess
from support.runs import as_csv


def test_rows_of_the_run_before_are_left_out(in_process: InProcess, tmp_path: Path, tiny_bert: Path) -> None:
    texts = [f"the {'cat' if n % 2 else 'dog'} sat {n} and {n * 7 % 31} birds flew {n * n}" for n in range(120)]
    labelled = [(text, "good" if n % 2 else "bad") for n, text in enumerate(texts)]
    for name, rows in (("first.csv", labelled[:40]), ("second.csv", labelled[40:80])):
        (tmp_path / name).write_text(as_csv(("text", "label"), *rows))
    (tmp_path / "pool.csv").write_text(as_csv(("text",), *((text,) for text in texts)))
    train = ("train.epochs=1", "max_length=32", "--json", "--quiet")
    code, _, err = in_process("run", "first.csv", f"model={tiny_bert}", *train, data="")
    assert code == 0, err
    first = next((tmp_path / "results" / "first.csv").iterdir()).name
    code, _, err = in_process("run", "second.csv", f"model={first}", "keep_labels=true", *train, data="")
    assert code == 0, err
    asked = ("label-next", "second.csv", "pool.csv", "--rows", "40", "--new-only", "--json", "--force")
    code, out, err = in_process(*asked, data="")
    assert code == 0, err
    found = json.loads(out)
    assert (found["labelled"], found["notes"]) == (80, [])
    with (tmp_path / "next.csv").open(encoding="utf-8") as file:
        assert {row["text"] for row in csv.DictReader(file)} <= {*texts[80:]}
    (tmp_path / "first.csv").unlink()
    code, out, err = in_process(*asked, data="")
    assert code == 0 and "old rows are not left out" in " ".join(json.loads(out)["notes"]), out + err
