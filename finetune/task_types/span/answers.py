"""Builds answers from candidate spans: texts, probabilities, no answer, n-best lists."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from finetune.task_types.parts import Answer
from finetune.task_types.span.search import Spans

NO_CANDIDATE = 1e9  # null odds where a model has no candidate span


@dataclass(frozen=True, kw_only=True)
class SpanAnswer(Answer):
    """`value` is the text, empty for no answer. `start` and `end` are its characters in the context, `score` is its
    probability among the n-best.

    `label_probability` is that of the row's own answer among the n-best and itself, None where it has no place.
    `no_answer` is the probability of no answer, `null_odds` its logits minus the best span's; both are
    None where every question has an answer. `n_best` are the candidates, best first, with their two logits; no
    answer, an empty text, is one of them where questions may have none.
    """

    start: int | None = None
    end: int | None = None
    score: float = 0.0
    label_probability: float | None = None
    no_answer: float | None = None
    null_odds: float | None = None
    n_best: Sequence[Mapping[str, Any]] = ()

    @property
    def text(self) -> str:
        """The predicted text."""
        return self.value  # type: ignore[no-any-return]

    @property
    def best_text(self) -> str:
        """The text of the best span, even if no answer is likelier; without candidates the predicted text."""
        return next((entry["text"] for entry in self.n_best if entry["text"]), self.text)


def answers(
    contexts: Sequence[str], spans: Spans, *, n_best: int, null: Sequence[Sequence[float]] | None, threshold: float
) -> list[SpanAnswer]:
    """The answer of each row, from the candidate spans in its context.

    `null` `(rows, 2)` are the logits of no answer, which is predicted where its odds are over the threshold; None where
    every question has an answer.
    """
    begins = np.searchsorted(spans.row, np.arange(len(contexts) + 1)).tolist()
    columns = [column.tolist() for column in (*spans.characters.T, *spans.logits.T)]  # flat lists are fastest
    entries, places = [], []
    for context, i, j in zip(contexts, begins, begins[1:], strict=False):
        candidates, place = _candidates(context, zip(*(column[i:j] for column in columns), strict=True), n_best)
        entries.append(candidates)
        places.append(place)
    if null is None:
        _add_probabilities(entries)
        both = zip(entries, places, strict=True)
        return [_chosen(some, *place) if some else SpanAnswer(value="") for some, place in both]
    decided: list[tuple[dict[str, Any], float, list[dict[str, Any]]]] = []
    for some, (start, end) in zip(entries, null, strict=True):
        empty = {"text": "", "probability": 0.0, "start_logit": start, "end_logit": end}
        odds = _logit(empty) - _logit(some[0]) if some else NO_CANDIDATE
        decided.append((empty, odds, sorted([*some, empty], key=_logit, reverse=True)))
    _add_probabilities([every for _, _, every in decided])
    return [
        replace(
            SpanAnswer(value="", score=empty["probability"]) if odds > threshold else _chosen(some, *place),
            no_answer=empty["probability"],
            null_odds=odds,
            n_best=every,
        )
        for some, place, (empty, odds, every) in zip(entries, places, decided, strict=True)
    ]


def with_label(answer: SpanAnswer, texts: Sequence[str] | None, logit: float) -> SpanAnswer:
    """The answer with the probability of the label, whose texts are given, empty for no answer. Where the n-best lack
    them it is that of the labelled span, of this logit, among them and itself; minus infinity where it is in no window.
    """
    if texts is None:
        return answer
    there = sum(entry["probability"] for entry in answer.n_best if entry["text"] in (texts or ("",)))
    if not there and np.isfinite(logit):
        scores = [_logit(entry) for entry in answer.n_best]
        there = float(np.exp(logit - np.logaddexp.reduce([*scores, logit])))
    return replace(answer, label_probability=there if there or texts == () else None)


def _candidates(
    context: str, spans: Iterable[tuple[int, int, float, float]], most: int
) -> tuple[list[dict[str, Any]], tuple[int, int]]:
    """The first spans as entries of the n-best list, each text once, and the best one's characters in the context."""
    entries: dict[str, dict[str, Any]] = {}
    place = (0, 0)
    for start, end, start_logit, end_logit in spans:
        text = context[start:end].strip()  # some tokenizers count the space before a word as its own
        if text and text not in entries:
            if not entries:
                start = context.index(text, start)
                place = (start, start + len(text))
            # in the order of the official file
            entries[text] = {"text": text, "probability": 0.0, "start_logit": start_logit, "end_logit": end_logit}
            if len(entries) == most:
                break
    return list(entries.values()), place


def _add_probabilities(lists: Sequence[list[dict[str, Any]]]) -> None:
    """The softmax over each list's logits, for all lists at once."""
    from scipy.special import softmax

    scores = np.full((len(lists), max(map(len, lists), default=0) or 1), -np.inf)
    there = np.arange(scores.shape[1]) < np.array([len(entries) for entries in lists])[:, None]
    scores[there] = [entry["start_logit"] + entry["end_logit"] for entries in lists for entry in entries]
    for entries, probabilities in zip(lists, softmax(scores, axis=1).tolist(), strict=True):
        for entry, probability in zip(entries, probabilities, strict=False):
            entry["probability"] = probability


def _chosen(entries: list[dict[str, Any]], start: int, end: int) -> SpanAnswer:
    best = entries[0]
    return SpanAnswer(value=best["text"], start=start, end=end, score=best["probability"], n_best=entries)


def _logit(candidate: Mapping[str, Any]) -> float:
    return candidate["start_logit"] + candidate["end_logit"]  # type: ignore[no-any-return]
