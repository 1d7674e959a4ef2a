"""Texts with spans that overlap or nest: user data of the type `overlapping-spans`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

import numpy as np

from finetune.data.formats.spans import OUTSIDE, in_form, items_in, span_form, span_labels, text_key
from finetune.data.issues import Finding, Issue
from finetune.data.messages import percent, short, shown
from finetune.data.nested_fields import cell_at
from finetune.data.table import Table
from finetune.data.values import as_text, is_missing
from finetune.errors import UserError
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import TEXT_CHARS_SHOWN, Clean, DataType, Evidence
from finetune.task_types.findings import ONE_LABEL, SplitRows
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, marks_of_both, paired_spans
from finetune.task_types.row_issues import MISSING_TEXT, NoRow
from finetune.task_types.tagging.guess import span_layout
from finetune.task_types.tagging.overlapping.row import LabelledSpan, OverlapRow, as_values, triples
from finetune.task_types.tagging.overlapping.task import OverlapTask, spans_in
from finetune.task_types.tagging.segments import LEFT_OUT, changed_spans, spans_of, valid_spans
from finetune.task_types.task import Task
from finetune.task_types.words.columns import ROWS_LOOKED_AT

OFTEN = 0.01  # share of the spans that must overlap a longer one, else they are taken for mistakes of a flat file
READ_SPAN = Issue(
    code="read-span",
    severity="note",
    worst="warning",
    meaning="character spans that may overlap, and were trimmed, read once or left out",
    remedy="Correct their start, end and label; an end is the position after the last character",
)
Gold = tuple[LabelledSpan, ...]

NONE = "no span"


class OverlappingSpans(DataType):
    """A text, and its spans by their characters, of which several may have a character in common."""

    name = "overlapping-spans"
    answers = "spans of a text with their labels, which may overlap or nest"
    task_class = OverlapTask
    issues = (READ_SPAN,)
    label_is, parts_are = (list, tuple), dict
    closed_labels = True
    by_text = True
    least_words = 5  # shorter texts come again by nature
    max_length = 256
    inputs = "text label=spans"
    labels_are = "entities"

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds a text with character spans, of which some overlap unless the user named this type."""
        layout = span_layout(evidence)
        if layout is None:
            _require_inside(evidence)
            return None
        texts, cells = (evidence.columns[names[0]] for names in (layout.text, layout.label))
        overlapping, spans = overlaps(texts, cells, layout.spans)
        if evidence.shape is None and not is_often(overlapping, spans):
            return None
        share = f"{overlapping:,} of {spans:,} ({percent(overlapping / max(1, spans))})"
        why = f"{layout.label[0]} holds character spans in {layout.text[0]}, of which {share} overlap a longer one"
        return replace(layout, shape=self.name, reasons={"shape": f"{why}; shape=tagging leaves those out"})

    def guess(self, evidence: Evidence) -> Layout | None:
        """As for every type. Also raises UserError for a named column of labels that holds no spans."""
        layout = super().guess(evidence)
        if layout is not None and layout.label and not layout.spans:
            raise UserError(
                f"{evidence.file}: the column '{layout.label[0]}' holds no character spans within {layout.text[0]}",
                "Write them as [[start, end, label]], or name other columns with text= and label=",
            )
        return layout

    def with_spelling(self, layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Layout:
        """With the key of a span's text, in which predictions have theirs."""
        if not layout.label or layout.label[0] not in columns:
            return layout
        key = text_key(columns[layout.label[0]][:ROWS_LOOKED_AT], layout.spans)
        return layout if key == "text" else replace(layout, file={**layout.file, "span_text": key})

    def may_be_numbers(self, layout: Layout) -> bool:
        """Never: the labels of spans are names."""
        return False

    def label_names(self, layout: Layout, cell: Any) -> Iterable[str]:
        return span_labels(cell, layout.spans)

    def labels_in(self, gold: Gold | Sequence[Mapping[str, Any]] | None) -> tuple[str, ...]:
        """The labels of the spans, of a label or a prediction."""
        return tuple(sorted({one["label"] if isinstance(one, Mapping) else one[2] for one in gold or ()}))

    def tally(self, golds: Sequence[Gold]) -> Counter[str]:
        """Counts the spans of each label."""
        return Counter(kind for gold in golds for _, _, kind in gold)

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The spans that are trimmed, read once or left out."""
        return changed_spans(layout, table.columns, lambda *cell: valid_spans(*cell).changes)

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """The spans that were changed, and a file without any."""
        for what, some in self.changes(rows.layout, rows.table).items():
            yield Finding(issue=READ_SPAN, indexes=some, what=what, worst=what.endswith(LEFT_OUT))
        if rows.golds and not any(rows.golds):
            yield Finding(issue=ONE_LABEL, what="no text has a span", worst=rows.trains)

    def fixed(self, layout: Layout, values: dict[str, Any], clean: Clean, done: list[str]) -> dict[str, Any]:
        """Nothing: a cleaned text would move its spans."""
        return values

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> OverlapRow:
        """The text with its spans. Raises NoRow for a missing text, and for a cell that has no list of spans."""
        column = layout.text[0]
        if is_missing(cell_at(values, column)):
            raise NoRow(f"has no text in the column '{column}'", MISSING_TEXT)
        text, cell = layout.text_of(values, column), layout.label_in(values)
        if is_missing(cell):
            return OverlapRow(id=name, text=text)
        if items_in(cell) is None:
            raise NoRow(f"has {short(cell)} in the column '{layout.label[0]}'; expected a list of spans")
        return OverlapRow(id=name, text=text, gold=valid_spans(cell, layout.spans, text).spans)

    def facts(self, row: OverlapRow) -> dict[str, str]:
        """The text, and each span with its label."""
        listed = _says({"text": row.text}, as_values(row.gold or ()))
        return {
            "text": shown(row.input, TEXT_CHARS_SHOWN),
            "spans": "none" if row.gold is None else shown(listed, TEXT_CHARS_SHOWN),
        }

    def task(self, layout: Layout, *, name: str, read: Any = None) -> OverlapTask:
        """The task with the labels that were found."""
        return OverlapTask(name=name, read=read, types=layout.labels)

    def example(self, layout: Layout | None) -> str:
        return '"a text"'

    def cells(self, task: Task, layout: Layout, answer: Answer, row: OverlapRow) -> dict[str, Any]:
        """The spans in the form of the training file, and each with its text and probability."""
        key = str(layout.file.get("span_text", "text"))
        return {
            "prediction": in_form(triples(answer.value), layout.spans, row.text, key),
            "entities": spans_in(answer, row),
        }

    def value(self, task: Task, layout: Layout, cell: Any, row: OverlapRow) -> Any:
        return as_values(valid_spans(cell, layout.spans, row.text).spans)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """A decision for each span of either side and each other candidate; a row's score is the F1 of its spans."""
        rows, score, spans = list[DecisionRow](), list[float](), list[list[list[LabelledSpan]]]()
        for row, line in enumerate(lines):
            sides = [triples(line["gold"]), triples(line["prediction"])]
            chance, sure = (
                dict(zip(side, line.get(name) or (), strict=False))
                for side, name in zip(sides, ("label_probabilities", "probabilities"), strict=True)
            )
            for place, own, given in paired_spans(sides[0], sides[1], NONE):
                label, predicted = (*place, own), (*place, given)
                known = chance.get(label)
                confidence = sure.get(predicted, None if known is None else 1 - known)
                at = sides[1].index(predicted) if given != NONE else 0
                of = line["text"][slice(*place)]
                rows.append(DecisionRow(row, own, given, own == given, confidence, known, of, at, at + 1))
            for span, one in zip(triples(line.get("candidates") or ()), line.get("candidates") or (), strict=True):
                if span not in {*sides[0], *sides[1]}:
                    rows.append(DecisionRow(row, NONE, NONE, True, 1 - one["probability"]))
            count = len(sides[0]) + len(sides[1])
            score.append(2 * len({*sides[0]} & {*sides[1]}) / count if count else 1.0)
            spans.append(sides)
        return Predictions(
            lines=lines, texts=[{"label": line["text"], "prediction": line["text"]} for line in lines],
            score=np.array(score, float), right=np.array(score) == 1, decisions=Decisions.made(rows), nothing=(NONE,),
            marks=lambda row: marks_of_both(*spans[row]), says=_says, filler=(), unit="candidate spans",
            claimed="entities",
        )  # fmt: skip


def _require_inside(evidence: Evidence) -> None:
    """Raises UserError where the user named this type, and spans are
    outside their text.
    """
    chosen, columns = evidence.chosen, evidence.columns
    if evidence.shape is None:
        return
    spans = {name: form for name in chosen.get("label") or columns if (form := span_form(columns[name]))}
    texts = chosen.get("text") or [name for name in columns if evidence.facts[name].kind in ("text", "category")]
    for (name, form), text in product(spans.items(), texts):
        pairs = [(cell, as_text(text)) for cell, text in zip(columns[name], columns[text], strict=True)]
        every = sum(len(items_in(cell) or ()) for cell, _ in pairs)
        lost = sum(valid_spans(cell, form, given).changes[OUTSIDE] for cell, given in pairs)
        if lost:
            raise UserError(
                f"{evidence.file}: {lost:,} of {every:,} spans in the column '{name}' are outside the text '{text}', "
                "empty or without a label",
                "Count characters from 0, the end is the position after the last; or name the text: text=COLUMN",
            )


def is_often(overlapping: int, spans: int) -> bool:
    """Whether spans overlap more often than by mistake."""
    return overlapping >= max(1, OFTEN * spans)


def overlaps(texts: Sequence[Any], cells: Sequence[Any], form: Sequence[str]) -> tuple[int, int]:
    """How many spans of the first rows overlap a longer one, or are the same with another label; and all of them."""
    overlapping = every = 0
    for text, cell in islice(zip(texts, cells, strict=True), ROWS_LOOKED_AT):
        if is_missing(text) or not items_in(cell):
            continue
        valid = valid_spans(cell, form, as_text(text)).spans
        every += len(valid)
        overlapping += len(valid) - len(spans_of(cell, form, as_text(text)).spans)
    return overlapping, every


def _says(line: Line, spans: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{line['text'][start:end]} ({kind})" for start, end, kind in triples(spans)) or NONE
