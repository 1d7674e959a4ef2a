"""KLUE's scores of entities and answers, equal to KLUE-baseline's on the same predictions (Park et al. 2021).

Its other scores are accuracy, macro F1, Pearson and F1, which are in `scores`.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np

from finetune.metrics.entities import strict_chunks
from finetune.metrics.metric import Counted
from finetune.metrics.squad import PUNCTUATION
from finetune.metrics.sums import macro_f1_counted, micro_f1_counted

# The scorer's expression for quotation marks and brackets asks for all of `()‘’` after one of them, so it almost never
# applies: 《 》 and ‘ ’ are compared like letters, and are in published scores.
QUOTED = re.compile(r"""['"《》<>〈〉]\(\)‘’""")


@lru_cache(maxsize=1 << 17)  # labels are scored after every epoch
def normalised_korean(text: str) -> str:
    """Normalises an answer as KLUE-MRC: lower case, without ASCII punctuation, single spaces; articles stay."""
    return " ".join(QUOTED.sub(" ", text.lower()).translate(PUNCTUATION).split())


def rouge_w(gold: str, answer: str) -> float:
    """F1 of the longest run of characters, spaces included, that two normalised texts share; 1 for two empty texts.

    KLUE calls it ROUGE-W (section 4.7), with contiguous runs and no weight. difflib gives the run, as in the scorer:
    in a label of 200 characters or more it does not begin at frequent characters.
    """
    if not gold or not answer:
        return float(gold == answer)
    longest = SequenceMatcher(None, answer, gold).find_longest_match()
    return 2 * longest.size / (len(gold) + len(answer))


def score_mrc(golds: Sequence[str], answer: str) -> tuple[float, float]:
    """(exact match, ROUGE-W) against the best label of each; without labels, only an empty answer is right."""
    normal, labels = normalised_korean(answer), [*map(normalised_korean, golds)] or [""]
    return float(normal in labels), max(rouge_w(label, normal) for label in labels)


def entity_macro_f1(gold: Sequence[Sequence[str]], answers: Sequence[Sequence[str]]) -> Counted:
    """Mean F1 of the entity types that occur in labels or predictions, from strict IOB2 tags of rows.

    As seqeval in strict mode: an I-X begins nothing. KLUE joins all sentences before it scores, with an O between them,
    so that no entity is in two sentences.
    """
    true, predicted = (list(map(strict_chunks, tags)) for tags in (gold, answers))
    types = sorted({name for row in (*true, *predicted) for name, _, _ in row})
    right = [[*set(a) & set(b)] for a, b in zip(true, predicted, strict=True)]
    names = ([[name for name, _, _ in row] for row in rows] for rows in (right, predicted, true))
    return macro_f1_counted(*(_by_label(rows, types) for rows in names), none=0.0)


def character_macro_f1(
    gold: Sequence[Sequence[str]], answers: Sequence[Sequence[str]], labels: Sequence[str]
) -> Counted:
    """Mean F1 of all labels over the characters of rows. O counts, and a label that neither side has counts 1."""
    right = [[a for a, b in zip(*row, strict=True) if a == b] for row in zip(gold, answers, strict=True)]
    return micro_f1_counted(*(_by_label(rows, labels) for rows in (right, answers, gold)))


def _by_label(rows: Sequence[Sequence[str]], labels: Sequence[str]) -> np.ndarray:
    """How often each label is in a row, `(rows, labels)`."""
    numbers = {label: number for number, label in enumerate(labels)}
    counts = np.zeros((len(rows), len(labels)))
    for count, row in zip(counts, rows, strict=True):
        np.add.at(count, [numbers[label] for label in row], 1)
    return counts
