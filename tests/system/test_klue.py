"""KLUE from its official files to its table."""

import json
from pathlib import Path

import pytest
from support.cli import Finetune
from support.klue import write_klue
from support.relations import write_klue_re

from finetune.runs.folder import read_predictions

RECIPES = {
    "klue-ynat": {"macro f1", "accuracy"},
    "klue-sts": {"pearson", "f1"},
    "klue-nli": {"accuracy"},
    "klue-ner": {"entity macro f1", "character macro f1"},
    "klue-re": {"micro f1", "auprc"},
    "klue-mrc": {"em", "rouge-w", "unanswerable/em"},
}


@pytest.mark.slow
def test_toys_go_from_official_files_to_the_table(here: Finetune, tiny_bert: Path, tmp_path: Path) -> None:
    data = write_klue(tmp_path / "data")
    write_klue_re(data / "klue_benchmark" / "klue-re-v1.1")
    short = ["train.epochs=1", "train.batch_size=4", "max_length=64"]
    for recipe, metrics in RECIPES.items():
        done = here("run", recipe, f"model={tiny_bert}", *short, data=data)
        assert done.returncode == 0, done.stderr
        (folder,) = (tmp_path / "results" / recipe).iterdir()
        record = json.loads((folder / "record.json").read_text())
        assert metrics <= set(record["scores"]["dev"])
        name = recipe.replace("klue-ynat", "ynat")
        lines = read_predictions(folder / "predictions-dev.parquet")
        assert all(line["id"].startswith(f"{name}-v1_") for line in lines)
        assert len({line["id"] for line in lines}) == 12
    shown = here("table", "klue")
    assert (shown.returncode, shown.stderr) == (0, "")
    ours, published_dev, published_test = (
        shown.stdout.index(title) for title in ("ours, on dev", "published, on dev", "published, on test")
    )
    assert ours < shown.stdout.index(tiny_bert.name) < published_dev < published_test
    assert published_dev < shown.stdout.index("kakaobank/kf-deberta-base") < published_test  # which has no test scores
    assert published_test < shown.stdout.index("FacebookAI/xlm-roberta-base")  # and this one none on dev
    runs = here("table", "klue", "--form", "runs")
    assert "character macro f1" in runs.stdout
