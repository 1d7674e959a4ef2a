"""SQuAD's scores, equal to the official evaluate-v1.1 and evaluate-v2.0 (Rajpurkar et al. 2016, 2018).

KorQuAD 1.0 (Lim et al. 2018) has another script: characters in place of words, and other signs.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

PUNCTUATION = str.maketrans("", "", string.punctuation)
BLANKS = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))  # of KorQuAD's script, before punctuation goes
ARTICLES = re.compile(r"\b(a|an|the)\b")


@lru_cache(maxsize=1 << 17)  # labels are scored after every epoch
def normalised(text: str) -> str:
    """Normalises a text: lower case, without punctuation and articles, single spaces."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def overlap_f1(gold: str, answer: str) -> float:
    """F1 of the words that two normalised texts share, counted as often as both have them; 0 without any."""
    golds, answers = gold.split(), answer.split()
    shared = (Counter(golds) & Counter(answers)).total()
    return 2 * shared / (len(golds) + len(answers)) if shared else 0.0


def score_v1(golds: Sequence[str], answer: str) -> tuple[float, float]:
    """(exact match, F1) of one prediction against the best of its labels, as in evaluate-v1.1."""
    return _best([*map(normalised, golds)], normalised(answer))


def score_v2(golds: Sequence[str], answer: str) -> tuple[float, float]:
    """(exact match, F1) as in evaluate-v2.0: labels that normalise to nothing are ignored, empty matches empty."""
    normal = normalised(answer)
    labels = [gold for gold in map(normalised, golds) if gold] or [""]
    if not normal or labels == [""]:
        right = float(normal in labels)
        return right, right
    return _best(labels, normal)


def score_korquad(golds: Sequence[str], answer: str) -> tuple[float, float]:
    """(exact match, F1 of characters) of one prediction against the best of its labels, as in KorQuAD 1.0's script."""
    normal, labels = _without_signs(answer), [*map(_without_signs, golds)]
    characters, *of_labels = (" ".join(text.replace(" ", "")) for text in (normal, *labels))
    return float(normal in labels), _best(of_labels, characters)[1]


def best_threshold(
    scores: Sequence[float], odds: Sequence[float], answerable: Sequence[bool], answered: Sequence[bool]
) -> tuple[float, float | None]:
    """(best mean score, the threshold that gives it), by evaluate-v2.0's exact search.

    Per question: `scores` of the predicted answers, `odds` of no answer (null odds), and `answered` for an answer that
    is not empty. Questions with odds over the threshold count as not answered. The threshold is None if answering
    nothing is best; the official script returns 0 then.
    """
    current = best = float(len(answerable) - sum(answerable))
    threshold = None
    for index in sorted(range(len(odds)), key=lambda index: odds[index]):
        if answerable[index]:
            current += scores[index]
        elif answered[index]:
            current -= 1
        if current > best:
            best, threshold = current, odds[index]
    return best / len(scores), threshold


@lru_cache(maxsize=1 << 17)
def _without_signs(text: str) -> str:
    """Normalises a text as KorQuAD's script does: quotes and brackets part words, other punctuation is deleted."""
    return " ".join(text.translate(BLANKS).lower().translate(PUNCTUATION).split())


def _best(golds: Sequence[str], answer: str) -> tuple[float, float]:
    return float(answer in golds), max((overlap_f1(gold, answer) for gold in golds), default=0.0)
