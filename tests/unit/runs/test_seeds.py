"""Groups of runs that differ in seeds alone, or start from others that do: means, intervals, spread, selection."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from support.records import BASE, run

from finetune.analysis.run_tables import summary_lines, summary_table
from finetune.commands.table.declaration import PaperTable, TableRow, load_table
from finetune.commands.table.lines import lines_of
from finetune.metrics.scores import accuracy, matthews
from finetune.metrics.words import perplexity
from finetune.runs.lookup import lineage_of
from finetune.runs.record import Margin, RunRecord
from finetune.runs.record_files import all_records, load_record, write_record
from finetune.runs.seeds import by_share, differing_settings, failed, groups, paired, shared_encoders, summarised


def test_summaries_and_differences_of_pairs_are_students() -> None:
    scores = [0.84, 0.86, 0.85, 0.88]
    found = summarised(scores, accuracy)
    assert (found.n, found.mean, found.best, found.sd) == (
        4,
        pytest.approx(0.8575),
        0.88,
        pytest.approx(stats.tstd(scores)),
    )
    assert found.interval == pytest.approx(stats.t.interval(0.95, 3, loc=0.8575, scale=stats.sem(scores)))
    assert (summarised([0.5], accuracy).sd, summarised([0.5], accuracy).interval) == (None, None)
    few = summarised([0.5, 0.9], accuracy)
    assert (few.interval, few.half) == ((0.0, 1.0), pytest.approx(12.7062 * 0.2, rel=1e-4))
    assert summarised([-0.5, 0.9], matthews).interval == (-1.0, 1.0)
    apart = paired([(0.5, 0.52), (0.7, 0.73), (0.6, 0.61)], accuracy)
    expected = stats.ttest_rel([0.52, 0.73, 0.61], [0.5, 0.7, 0.6]).confidence_interval()
    assert apart.interval == pytest.approx((expected.low, expected.high))
    assert apart.half == pytest.approx((expected.high - expected.low) / 2)
    assert paired([(0.1, 0.9), (0.9, 0.1)], accuracy).interval == (-1.0, 1.0)


def test_perplexities_are_summarised_by_their_ratios() -> None:
    found, log = summarised([100.0, 1_000.0, 10_000.0], perplexity), math.log(10)
    half = stats.t.ppf(0.975, 2) * log / math.sqrt(3)
    assert found.mean == pytest.approx(1_000)
    assert found.interval == pytest.approx((1_000 / math.exp(half), 1_000 * math.exp(half)))
    same = paired([(100.0, 50.0), (1_000.0, 400.0), (10_000.0, 6_000.0)], perplexity)
    assert same.interval[0] < same.mean < same.interval[1] < 0


def test_a_score_that_is_no_number_is_read_again_and_never_the_best(tmp_path: Path) -> None:
    epochs = [{"epoch": 1, "loss": 0.5, "headline": math.nan, "scores": {"dev": {"accuracy": math.nan}}}]
    broken = run(math.nan, seed=1).model_copy(update={"epochs": epochs})
    good = [run(score, seed=seed, train={"learning_rate": 1e-3}) for seed, score in ((2, 0.7), (3, 0.8))]
    for number, record in enumerate([broken, *good]):
        file = tmp_path / "mrpc" / str(number) / "record.json"
        file.parent.mkdir(parents=True)
        file.write_text(record.model_dump_json(indent=2))
        json.loads(file.read_text(), parse_constant=pytest.fail)  # for readers that know JSON alone
    (again,) = [record for record in all_records(tmp_path) if record.id == "1"]
    assert math.isnan(again.scores["dev"]["accuracy"]) and math.isnan(again.epochs[0]["headline"])
    assert failed(again, "dev") and again.recipe["init_seed"] is None
    with_nan = summarised([math.nan, 0.7, 0.8], accuracy)
    assert (with_nan.best, with_nan.sd, with_nan.interval, math.isnan(with_nan.mean)) == (0.8, None, None, True)
    for given in ([again, *good], [*good, again]):
        (line,) = [line for line in lines_of(load_table("glue"), given) if line.runs and line.metric.name == "accuracy"]
        assert line.runs == good
        assert any("best of 2 settings" in text and "learning_rate 0.001" in text for text in summary_lines(given))


def with_options(record: RunRecord, *chosen: str, version: int = 1, **options: Any) -> RunRecord:
    return record.model_copy(update={"options": options, "chosen": [*chosen], "task_version": version})


def first(*, seed: int = 1, task: str = "corpus.txt", weights: str = "w", **recipe: Any) -> RunRecord:
    """A run on a text."""
    record = run(0.5, task=task, seed=seed, **{"model": "minilm", **recipe})
    return record.model_copy(update={"id": f"{task[:2]}{seed}", "weights": weights})


def after(earlier: RunRecord, score: float = 0.5, *, seed: int = 1, model: str = "adapt", **recipe: Any) -> RunRecord:
    """A run from the encoder of another, whose weights are its own."""
    record = run(score, seed=seed, model=model, **recipe)
    return record.model_copy(update={"lineage": lineage_of(earlier), "weights": f"weights of {earlier.id}"})


OLD = run(0.8).model_copy(update={"recipe": {"task": "mrpc", "seed": 1, "model": BASE, "limit": None}})
UNTRAINED = {"model": "new:mini", "train_share": 0.5}
SHARES = [first(seed=seed, weights=f"{seed}", **UNTRAINED) for seed in (1, 2, 3)]
GIVEN = [first(seed=seed, weights=f"given {seed}", model="new:mini", tokenizer="vocabulary") for seed in (1, 2)]


@pytest.mark.parametrize(
    ("records", "sizes", "differing"),
    [
        ([run(0.8), run(0.7, limit=5), run(0.9, seed=2), run(0.6, init_seed=9)], [3, 1], ["limit"]),
        ([run(0.8, train={"learning_rate": rate}) for rate in (1e-5, 2e-5)], [1, 1], ["train.learning_rate"]),
        ([run(0.8, options={"fold": fold}, data=f"{fold}") for fold in range(3)], [1, 1, 1], ["options.fold"]),
        # Records of older versions know fewer settings, and an option may be given or left at its default.
        ([OLD, run(0.7, seed=2, train={"learning_rate": 2e-5, "layer_decay": 1.0})], [2], []),
        ([run(0.8, options={"context": "document"}), with_options(run(0.8, seed=2), context="document")], [2], []),
        ([run(0.8), with_options(run(0.7, seed=2), class_weight="none")], [2], []),
        (
            [run(0.8), with_options(run(0.7, options={"class_weight": "balanced"}), class_weight="balanced")],
            *([1, 1], ["options.class_weight"]),
        ),
        # What was chosen on dev sets no runs apart.
        ([with_options(run(0.5, seed=seed), "threshold", threshold=seed / 9) for seed in range(3)], [3], []),
        (
            [with_options(run(0.5, seed=n, options={"threshold": n // 2}), threshold=n // 2) for n in range(3)],
            *([2, 1], ["options.threshold"]),
        ),
        # Seeds of an earlier run are seeds, and its other settings are not.
        ([after(first(seed=seed), seed=seed) for seed in range(3)], [3], []),
        ([after(after(first(seed=seed)), seed=seed) for seed in (1, 2)], [2], []),
        ([after(first()), after(first(train={"epochs": 5}))], [1, 1], ["lineage.train.epochs"]),
        ([after(first()), after(first(weights="another encoder"))], [1, 1], []),
        # New encoders whose vocabularies differ by seed belong together, since a share of the text decides it.
        (SHARES, [3], []),
        ([*SHARES[:1], first(weights="1", model="new:small", train_share=0.5)], [1, 1], ["model"]),
        (GIVEN, [1, 1], []),
    ],
)  # fmt: skip
def test_runs_that_differ_in_seeds_alone_belong_together(
    records: list[RunRecord], sizes: list[int], differing: list[str]
) -> None:
    assert [len(group) for group in groups(records)] == sizes
    assert sorted({key for settings in differing_settings(records) for key in settings}) == differing


def test_folds_and_shares_of_the_data_are_taken_together_where_asked() -> None:
    folds = [run(0.8, options={"fold": fold}, data=f"{fold}") for fold in range(3)]
    assert len(groups(folds, over=["options.fold"])) == 1
    (sizes,) = by_share([first(seed=seed, train_share=share) for share in (1.0, 0.5) for seed in (1, 2)])
    assert [(share, len(some)) for share, some in sizes.items()] == [(0.5, 2), (1.0, 2)]


def test_an_interval_over_seeds_covers_the_earlier_run_unless_it_is_shared() -> None:
    scores = [0.8, 0.84, 0.9]
    mine = [
        after(first(seed=seed), score, seed=seed).model_copy(
            update={"margins": {"dev": Margin(interval=(score - 1e-6, score + 1e-6))}}
        )
        for seed, score in enumerate(scores)
    ]
    (row,) = [row for row in summary_table(mine).rows if "dev accuracy" in row]
    assert "3" in row and "72.2 to 97.2" in row  # Student's t of the three, whose margins have no sketches
    shared = [after(first(seed=1), score, seed=seed) for seed, score in enumerate(scores)]
    assert "3 runs start from the encoder of run co1" in shared_encoders(shared)
    assert "encoders of 2 runs" in shared_encoders([*shared, mine[2]])
    assert shared_encoders(mine) == shared_encoders([run(0.5), run(0.6, seed=2)]) == ""


def test_a_lineage_is_of_what_differs_in_records_and_selects_lines_of_a_table(tmp_path: Path) -> None:
    earlier = first(seed=7, train={"epochs": 5, "learning_rate": 2e-5}, options={"objective": "ltr"})
    lineage = lineage_of(earlier)
    assert (lineage.run, lineage.task, lineage.model, lineage.seed) == ("co7", "corpus.txt", "minilm", 7)
    assert lineage.settings == {"train.epochs": 5, "options.objective": "ltr"}
    record = after(after(earlier), 0.7, model="ltr")
    assert record.lineage.lineage == lineage
    assert (record.lineage.checkpoint, record.lineage.words) == (
        *("minilm", "minilm, trained on corpus.txt (co7), then on mrpc (1)"),
    )
    write_record(tmp_path / "record.json", record)
    assert load_record(tmp_path / "record.json").lineage == record.lineage
    others = [after(first(seed=seed), 0.8, seed=seed, model="mlm") for seed in (1, 2)]
    row = TableRow(name="x", task="mrpc", metric="accuracy", settings={"lineage.task": "corpus.txt", "lineage.seed": 2})
    line = lines_of(PaperTable(title="t", source="none", row=[row]), [record, *others, run(0.9)])[0]
    assert (line.model, len(line.runs)) == ("mlm", 1)
