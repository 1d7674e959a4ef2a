"""Groups of runs that differ in seeds alone: means, intervals and spread."""

import json
import math
from pathlib import Path

import pytest
from scipy import stats
from support.records import BASE, run

from finetune.analysis.run_tables import summary_lines, summary_table
from finetune.commands.table.declaration import load_table
from finetune.commands.table.lines import lines_of
from finetune.metrics.scores import accuracy, matthews
from finetune.metrics.words import perplexity
from finetune.runs.record_files import all_records
from finetune.runs.seeds import differing_settings, failed, groups, paired, summarised


def test_a_summary_has_students_interval() -> None:
    scores = [0.84, 0.86, 0.85, 0.88]
    found = summarised(scores, accuracy)
    expected = stats.t.interval(0.95, 3, loc=0.8575, scale=stats.sem(scores))
    assert (found.n, found.mean, found.best) == (4, pytest.approx(0.8575), 0.88)
    assert found.sd == pytest.approx(0.0170783, rel=1e-4)
    assert found.interval == pytest.approx(expected)
    assert (summarised([0.5], accuracy).sd, summarised([0.5], accuracy).interval) == (None, None)


def test_an_interval_of_few_seeds_has_only_possible_scores() -> None:
    found = summarised([0.5, 0.9], accuracy)
    assert found.interval == (0.0, 1.0)
    assert found.half == pytest.approx(12.7062 * 0.2, rel=1e-4)
    assert summarised([-0.5, 0.9], matthews).interval == (-1.0, 1.0)


def test_a_score_that_is_no_number_is_read_again_and_never_the_best(tmp_path: Path) -> None:
    broken = run(math.nan, seed=1)
    good = [run(score, seed=seed, train={"learning_rate": 1e-3}) for seed, score in ((2, 0.7), (3, 0.8))]
    epochs = [{"epoch": 1, "loss": 0.5, "headline": math.nan, "scores": {"dev": {"accuracy": math.nan}}}]
    broken = broken.model_copy(update={"epochs": epochs})
    for number, record in enumerate([broken, *good]):
        file = tmp_path / "mrpc" / str(number) / "record.json"
        file.parent.mkdir(parents=True)
        file.write_text(record.model_dump_json(indent=2))
        json.loads(file.read_text(), parse_constant=pytest.fail)  # for readers that know JSON alone
    records = all_records(tmp_path)
    assert len(records) == 3
    (again,) = [record for record in records if record.id == "1"]
    assert math.isnan(again.scores["dev"]["accuracy"])
    assert math.isnan(again.epochs[0]["headline"])
    assert failed(again, "dev")
    assert again.recipe["init_seed"] is None
    with_nan = summarised([math.nan, 0.7, 0.8], accuracy)
    assert (with_nan.best, with_nan.sd, with_nan.interval) == (0.8, None, None)
    assert math.isnan(with_nan.mean)
    for given in ([again, *good], [*good, again]):
        (line,) = [line for line in lines_of(load_table("glue"), given) if line.runs and line.metric.name == "accuracy"]
        assert line.runs == good
        assert any("best of 2 settings" in text and "learning_rate 0.001" in text for text in summary_lines(given))


def test_runs_that_differ_in_seeds_alone_belong_together() -> None:
    records = [run(0.8), run(0.7, limit=5), run(0.9, seed=2), run(0.6, init_seed=9), run(0.5, data="other")]
    found = groups(records)
    assert [[record.scores["dev"]["accuracy"] for record in group] for group in found] == [
        [0.8, 0.9, 0.6],
        [0.7],
        [0.5],
    ]
    folds = [run(0.8, options={"fold": fold}, data=f"{fold}") for fold in range(3)]
    assert len(groups(folds)) == 3
    assert len(groups(folds, over=["options.fold"])) == 1
    rates = [run(0.8, train={"learning_rate": rate, "epochs": 3}) for rate in (1e-5, 2e-5)]
    assert differing_settings(rates) == [{"train.learning_rate": 1e-5}, {"train.learning_rate": 2e-5}]


def test_what_a_record_does_not_say_has_its_default() -> None:
    """Records of older versions know fewer settings, and an option may be given or left at its default."""
    old = run(0.8, data="d").model_copy(update={"recipe": {"task": "mrpc", "seed": 1, "model": BASE, "limit": None}})
    new = run(0.7, seed=2, train={"learning_rate": 2e-5, "layer_decay": 1.0})
    assert len(groups([old, new])) == 1
    assert differing_settings([old, new]) == [{}, {}]
    given = run(0.8, task="conll-2003", options={"context": "document"}, max_length=128)
    left = run(0.8, seed=2, task="conll-2003", max_length=128).model_copy(update={"options": {"context": "document"}})
    assert len(groups([given, left])) == 1
    (line,) = [line for line in lines_of(load_table("table-7"), [given, left]) if line.runs]
    assert (line.row.name, line.dev.n) == ("fine-tuned", 2)


CHOSEN_ON_DEV = [{"threshold": -0.13, "threshold_em": -0.59}, {"threshold": 0.41, "threshold_em": 0.2}]


def test_what_was_chosen_on_dev_sets_no_runs_apart() -> None:
    records = [
        run(0.5 + seed / 10, seed=seed, task="squad-v2").model_copy(update={"options": found, "chosen": list(found)})
        for seed, found in enumerate(CHOSEN_ON_DEV)
    ]
    assert len(groups(records)) == 1
    assert differing_settings(records) == [{}, {}]
    assert summary_lines(records) == []
    (line,) = [line for line in lines_of(load_table("squad"), records) if line.runs and line.metric.name == "f1"]
    assert (line.choices, line.dev.n, line.dev.mean) == (1, 2, pytest.approx(0.55))
    given = [
        run(0.5, seed=seed, task="squad-v2", options={"threshold": value}).model_copy(
            update={"options": {"threshold": value, "threshold_em": None}, "chosen": []}
        )
        for seed, value in enumerate((0.0, 0.0, 1.0))
    ]
    assert [len(group) for group in groups(given)] == [2, 1]
    assert differing_settings(given)[2] == {"options.threshold": 1.0}
    labels = [{"options": {"thresholds": [seed / 9]}, "chosen": ["thresholds"]} for seed in range(3)]
    several = [run(0.5, seed=seed).model_copy(update=facts) for seed, facts in enumerate(labels)]
    assert len(groups(several)) == 1


def test_an_option_that_a_record_does_not_know_is_as_the_others_have_it() -> None:
    """Before options were recorded, a run had what others of its task's version have by default."""
    before = run(0.8)
    after = run(0.7, seed=2).model_copy(update={"options": {"class_weight": "none", "windows": False}})
    other = run(0.7, seed=3, options={"class_weight": "balanced"}).model_copy(
        update={"options": {"class_weight": "balanced", "windows": False}}
    )
    assert [len(group) for group in groups([before, after, other])] == [2, 1]
    assert differing_settings([before, other]) == [{}, {"options.class_weight": "balanced"}]
    newer = after.model_copy(update={"task_version": 2})
    assert len(groups([before, newer])) == 2


def test_every_dev_split_is_summarised() -> None:
    """MNLI has two."""
    both = [run(score, test=score - 0.1, seed=seed) for seed, score in ((1, 0.8), (2, 0.9))]
    for record in both:
        record.scores["dev-mismatched"] = {"accuracy": record.scores["dev"]["accuracy"] - 0.05}
        record.baselines["dev-mismatched"] = {"majority": {"accuracy": 0.5}}
    table = summary_table(both)
    assert [row[5] for row in table.rows] == ["dev accuracy", "dev f1", "dev em", "dev-mismatched accuracy"]
    assert [row[6] for row in table.rows] == ["85.0", "85.0", "85.0", "80.0"]
    assert {row[4] for row in table.rows} == {"0"}


def test_the_set_that_chose_a_setting_is_named() -> None:
    records = [run(0.8 + rate, test=0.7 + rate, train={"learning_rate": rate}) for rate in (0.01, 0.03, 0.02)]
    (line,) = summary_lines(records)
    assert "train.learning_rate 0.03; 73.0 on test" in line


def test_the_difference_of_pairs_is_that_of_a_t_test() -> None:
    pairs = [(0.5, 0.52), (0.7, 0.73), (0.6, 0.61)]
    found = paired(pairs, accuracy)
    expected = stats.ttest_rel([b for _, b in pairs], [a for a, _ in pairs]).confidence_interval()
    assert found.interval == pytest.approx((expected.low, expected.high))
    assert found.half == pytest.approx(stats.t.ppf(0.975, 2) * found.sd / math.sqrt(3))
    assert found.half == pytest.approx(2.48 * found.sd, rel=1e-2)
    assert paired([(0.1, 0.9), (0.9, 0.1)], accuracy).interval == (-1.0, 1.0)


def test_perplexities_are_summarised_by_their_ratios() -> None:
    found, log = summarised([100.0, 1_000.0, 10_000.0], perplexity), math.log(10)
    half = stats.t.ppf(0.975, 2) * log / math.sqrt(3)
    assert found.mean == pytest.approx(1_000)
    assert found.interval == pytest.approx((1_000 / math.exp(half), 1_000 * math.exp(half)))
    assert summarised([42.0], perplexity).mean == 42.0
    same = paired([(100.0, 50.0), (1_000.0, 400.0), (10_000.0, 6_000.0)], perplexity)
    steps = stats.ttest_1samp([math.log(ratio) for ratio in (0.5, 0.4, 0.6)], 0).confidence_interval()
    assert same.interval is not None and same.interval[1] < 0 and steps.high < 0
    assert same.interval[0] < same.mean < same.interval[1]
