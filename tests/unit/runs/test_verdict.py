"""The sentence on what a run is worth against its best baseline."""

import math
from typing import Any

import pytest
from support.records import run

from finetune.analysis.run_facts import verdicts
from finetune.metrics.metric import RATIOS
from finetune.runs.record import Margin, RunRecord, SavedMetric
from finetune.runs.seeds import failed
from finetune.runs.verdict import shortfall, verdict_of


def record(
    score: float, *, baseline: float = 0.5, margin: Margin | None = None, seed: int = 1, **facts: Any
) -> RunRecord:
    made = run(score, majority=baseline, seed=seed)
    return made.model_copy(update={"margins": {"dev": margin} if margin else {}} | facts)


def margin(low: float, high: float, *, around: float) -> Margin:
    return Margin(
        interval=(around + low, around + high),
        baseline="majority",
        difference=0.1,
        difference_interval=(low, high),
        p=0.01,
    )


def test_a_model_that_is_surely_better() -> None:
    found = verdict_of([record(0.64, margin=margin(0.09, 0.19, around=0.5))])
    assert found.level == "better"
    assert found.sentence == (
        "14.0 points better than the majority label (95 %: +9.0 to +19.0). Dev accuracy is 64.0 (95 % 59.0 to 69.0)."
    )


def test_a_model_that_is_surely_worse_is_not_to_be_used() -> None:
    found = verdict_of([record(0.47, margin=margin(-0.05, -0.01, around=0.5))])
    assert found.level == "worse"
    assert found.sentence.startswith(
        "3.0 points worse than the majority label (95 %: -5.0 to -1.0), do not use it. Dev"
    )


def test_a_model_that_may_be_worse_by_chance_says_both() -> None:
    found = verdict_of([record(0.47, margin=margin(-0.09, 0.03, around=0.5))])
    assert found.level == "unclear"
    words = "3.0 points worse than the majority label (95 %: -9.0 to +3.0), which may be chance"
    assert found.sentence.startswith(f"{words}; the baseline is simpler. Dev accuracy is 47.0")


COLLAPSED = "no better than a constant prediction"


def collapsed(score: float, *, seed: int = 1, majority: float = 0.5) -> RunRecord:
    """A run whose best baseline is not the constant one; dev has 52 of 100 rows of one label."""
    baselines = {"dev": {"majority": {"accuracy": majority}, "tfidf-logistic": {"accuracy": 0.6}}}
    facts = {"rows": {"dev": 100}, "labels": {"dev": {"no": 52, "yes": 48}}}
    return record(score, seed=seed, baselines=baselines, **facts)


@pytest.mark.parametrize("score", [0.48, 0.52])
def test_a_run_with_one_label_for_all_rows_is_told(score: float) -> None:
    """That of train's most frequent label, or another's: in the verdict of `run` and `show`, in notes and tables."""
    one = collapsed(score, majority=0.48)
    assert failed(one, "dev")
    assert f"worse than TF-IDF, do not use it; {COLLAPSED}. Dev" in verdict_of([one]).sentence
    assert COLLAPSED in verdicts([one])[0][1].sentence
    assert "no better than a constant prediction" in shortfall([one], split="dev")
    assert not failed(collapsed(0.53), "dev")


def test_of_several_seeds_those_that_collapsed_are_counted() -> None:
    every = [collapsed(score, seed=seed) for seed, score in enumerate((0.9, 0.52, 0.5))]
    found = verdict_of(every).sentence
    assert "2 of 3 runs are no better than a constant prediction." in found
    assert "constant" not in verdict_of(every[:1]).sentence


def test_a_run_that_has_luck_with_one_label_is_not_better_for_it() -> None:
    baselines = {"dev": {"majority": {"accuracy": 0.48}}}
    found = record(0.52, rows={"dev": 100}, labels={"dev": {"no": 52, "yes": 48}}, baselines=baselines)
    assert f"4.0 points better than the majority label; {COLLAPSED}" in verdict_of([found]).sentence


def test_a_lower_score_without_an_interval_is_worse() -> None:
    assert verdict_of([record(0.4)]).level == "worse"


def test_a_difference_within_its_interval_may_be_chance() -> None:
    found = verdict_of([record(0.53, margin=margin(-0.02, 0.08, around=0.5))])
    assert found.level == "unclear"
    assert "3.0 points better than the majority label (95 %: -2.0 to +8.0), which may be chance." in found.sentence


def test_equal_scores_are_no_better() -> None:
    assert verdict_of([record(0.5)]).sentence.startswith("No better than the majority label, which is simpler.")


def test_a_record_without_margins_has_no_interval_and_no_claim() -> None:
    found = verdict_of([record(0.9)])
    assert (found.level, found.interval) == ("unclear", None)
    assert found.sentence == "40.0 points better than the majority label. Dev accuracy is 90.0."


def test_an_interval_over_seeds_has_the_luck_of_rows_and_of_seeds() -> None:
    """Records without sketches: rows are taken to change all seeds alike."""
    same = [record(score, seed=seed, margin=margin(0.05, 0.15, around=0.5)) for seed, score in ((1, 0.58), (2, 0.62))]
    found = verdict_of(same)
    half = math.hypot(0.05, 12.7062 * 0.04 / math.sqrt(2) / math.sqrt(2))
    assert found.interval == pytest.approx((0.6 - half, 0.6 + half), rel=0.05)
    assert found.level == "unclear"
    assert "mean of 2 seeds (use 3 or more" in found.sentence
    assert str(found) == found.sentence


def test_intervals_of_few_seeds_have_only_what_is_possible() -> None:
    same = [record(score, seed=seed, margin=margin(0.05, 0.15, around=0.5)) for seed, score in ((1, 0.5), (2, 0.9))]
    found = verdict_of(same)
    assert (found.interval, found.difference_interval) == ((0.0, 1.0), (-1.0, 1.0))


def test_a_metric_that_is_better_when_it_is_lower() -> None:
    lower = {"accuracy": SavedMetric(scale=1, greater_is_better=False)}
    found = verdict_of([record(2.0, baseline=3.5, margin=margin(-1.9, -1.1, around=3.5), metrics=lower)])
    assert found.level == "better"
    assert found.sentence.startswith("1.5 better than the majority label (95 %: -1.9 to -1.1). Dev accuracy is 2.0")


@pytest.mark.parametrize(("greater", "best"), [(True, 20.0), (False, 12.0)])
def test_the_best_baseline_is_that_of_the_metric(*, greater: bool, best: float) -> None:
    baselines = {"dev": {"mean": {"accuracy": 20.0}, "tfidf-ridge": {"accuracy": 12.0}}}
    found = record(9.0, baselines=baselines, metrics={"accuracy": SavedMetric(scale=1, greater_is_better=greater)})
    assert found.best_baseline("dev", "accuracy") == best
    assert found.best_baseline("test", "accuracy") is None
    assert (found.first_split, found.score) == ("dev", 9.0)


def test_an_undefined_score_is_compared_with_nothing() -> None:
    found = verdict_of([record(math.nan)])
    assert found.level == "worse"
    assert "Not comparable with the majority label" in found.sentence


def test_without_a_baseline_there_is_only_the_score() -> None:
    found = verdict_of([record(0.9, baselines={})])
    assert (found.level, found.sentence) == ("alone", "Dev accuracy is 90.0.")


def test_test_rows_count_if_there_are_any() -> None:
    both = run(0.9, test=0.7, majority=0.8)
    assert verdict_of([both]).split == "test"


@pytest.mark.parametrize("score", [90.0, 50.0])
def test_a_worse_perplexity_than_a_bigram_is_no_advice_against_the_encoder(score: float) -> None:
    given = {name: {"perplexity": value} for name, value in (("unigram", 70.0), ("bigram", 30.0))}
    one = run(score).model_copy(
        update={
            "headline": "perplexity",
            "scores": {"dev": {"perplexity": score}},
            "baselines": {"dev": given},
            "metrics": {"perplexity": SavedMetric(scale=1, greater_is_better=False, magnitudes=True)},
        }
    )
    assert one.is_pretraining and not run(0.9).is_pretraining
    found = verdict_of([one])
    assert str(found).startswith(f"{score - 30:.1f} worse than a bigram of tokens. Dev") and found.level == "worse"


def perplexities(*scores: float, unigram: float, bigram: float) -> list[RunRecord]:
    """Runs on a text that differ in seeds."""
    baselines = {"dev": {"unigram": {"perplexity": unigram}, "bigram": {"perplexity": bigram}}}
    return [
        run(score, seed=seed).model_copy(
            update={
                "headline": "perplexity",
                "scores": {"dev": {"perplexity": score}},
                "baselines": baselines,
                "margins": {"dev": Margin(interval=(score / 9, 9 * score), difference_interval=_around(score, bigram))},
                "metrics": {"perplexity": SavedMetric(scale=1, greater_is_better=False, magnitudes=True)},
            }
        )
        for seed, score in enumerate(scores)
    ]


def _around(score: float, baseline: float) -> tuple[float, float]:
    """The interval of a ratio to a baseline that is 1.5 times less to 1.5 times more."""
    low, high = (RATIOS.difference(math.log(score / baseline * by), baseline, score) for by in (1 / 1.5, 1.5))
    return low, high


def test_perplexities_of_seeds_have_a_geometric_mean_and_an_interval_of_ratios() -> None:
    found = verdict_of(perplexities(2e8, 4e8, 8e8, unigram=3e8, bigram=2e7))
    assert found.score == pytest.approx(4e8)
    half = math.hypot(math.log(9), 4.302653 * math.log(2) / math.sqrt(3))
    assert found.interval == pytest.approx((4e8 / math.exp(half), 4e8 * math.exp(half)), rel=0.05)
    assert found.level == "worse"  # 20 times the bigram's, and seeds differ by a factor of 4
    low, high = found.difference_interval or (0.0, 0.0)
    assert 0 < low < 3.8e8 < high < 1e10
