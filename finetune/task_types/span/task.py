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
from finetune.metrics.metric import Metric
from finetune.metrics.scores import exact_match
from finetune.metrics.squad import best_threshold, score_v1, score_v2
from finetune.metrics.sums import Counted, mean_counted
from finetune.models.feature import IGNORED, Feature
from finetune.task_types import baselines
from finetune.task_types.declared_options import option
from finetune.task_types.explained import Asked, ExplainTarget, NamedText
from finetune.task_types.parts import Answer
from finetune.task_types.span import explained
from finetune.task_types.span.answers import SpanAnswer, answers, official_files, with_label
from finetune.task_types.span.encoding import encode_questions
from finetune.task_types.span.row import SpanRow
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


@dataclass(frozen=True, kw_only=True)
class SpanTask(Task):
    """Questions about contexts; with `unanswerable`, some have no answer (SQuAD 2.0).

    `scored` gives (exact match, overlap) of an answer by a question's labels, without it SQuAD's scripts do; `overlap`
    is the name of the second: SQuAD's F1 of words, or KLUE-MRC's ROUGE-W of characters.
    """

    read: Callable[[Source, str], Rows]
    unanswerable: bool = False
    scored: Scored | None = None
    overlap: Literal["f1", "rouge-w"] = "f1"
    stride: Positive = option(128, "stride of the windows over a long context, in tokens")
    max_question_tokens: Positive = option(64, "of a longer question the rest is truncated")
    max_answer_tokens: Positive = option(30, "the longest span that can be an answer")
    n_best: SpanCount = option(20, "how many spans are kept for each question")
    threshold: float | None = option(None, "null odds over which no answer is predicted; chosen on dev if not given")
    threshold_em: float | None = option(None, "the same, chosen for exact match")
    metrics: tuple[Metric, ...] = (Metric("f1"), exact_match)
    row_type = SpanRow

    def __post_init__(self) -> None:
        """Names the metrics, with those of questions with and without answer where there are both."""
        super().__post_init__()
        kinds = ("answerable", "unanswerable") if self.unanswerable else ()
        groups = (f"{kind}/{metric}" for kind in kinds for metric in (self.overlap, "em"))
        object.__setattr__(self, "metrics", (Metric(self.overlap), exact_match, *map(Metric, groups)))

    @property
    def pooled(self) -> bool:
        """Never: the head reads each token."""
        return False

    def unused_options(self) -> tuple[str, ...]:
        """As for `Task`; thresholds where every question has an answer."""
        return () if self.unanswerable else THRESHOLDS

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the question for an empty text, and for a missing answer."""
        loaded = self.checked(self.read(source, split))
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
        """Windows over the contexts, see `encoding.py`. Raises UserError where a question leaves too little room."""
        return encode_questions(rows, tokenizer, max_length, stride=self.stride, most_asked=self.max_question_tokens)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[SpanRow]
    ) -> list[Answer]:
        """The best span of each row, or no answer where that is likelier by the threshold (0 until one is chosen)."""
        owners = np.array([feature.row for feature in features])
        windows = [Window(**feature.note) for feature in features]
        most, longest = self.n_best, self.max_answer_tokens
        spans = best_spans(logits, windows, owners, likeliest=most, kept=most + SPARE, longest=longest)
        found = answers(
            [row.context for row in rows],
            spans,
            n_best=most,
            null=null_logits(logits, owners, count=len(rows)).tolist() if self.unanswerable else None,
            threshold=self.threshold or 0.0,
        )
        labelled = label_logits(logits, [feature.label for feature in features], owners, count=len(rows))
        return [
            with_label(answer, row.answers, logit)
            for answer, row, logit in zip(found, rows, labelled.tolist(), strict=True)
        ]

    def cells(self, answer: Answer, row: SpanRow) -> dict[str, Any]:
        """The predicted text, its characters in the context, its score, and the probability of no answer, if any."""
        assert isinstance(answer, SpanAnswer)
        cells = {"prediction": answer.text, "start": answer.start, "end": answer.end, "score": answer.score}
        return cells | ({} if answer.no_answer is None else {"p(no answer)": answer.no_answer})

    def confidence(self, answer: Answer, row: SpanRow) -> float | None:
        """The probability of the span among the n-best, or of no answer."""
        assert isinstance(answer, SpanAnswer)
        return answer.score if answer.text or answer.no_answer is None else answer.no_answer

    def official_files(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, Any]:
        """predictions.json, nbest_predictions.json and, where questions may have no answer, null_odds.json."""
        return official_files({row.id: given for row, given in zip(rows, answers, strict=True)})  # type: ignore[misc]

    def truncation_note(self, max_length: int) -> str:
        """As for `Task`: a long question is truncated; a context is read in windows."""
        return f"have a question longer than max_question_tokens {self.max_question_tokens}: it is truncated"

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        if feature.label is None or IGNORED in feature.label:
            return "none"
        start, end = feature.label
        return " ".join(tokens[start : end + 1])

    def labels_of(self, rows: Sequence[SpanRow]) -> list[Answer]:
        """The first of each row's label texts, empty where there is no answer."""
        return [Answer(value=None if row.answers is None else next(iter(row.answers), "")) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, float]:
        """Overlap and exact match; for SQuAD 2.0 also over the questions with and without answer."""
        pairs = np.array(self._scores([answer.value for answer in answers], rows)).reshape(-1, 2)
        scores = self._means("", pairs)
        if self.unanswerable:
            answerable = np.array([bool(row.answers) for row in rows])
            scores |= self._means("answerable/", pairs[answerable]) | self._means("unanswerable/", pairs[~answerable])
        return scores

    def sums(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, Counted]:
        pairs = np.array(self._scores([answer.value for answer in answers], rows)).reshape(-1, 2)
        some = np.array([bool(row.answers) for row in rows])
        groups = {"": np.ones(len(rows), dtype=bool)}
        groups |= {"answerable/": some, "unanswerable/": ~some} if self.unanswerable else {}
        return {
            f"{group}{metric}": mean_counted(pairs[:, column], among=among.tolist())
            for group, among in groups.items()
            for column, metric in enumerate(("em", self.overlap))
        }

    def tune(self, answers: Sequence[Answer], rows: Sequence[SpanRow]) -> dict[str, Any]:
        """The best thresholds on these rows, for the overlap and for exact match (section 4.3), if not given."""
        if not self.unanswerable or self.threshold is not None:
            return {}
        odds = [float(given.null_odds) for given in answers]  # type: ignore[attr-defined]
        texts = [given.best_text for given in answers]  # type: ignore[attr-defined]
        pairs = self._scores(texts, rows)
        answerable, answered = [bool(row.answers) for row in rows], [bool(text) for text in texts]
        found = {}
        for name, scores in (("threshold_em", [em for em, _ in pairs]), ("threshold", [f1 for _, f1 in pairs])):
            _, threshold = best_threshold(scores, odds, answerable, answered)
            found[name] = min(odds) - 1 if threshold is None else threshold  # predicts no answer for every question
        return found if self.threshold_em is None else {"threshold": found["threshold"]}

    def _scores(self, texts: Sequence[str], rows: Sequence[SpanRow]) -> list[tuple[float, float]]:
        score = self.scored or (score_v2 if self.unanswerable else score_v1)
        return [score(row.answers or (), text) for row, text in zip(rows, texts, strict=True)]

    def _means(self, group: str, pairs: np.ndarray) -> dict[str, float]:
        em, overlap = pairs.mean(0).tolist() if len(pairs) else (0.0, 0.0)
        return {f"{group}{self.overlap}": overlap, f"{group}em": em}

    def baselines(self, train: Sequence[SpanRow], rows: Sequence[SpanRow]) -> dict[str, list[Answer]]:
        """The sentence of the context that shares the most words with the question, and constantly no answer."""
        given = {"best-overlap": [baselines.best_overlap(row.question, split_sentences(row.context)) for row in rows]}
        if self.unanswerable:
            given["no-answer"] = [""] * len(rows)
        return {name: [Answer(value=text) for text in texts] for name, texts in given.items()}

    def explain_texts(self, row: SpanRow) -> list[list[NamedText]]:
        return explained.span_texts(row)

    def explain_target(self, row: SpanRow, answer: Answer, features: Sequence[Feature], asked: Asked) -> ExplainTarget:
        assert isinstance(answer, SpanAnswer)
        return explained.span_targets(row, answer, features, asked)


def split_sentences(text: str) -> list[str]:
    """A text split after full stops, exclamation and question marks."""
    return [part for part in re.split(r"(?<=[.!?])\s+|(?<=。)\s*", text.strip()) if part]
