"""What a run is worth against its best baseline: the level, the figures, and what dev chose."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from support.paths import ROOT
from support.records import run

from finetune.analysis.run_tables import summary_table
from finetune.api.run import Run
from finetune.metrics.metric import RATIOS
from finetune.metrics.significance import paired_bootstrap, score_interval, sketch
from finetune.metrics.sums import mean_counted
from finetune.runs.record import DataFinding, Margin, RunRecord, SavedMetric
from finetune.runs.record_files import load_record
from finetune.runs.seeds import failed
from finetune.runs.verdict import chosen_by_scored, dev_choices, shortfall, verdict_of


def record(score: float, *, baseline: float = 0.5, apart: tuple[float, float] | None = None, **facts: Any) -> RunRecord:
    """A run whose difference to its baseline has this interval, and its score one as wide around the baseline."""
    margins = {}
    if apart:
        around = (baseline + apart[0], baseline + apart[1])
        margins["dev"] = Margin(interval=around, baseline="majority", difference_interval=apart, p=0.01)
    made = run(score, majority=baseline, seed=facts.pop("seed", 1))
    return made.model_copy(update={"margins": margins} | facts)


LOWER = {"accuracy": SavedMetric(scale=1, greater_is_better=False)}
OF_TEXT = {"perplexity": SavedMetric(scale=1, greater_is_better=False, magnitudes=True)}
COLLAPSED = {  # dev has 52 of 100 rows of one label, and the best baseline is not the constant one
    "rows": {"dev": 100}, "labels": {"dev": {"no": 52, "yes": 48}},
    "baselines": {"dev": {"majority": {"accuracy": 0.48}, "tfidf-logistic": {"accuracy": 0.6}}},
}  # fmt: skip
LUCKY = COLLAPSED | {"baselines": {"dev": {"majority": {"accuracy": 0.48}}}}


@pytest.mark.parametrize(
    ("records", "level", "figures", "words"),
    [
        ([record(0.64, apart=(0.09, 0.19))], "better", "14.0 +9.0 +19.0 64.0 59.0 69.0", "better than the majority"),
        ([record(0.47, apart=(-0.05, -0.01))], "worse", "3.0 -5.0 -1.0 47.0 45.0 49.0", "do not use it"),
        ([record(0.47, apart=(-0.09, 0.03))], "unclear", "3.0 -9.0 +3.0 47.0 41.0 53.0", "the baseline is simpler"),
        ([record(0.5)], "unclear", "50.0", "No better than the majority label, which is simpler"),
        ([record(0.9)], "unclear", "40.0 90.0", "40.0 points better"),  # without an interval there is no claim
        ([record(0.9, baselines={})], "alone", "90.0", "Dev accuracy is"),
        ([record(math.nan)], "worse", "", "Not comparable with the majority label"),
        (
            [record(2.0, baseline=3.5, apart=(-1.9, -1.1), metrics=LOWER)],
            *("better", "1.5 -1.9 -1.1 2.0 1.6 2.4", "1.5 better than the majority"),
        ),
        # Of train's most frequent label, or another's:
        *[([record(score, **COLLAPSED)], "worse", figures, "TF-IDF, do not use it; no better than a constant")
          for score, figures in ((0.48, "12.0 48.0"), (0.52, "8.0 52.0"))],
        ([record(0.52, **LUCKY)], "unclear", "4.0 52.0", "label; no better than a constant prediction"),
        (
            [record(score, seed=seed, **COLLAPSED) for seed, score in enumerate((0.9, 0.52, 0.5))],
            *("unclear", "4.0 64.0", "2 of 3 runs are no better than a constant prediction"),
        ),
        ([run(0.9, test=0.7, majority=0.8)], "worse", "10.0 70.0", "Test accuracy is"),
        *[  # a worse perplexity than a bigram's is no advice against the encoder
            ([record(score, headline="perplexity", scores={"dev": {"perplexity": score}}, metrics=OF_TEXT,
                     baselines={"dev": {"unigram": {"perplexity": 70.0}, "bigram": {"perplexity": 30.0}}})],
             "worse", f"{score - 30} {score}", "worse than a bigram of tokens. Dev")
            for score in (90.0, 50.0)
        ],
    ],
)  # fmt: skip
def test_the_level_and_figures_of_a_verdict(records: list[RunRecord], level: str, figures: str, words: str) -> None:
    found = verdict_of(records)
    assert (found.level, re.findall(r"[+-]?\d+\.\d+", found.sentence)) == (level, figures.split()), found.sentence
    assert words in found.sentence


def test_a_run_failed_if_it_is_no_better_than_a_constant_prediction() -> None:
    assert failed(record(0.52, **COLLAPSED), "dev") and not failed(record(0.53, **COLLAPSED), "dev")
    assert "no better than a constant prediction" in shortfall([record(0.52, **COLLAPSED)], split="dev")
    assert failed(record(0.52, baselines={}), "dev") is None


@pytest.mark.parametrize(("greater", "best"), [(True, 20.0), (False, 12.0)])
def test_the_best_baseline_is_that_of_the_metric(*, greater: bool, best: float) -> None:
    baselines = {"dev": {"mean": {"accuracy": 20.0}, "tfidf-ridge": {"accuracy": 12.0}}}
    found = record(9.0, baselines=baselines, metrics={"accuracy": SavedMetric(scale=1, greater_is_better=greater)})
    assert (found.best_baseline("dev", "accuracy"), found.best_baseline("test", "accuracy")) == (best, None)


def test_intervals_over_seeds_have_the_luck_of_rows_and_of_seeds() -> None:
    """Records without sketches: rows are taken to change all seeds alike."""
    found = verdict_of([record(score, seed=seed, apart=(0.05, 0.15)) for seed, score in ((1, 0.58), (2, 0.62))])
    half = math.hypot(0.05, 12.7062 * 0.04 / math.sqrt(2) / math.sqrt(2))
    assert found.interval == pytest.approx((0.6 - half, 0.6 + half), rel=0.05)
    assert found.level == "unclear" and "mean of 2 seeds (use 3 or more" in found.sentence
    wide = verdict_of([record(score, seed=seed, apart=(0.05, 0.15)) for seed, score in ((1, 0.5), (2, 0.9))])
    assert (wide.interval, wide.difference_interval) == ((0.0, 1.0), (-1.0, 1.0))  # what is possible
    margin = Margin(interval=(0.886, 1.0), difference_interval=(0.2, 0.5))
    right = [run(1.0, seed=seed).model_copy(update={"margins": {"dev": margin}}) for seed in range(3)]
    assert verdict_of(right).interval == verdict_of(right[:1]).interval == (0.886, 1.0)  # of rows that are all right


def test_perplexities_of_seeds_have_a_geometric_mean_and_an_interval_of_ratios() -> None:
    records = []
    for seed, score in enumerate((2e8, 4e8, 8e8)):
        apart = [RATIOS.difference(math.log(score / 2e7 * by), 2e7, score) for by in (1 / 1.5, 1.5)]
        facts = {
            "headline": "perplexity", "metrics": OF_TEXT, "scores": {"dev": {"perplexity": score}},
            "baselines": {"dev": {"unigram": {"perplexity": 3e8}, "bigram": {"perplexity": 2e7}}},
            "margins": {"dev": Margin(interval=(score / 9, 9 * score), difference_interval=tuple(apart))},
        }  # fmt: skip
        records.append(run(score, seed=seed).model_copy(update=facts))
    found = verdict_of(records)
    half = math.hypot(math.log(9), 4.302653 * math.log(2) / math.sqrt(3))
    assert found.score == pytest.approx(4e8)
    assert found.interval == pytest.approx((4e8 / math.exp(half), 4e8 * math.exp(half)), rel=0.05)
    low, high = found.difference_interval
    assert found.level == "worse" and 0 < low < 3.8e8 < high < 1e10  # 20 times the bigram's; seeds differ 4 times


def changed(record: RunRecord, *, train: dict[str, Any] | None = None, **values: Any) -> RunRecord:
    recipe = record.recipe | {"train": record.recipe["train"] | (train or {})} | values.pop("recipe", {})
    return record.model_copy(update={"recipe": recipe, **values})


MRPC, SQUAD = (
    load_record(ROOT / "results" / run / "record.json") for run in ("mrpc/544c74ed7e", "squad-v2/003095623b")
)
EPOCHS = [{"epoch": number, "loss": 0.1, "headline": 0.5, "scores": {}} for number in range(1, 5)]
BEST = changed(MRPC, train={"select": "best", "epochs": 5}, epochs=EPOCHS, selected_epoch=2)
OWN = changed(BEST, recipe={"options": {"text": "text", "label": "label"}})
TESTED = OWN.model_copy(update={"scores": OWN.scores | {"test": OWN.scores["dev"]}})
LEAK = DataFinding(severity="error", code="leak", split="test", what="all", remedy="", count=5)


@pytest.mark.parametrize(
    ("one", "chosen", "way_out"),
    [
        (MRPC, "", ""),
        (changed(SQUAD, recipe={"options": {"threshold": 0.0, "threshold_em": 0.0}}, chosen=[]), "", ""),
        (changed(MRPC, train={"updates": 2, "patience": 1, "epochs": 3}, epochs=EPOCHS[:2]), "", ""),
        (changed(MRPC, train={"updates": 2, "patience": 1, "epochs": 3}, epochs=EPOCHS[:1]), "the number of parts", ""),
        (changed(MRPC, train={"patience": 1, "epochs": 5}, epochs=EPOCHS[:3]), "the number of epochs", ""),
        (SQUAD, "threshold and threshold_em", ""),
        (BEST, "epoch 2 of 4", ""),
        (OWN, "epoch 2 of 4", "; test=FILE scores rows that chose nothing"),
        (TESTED, "epoch 2 of 4", "; those of test are not"),
        (TESTED.model_copy(update={"findings": [LEAK]}), "epoch 2 of 4", ""),
    ],
)
def test_what_dev_chose_is_named_with_the_way_out(one: RunRecord, chosen: str, way_out: str) -> None:
    assert chosen_by_scored(one) == chosen
    assert dev_choices(one) == [f"dev chose {chosen}, so that its scores are optimistic{way_out}"] * bool(chosen)


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_verdict_is_that_of_a_paired_bootstrap_and_tables_have_its_interval(seeds: int) -> None:
    """From records alone, and as `compare` tests the runs against the baseline's predictions."""
    random = np.random.default_rng(7)
    row, noise = random.standard_normal((300, 1)), random.standard_normal((300, seeds))
    right = 0.8 * row + 0.6 * noise < ndtri(0.8 + random.normal(0, 0.01, seeds))
    base = 0.7 * row[:, 0] + 0.7 * random.standard_normal(300) < ndtri(0.7)
    ours, theirs, records = [mean_counted(column) for column in right.T], mean_counted(base), []
    for seed, one in enumerate(ours):
        margin = Margin(
            interval=score_interval(one, resamples=2_000), sketch=sketch(one),
            difference_interval=paired_bootstrap([theirs], [one]).interval, difference_sketch=sketch(one, theirs),
        )  # fmt: skip
        made = run(one.score, majority=theirs.score, seed=seed)
        records.append(made.model_copy(update={"margins": {"dev": margin}}))
    found = verdict_of(records)
    expected = paired_bootstrap([theirs], ours).interval
    assert found.difference_interval == pytest.approx(expected, abs=0.12 * (expected[1] - expected[0]))
    low, high = found.interval
    assert 0.5 < low < high < 1
    model = Run(records=records, out=Path()).scores.query("method == 'model'").set_index("metric")
    assert (model.loc["accuracy", "low"], model.loc["accuracy", "high"]) == (low, high)
    assert f"{100 * low:.1f} to {100 * high:.1f}" in next(iter(summary_table(records).rows))
