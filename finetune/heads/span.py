"""A span of the context that answers a question, on the sequence output (Devlin et al. 2019, Figure 4 c; 4.2, 4.3)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerBase

from finetune import baselines
from finetune.errors import UserError
from finetune.features import Feature
from finetune.heads.pooled import softmax
from finetune.model import Backbone, Head
from finetune.source import Source
from finetune.span_search import Spans, Window, best_spans, null_logits
from finetune.squad_metrics import best_threshold, score_v1, score_v2
from finetune.task import Answer, Rows, Task
from finetune.template import pair_template
from finetune.windows import most_context, window_starts

ROWS_AT_ONCE = 2_000  # tokenized together, so that memory stays flat
LEAST_ROOM = 4  # tokens that a window must have for the context
NO_CANDIDATE = 1e9  # null odds where a model gives no span at all
OFFICIAL_KEYS = ("text", "probability", "start_logit", "end_logit")  # of nbest_predictions.json


@dataclass(frozen=True, kw_only=True)
class SpanRow:
    """A question about a context. `answers` are the gold texts: none where the context has no answer, and None
    where the gold is not known. `start` is the character at which the first of them begins.
    """

    id: str
    question: str
    context: str
    answers: tuple[str, ...] | None = None
    start: int | None = None
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class SpanAnswer(Answer):
    """`value` is the text, empty for no answer. `start` and `end` are its characters in the context, `score` is its
    probability among the n-best.

    `no_answer` is the probability of no answer, `null_odds` how much its logits are over the best span's; both are
    None where every question has an answer. `n_best` are the candidates, the best first, with their two logits.
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


class SpanHead(Head):
    """One linear layer gives each token a score as start and one as end; padding can be neither."""

    reads = "sequence"
    auto_class = "AutoModelForQuestionAnswering"

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(("start", "end"))
        self.output = nn.Linear(backbone.config.hidden_size, 2)
        self.checkpoint_names["output"] = "qa_outputs"

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """`(batch, length, width)` to `(batch, length, 2)`."""
        logits: Tensor = self.output(hidden)
        return logits.masked_fill(mask.unsqueeze(-1) == 0, -float("inf"))

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy over the tokens, summed over starts and ends `(batch, 2)`."""
        return functional.cross_entropy(logits, labels, reduction="sum")


@dataclass(frozen=True, kw_only=True)
class SpanTask(Task):
    """Questions about contexts; with `unanswerable`, some have no answer (SQuAD 2.0).

    `stride` is how far the windows over a long context are apart, `threshold` the null odds over which there is no
    answer: chosen on dev for F1 unless it is given; `threshold_em` is the one that would be best for exact match.
    """

    read: Callable[[Source, str], Rows]
    unanswerable: bool = False
    stride: int = 128
    max_question_tokens: int = 64
    max_answer_tokens: int = 30
    n_best: int = 20
    threshold: float | None = None
    threshold_em: float | None = None
    metrics: tuple[str, ...] = ("f1", "em")
    options: tuple[str, ...] = (
        *("stride", "max_question_tokens", "max_answer_tokens", "n_best", "threshold", "threshold_em"),
    )

    def __post_init__(self) -> None:
        """Where questions may have no answer, there are scores for either kind."""
        if self.unanswerable:
            kinds = [f"{kind}/{metric}" for kind in ("answerable", "unanswerable") for metric in ("f1", "em")]
            object.__setattr__(self, "metrics", ("f1", "em", *kinds))

    def load(self, source: Source, split: str) -> Rows:
        """As `read` gives them, without questions for training whose answer is not in the context."""
        loaded = self.read(source, split)
        for row in loaded.rows:
            where = f"{loaded.origin}: question '{row.id}'"
            if not row.context.strip() or not row.question.strip():
                raise UserError(f"{where} has an empty question or context", "Fill it in, or remove the question")
            if row.answers == () and not self.unanswerable:
                raise UserError(f"{where} has no answer", "Give it one, or use a task like squad-v2, which allows that")
        lost = [row.id for row in loaded.rows if row.answers and row.start is None]
        if split != self.train_split or not lost:
            return loaded
        note = f"{loaded.origin}: left out {len(lost)} questions whose answer is not in the context, first {lost[0]}"
        rows = [row for row in loaded.rows if not row.answers or row.start is not None]
        return replace(loaded, rows=rows, notes=(*loaded.notes, note))

    def row(self, question: str, context: str) -> SpanRow:
        """A question about a context."""
        return SpanRow(id="", question=question, context=context)

    def encode(self, rows: Sequence[SpanRow], tokenizer: PreTrainedTokenizerBase, max_length: int) -> list[Feature]:
        """`[CLS] question [SEP] part of the context [SEP]`; a long context gives several windows, `stride` apart.

        The label is the first and the last token of the answer, twice 0, that is `[CLS]`, where a window has none.
        Raises UserError for a max_length that leaves no room beside a question.
        """
        template = pair_template(tokenizer)
        features: list[Feature] = []
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[begin : begin + ROWS_AT_ONCE]
            contexts = list(dict.fromkeys(row.context for row in some))
            read = dict(zip(contexts, _tokens(contexts, tokenizer), strict=True))
            questions = [ids for ids, _ in _tokens([row.question.lstrip() for row in some], tokenizer)]
            for index, (row, question) in enumerate(zip(some, questions, strict=True), start=begin):
                asked = question[: self.max_question_tokens]
                room = max_length - template.special_tokens - len(asked)
                if room < LEAST_ROOM:
                    raise UserError(
                        f"max_length {max_length} leaves {room} tokens for the context beside question '{row.id}'",
                        "Raise max_length, or lower options.max_question_tokens",
                    )
                ids, characters = read[row.context]
                starts = window_starts(len(ids), size=room, step=min(self.stride, room))
                owner = most_context(np.arange(len(ids)), starts, tokens=len(ids), size=room)
                place = len(template.before) + len(asked) + len(template.between)
                for number, start in enumerate(starts):
                    part = slice(start, start + room)
                    input_ids, segments = template.fill(asked, ids[part])
                    features.append(
                        Feature(
                            row=index,
                            input_ids=input_ids,  # type: ignore[arg-type]
                            token_type_ids=segments,  # type: ignore[arg-type]
                            label=_label(row, characters, start, len(ids[part]), place),
                            truncated=len(asked) < len(question),
                            note=Window(
                                place=place,
                                starts=characters[part, 0],
                                ends=characters[part, 1],
                                owned=owner[part] == number,
                            ),
                        )
                    )
        return features

    def head(self, backbone: Backbone) -> SpanHead:
        """Figure 4 (c)."""
        return SpanHead(backbone)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SpanRow]
    ) -> list[Answer]:
        """The best span of each row, or no answer where that is likelier by the threshold (0 until one is chosen)."""
        owners = np.array([feature.row for feature in features])
        windows = [feature.note for feature in features]
        spans = best_spans(logits, windows, owners, n_best=self.n_best, longest=self.max_answer_tokens)
        begins = np.searchsorted(spans.row, np.arange(len(rows) + 1))
        found = [_candidates(row, spans, slice(begins[i], begins[i + 1])) for i, row in enumerate(rows)]
        if not self.unanswerable:
            return [_answer(candidates) for candidates in found]
        null = null_logits(logits, owners, count=len(rows)).tolist()
        return [self._answer_or_none(*pair) for pair in zip(found, null, strict=True)]

    def gold(self, rows: Sequence[SpanRow]) -> list[Answer]:
        """The first of a row's gold texts, empty where there is no answer."""
        return [Answer(value=None if row.answers is None else next(iter(row.answers), "")) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, float]:
        """F1 and exact match; of SQuAD 2.0 also over the questions with and without answer."""
        pairs = np.array(self._scores([answer.value for answer in answers], rows)).reshape(-1, 2)
        scores = _means("", pairs)
        if self.unanswerable:
            answerable = np.array([bool(row.answers) for row in rows])
            scores |= _means("answerable/", pairs[answerable]) | _means("unanswerable/", pairs[~answerable])
        return scores

    def calibrate(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, Any]:
        """The thresholds of SQuAD 2.0 that are best on these rows, for F1 and for exact match (section 4.3)."""
        if not self.unanswerable or self.threshold is not None:
            return {}
        odds = [float(answer.null_odds) for answer in answers]  # type: ignore[attr-defined]
        texts = [_best_text(answer) for answer in answers]
        pairs = self._scores(texts, rows)
        answerable, answered = [bool(row.answers) for row in rows], [bool(text) for text in texts]
        found = {}
        for name, scores in (("threshold_em", [em for em, _ in pairs]), ("threshold", [f1 for _, f1 in pairs])):
            best, threshold = best_threshold(scores, odds, answerable, answered)
            nothing = best == 1 - sum(answerable) / len(rows)
            found[name] = min(odds) - 1 if nothing else threshold  # which answers nothing at all
        return found

    def baselines(self, train: Sequence[SpanRow], rows: Sequence[SpanRow]) -> dict[str, list[Answer]]:
        """The sentence of the context that shares most words with the question; and never an answer."""
        given = {"best-overlap": [baselines.best_overlap(row.question, sentences(row.context)) for row in rows]}
        if self.unanswerable:
            given["no-answer"] = [""] * len(rows)
        return {name: [Answer(value=text) for text in texts] for name, texts in given.items()}

    def official_files(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, Any]:
        """predictions.json, nbest_predictions.json and, where questions may have no answer, null_odds.json."""
        named = [(row.id, answer) for row, answer in zip(rows, answers, strict=True)]
        files: dict[str, Any] = {
            "predictions.json": {name: answer.value for name, answer in named},
            "nbest_predictions.json": {name: _official(answer) for name, answer in named},
        }
        if self.unanswerable:
            files["null_odds.json"] = {name: answer.null_odds for name, answer in named}  # type: ignore[attr-defined]
        return files

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        """The answer's tokens."""
        if feature.label is None:
            return "none"
        start, end = feature.label  # type: ignore[misc]
        return " ".join(tokens[start : end + 1])

    def _scores(self, texts: Sequence[str], rows: Sequence[SpanRow]) -> list[tuple[float, float]]:
        score = score_v2 if self.unanswerable else score_v1
        return [score(row.answers or (), text) for row, text in zip(rows, texts, strict=True)]

    def _answer_or_none(self, candidates: list[dict[str, Any]], null: list[float]) -> SpanAnswer:
        """The best span, or none; `null` has the two logits of no answer, which is among the candidates here."""
        none: dict[str, Any] = {"text": "", "start": None, "end": None, "start_logit": null[0], "end_logit": null[1]}
        best = _answer([*candidates, none])
        odds = sum(null) - _logit(candidates[0]) if candidates else NO_CANDIDATE
        if odds <= (self.threshold or 0.0):
            return replace(best, no_answer=none["probability"], null_odds=odds, n_best=candidates)
        return SpanAnswer(
            value="", score=none["probability"], no_answer=none["probability"], null_odds=odds, n_best=candidates
        )


def sentences(text: str) -> list[str]:
    """A text cut after full stops, exclamation and question marks."""
    return [part for part in re.split(r"(?<=[.!?。])\s+", text.strip()) if part]


def _tokens(texts: Sequence[str], tokenizer: PreTrainedTokenizerBase) -> list[tuple[np.ndarray, np.ndarray]]:
    """(token ids, characters `(tokens, 2)`) of each text, without special tokens."""
    encoded = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    return [
        (np.array(ids, dtype=np.int32), np.array(characters, dtype=np.int32).reshape(-1, 2))
        for ids, characters in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]


def _label(row: SpanRow, characters: np.ndarray, start: int, length: int, place: int) -> tuple[int, int] | None:
    """First and last token of the answer in the window of `length` context tokens from `start` on, which stand in
    the feature from `place` on.
    """
    if row.answers is None:
        return None
    if row.start is None or not row.answers:
        return 0, 0
    first = int(np.searchsorted(characters[:, 1], row.start, side="right"))
    last = int(np.searchsorted(characters[:, 0], row.start + len(row.answers[0]), side="left")) - 1
    inside = start <= first <= last < start + length
    return (place + first - start, place + last - start) if inside else (0, 0)


def _candidates(row: SpanRow, spans: Spans, some: slice) -> list[dict[str, Any]]:
    """A row's candidates, each text once."""
    found: dict[str, dict[str, Any]] = {}
    for (start, end), (start_logit, end_logit) in zip(
        spans.characters[some].tolist(), spans.logits[some].tolist(), strict=True
    ):
        text = row.context[start:end].strip()  # some tokenizers count the space before a word as its own
        start += row.context[start:end].find(text)
        if text and text not in found:
            place = {"start": start, "end": start + len(text)}
            found[text] = {"text": text, **place, "start_logit": start_logit, "end_logit": end_logit}
    return list(found.values())


def _answer(candidates: list[dict[str, Any]]) -> SpanAnswer:
    """The first of the candidates, each of which is given its probability."""
    if not candidates:
        return SpanAnswer(value="")
    for candidate, probability in zip(
        candidates, softmax(np.array([_logit(c) for c in candidates])).tolist(), strict=True
    ):
        candidate["probability"] = probability
    best = candidates[0]
    return SpanAnswer(
        value=best["text"], start=best["start"], end=best["end"], score=best["probability"], n_best=candidates
    )


def _logit(candidate: Mapping[str, Any]) -> float:
    return candidate["start_logit"] + candidate["end_logit"]  # type: ignore[no-any-return]


def _official(answer: Any) -> list[dict[str, Any]]:
    return [{key: entry[key] for key in OFFICIAL_KEYS} for entry in answer.n_best]


def _best_text(answer: Any) -> str:
    """The best span's, whether or not no answer is likelier; of an answer from a file its own."""
    return answer.n_best[0]["text"] if answer.n_best else answer.value  # type: ignore[no-any-return]


def _means(prefix: str, pairs: np.ndarray) -> dict[str, float]:
    em, f1 = pairs.mean(0).tolist() if len(pairs) else (0.0, 0.0)
    return {f"{prefix}f1": f1, f"{prefix}em": em}
