"""Scores of texts: equal to those of sacrebleu and rouge-score, from sums over rows, and in any script."""

import sys

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import CHRF, corpus_bleu

from finetune.errors import UserError
from finetune.metrics import texts
from finetune.metrics.texts import rouge_words, same_words, sentence_chrf, text_metrics

LABELS = ["The cat sat on the mat.", "A dog ran away quickly", "it rains", "Nothing here is shared at all"]
WRITTEN = ["the cat sat on a mat .", "A dog ran away quickly", "", "completely different words again"]
KOREAN = (["아버지가 방에 들어가신다", "비가 온다"], ["아버지가 방에 들어간다", "비가 온다"])


def scores(labels: list[str], written: list[str], **settings: object) -> dict[str, float]:
    return {metric.name: metric.score(labels, written) for metric in text_metrics(**settings)}


@pytest.mark.parametrize("lower", [False, True])
def test_bleu_and_chrf_are_those_of_sacrebleu(lower: bool) -> None:
    found = scores(LABELS, WRITTEN, lower=lower)
    assert found["bleu"] == pytest.approx(corpus_bleu(WRITTEN, [LABELS], lowercase=lower).score / 100)
    assert found["chrf"] == pytest.approx(CHRF(lowercase=lower).corpus_score(WRITTEN, [LABELS]).score / 100)


def test_words_of_bleu_can_be_characters() -> None:
    labels, written = ["今天天气很好"], ["今天天气不好"]
    assert scores(labels, written)["bleu"] == 0
    found = scores(labels, written, words="char")["bleu"]
    assert found == pytest.approx(corpus_bleu(written, [labels], tokenize="char").score / 100)
    assert found > 0


def test_rouge_is_that_of_rouge_score_for_latin_letters() -> None:
    theirs = RougeScorer(["rouge1", "rouge2", "rougeL"])
    found = scores(LABELS, WRITTEN)
    for name, other in (("rouge-1", "rouge1"), ("rouge-2", "rouge2"), ("rouge-l", "rougeL")):
        each = [theirs.score(*pair)[other].fmeasure for pair in zip(LABELS, WRITTEN, strict=True)]
        assert found[name] == pytest.approx(float(np.mean(each)))


def test_rouge_reads_korean_which_its_own_tokenizer_drops() -> None:
    own = RougeScorer(["rouge1"]).score(*(each[0] for each in KOREAN))
    assert own["rouge1"].fmeasure == 0
    assert scores(*KOREAN)["rouge-1"] == pytest.approx((2 / 3 + 1) / 2)
    assert rouge_words("The 3 cats, 아버지가 東京タ!") == ["the", "3", "cats", "아버지가", "東", "京", "タ"]


def test_scores_are_sums_over_rows() -> None:
    """So that they are the same however rows are split, and can be resampled."""
    for metric in text_metrics():
        assert metric.sums is not None
        whole = metric.sums(LABELS, WRITTEN)
        parts = [metric.sums(LABELS[a:b], WRITTEN[a:b]).counts for a, b in ((0, 1), (1, 4))]
        assert whole.score == pytest.approx(float(whole.value(np.concatenate(parts).sum(0))))
        assert whole.resampled(np.ones((3, 4))).shape == (3,)
        assert metric.sums(LABELS, LABELS).score == pytest.approx(1)
        assert metric.sums(LABELS, LABELS).score <= 1


def test_the_headline_is_first() -> None:
    assert text_metrics(first="bleu")[0].name == "bleu"
    assert len({metric.name for metric in text_metrics(first="em")}) == 6


def test_equal_texts_differ_in_white_space_alone() -> None:
    assert same_words("a  b", " a b")
    assert not same_words("A b", "a b")
    assert same_words("A b", "a b", lower=True)
    assert sentence_chrf(["a b"], ["a b"]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("module", "package"), [("sacrebleu.metrics.chrf", "sacrebleu"), ("rouge_score.rouge_scorer", "rouge-score")]
)
def test_a_package_that_is_absent_is_named(module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    for cached in (texts._chrf, texts._rouge):
        cached.cache_clear()
    with pytest.raises(UserError, match=package) as error:
        texts.require_text_scores()
    assert "bert-finetune[sequence]" in error.value.way_out
    for cached in (texts._chrf, texts._rouge):
        cached.cache_clear()
