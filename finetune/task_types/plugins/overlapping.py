"""Spans that may overlap or nest, with any number of labels each: a tagger of words for each label, on one encoder.

Spans of one label that overlap are tagged in layers, the longest first, as many as the training rows need (Alex, Haddow
and Grover 2007, Recognising Nested Named Entities in Biomedical Text: labels apart, and layers from the outside in).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from finetune.data import Finding, Table, as_text, is_missing, percent, shown, spans
from finetune.errors import UserError
from finetune.metrics import Counted, Metric, part_counted, set_counts
from finetune.models.feature import Feature
from finetune.task_types import (
    MISSING_TEXT,
    SPAN,
    Answer,
    DecisionRow,
    Decisions,
    Evidence,
    Layout,
    Line,
    NoRow,
    OwnType,
    Predictions,
    SplitRows,
    TaggingRow,
    TaggingTask,
    Task,
    changed_span_findings,
    changed_spans,
    entities_of,
    marks_of_both,
    option,
    paired_spans,
    segmented,
    span_layout,
    tags_for,
    with_chosen,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from finetune.models.backbone import Backbone
    from finetune.models.head import JoinedHead

LabelledSpan = tuple[int, int, str]  # first character, character after the last, label
ROWS_LOOKED_AT = 1_000  # of a file, to tell its type
OFTEN = 0.01  # share of the spans that must overlap a longer one, else they are taken for mistakes of a flat file
TAGS = 3  # of each tagger: O, B and I
PARTS = ("f1", "precision", "recall")  # of the scores over all spans, and of each label
NONE = "no span"
SPAN_KEYS = ("start", "end", "label")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapRow:
    """A text and its spans, in the order of their first characters, of these the longest first; None if unknown.

    Spans may be mappings too, as predictions are saved.
    """

    id: str
    text: str
    gold: tuple[LabelledSpan, ...] | None = None

    def __post_init__(self) -> None:
        if self.gold is not None:
            object.__setattr__(self, "gold", tuple(triples(self.gold)))

    @property
    def input(self) -> str:
        """The text."""
        return self.text


@dataclass(frozen=True, kw_only=True)
class OverlapTask(Task):
    """Spans of `types` in a text, which may overlap, nest, and have several labels; at a word up to `depth` of a label.

    Words are split as in a running text. A span that begins or ends within a word is learned as if it had it whole.
    """

    types: tuple[str, ...]
    depth: Annotated[int, Field(ge=1)] | None = option(
        None, "how many spans of one label may have a word in common; by default as many as in the training rows"
    )
    metrics: tuple[Metric, ...] = ()
    version: int = 2  # version 1 scored pairs of a first and a last word
    row_type = OverlapRow
    pooled = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", tuple(map(Metric, self.sums([], []))))
        super().__post_init__()

    @property
    def labels(self) -> tuple[str, ...]:
        """The types of spans."""
        return self.types

    @cached_property
    def taggers(self) -> dict[tuple[str, int], TaggingTask]:
        """A tagger of each type and layer."""
        tasks = {kind: TaggingTask(name=self.name, types=(kind,), running_text=True) for kind in self.types}
        return {(kind, layer): task for kind, task in tasks.items() for layer in range(self.depth or 1)}

    def fit(self, train: Sequence[OverlapRow]) -> "OverlapTask":
        """The task with as many layers as the rows need."""
        needed = (len(layers) for row in train for layers in in_layers(row.gold or ()).values())
        return replace(self, depth=self.depth or max(needed, default=1))

    def fault(self, row: OverlapRow) -> str:
        if not row.text.strip():
            return "has no text"
        inside = (0 <= start < end <= len(row.text) and kind in self.types for start, end, kind in row.gold or ())
        wrong = f"has a span outside its text, or with a label that is not one of {', '.join(self.types)}"
        return "" if all(inside) else wrong

    def fits(self, value: Any, row: OverlapRow) -> bool:
        whole = isinstance(value, list) and all(
            isinstance(span, dict) and {*SPAN_KEYS} <= span.keys() for span in value
        )
        return whole and not self.fault(replace(row, gold=value))

    def row(self, text: str) -> OverlapRow:
        """A row of a text."""
        return OverlapRow(id="", text=text)

    def head(self, backbone: "Backbone") -> "JoinedHead":
        """The heads of the taggers."""
        from finetune.models.head import JoinedHead

        return JoinedHead(backbone, {_name(at): tagger.head for at, tagger in self.taggers.items()})

    def encode(
        self, rows: Sequence[OverlapRow], tokenizer: "PreTrainedTokenizerBase", max_length: int
    ) -> list[Feature]:
        """Windows as in tagging, with the tags of each tagger."""
        words, (tagger, *_) = [_words(row) for row in rows], self.taggers.values()
        features = []
        for feature in tagger.encode(words, tokenizer, max_length):
            label = None
            if (gold := rows[feature.row].gold) is not None:
                spans_at = in_layers(gold)
                label = {
                    _name((kind, layer)): _tags(words[feature.row], spans_at.get(kind, [])[layer : layer + 1], feature)
                    for kind, layer in self.taggers
                }
            features.append(replace(feature, label=label))
        return features

    def decode(
        self, logits: Sequence[np.ndarray], features: Sequence[Feature], rows: Sequence[OverlapRow]
    ) -> list[Answer]:
        """The spans of each text; the probability of a span is the lowest of its words' tags."""
        words = [_words(row) for row in rows]
        chances = [dict[LabelledSpan, float]() for _ in rows]
        for place, tagger in enumerate(self.taggers.values()):
            scores = [of_all[:, TAGS * place : TAGS * (place + 1)] for of_all in logits]
            for row, tags, chances_of_row in zip(words, tagger.decode(scores, features, words), chances, strict=True):
                for entity in entities_of(tags, row):
                    chances_of_row[entity["start"], entity["end"], entity["type"]] = entity["probability"]
        ordered = [
            {span: chances_of_row[span] for span in sorted(chances_of_row, key=in_order)} for chances_of_row in chances
        ]
        return [
            Answer(value=as_values(chances_of_row), probabilities=[*chances_of_row.values()])
            for chances_of_row in ordered
        ]

    def labels_of(self, rows: Sequence[OverlapRow]) -> list[Answer]:
        return [Answer(value=None if row.gold is None else as_values(row.gold)) for row in rows]

    def sums(self, answers: Sequence[Answer], rows: Sequence[OverlapRow]) -> dict[str, Counted]:
        """All metrics, from the numbers of right, predicted and true spans of each row."""
        sides = [row.gold or () for row in rows], [triples(answer.value) for answer in answers]
        metrics: dict[str, Counted] = {}
        for kind in ("", *self.types):
            labels, predicted = ([{span for span in row if kind in ("", span[2])} for row in side] for side in sides)
            counts, prefix = set_counts(labels, predicted), f"{kind}/" if kind else ""
            metrics |= {f"{prefix}{part}": part_counted(part, *counts) for part in PARTS}
        return metrics


class OverlappingSpans(OwnType):
    """A text, and its spans by characters; spans may overlap."""

    name = "overlapping-spans"
    task_class = OverlapTask
    label_is = (list, tuple, dict)
    issues = (SPAN,)
    closed_labels = True
    max_length = 256

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds a text with character spans; some must overlap unless the user named this type.

        Raises UserError where the user did, and no column holds spans that are within a text.
        """
        label = evidence.chosen.get("label") or []
        layout = span_layout(evidence) if len(label) < 2 else None
        if layout is None and evidence.shape is None:
            return None
        if layout is None:
            raise UserError(
                f"{evidence.file}: {' '.join(label) or 'it'} has no character spans within a text",
                "Write [[start, end, label]], counted from 0, the end after the last; or name text=COLUMN label=COLUMN",
            )
        columns = [evidence.columns[name][:ROWS_LOOKED_AT] for name in (*layout.text, *layout.label)]
        rows = [read_once(cell, layout, text) for text, cell in zip(*columns, strict=True)]
        count, overlapping = sum(map(len, rows)), sum(map(overlaps, rows))
        if evidence.shape is None and overlapping < max(1, OFTEN * count):
            return None
        share = f"{overlapping:,} of {count:,} ({percent(overlapping / max(1, count))})"
        why = f"{layout.label[0]} holds character spans in {layout.text[0]}, of which {share} overlap a longer one"
        as_spans = replace(layout, shape=self.name, reasons={"shape": f"{why}; shape=tagging leaves those out"})
        return with_chosen(self, evidence, as_spans)

    def labels_in(self, gold: Iterable[Any] | None) -> Sequence[str]:
        """The labels of the spans, of a label or a prediction."""
        return [kind for _, _, kind in triples(gold or ())]

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The spans that are trimmed or left out."""
        return changed_spans(layout, table.columns, lambda *arguments: spans.read_spans(*arguments)[1])

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """The spans that were changed."""
        return changed_span_findings(self.changes(rows.layout, rows.table))

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> OverlapRow:
        """The text with its spans. Raises NoRow for a missing text, and for a cell that has no list of spans."""
        text, cell = layout.text_of(values, layout.text[0]), layout.label_in(values)
        if not text.strip():
            raise NoRow(f"has no text in the column '{layout.text[0]}'", MISSING_TEXT)
        if is_missing(cell):
            return OverlapRow(id=name, text=text)
        if spans.items_in(cell) is None:
            raise NoRow(f"has {shown(as_text(cell))} in the column '{layout.label[0]}'; expected a list of spans")
        return OverlapRow(id=name, text=text, gold=tuple(read_once(cell, layout, text)))

    def label_words(self, row: OverlapRow) -> str:
        """Each span with its label."""
        return "none" if row.gold is None else shown(spans_in_words({"text": row.text}, row.gold), 100)[1:-1]

    def task(self, layout: Layout, *, name: str, read: Any = None) -> OverlapTask:
        """The task with the labels of the file."""
        return OverlapTask(name=name, read=read, types=layout.labels)

    def cells(self, task: Task, layout: Layout, answer: Answer, row: OverlapRow) -> dict[str, Any]:
        """The spans in the form of the training file, and each with type, text, place and probability."""
        spans_of_row = triples(answer.value)
        entities = [{"type": kind, "text": row.text[a:b], "start": a, "end": b} for a, b, kind in spans_of_row]
        for entity, chance in zip(entities, answer.probabilities or (), strict=False):
            entity["probability"] = chance
        return {"prediction": spans.in_form(spans_of_row, layout.spans, row.text), "entities": entities}

    def value(self, task: Task, layout: Layout, cell: Any, row: OverlapRow) -> Any:
        return as_values(read_once(cell, layout, row.text))

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """A decision for each span of either side; a row's score is the F1 of its spans."""
        decisions, score, sides = list[DecisionRow](), list[float](), list[list[list[LabelledSpan]]]()
        for row, line in enumerate(lines):
            label, predicted = both = [triples(line["gold"]), triples(line["prediction"])]
            sure = dict(zip(predicted, line.get("probabilities") or (), strict=False))
            for place, kind, chosen in paired_spans(label, predicted, NONE):
                chance, of = sure.get((*place, chosen)), line["text"][slice(*place)]
                decisions.append(DecisionRow(row, kind, chosen, kind == chosen, chance, None, of))
            count = len(label) + len(predicted)
            score.append(2 * len({*label} & {*predicted}) / count if count else 1.0)
            sides.append(both)
        return Predictions(
            lines=lines, texts=[{"label": line["text"], "prediction": line["text"]} for line in lines],
            score=np.array(score, float), right=np.array(score) == 1, decisions=Decisions.made(decisions),
            nothing=(NONE,), marks=lambda row: marks_of_both(*sides[row]), says=spans_in_words,
            unit="spans",
        )  # fmt: skip


def as_values(labelled: Iterable[LabelledSpan]) -> list[dict[str, Any]]:
    """Spans in the form of predictions, `{"start": 0, "end": 3, "label": "PER"}`."""
    return [dict(zip(SPAN_KEYS, span, strict=True)) for span in labelled]


def triples(values: Iterable[Any]) -> list[LabelledSpan]:
    """The reverse of `as_values`; triples stay as they are."""
    return [tuple(item[key] for key in SPAN_KEYS) if isinstance(item, Mapping) else tuple(item) for item in values]


def in_order(span: LabelledSpan) -> tuple[int, int, str]:
    """The key that sorts spans: by the first character, of these the longest first."""
    return span[0], -span[1], span[2]


def spans_in_words(line: Mapping[str, Any], values: Iterable[Any]) -> str:
    """Spans of a line's text, in words."""
    return ", ".join(f"{line['text'][start:end]} ({kind})" for start, end, kind in triples(values)) or NONE


def read_once(cell: Any, layout: Layout, text: Any) -> list[LabelledSpan]:
    """The usable spans in a cell, each once and in order; none in a missing text."""
    labelled, _ = spans.read_spans(() if is_missing(text) else cell, layout.spans, as_text(text))
    return sorted({*labelled}, key=in_order)


def in_layers(labelled: Iterable[LabelledSpan]) -> dict[str, list[list[LabelledSpan]]]:
    """For each label its spans in layers, in which none overlap: each in the first that is free, the longest first."""
    by_type: dict[str, list[list[LabelledSpan]]] = {}
    for span in sorted(labelled, key=lambda span: span[0] - span[1]):
        layers = by_type.setdefault(span[2], [])
        free = next((layer for layer in layers if not any(_meet(span, other) for other in layer)), None)
        if free is None:
            layers.append(free := [])
        free.append(span)
    return by_type


def overlaps(labelled: Sequence[LabelledSpan]) -> int:
    """How many spans overlap a longer one, or are the same with another label."""
    layers = in_layers((start, end, "") for start, end, _ in labelled)
    return len(labelled) - sum(len(layer) for layer in layers.get("", [])[:1])


def _meet(span: LabelledSpan, other: LabelledSpan) -> bool:
    return span[0] < other[1] and other[0] < span[1]


def _words(row: OverlapRow) -> TaggingRow:
    return TaggingRow.of(row.text, segmented, id=row.id)


def _tags(row: TaggingRow, layers: Sequence[Sequence[LabelledSpan]], feature: Feature) -> list[int]:
    """The tags of the words of a feature, as numbers of O, B and I, for the spans of a layer, if there is one."""
    tags, _ = tags_for(row.words, row.starts, sorted(span for layer in layers for span in layer))
    return ["OBI".index(tags[word][0]) for word in feature.note[:, 1]]


def _name(tagger: tuple[str, int]) -> str:
    kind, layer = tagger
    return f"{layer + 1} {kind}"
