"""Scores as pure functions of gold and answers, with a perfect score at 1; GLUE's are those of Wang et al. 2018."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

Scores = dict[str, dict[str, float]]  # split (or method) -> metric -> score
Metric = Callable[[Sequence[Any], Sequence[Any]], float]


def accuracy(gold: Sequence[Any], answers: Sequence[Any]) -> float:
    """Share of answers that equal the gold."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(gold, answers))


def f1_of(positive: str) -> Metric:
    """F1 of one class, as GLUE scores MRPC and QQP: 0 when nothing was found."""

    def f1(gold: Sequence[Any], answers: Sequence[Any]) -> float:
        from sklearn.metrics import f1_score

        return float(f1_score([g == positive for g in gold], [a == positive for a in answers], zero_division=0))

    return f1


def matthews(gold: Sequence[Any], answers: Sequence[Any]) -> float:
    """Matthews correlation, -1 to 1; 0 when all answers are one class."""
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(gold, answers))


def pearson(gold: Sequence[float], answers: Sequence[float]) -> float:
    """Pearson correlation, -1 to 1; 0 where one side is constant, which leaves it undefined."""
    from scipy.stats import pearsonr

    return _correlation(pearsonr, gold, answers)


def spearman(gold: Sequence[float], answers: Sequence[float]) -> float:
    """Spearman rank correlation with mean ranks for ties, -1 to 1; 0 where one side is constant."""
    from scipy.stats import spearmanr

    return _correlation(spearmanr, gold, answers)


def _correlation(function: Callable[..., Any], gold: Sequence[float], answers: Sequence[float]) -> float:
    if len(set(gold)) < 2 or len(set(answers)) < 2:
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns of near-constant input, which training can pass through
        return float(function(gold, answers).statistic)
