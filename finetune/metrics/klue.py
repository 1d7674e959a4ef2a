"""KLUE's scores of entities and answers, equal to those of KLUE-baseline on the same predictions (Park et al. 2021).

Its other scores are accuracy, macro F1, Pearson and F1, which are in `scores`.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np

from finetune.metrics.entities import Chunk, strict_chunks
from finetune.metrics.metric import Counted
from finetune.metrics.squad import PUNCTUATION
from finetune.metrics.sums import macro_f1_counted, ratio

# The scorer's expression for quotation marks and brackets asks for all of `()‘’` after one of them, so it almost never
# applies: 《 》 and ‘ ’ are compared like letters, and are in published scores.
QUOTED = re.compile(r"""['"《》<>〈〉]\(\)‘’""")


@lru_cache(maxsize=1 << 17)  # labels are scored after every epoch
def normalised_korean(text: str) -> str:
    """Normalises an answer as KLUE-MRC: lower case, without ASCII punctuation, single spaces; articles stay."""
    return " ".join(QUOTED.sub(" ", text.lower()).translate(PUNCTUATION).split())


def rouge_w(gold: str, answer: str) -> float:
    """F1 of the longest run of characters, spaces included, that two normalised texts share; an empty one matches
    empty.

    This is what KLUE calls ROUGE-W (section 4.7): the run must be contiguous, and no weight is applied. The run is that
    of difflib, as in the scorer: in a label of 200 characters or more it does not begin at frequent ones.
    """
    if not gold or not answer:
        return float(gold == answer)
    longest = SequenceMatcher(None, answer, gold).find_longest_match()
    return 2 * longest.size / (len(gold) + len(answer))


def score_mrc(golds: Sequence[str], answer: str) -> tuple[float, float]:
    """(exact match, ROUGE-W) against the best label of each; without labels, only an empty answer is right."""
    given = normalised_korean(answer)
    wanted = [normalised_korean(gold) for gold in golds] or [""]
    return float(given in wanted), max(rouge_w(gold, given) for gold in wanted)


def entity_macro_f1(gold: Sequence[Sequence[str]], answers: Sequence[Sequence[str]]) -> Counted:
    """Mean F1 of the entity types that occur in labels or predictions, from strict IOB2 tags of rows.

    As seqeval in strict mode: an I-X begins nothing. KLUE joins all sentences before it scores; since it puts an O
    between them, the entities are those of each sentence.
    """
    there, found = (list(map(strict_chunks, tags)) for tags in (gold, answers))
    kinds = sorted({kind for row in (*there, *found) for kind, _, _ in row})
    right = [[*set(a) & set(b)] for a, b in zip(there, found, strict=True)]
    return macro_f1_counted(*(_by_kind(rows, kinds) for rows in (right, found, there)), none=0.0)


def character_macro_f1(
    gold: Sequence[Sequence[str]], answers: Sequence[Sequence[str]], labels: Sequence[str]
) -> Counted:
    """Mean F1 of all labels over the characters of rows. O counts, and a label that neither side has counts 1."""
    right = [[tag for tag, given in zip(*row, strict=True) if tag == given] for row in zip(gold, answers, strict=True)]
    counts = [_by_label(rows, labels) for rows in (right, answers, gold)]
    return Counted(counts=np.column_stack(counts), value=_mean_of_all)


def _mean_of_all(sums: np.ndarray) -> np.ndarray:
    right, given, there = np.split(sums, 3, axis=-1)
    found: np.ndarray = np.where(given + there > 0, ratio(2 * right, given + there), 1.0).mean(-1)
    return found


def _by_kind(rows: Sequence[Sequence[Chunk]], kinds: Sequence[str]) -> np.ndarray:
    """How many entities of each type a row has, `(rows, types)`."""
    return _by_label([[kind for kind, _, _ in row] for row in rows], kinds)


def _by_label(rows: Sequence[Sequence[str]], labels: Sequence[str]) -> np.ndarray:
    """How often each label is in a row, `(rows, labels)`."""
    numbers = {label: number for number, label in enumerate(labels)}
    counts = np.zeros((len(rows), len(labels)))
    for count, row in zip(counts, rows, strict=True):
        np.add.at(count, [numbers[label] for label in row], 1)
    return counts
