"""What dev chose is reported on the screen, in the record and in the report."""

import json
from pathlib import Path

import pytest
from support.cli import Finetune
from support.paths import only_run


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """Several labels a row, of which words give some away."""
    file = tmp_path / "topics.csv"
    words = ("the cat sat", "a moon was big", "the cat and the moon", "a road")
    labels = ("animal", "sky", "animal|sky", "road")
    lines = [f"{words[i % 4]} {['one', 'two', 'three'][i % 3]},{labels[(i + (i % 7 == 0)) % 4]}" for i in range(80)]
    file.write_text("\n".join(["text,labels", *lines]) + "\n")
    return file


@pytest.mark.slow
def test_screen_record_report_and_evaluate_say_it(
    here: Finetune, topics: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    settings = ["topics.csv", "shape=multi-label", f"model={tiny_bert}", "train.epochs=2", "train.select=best"]
    done = here("run", *settings)
    assert done.returncode == 0, done.stderr
    fitted = "dev: the thresholds for each row, of the baselines too, were chosen on other rows of dev"
    best = "of 2, so that its scores are optimistic; test=FILE scores rows that chose nothing"
    folder = only_run(tmp_path)
    notes = json.loads((folder / "record.json").read_text())["notes"]
    for said in (fitted, best):
        assert done.stdout.count(said) == 1
        assert sum(said in note for note in notes) == 1
    assert here("report", folder.name).returncode == 0
    assert fitted in (tmp_path / "report.html").read_text()
    (tmp_path / "test.csv").write_text(topics.read_text())
    tested = here("run", *settings, "test=test.csv")
    assert "those of test" not in tested.stdout  # which are the training rows
    assert "of the 80 rows of test have texts that are also in train" in tested.stdout
    header, *lines = topics.read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([header, *reversed(lines)]) + "\n")  # not the very file of training
    again = here("run", *settings, "dev=new.csv", "--quiet")
    assert again.returncode == 0, again.stderr
    run = again.stdout.split()[1]
    scored = here("evaluate", run, "new.csv")
    assert scored.returncode == 0, scored.stderr
    assert "thresholds of this model" in scored.stderr
