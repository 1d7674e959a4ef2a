"""A small Table 5, from nothing but a text and a task: pre-training, fine-tuning, and the table of what came out."""

import csv
import io
import shutil
from pathlib import Path
from typing import Any

import pytest

from finetune.commands.table import table
from finetune.runs.record_files import all_records

FILES = {
    "pretrain.toml": """task = "corpus.txt"
model = "new:1x16x1"
tokenizer = 120
max_length = 16
train = { updates = 2, batch_size = 8 }
options = { shape = "text", objective = "mlm" }
""",
    "small.toml": """task = "reviews.csv"
model = "pretrain.toml"
max_length = 16
train = { epochs = 1, batch_size = 16 }
options = { dev = "dev.csv" }
[grid]
seed = [1, 2, 3]
variant = [{ model = "pretrain.toml" }, { model = "pretrain.toml objective=ltr", bilstm = 8 }]
""",
    "table.toml": """title = "Small"
source = "Devlin et al. 2019, Table 5"
recipe = "small.toml"
[[system]]
name = "mlm"
settings = { model = "pretrain.toml" }
paper = "No NSP"
[[system]]
name = "ltr"
settings = { model = "pretrain.toml objective=ltr" }
paper = "LTR & No NSP"
[[row]]
name = "reviews"
task = "reviews.csv"
metric = "accuracy"
published_as = "mrpc"
[[row]]
name = "text"
task = "corpus.txt"
metric = "perplexity"
""",
}


@pytest.mark.slow
def test_a_recipes_table_has_its_runs_in_pairs_and_says_what_is_missing(
    in_process: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [f"{a}{b}" for a in "bcdfg" for b in ("ad", "ef", "ig", "ok")]
    lines = [" ".join(words[(i * j) % len(words)] for j in range(1, 9)) for i in range(300)]
    rows = ["review,mark", *(f"{line},{'good' if i % 2 else 'bad'}" for i, line in enumerate(lines[:60]))]
    texts = {"corpus.txt": lines, "reviews.csv": rows, "dev.csv": rows[:1] + rows[31:]}
    for name, text in {**FILES, **{name: "\n".join(text) for name, text in texts.items()}}.items():
        Path(name).write_text(text)
    code, out, err = in_process("table", "table.toml", data="")
    assert code == 0, err
    assert "12 of 12 runs are missing: finetune run small.toml" in err and "77.5 (-9.0)" in out
    code, _, err = in_process("run", "small.toml", "--quiet", data="")
    assert code == 0, err
    records = all_records(Path("results"))
    assert len(records) == 12
    assert {record.recipe["seed"] for record in records if record.task == "corpus.txt"} == {1, 2, 3}
    code, out, err = in_process("table", "table.toml", "-o", "table.csv", data="")
    assert (code, "missing" in err) == (0, False), err
    found = list(csv.DictReader(io.StringIO(Path("table.csv").read_text())))
    assert [(line["row"], line["model"], line["runs"], line["pairs"]) for line in found] == [
        (row, model, "3", pairs) for row in ("reviews", "text") for model, pairs in (("mlm", ""), ("ltr", "3"))
    ]
    change = float(found[1]["dev_mean"]) - float(found[0]["dev_mean"])
    assert float(found[1]["difference"]) == pytest.approx(change, abs=2e-3)

    (gone,) = [one for one in records if one.recipe["bilstm"] == 8 and one.recipe["seed"] == 2]
    shutil.rmtree(Path("results") / "reviews.csv" / gone.id)
    left = table("table.toml")
    assert left.note == "1 of 12 runs is missing: finetune run small.toml"
    assert left.lines[1].difference is not None
    assert (len(left.lines[1].runs), left.lines[1].difference.n) == (2, 2)
    assert "2 of 3" in in_process("table", "table.toml", data="")[1]
