"""A user's own data from the file to answers: run, predict and evaluate through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.predicted_files import written
from support.runs import FAST, REVIEWS, trained_run

from finetune.errors import UserError
from finetune.inference import predictor as predictors
from finetune.runs.lookup import latest_run
from finetune.runs.record_files import load_record

ONCE: dict[str, Any] = {**FAST, "train.epochs": 1}


def test_the_split_of_a_run_is_kept_and_can_be_used_again(tmp_path: Path, tiny_bert: Path) -> None:
    data, out = written(tmp_path / "reviews.csv", [("review", "mark"), *REVIEWS]), tmp_path / "results"
    first = trained_run(out, data, tiny_bert, **ONCE)
    split = json.loads((kept := first / "split.json").read_text())
    assert len(split["dev"]) == 8
    assert sorted(map(int, split["train"] + split["dev"])) == list(range(1, 81))
    again = trained_run(out, data, tiny_bert, **ONCE, split=str(kept))
    assert load_record(again / "record.json").data == load_record(first / "record.json").data
    kept.write_text(json.dumps({"dev": ["500"]}))
    with pytest.raises(UserError, match="1 of its dev rows"):
        trained_run(out, data, tiny_bert, **ONCE, split=str(kept))


def test_what_the_model_keeps_of_the_columns_is_part_of_the_id(tmp_path: Path, tiny_bert: Path) -> None:
    """The rows are the same, but not what a model would read of a file, or answer."""
    names = set()
    for folder, header in (
        ("first", ("review", "mark")),
        ("text", ("comment", "mark")),
        ("label", ("review", "label")),
        ("again", ("review", "mark")),
    ):
        (tmp_path / folder).mkdir()
        data = written(tmp_path / folder / "reviews.csv", [header, *REVIEWS])
        run = trained_run(tmp_path / "results", data, tiny_bert, **ONCE)
        layout = predictors.load_predictor(run).layout
        assert layout is not None and (*layout.text, *layout.label) == header
        names.add(run.name)
    assert len(names) == len(list((tmp_path / "results" / "reviews.csv").iterdir())) == 3


def test_files_of_any_name_find_their_run(tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("리뷰.csv", "my reviews (1).csv"):
        data = written(tmp_path / name, [("review", "mark"), *REVIEWS[:20]])
        run = trained_run(Path("results"), Path(name), tiny_bert, **ONCE)
        data.unlink()  # a run is found by the name of its data, also where the data is not
        found = latest_run(name, Path("results"))
        assert found is not None and found.path.name == run.name
    assert sorted(path.name for path in Path("results").iterdir()) == ["my-reviews-1-.csv", "리뷰.csv"]
