"""From the spans that were found to answers: texts, probabilities, no answer, and the official files of SQuAD."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from finetune.span_search import Spans
from finetune.task import Answer

NO_CANDIDATE = 1e9  # null odds where a model gives no span at all
OFFICIAL_KEYS = ("text", "probability", "start_logit", "end_logit")  # of nbest_predictions.json


@dataclass(frozen=True, kw_only=True)
class SpanAnswer(Answer):
    """`value` is the text, empty for no answer. `start` and `end` are its characters in the context, `score` is its
    probability among the n-best.

    `no_answer` is the probability of no answer, `null_odds` how much its logits are over the best span's; both are
    None where every question has an answer. `n_best` are the candidates, the best first, with their two logits; no
    answer, an empty text, is one of them where there may be none.
    """

    start: int | None = None
    end: int | None = None
    score: float = 0.0
    no_answer: float | None = None
    null_odds: float | None = None
    n_best: Sequence[Mapping[str, Any]] = ()

    @property
    def text(self) -> str:
        """The answer."""
        return self.value  # type: ignore[no-any-return]

    @property
    def best_text(self) -> str:
        """That of the best span, whether or not no answer is likelier; without candidates the answer itself."""
        return next((entry["text"] for entry in self.n_best if entry["text"]), self.text)


def answer(
    context: str, spans: Spans, some: slice, *, n_best: int, null: Sequence[float] | None, threshold: float
) -> SpanAnswer:
    """The answer of one row, whose candidates are `some` of the spans.

    `null` has the two logits of no answer, which wins where its odds are over the threshold; None where every
    question has an answer.
    """
    found = _candidates(context, spans, some)[:n_best]
    if null is None:
        return _chosen(found[0], _with_probabilities(found)) if found else SpanAnswer(value="")
    none = {"text": "", "start": None, "end": None, "start_logit": null[0], "end_logit": null[1]}
    odds = _logit(none) - _logit(found[0]) if found else NO_CANDIDATE
    every = _with_probabilities(sorted([*found, none], key=_logit, reverse=True))
    return _chosen(none if odds > threshold else found[0], every, no_answer=none, odds=odds)


def official_files(answers: Mapping[str, SpanAnswer]) -> dict[str, Any]:
    """predictions.json and nbest_predictions.json, and null_odds.json where questions may have no answer."""
    files: dict[str, Any] = {
        "predictions.json": {name: given.text for name, given in answers.items()},
        "nbest_predictions.json": {
            name: [{key: entry[key] for key in OFFICIAL_KEYS} for entry in given.n_best]
            for name, given in answers.items()
        },
    }
    odds = {name: given.null_odds for name, given in answers.items()}
    return files if None in odds.values() else files | {"null_odds.json": odds}


def _candidates(context: str, spans: Spans, some: slice) -> list[dict[str, Any]]:
    """The spans' texts and logits, each text once."""
    found: dict[str, dict[str, Any]] = {}
    for (start, end), (start_logit, end_logit) in zip(
        spans.characters[some].tolist(), spans.logits[some].tolist(), strict=True
    ):
        text = context[start:end].strip()  # some tokenizers count the space before a word as its own
        start += context[start:end].find(text)
        if text and text not in found:
            place = {"start": start, "end": start + len(text)}
            found[text] = {"text": text, **place, "start_logit": start_logit, "end_logit": end_logit}
    return list(found.values())


def _with_probabilities(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    probabilities = softmax(np.array([_logit(candidate) for candidate in candidates])).tolist()
    for candidate, probability in zip(candidates, probabilities, strict=True):
        candidate["probability"] = probability
    return candidates


def _chosen(
    chosen: Mapping[str, Any],
    n_best: list[dict[str, Any]],
    *,
    no_answer: Mapping[str, Any] | None = None,
    odds: float | None = None,
) -> SpanAnswer:
    return SpanAnswer(
        value=chosen["text"],
        start=chosen["start"],
        end=chosen["end"],
        score=chosen["probability"],
        no_answer=None if no_answer is None else no_answer["probability"],
        null_odds=odds,
        n_best=n_best,
    )


def _logit(candidate: Mapping[str, Any]) -> float:
    return candidate["start_logit"] + candidate["end_logit"]  # type: ignore[no-any-return]
