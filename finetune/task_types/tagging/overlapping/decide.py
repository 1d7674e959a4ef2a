"""Which spans are predicted: candidates from the pairs' probabilities, and the threshold that dev chooses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from finetune.task_types.parts import Answer
from finetune.task_types.tagging.overlapping.row import LabelledSpan, as_values, in_order, triples

EVEN = 0.5  # the threshold before one is chosen
FLOOR = 0.05  # the least probability of a candidate, and the least threshold
CANDIDATES = 4  # most candidates for each word that is read
Candidate = dict[str, Any]  # a span as in predictions, with its `probability`


@dataclass(frozen=True, kw_only=True)
class SpansAnswer(Answer):
    """Spans `{"start", "end", "label"}` with their `probabilities`.

    `candidates` are all spans that some threshold may choose, each with its `probability`. Of a row with spans,
    `label_probabilities` are those of its own ones, 0 for one that is `out_of_reach`, which has the reason for each
    such.
    """

    candidates: Sequence[Candidate] = ()
    label_probabilities: Sequence[float] | None = None
    out_of_reach: Sequence[str] = ()


def candidates_of(chances: np.ndarray, begins: np.ndarray, ends: np.ndarray, types: Sequence[str]) -> list[Candidate]:
    """The most probable spans of a feature, from the probabilities of its pairs `(words, longest, types)`."""
    flat = chances.ravel()
    likely = np.flatnonzero(flat >= FLOOR)
    if len(likely) > (most := CANDIDATES * len(begins)):
        likely = likely[np.argsort(-flat[likely], kind="stable")[:most]]
    words, behind, kinds = np.unravel_index(likely, chances.shape)
    spans = [
        (int(begins[word]), int(ends[word + after]), types[kind])
        for word, after, kind in zip(words, behind, kinds, strict=True)
    ]
    return [
        one | {"probability": round(float(chance), 6)}
        for one, chance in zip(as_values(spans), flat[likely], strict=True)
    ]


def decided(answer: Answer, threshold: float | None) -> Answer:
    """The answer with the candidates that reach a threshold; one without candidates is unchanged."""
    if not isinstance(answer, SpansAnswer):
        return answer
    least = EVEN if threshold is None else threshold
    chosen = [one for one in answer.candidates if one["probability"] >= least]
    return replace(answer, value=as_values(triples(chosen)), probabilities=[one["probability"] for one in chosen])


def sorted_candidates(found: Sequence[Candidate]) -> list[Candidate]:
    """Candidates in the order of a row's spans."""
    return sorted(found, key=lambda one: in_order((one["start"], one["end"], one["label"])))


def best_span_threshold(answers: Sequence[Answer], golds: Sequence[Sequence[LabelledSpan]]) -> float:
    """The threshold with the best F1 over all spans of these rows; of several that are as good the one nearest to 0.5.

    It is 0.5, or midway between two probabilities of candidates.
    """
    chances, right = list[float](), list[bool]()
    for answer, gold in zip(answers, golds, strict=True):
        candidates = answer.candidates if isinstance(answer, SpansAnswer) else ()
        chances += [one["probability"] for one in candidates]
        right += [span in gold for span in triples(candidates)]
    order = np.argsort(chances)
    ranked, hits = np.array(chances, float)[order], np.array(right, float)[order]
    found = np.unique(np.concatenate([[FLOOR], ranked, [1.0]]))
    thresholds = np.append((found[1:] + found[:-1]) / 2, EVEN)
    below = np.searchsorted(ranked, thresholds)
    hit = hits.sum() - np.concatenate([[0], np.cumsum(hits)])[below]
    f1 = 2 * hit / np.maximum(1, len(ranked) - below + sum(map(len, golds)))
    best = thresholds[f1 >= f1.max() - 1e-12]
    return float(best[np.abs(best - EVEN).argmin()])
