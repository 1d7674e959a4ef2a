"""The lineage of an encoder in records: how runs are grouped, selected and described by it."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.records import run

from finetune.analysis.run_tables import summary_lines, summary_table
from finetune.commands.table.declaration import PaperTable, TableRow
from finetune.commands.table.lines import lines_of
from finetune.runs.lookup import lineage_of
from finetune.runs.record import Margin, RunRecord
from finetune.runs.record_files import load_record, write_record
from finetune.runs.seeds import by_share, differing_settings, groups, shared_encoders
from finetune.runs.settings import Lineage

SCORES = [0.8, 0.84, 0.9]


def first(*, seed: int = 1, task: str = "corpus.txt", id: str = "", **recipe: Any) -> RunRecord:
    record = run(0.5, task=task, seed=seed, model="minilm", **recipe)
    return record.model_copy(update={"id": id or f"{task[:2]}{seed}"})


def after(earlier: RunRecord, score: float, *, seed: int = 1, model: str = "adapt", **recipe: Any) -> RunRecord:
    """A run from the encoder of another, whose weights are its own."""
    record = run(score, seed=seed, model=model, **recipe)
    return record.model_copy(update={"lineage": lineage_of(earlier), "weights": f"weights of {earlier.id}"})


def test_a_lineage_has_the_settings_that_differ_and_ends_with_the_first_encoder() -> None:
    record = first(seed=7, train={"epochs": 5, "learning_rate": 2e-5}, options={"objective": "ltr"})
    lineage = lineage_of(record)
    assert (lineage.run, lineage.task, lineage.model, lineage.seed) == ("co7", "corpus.txt", "minilm", 7)
    assert lineage.settings == {"train.epochs": 5, "options.objective": "ltr"}
    second = lineage_of(after(record, 0.5))
    assert (second.lineage, second.checkpoint) == (lineage, "minilm")
    assert second.words == "minilm, trained on corpus.txt (co7), then on mrpc (1)"


def test_seeds_of_an_earlier_run_are_seeds_and_its_other_settings_are_not() -> None:
    seeds = [after(first(seed=seed), score, seed=seed) for seed, score in enumerate(SCORES)]
    others = [
        after(first(train={"epochs": 5}), 0.1),
        after(first(data="another text"), 0.2),
        after(first(task="other.txt"), 0.3),
        after(after(first(), 0.4), 0.4),
        after(first().model_copy(update={"weights": "another encoder"}), 0.5),
        run(0.6, model="adapt"),
    ]
    found = groups([*seeds, *others])
    assert [len(group) for group in found] == [3, 1, 1, 1, 1, 1, 1]
    again = [after(after(first(seed=seed), 0.5, seed=seed), 0.5, seed=seed) for seed in (1, 2)]
    assert len(groups(again)) == 1
    differ = differing_settings([seeds[0], others[0], others[5]])
    assert differ[0]["lineage.task"] == "corpus.txt"
    assert differ[1]["lineage.train.epochs"] == 5
    assert not [key for one in differ for key in one if key.endswith((".seed", ".run"))]


def new(score: float, *, seed: int, weights: str, model: str = "new:mini", **recipe: Any) -> RunRecord:
    return run(score, task="corpus.txt", seed=seed, model=model, **recipe).model_copy(update={"weights": weights})


def test_new_encoders_whose_vocabularies_differ_by_seed_belong_together() -> None:
    """Each share of the text that a seed draws has a vocabulary, and so the hash of the encoder, of its own."""
    seeds = [new(0.5, seed=seed, weights=f"{seed}", train_share=0.5) for seed in (1, 2, 3)]
    others = [
        new(0.5, seed=1, weights="small", model="new:small", train_share=0.5),
        new(0.5, seed=1, weights="smaller", tokenizer=4096, train_share=0.5),
        *(new(0.5, seed=seed, weights=f"given {seed}", tokenizer="vocabulary") for seed in (1, 2)),
    ]
    assert [len(group) for group in groups([*seeds, *others])] == [3, 1, 1, 1, 1]
    assert len(groups([after(record, 0.8, seed=seed) for seed, record in enumerate(seeds)])) == 1
    assert len(groups([after(record, 0.8) for record in others])) == 4


def test_new_encoders_have_a_curve_over_the_size_of_the_text() -> None:
    records = [
        new(0.5, seed=seed, weights=f"{share} {seed}", train_share=share) for share in (0.5, 1.0) for seed in (1, 2)
    ]
    (sizes,) = by_share(records)
    assert {share: len(some) for share, some in sizes.items()} == {0.5: 2, 1.0: 2}


def test_an_interval_over_seeds_covers_the_earlier_run() -> None:
    """The spread is that of three earlier runs; the same scores from one encoder are noted to cover less."""
    mine = [
        after(first(seed=seed), score, seed=seed).model_copy(
            update={"margins": {"dev": Margin(interval=(score - 1e-6, score + 1e-6))}}
        )
        for seed, score in enumerate(SCORES)
    ]
    (row,) = [row for row in summary_table(mine).rows if "dev accuracy" in row]
    assert "3" in row
    assert "72.2 to 97.2" in row  # Student's t of the three, whose margins have no sketches
    assert shared_encoders(mine) == ""
    assert not [line for line in summary_lines(mine) if "does not cover" in line]
    shared = [after(first(seed=1), score, seed=seed) for seed, score in enumerate(SCORES)]
    assert len(groups(shared)) == 1
    (note,) = [line for line in summary_lines(shared) if "does not cover" in line]
    assert "3 runs start from the encoder of run co1" in note
    assert "encoders of 2 runs" in shared_encoders([*shared, mine[2]])
    assert shared_encoders([run(0.5), run(0.6, seed=2)]) == ""


def test_a_table_selects_by_lineage() -> None:
    ltr = [after(first(seed=seed, options={"objective": "ltr"}), 0.7, seed=seed, model="ltr") for seed in (1, 2)]
    mlm = [after(first(seed=seed), 0.8, seed=seed, model="mlm") for seed in (1, 2)]
    row = {"name": "ltr", "task": "mrpc", "metric": "accuracy"}
    for settings, model, count in (
        ({"lineage.options.objective": "ltr"}, "ltr", 2),
        ({"lineage.task": "corpus.txt", "lineage.seed": 2}, "ltr", 1),
        ({"lineage.task": "elsewhere"}, "", 0),
    ):
        table = PaperTable(title="t", source="none", row=[TableRow(**row, settings=settings)])
        line = lines_of(table, [*ltr, *mlm, run(0.9)])[0]
        assert (line.model, len(line.runs)) == (model, count)


def test_records_keep_it_and_older_ones_have_none(tmp_path: Path) -> None:
    record = after(after(first(), 0.5), 0.6)
    write_record(tmp_path / "record.json", record)
    assert load_record(tmp_path / "record.json").lineage == record.lineage
    facts = json.loads((tmp_path / "record.json").read_text())
    assert Lineage.of(facts["lineage"]).checkpoint == "minilm"
    del facts["lineage"]
    (tmp_path / "record.json").write_text(json.dumps(facts | {"checksum": ""}))
    assert load_record(tmp_path / "record.json").lineage is None
    (tmp_path / "record.json").write_text(json.dumps(facts | {"checksum": "", "lineage": {"run": "../x"}}))
    with pytest.raises(Exception, match="not a whole record"):
        load_record(tmp_path / "record.json")
