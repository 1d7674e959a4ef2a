"""Extractive question answering on the sequence output (Devlin et al. 2019, Figure 4 c; sections 4.2, 4.3)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from finetune.data.messages import noun, so_many
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Counted, Metric
from finetune.metrics.scores import exact_match
from finetune.metrics.squad import best_threshold, score_v1, score_v2
from finetune.metrics.sums import mean_counted
from finetune.models.feature import Feature
from finetune.task_types import baselines
from finetune.task_types.declared import option
from finetune.task_types.explained import Asked, CannotExplain, ExplainTarget, NamedText, Pick, Target
from finetune.task_types.parts import Answer
from finetune.task_types.span.questions import SpanAnswer, SpanRow, answers, encode_questions, with_label
from finetune.task_types.span.search import Window, best_spans, label_logits, null_logits
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.span.head import SpanHead

Positive = Annotated[int, Field(ge=1, le=131_072)]  # tokens, of which no encoder reads more
SpanCount = Annotated[int, Field(ge=1, le=200)]
Scored = Callable[[Sequence[str], str], tuple[float, float]]  # from label texts and an answer
THRESHOLDS = ("threshold", "threshold_em")
SPARE = 10  # spans that are kept in addition to the n best, since some have the same text
NONE = "no answer"


@dataclass(frozen=True, kw_only=True)
class SpanTask(Task):
    """Questions about contexts; with `unanswerable`, some have no answer (SQuAD 2.0).

    `scored` gives (exact match, overlap) of an answer by a question's labels, without it SQuAD's scripts do; `overlap`
    is the name of the second: SQuAD's F1 of words, or KLUE-MRC's ROUGE-W of characters.
    """

    unanswerable: bool = False
    scored: Scored | None = None
    overlap: Literal["f1", "rouge-w"] = "f1"
    stride: Positive = option(128, "stride of the windows over a long context, in tokens")
    max_question_tokens: Positive = option(64, "of a longer question the rest is truncated")
    max_answer_tokens: Positive = option(30, "the longest span that can be an answer")
    n_best: SpanCount = option(20, "how many spans are kept for each question")
    threshold: float | None = option(None, "null odds over which no answer is predicted; chosen on dev if not given")
    threshold_em: float | None = option(None, "the same, chosen for exact match")
    metrics: tuple[Metric, ...] = ()
    row_type = SpanRow
    pooled = False
    missing_is_wrong = True  # as in the official script for SQuAD 1.1
    truncated = "have a question longer than max_question_tokens: it is truncated"

    def __post_init__(self) -> None:
        """Names the metrics, with those of questions with and without answer where there are both."""
        kinds = ("answerable", "unanswerable") if self.unanswerable else ()
        groups = (Metric(f"{kind}/{metric}") for kind in kinds for metric in (self.overlap, "em"))
        object.__setattr__(self, "metrics", (Metric(self.overlap), exact_match, *groups))
        super().__post_init__()

    def unused_options(self) -> tuple[str, ...]:
        """As for `Task`; thresholds where every question has an answer."""
        return () if self.unanswerable else THRESHOLDS

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the question for an empty text, and for a missing answer."""
        loaded = super().load(source, split)
        lost = [row.id for row in loaded.rows if row.answers and row.start is None]
        if not lost:
            return loaded
        whose = noun(len(lost), "its", "their")
        what = f"{so_many(len(lost), 'question')} cannot be trained on, since {whose} answer is not in the context"
        note = f"{loaded.origin}: {what}"
        return replace(loaded, notes=(*loaded.notes, f"{note}, first {lost[0]}"))

    def fault(self, row: SpanRow) -> str:
        if not row.context.strip() or not row.question.strip():
            return "has an empty question or context"
        if row.answers == () and not self.unanswerable:
            return "has no answer, which only a task like squad-v2 allows"
        return ""

    def fits(self, value: Any, row: SpanRow) -> bool:
        return isinstance(value, str)

    def row(self, question: str, context: str) -> SpanRow:
        """A question about a context."""
        return SpanRow(id="", question=question, context=context)

    def head(self, backbone: "Backbone") -> "SpanHead":
        """The head of Figure 4 (c). Raises UserError where `[CLS]`, the label of no answer, sees no other token."""
        from finetune.task_types.span.head import SpanHead

        if self.unanswerable and backbone.left_to_right and not backbone.bilstm:
            raise UserError(
                "this encoder reads from left to right, and no answer is predicted at the first token, which sees no "
                "other",
                "Set bilstm=true, choose another encoder, or a task without unanswerable questions",
            )
        return SpanHead(backbone)

    def encode(self, rows: Sequence[SpanRow], tokenizer: "PreTrainedTokenizerBase", max_length: int) -> list[Feature]:
        """Windows over the contexts. Raises UserError where a question leaves too little room."""
        return encode_questions(rows, tokenizer, max_length, stride=self.stride, most_asked=self.max_question_tokens)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SpanRow]
    ) -> list[Answer]:
        """The best span of each row, or no answer where that is likelier by the threshold (0 until one is chosen)."""
        owners = np.array([feature.row for feature in features])
        windows = [Window(**feature.note) for feature in features]
        most, longest = self.n_best, self.max_answer_tokens
        spans = best_spans(logits, windows, owners, likeliest=most, kept=most + SPARE, longest=longest)
        decided = answers(
            [row.context for row in rows],
            spans,
            n_best=most,
            null=null_logits(logits, owners, count=len(rows)).tolist() if self.unanswerable else None,
            threshold=self.threshold or 0.0,
        )
        labelled = label_logits(logits, [feature.label for feature in features], owners, count=len(rows))
        return [
            with_label(answer, row.answers, logit)
            for answer, row, logit in zip(decided, rows, labelled.tolist(), strict=True)
        ]

    def cells(self, answer: Answer, row: SpanRow) -> dict[str, Any]:
        """The predicted text, its characters in the context, its score, and the probability of no answer, if any."""
        assert isinstance(answer, SpanAnswer)
        cells = {"prediction": answer.text, "start": answer.start, "end": answer.end, "score": answer.score}
        return cells | ({} if answer.no_answer is None else {"p(no answer)": answer.no_answer})

    def official_files(self, answers: Sequence[SpanAnswer], rows: Sequence[SpanRow]) -> dict[str, Any]:
        """SQuAD's: predictions.json, nbest_predictions.json and, where questions may have no answer, null_odds.json."""
        by_id = {row.id: answer for row, answer in zip(rows, answers, strict=True)}
        files: dict[str, Any] = {
            "predictions.json": {name: answer.text for name, answer in by_id.items()},
            "nbest_predictions.json": {name: answer.n_best for name, answer in by_id.items()},
        }
        odds = {name: answer.null_odds for name, answer in by_id.items()}
        return files if None in odds.values() else files | {"null_odds.json": odds}

    def labels_of(self, rows: Sequence[SpanRow]) -> list[Answer]:
        """The first of each row's label texts, empty where there is no answer."""
        return [Answer(value=None if row.answers is None else next(iter(row.answers), "")) for row in rows]

    def sums(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, Counted]:
        """Overlap and exact match; for SQuAD 2.0 also over the questions with and without answer."""
        pairs = np.array(self._scores([answer.value for answer in answers], rows)).reshape(-1, 2)
        answerable = np.array([bool(row.answers) for row in rows])
        groups = {"": np.ones(len(rows), dtype=bool)}
        groups |= {"answerable/": answerable, "unanswerable/": ~answerable} if self.unanswerable else {}
        return {
            f"{group}{metric}": mean_counted(pairs[:, column], among=among.tolist())
            for group, among in groups.items()
            for column, metric in enumerate(("em", self.overlap))
        }

    def tune(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, Any]:
        """The best thresholds on these rows, for the overlap and for exact match (section 4.3), if not given."""
        if not self.unanswerable or self.threshold is not None:
            return {}
        odds = [float(answer.null_odds) for answer in answers]  # type: ignore[attr-defined]
        texts = [answer.best_text for answer in answers]  # type: ignore[attr-defined]
        answerable, answered = [bool(row.answers) for row in rows], [bool(text) for text in texts]
        by_metric = zip(("threshold_em", "threshold"), zip(*self._scores(texts, rows), strict=True), strict=True)
        chosen = {}
        for name, scores in by_metric:
            _, threshold = best_threshold(list(scores), odds, answerable, answered)
            chosen[name] = min(odds) - 1 if threshold is None else threshold  # predicts no answer for every question
        return chosen if self.threshold_em is None else {"threshold": chosen["threshold"]}

    def _scores(self, texts: Sequence[str], rows: Sequence[SpanRow]) -> list[tuple[float, float]]:
        """(exact match, overlap) of a text for each row."""
        score = self.scored or (score_v2 if self.unanswerable else score_v1)
        return [score(row.answers or (), text) for row, text in zip(rows, texts, strict=True)]

    def baselines(self, train: Sequence[SpanRow], rows: Sequence[SpanRow]) -> dict[str, list[Answer]]:
        """The sentence of the context that shares the most words with the question, and constantly no answer."""
        methods = {"best-overlap": [baselines.best_overlap(row.question, split_sentences(row.context)) for row in rows]}
        if self.unanswerable:
            methods["no-answer"] = [""] * len(rows)
        return {name: [Answer(value=text) for text in texts] for name, texts in methods.items()}

    def explain_target(
        self, row: SpanRow, answer: SpanAnswer, features: Sequence[Feature], asked: Asked
    ) -> ExplainTarget:
        """The start and the end of the predicted answer, or of the text of the context that was asked for; an empty one
        means that there is none, and is the mean over the windows.
        """
        asked.require_no_word()
        start, end, confidence = answer.start, answer.end, answer.score or None
        if asked.label is not None and asked.label != answer.text:
            if asked.label not in row.context:
                way = "Set `label` to words of the context, or to '' for no answer"
                raise UserError(f"'{asked.label}' is not in the context", way)
            start, confidence = row.context.index(asked.label) if asked.label else None, None
            end = None if start is None else start + len(asked.label)
        if start is None or end is None:
            windows, label = [(number, 0, 0) for number in range(len(features))], NONE
        else:
            windows, label = [_window_of(start, end, features)], row.context[start:end]
        picks = [
            Pick(feature=number, place=(token, side), against=0, weight=1 / len(windows))
            for number, *tokens in windows
            for side, token in enumerate(tokens)
        ]
        texts = NamedText(name="question", text=row.question.lstrip()), NamedText(name="context", text=row.context)
        return ExplainTarget(
            texts=[texts],
            prediction=answer.text or NONE,
            confidence=answer.score or None,
            targets=[Target(label=label, picks=picks, confidence=confidence)],
        )


def _window_of(start: int, end: int, features: Sequence[Feature]) -> tuple[int, int, int]:
    """The window that has the characters from start to end, and most context before the start, and the positions of
    their first and last token. Raises CannotExplain for none.
    """
    holding = []
    for number, feature in enumerate(features):
        place, starts, ends = (feature.note[name] for name in ("place", "starts", "ends"))
        first = int(np.searchsorted(ends, start, side="right"))
        last = int(np.searchsorted(starts, end, side="left")) - 1
        if first <= last < len(starts) and starts[0] <= start and end <= ends[-1]:
            holding.append((not feature.note["owned"][first], number, place + first, place + last))
    if not holding:
        raise CannotExplain("no window of the context holds this answer", "Choose a shorter one with `label`")
    return min(holding)[1:]


def split_sentences(text: str) -> list[str]:
    """A text split after full stops, exclamation and question marks."""
    return [part for part in re.split(r"(?<=[.!?])\s+|(?<=。)\s*", text.strip()) if part]
