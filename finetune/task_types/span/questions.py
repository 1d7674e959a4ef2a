"""Questions about contexts, their features (a long context gives several windows), and answers from candidate spans."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.messages import so_many
from finetune.errors import UserError
from finetune.models.feature import IGNORED, Feature
from finetune.models.tokenizers.encoding import character_offsets, most_context, template_of, window_starts
from finetune.task_types.parts import Answer
from finetune.task_types.span.search import Spans

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROWS_AT_ONCE = 2_000  # tokenized at once, to bound memory
LEAST_ROOM = 4  # fewest tokens of context in a window


NO_CANDIDATE = 1e9  # null odds where a model has no candidate span


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """A question about a context.

    `answers` are the label texts: empty without an answer in the context, None for an unknown label. `start` is the
    character at which the first begins.
    """

    id: str
    question: str
    context: str
    answers: tuple[str, ...] | None = None
    start: int | None = None
    title: str = ""

    @property
    def gold(self) -> tuple[str, ...] | None:
        return self.answers

    @property
    def input(self) -> str:
        return f"{self.question}\n{self.context}"


def encode_questions(
    rows: Sequence[SpanRow], tokenizer: "PreTrainedTokenizerBase", max_length: int, *, stride: int, most_asked: int
) -> list[Feature]:
    """`[CLS] question [SEP] part of the context [SEP]`; a long context gives several windows, `stride` apart.

    A question is truncated to `most_asked` tokens. The label is the first and the last token of the answer, twice
    0, that is `[CLS]`, where a window has none. Their notes are
    Windows. Raises UserError for a max_length that leaves no room for the context.
    """
    template = template_of(tokenizer)
    features: list[Feature] = []
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        part_of_rows = rows[begin : begin + ROWS_AT_ONCE]
        texts = list(dict.fromkeys(row.context for row in part_of_rows))
        contexts = dict(zip(texts, _tokens(texts, tokenizer), strict=True))
        questions = _tokens([row.question.lstrip() for row in part_of_rows], tokenizer)
        for index, (row, (asked, _)) in enumerate(zip(part_of_rows, questions, strict=True), start=begin):
            question, (context, characters) = asked[:most_asked], contexts[row.context]
            room = max_length - template.special_tokens - len(question)
            if room < LEAST_ROOM:
                what = f"max_length {max_length} leaves {so_many(room, 'token')} for the context"
                raise UserError(
                    f"{what} after question '{row.id}'",
                    "Raise max_length, or lower options.max_question_tokens",
                )
            starts = window_starts(len(context), size=room, step=min(stride, room))
            owner = most_context(np.arange(len(context)), starts, tokens=len(context), size=room)
            place = len(template.before) + len(question) + len(template.between)
            for number, start in enumerate(starts):
                part = slice(start, start + room)
                input_ids, segments = template.fill(question, context[part])
                features.append(
                    Feature(
                        row=index,
                        input_ids=input_ids,
                        token_type_ids=segments,
                        label=_label(row, characters, start, len(context[part]), place),
                        truncated=len(asked) > most_asked,
                        note={
                            "place": place,
                            "starts": characters[part, 0],
                            "ends": characters[part, 1],
                            "owned": owner[part] == number,
                        },
                    )
                )
    return features


def _tokens(texts: Sequence[str], tokenizer: "PreTrainedTokenizerBase") -> list[tuple[np.ndarray, np.ndarray]]:
    """(token ids, character offsets `(tokens, 2)`) of each text, without special tokens."""
    encoded = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return [
        (np.array(ids, dtype=np.int32), character_offsets(text, characters))
        for text, ids, characters in zip(texts, encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]


def _label(row: SpanRow, characters: np.ndarray, start: int, length: int, place: int) -> tuple[int, int] | None:
    """First and last token of the answer in the window of `length` context tokens from `start` on, whose index in
    the feature begins at `place`. Answers that are not in the context are ignored in the loss.
    """
    if row.answers is None:
        return None
    if not row.answers:
        return 0, 0
    if row.start is None:
        return IGNORED, IGNORED
    first = int(np.searchsorted(characters[:, 1], row.start, side="right"))
    last = int(np.searchsorted(characters[:, 0], row.start + len(row.answers[0].rstrip()), side="left")) - 1
    inside = start <= first <= last < start + length
    return (place + first - start, place + last - start) if inside else (0, 0)


@dataclass(frozen=True, kw_only=True)
class SpanAnswer(Answer):
    """`value` is the text, empty for no answer. `start` and `end` are its characters in the context, `score` is its
    probability among the n-best.

    `label_probability` is of the row's own answer among the n-best and itself, None where it has no place.
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
    decided, nulls = [], null or [()] * len(contexts)
    for context, i, j, none in zip(contexts, begins, begins[1:], nulls, strict=False):
        entries, (start, end) = _candidates(context, zip(*(column[i:j] for column in columns), strict=True), n_best)
        answer = SpanAnswer(value="", n_best=entries)
        if null is None:
            _add_probabilities(entries)
        else:
            empty = _entry("", *none)
            ranked = sorted([*entries, empty], key=_logit, reverse=True)
            _add_probabilities(ranked)
            chance, odds = empty["probability"], _logit(empty) - _logit(entries[0]) if entries else NO_CANDIDATE
            answer = SpanAnswer(value="", score=chance, no_answer=chance, null_odds=odds, n_best=ranked)
        if entries and (answer.null_odds is None or answer.null_odds <= threshold):
            best = entries[0]
            answer = replace(answer, value=best["text"], start=start, end=end, score=best["probability"])
        decided.append(answer)
    return decided


def with_label(answer: SpanAnswer, texts: Sequence[str] | None, logit: float) -> SpanAnswer:
    """The answer with the probability of the label, whose texts are given, empty for no answer. Where the n-best lack
    them, it is of the labelled span among them and itself; its logit is minus infinity where no window has it.
    """
    if texts is None:
        return answer
    chance = sum(entry["probability"] for entry in answer.n_best if entry["text"] in (texts or ("",)))
    if not chance and np.isfinite(logit):
        scores = [_logit(entry) for entry in answer.n_best]
        chance = float(np.exp(logit - np.logaddexp.reduce([*scores, logit])))
    return replace(answer, label_probability=chance if chance or texts == () else None)


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
            entries[text] = _entry(text, start_logit, end_logit)
            if len(entries) == most:
                break
    return list(entries.values()), place


def _entry(text: str, start_logit: float, end_logit: float) -> dict[str, Any]:
    """A candidate, in the order of the official file."""
    return {"text": text, "probability": 0.0, "start_logit": start_logit, "end_logit": end_logit}


def _add_probabilities(entries: Sequence[dict[str, Any]]) -> None:
    """The softmax over the logits of some candidates."""
    from scipy.special import softmax

    chances = softmax([_logit(entry) for entry in entries]).tolist() if entries else []
    for entry, chance in zip(entries, chances, strict=True):
        entry["probability"] = chance


def _logit(candidate: Mapping[str, Any]) -> float:
    return candidate["start_logit"] + candidate["end_logit"]  # type: ignore[no-any-return]
