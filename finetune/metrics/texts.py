"""Scores of written texts: exact match, chrF (Popović 2015), BLEU (Papineni et al. 2002), ROUGE (Lin 2004).

chrF and BLEU are sacrebleu's (Post 2018), of all rows together, from sums of counts over the rows. ROUGE is that of
rouge-score, the mean F1 of the rows; but its words are runs of letters and digits of any script, and single Chinese
characters and kana, since rouge-score's own tokenizer drops all that is not a Latin letter or a digit.
"""

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.sums import Counted, mean_counted

BleuWords = Literal["13a", "intl", "zh", "char"]  # sacrebleu's names of ways to find words
TextScore = Literal["chrf", "bleu", "rouge-1", "rouge-2", "rouge-l", "em"]
ROUGE = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}  # ours -> rouge-score's
UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # kana and Chinese characters
WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
EXTRA = "pip install 'bert-finetune[sequence]'"


def text_metrics(*, first: TextScore = "chrf", words: BleuWords = "13a", lower: bool = False) -> tuple[Metric, ...]:
    """All of them, the headline first; `lower` compares texts in lower case, `words` are those of BLEU."""
    given = {
        "chrf": partial(_chrf_sums, lower=lower),
        "bleu": partial(_bleu_sums, lower=lower, words=words),
        **{name: partial(_rouge_sums, name=name) for name in ROUGE},
        "em": partial(_match_sums, lower=lower),
    }
    names = [first, *(name for name in given if name != first)]
    return tuple(Metric(name, partial(_score, sums=given[name]), given[name], per_row=name == "em") for name in names)


def require_text_scores() -> None:
    """Raises UserError where sacrebleu or rouge-score is not installed."""
    _chrf(False)
    _rouge()


def sentence_chrf(labels: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """chrF of each row by itself, 0 to 1: `(rows,)`."""
    statistics = _chrf_statistics(labels, texts, lower=False)
    return _chrf_of(statistics)


def same_words(label: str, text: str, *, lower: bool = False) -> bool:
    """Whether two texts are equal but for white space, with `lower` also but for case."""
    one, other = (" ".join(each.split()) for each in (label, text))
    return one.lower() == other.lower() if lower else one == other


def rouge_words(text: str) -> list[str]:
    """A text's words as ROUGE compares them, in lower case."""
    return WORD.findall(text.lower())


def _score(labels: Sequence[str], texts: Sequence[str], *, sums: Any) -> float:
    counted: Counted = sums(labels, texts)
    return counted.score


def _match_sums(labels: Sequence[str], texts: Sequence[str], *, lower: bool) -> Counted:
    return mean_counted([same_words(a, b, lower=lower) for a, b in zip(labels, texts, strict=True)])


def _chrf_sums(labels: Sequence[str], texts: Sequence[str], *, lower: bool) -> Counted:
    return Counted(counts=_chrf_statistics(labels, texts, lower=lower), value=_chrf_of)


def _bleu_sums(labels: Sequence[str], texts: Sequence[str], *, lower: bool, words: str) -> Counted:
    bleu = _bleu(lower, words)

    def score(row: list[float]) -> float:
        return float(bleu._compute_score_from_stats(row).score)

    return Counted(counts=_statistics(bleu, labels, texts), value=partial(_each, score))


def _rouge_sums(labels: Sequence[str], texts: Sequence[str], *, name: str) -> Counted:
    return mean_counted([_rouge_of(a, b)[ROUGE[name]].fmeasure for a, b in zip(labels, texts, strict=True)])


def _chrf_statistics(labels: Sequence[str], texts: Sequence[str], *, lower: bool) -> np.ndarray:
    return _statistics(_chrf(lower), labels, texts)


def _chrf_of(sums: np.ndarray) -> np.ndarray:
    return _each(lambda row: _chrf(False)._compute_f_score(row), sums)


def _statistics(metric: Any, labels: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """The counts of each row `(rows, c)`, whose sums give the score. sacrebleu has no public name for them."""
    found = metric._extract_corpus_statistics(list(texts), [list(labels)])
    return np.array(found, dtype=float)


def _each(score: Any, sums: np.ndarray) -> np.ndarray:
    """Scores from 0 to 1 of sums `(..., c)`."""
    rows = sums.reshape(-1, sums.shape[-1])
    return np.array([min(1.0, score(row.tolist()) / 100) for row in rows]).reshape(sums.shape[:-1])


@cache
def _chrf(lower: bool) -> Any:
    try:
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise _missing("sacrebleu") from error
    return CHRF(lowercase=lower)


@cache
def _bleu(lower: bool, words: str) -> Any:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise _missing("sacrebleu") from error
    return BLEU(lowercase=lower, tokenize=words)


class RougeWords:
    """The tokenizer that rouge-score is given."""

    def tokenize(self, text: str) -> list[str]:
        """The words of a text."""
        return rouge_words(text)


@cache
def _rouge() -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise _missing("rouge-score") from error
    return RougeScorer(list(ROUGE.values()), tokenizer=RougeWords())


@cache
def _rouge_of(label: str, text: str) -> Any:
    return _rouge().score(label, text)


def _missing(package: str) -> UserError:
    return UserError(f"texts are scored by {package}, which is not installed", f"Install it: {EXTRA}")
