"""Spans that may overlap or nest, with any number of labels each: pairs of a start and an end, scored one by one."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from finetune.data.messages import so_many
from finetune.data.rows import Rows
from finetune.data.source import Source
from finetune.errors import UserError
from finetune.metrics.metric import Metric
from finetune.metrics.sums import Counted, part_counted, set_counts
from finetune.models.feature import Feature
from finetune.task_types.declared_options import option
from finetune.task_types.explained import NamedText
from finetune.task_types.parts import Answer
from finetune.task_types.tagging.overlapping.decide import (
    Candidate,
    SpansAnswer,
    best_span_threshold,
    candidates_of,
    decided,
    sorted_candidates,
)
from finetune.task_types.tagging.overlapping.dictionary import SpanDictionary
from finetune.task_types.tagging.overlapping.encoding import BEGIN, END, IS_WORD, OWNED, encode_with_spans
from finetune.task_types.tagging.overlapping.pairs import pair_logits
from finetune.task_types.tagging.overlapping.reach import out_of_reach
from finetune.task_types.tagging.overlapping.row import LabelledSpan, OverlapRow, as_values, triples
from finetune.task_types.tagging.segments import segmented
from finetune.task_types.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.task_types.tagging.overlapping.head import OverlapHead

ProbabilityOfSpan = Annotated[float, Field(ge=0, le=1)]
Words = Annotated[int, Field(ge=1)]
PARTS = ("f1", "precision", "recall")  # of the scores over all spans, and of each label
SPAN_KEYS = {"start", "end", "label"}  # of a span in a prediction
SHORT = 8  # words of the longest span, where no row has one
THRESHOLD = "the probability from which a span is predicted; chosen on dev if not given"
SPAN_LIMIT = "words of the longest span that is looked for; by default those of the longest in the training rows"


@dataclass(frozen=True, kw_only=True)
class OverlapTask(Task):
    """Spans of `types` in a text, which may overlap, nest, and have several labels.

    Each pair of a first and a last word, of up to `longest_span` words, has a logit of each type (`head.py`). A span is
    predicted if its probability reaches the `threshold`, which dev chooses for F1 unless it is given; dev itself is
    scored with thresholds that other rows of it chose. Spans begin and end with words as `segmented` finds them: runs
    of letters, or single characters in scripts without spaces and in Korean.
    """

    read: Callable[[Source, str], Rows]
    types: tuple[str, ...]
    threshold: ProbabilityOfSpan | None = option(None, THRESHOLD)
    longest_span: Words | None = option(None, SPAN_LIMIT)
    metrics: tuple[Metric, ...] = ()
    row_type = OverlapRow
    cross_fits = True

    def __post_init__(self) -> None:
        by_type = (f"{kind}/{part}" for kind in self.types for part in PARTS)
        object.__setattr__(self, "metrics", tuple(map(Metric, (*PARTS, *by_type))))
        super().__post_init__()

    @property
    def pooled(self) -> bool:
        """Never: the head reads each word."""
        return False

    @property
    def labels(self) -> tuple[str, ...]:
        """The types of spans."""
        return self.types

    @property
    def most_words(self) -> int:
        """The words of the longest span that is scored."""
        return self.longest_span or SHORT

    def load(self, source: Source, split: str) -> Rows:
        """The rows of a split. Raises UserError that names the row for a wrong span."""
        return self.checked(self.read(source, split))

    def fit(self, train: Sequence[OverlapRow]) -> "OverlapTask":
        """The task with the length of the longest span."""
        longest = self.longest_span or max(
            (len(segmented(row.text[a:b])[0]) for row in train for a, b, _ in row.gold or ()), default=SHORT
        )
        return replace(self, longest_span=longest)

    def fault(self, row: OverlapRow) -> str:
        if not row.text.strip():
            return "has no text"
        if row.gold is not None and not self.fits(as_values(row.gold), row):
            return f"has a span outside its text, or with a label that is not one of {', '.join(self.types)}"
        return ""

    def fits(self, value: Any, row: OverlapRow) -> bool:
        if not isinstance(value, list) or not all(isinstance(one, dict) and one.keys() >= SPAN_KEYS for one in value):
            return False
        return all(
            isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(row.text) and kind in self.types
            for start, end, kind in triples(value)
        )

    def row(self, text: str) -> OverlapRow:
        """A row of a text."""
        return OverlapRow(id="", text=text)

    def head(self, backbone: "Backbone") -> "OverlapHead":
        """The head that scores pairs."""
        from finetune.task_types.tagging.overlapping.head import OverlapHead

        return OverlapHead(backbone, self.types, self.most_words)

    def encode(
        self, rows: Sequence[OverlapRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> list[Feature]:
        """Windows over texts, see `encoding.py`."""
        return encode_with_spans(rows, tokenizer, max_length, types=self.types, longest=self.longest_span)

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[OverlapRow]
    ) -> list[Answer]:
        """The spans of each text, and how a row's own ones were scored."""
        found: defaultdict[int, list[Candidate]] = defaultdict(list)
        own: list[dict[LabelledSpan, float]] = [dict.fromkeys(row.gold or (), 0.0) for row in rows]
        parts: defaultdict[int, list[Feature]] = defaultdict(list)
        for given, feature in zip(logits, features, strict=True):
            chances = self._chances(given, feature)
            note = feature.note
            found[feature.row] += candidates_of(chances, note[:, BEGIN], note[:, END], self.types)
            own[feature.row] |= _own_chances(own[feature.row], chances, note, self.types)
            parts[feature.row].append(feature)
        return self.decided_again(
            [
                SpansAnswer(
                    value=[],
                    candidates=sorted_candidates(found[number]),
                    label_probabilities=None if row.gold is None else [round(p, 6) for p in own[number].values()],
                    out_of_reach=self._out_of_reach(row, parts[number]),
                )
                for number, row in enumerate(rows)
            ]
        )

    def cells(self, answer: Answer, row: OverlapRow) -> dict[str, Any]:
        """The spans, and each with its text and probability."""
        return {"prediction": answer.value, "entities": spans_in(answer, row)}

    def confidence(self, answer: Answer, row: OverlapRow) -> float | None:
        """That of the candidate which it is least sure to predict, or not to predict."""
        if not isinstance(answer, SpansAnswer):
            return None
        chosen, chances = set(triples(answer.value)), [one["probability"] for one in answer.candidates]
        return min(
            (p if span in chosen else 1 - p for span, p in zip(triples(answer.candidates), chances, strict=True)),
            default=1.0,
        )

    def shown_label(self, feature: Feature, tokens: Sequence[str]) -> str:
        """The first token of each span with its type and the number of words."""
        if feature.label is None:
            return "none"
        kinds = self.types
        shown = [
            f"{tokens[(feature.reads or ())[word]]}/{kinds[code % len(kinds)]}, "
            f"{so_many(code // len(kinds) + 1, 'word')}"
            for _, word, code in np.asarray(feature.label).tolist()
            if word != IS_WORD
        ]
        return "; ".join(shown) or "no span"

    def _chances(self, logits: np.ndarray, feature: Feature) -> np.ndarray:
        """The probability of each pair `(words, longest, types)`, 0 for a start that another window owns."""
        from scipy.special import expit

        longest = min(self.most_words, len(logits))
        chances: np.ndarray = expit(pair_logits(logits, len(self.types), longest))
        chances[feature.note[:, OWNED] == 0] = 0
        return chances

    def _out_of_reach(self, row: OverlapRow, features: Sequence[Feature]) -> list[str]:
        reasons = (out_of_reach(span, features, row.text, longest=self.most_words) for span in row.gold or ())
        return [reason for reason in reasons if reason]

    def decided_again(self, answers: Sequence[Answer]) -> list[Answer]:
        """The spans that reach the current threshold."""
        return [decided(answer, self.threshold) for answer in answers]

    def labels_of(self, rows: Sequence[OverlapRow]) -> list[Answer]:
        return [Answer(value=None if row.gold is None else as_values(row.gold)) for row in rows]

    def score(self, answers: Sequence[Answer], rows: Sequence[OverlapRow]) -> dict[str, float]:
        """Precision, recall and F1, over all spans and by label."""
        return {name: counted.score for name, counted in self.sums(answers, rows).items()}

    def sums(self, answers: Sequence[Answer], rows: Sequence[OverlapRow]) -> dict[str, Counted]:
        """All metrics, from the numbers of right, predicted and true spans of each row."""
        there = [set(row.gold or ()) for row in rows]
        given = [set(triples(answer.value)) for answer in answers]
        metrics = {part: part_counted(part, *set_counts(there, given)) for part in PARTS}
        for kind in self.types:
            counts = set_counts(*([{s for s in row if s[2] == kind} for row in side] for side in (there, given)))
            metrics |= {f"{kind}/{part}": part_counted(part, *counts) for part in PARTS}
        return metrics

    def tune(self, answers: Sequence[Answer], rows: Sequence[OverlapRow]) -> dict[str, Any]:
        """The best threshold on these rows, where the predictions have candidates."""
        if self.threshold is not None or not any(isinstance(answer, SpansAnswer) for answer in answers):
            return {}
        return {"threshold": best_span_threshold(answers, [row.gold or () for row in rows])}

    def score_notes(self, answers: Sequence[Answer], rows: Sequence[OverlapRow]) -> list[str]:
        """A note on the spans that the model cannot predict."""
        lost = Counter(reason for one in answers if isinstance(one, SpansAnswer) for reason in one.out_of_reach)
        if not lost:
            return []
        each = ", ".join(f"{count:,} {reason}" for reason, count in lost.most_common())
        spans = so_many(sum(len(row.gold or ()) for row in rows), "span")
        return [f"{lost.total():,} of {spans} cannot be predicted, and count as missed: {each}"]

    def baselines(self, train: Sequence[OverlapRow], rows: Sequence[OverlapRow]) -> dict[str, list[Answer]]:
        """Each text that was a span of a label in training at least every second time, wherever it occurs."""
        known = SpanDictionary.of(train)
        return {"span-dictionary": [Answer(value=as_values(known.spans_in(row.text))) for row in rows]}

    def explain_texts(self, row: OverlapRow) -> list[list[NamedText]]:
        raise UserError(
            f"predictions of {self.name} cannot be explained: a span's score is of a pair of words",
            "Train a tagger on the same file, with shape=tagging, and explain that",
        )


def spans_in(answer: Answer, row: OverlapRow) -> list[dict[str, Any]]:
    """The spans of a prediction: type, text, first character and character after the last, and the probability."""
    chances = dict(zip(triples(answer.value), answer.probabilities or (), strict=False))
    candidates = answer.candidates if isinstance(answer, SpansAnswer) else ()  # of which some may be left out
    chances |= {span: one["probability"] for span, one in zip(triples(candidates), candidates, strict=True)}
    return [
        {"type": span[2], "text": row.text[span[0] : span[1]], "start": span[0], "end": span[1]}
        | ({"probability": chances[span]} if span in chances else {})
        for span in triples(answer.value)
    ]


def _own_chances(
    own: dict[LabelledSpan, float], chances: np.ndarray, note: np.ndarray, types: Sequence[str]
) -> dict[LabelledSpan, float]:
    """The probabilities of a row's own spans that are among the pairs of a feature."""
    begins = {int(begin): place for place, begin in enumerate(note[:, BEGIN]) if note[place, OWNED]}
    ends = {int(end): place for place, end in enumerate(note[:, END])}
    found = {}
    for start, end, kind in own:
        first, last = begins.get(start), ends.get(end)
        if first is not None and last is not None and 0 <= last - first < chances.shape[1]:
            found[start, end, kind] = float(chances[first, last - first, types.index(kind)])
    return found
