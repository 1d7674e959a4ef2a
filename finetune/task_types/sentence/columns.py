"""A class or a number for a text or a pair: user data of the types `classification` and `regression`."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from finetune.data.issues import Finding, Issue
from finetune.data.messages import short
from finetune.data.table import Table
from finetune.data.values import as_number, as_text, is_missing, is_nested
from finetune.metrics.metric import Metric
from finetune.metrics.ordinal import ordinal_metrics
from finetune.metrics.scores import accuracy, class_metric, macro_f1, pearson, spearman
from finetune.metrics.tree import tree_metrics
from finetune.task_types.columns import DROPPED, Layout
from finetune.task_types.data_type import Clean, Evidence
from finetune.task_types.findings import ONE_LABEL, SplitRows, of_single_labels
from finetune.task_types.predictions import Line, Predictions, pair_texts
from finetune.task_types.row_issues import NO_NUMBER, NoRow
from finetune.task_types.sentence.mistakes import (
    LABEL_DROPPED,
    LABEL_MISTAKE,
    LABEL_UNLIKE,
    doubt_words,
    mistake_words,
    unlike,
)
from finetune.task_types.sentence.task import SentenceRow, SentenceTask
from finetune.task_types.task import Task
from finetune.task_types.text_inputs.columns import TextType, label_cell, texts_of
from finetune.task_types.text_inputs.spans import ISSUES as span_issues

MOST_CLASSES = 50  # most classes with scores for each
RARE_SHARE = 0.1  # share of the rows up to which `-` is not a class


class SentenceType(TextType):
    """One label per row, of a text that may have two marked spans."""

    task_class = SentenceTask
    marks = True
    row_issues: ClassVar[tuple[Issue, ...]] = span_issues

    def fitted(self, layout: Layout, task: Task) -> Layout:
        """The layout with the markers that the task reads."""
        markers = task.spans if isinstance(task, SentenceTask) else ()
        return replace(layout, markers=markers, marked=layout.marked if markers else ())

    def fixed(self, layout: Layout, values: dict[str, Any], clean: Clean, done: list[str]) -> dict[str, Any]:
        """As for `DataType`; a text with offsets stays as it is, since cleaning would move them."""
        texts = {name: values[name] for name in layout.text if layout.span_ends and name in values}
        return super().fixed(layout, values, clean, done) | texts


class Classification(SentenceType):
    """One of several classes per row."""

    name = "classification"
    answers = "one of its labels for a text or a pair of texts"
    label_is = (str,)
    closed_labels = True
    respelled = True
    droppable = True
    issues = (LABEL_UNLIKE,)
    row_issues = (*span_issues, LABEL_MISTAKE, LABEL_DROPPED)

    def completed(self, layout: Layout, evidence: Evidence) -> Layout:
        """The layout with the sign that means no label."""
        if not layout.label:
            return layout
        return replace(layout, no_label=sign_of_none(evidence.columns[layout.label[0]]))

    def labels_as_spelled(self, layout: Layout, cell: Any) -> list[str]:
        return [] if is_nested(cell) else [class_of(cell)]

    def labels_in(self, gold: str | None) -> tuple[str, ...]:
        return () if gold is None else (gold,)

    def unlike(
        self, layout: Layout, counts: Mapping[str, int], texts: Iterable[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Labels of a single row that are unlike the others."""
        return unlike(counts, layout.label[0], texts)

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The rows whose label may be a mistake."""
        cells = table.columns.get(layout.label[0], ()) if layout.doubts else ()
        doubtful = [index for index, cell in enumerate(cells) if layout.named(class_of(cell)) in layout.doubts]
        return super().changes(layout, table) | ({doubt_words(layout): doubtful} if doubtful else {})

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """The most frequent class, and labels that may be mistakes."""
        doubtful = [index for index, gold in enumerate(rows.golds) if gold in rows.layout.doubts]
        doubts = [Finding(issue=LABEL_UNLIKE, indexes=doubtful, what=doubt_words(rows.layout))] if doubtful else []
        return [*of_single_labels(rows, scores=True, worst=rows.trains), *doubts]

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> SentenceRow:
        """The texts with their class. Raises NoRow for a missing text."""
        text, pair = texts_of(layout, values)
        cell = label_cell(layout, values)
        label = None if layout.lacks(cell) else layout.named(class_of(cell))
        if label is not None and layout.mistakes.get(label) == DROPPED:
            raise NoRow(f"has the label {short(label)}, which drop= leaves out", LABEL_DROPPED)
        if label is not None and label in layout.mistakes:
            raise NoRow(mistake_words(layout, label), LABEL_MISTAKE)
        return SentenceRow(id=name, text=text, pair=pair, gold=label)

    def strata(self, golds: Sequence[Any]) -> Sequence[Any]:
        return golds

    def decisive(self, layout: Layout) -> Layout:
        """Without an order that was recognised, and without levels: these add scores."""
        given = layout.reasons.get("order") == "given"
        return replace(layout, order=layout.order if given else (), levels="")

    def task(self, layout: Layout, *, name: str, read: Any = None) -> SentenceTask:
        """The task, with macro F1 as headline, or kappa where an order was given; scores of each class where there are
        not too many.
        """
        metrics: tuple[Metric, ...] = (macro_f1, accuracy)
        if layout.order:
            ordered = ordinal_metrics(layout.order)
            metrics = (*ordered, *metrics) if layout.reasons.get("order") == "given" else (*metrics, *ordered)
        if layout.levels:
            metrics += tree_metrics(layout.labels, layout.levels)
        if len(layout.labels) <= MOST_CLASSES:
            parts = ("f1", "precision", "recall")
            names = [label for label in layout.order if label in layout.labels] or layout.labels
            metrics += tuple(class_metric(label, part) for label in names for part in parts)
        return SentenceTask(
            name=name, read=read, labels=layout.labels, order=layout.order, metrics=metrics, **_reading(layout)
        )

    def reads_for(self, task: Task) -> bool:
        return isinstance(task, SentenceTask) and not task.regression


class Regression(SentenceType):
    """A number per row."""

    name = "regression"
    answers = "a number for a text or a pair of texts"
    label_is = (int, float)
    labels_are = "numbers"

    def summary(self, golds: Sequence[float]) -> str:
        """The range and the mean."""
        if not golds:
            return "none"
        mean = sum(golds) / len(golds)
        return f"{min(golds):g} to {max(golds):g}, mean {mean:.4g}, {len(set(golds)):,} different ones"

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """Numbers that are all equal."""
        same = len({gold for gold in rows.golds if gold is not None}) == 1
        return [Finding(issue=ONE_LABEL, what="all rows have the same number", worst=True)] if same else []

    def shown_label(self, gold: float) -> str:
        return f"{gold:g}"

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> SentenceRow:
        """The texts with their number. Raises NoRow for a missing text, and for a label that is not a number."""
        text, pair = texts_of(layout, values)
        cell = layout.label_in(values)
        number = as_number(cell, decimal=layout.decimal)
        if number is None and not is_missing(cell):
            raise NoRow(f"has the label {short(cell)}, which is not a number", NO_NUMBER)
        return SentenceRow(id=name, text=text, pair=pair, gold=number)

    def strata(self, golds: Sequence[float]) -> Sequence[int]:
        """Deciles of the numbers."""
        return number_strata(golds)

    def task(self, layout: Layout, *, name: str, read: Any = None) -> SentenceTask:
        """The task, with Spearman's correlation as headline."""
        return SentenceTask(name=name, read=read, metrics=(spearman, pearson), **_reading(layout))

    def reads_for(self, task: Task) -> bool:
        return isinstance(task, SentenceTask) and task.regression

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Numbers, whose score is the absolute error."""
        labels, given = (np.array([line[side] for line in lines], float) for side in ("gold", "prediction"))
        return Predictions(
            lines=lines, texts=pair_texts(lines), score=np.abs(given - labels), sorted_by="error",
            says=lambda _, value: f"{value:.3f}",
        )  # fmt: skip


def _reading(layout: Layout) -> dict[str, Any]:
    """How a task reads long texts: around two marked spans, or in windows."""
    return {"spans": layout.markers} if layout.markers else {"windows": True}


def class_of(cell: Any) -> str:
    """The class that a cell names; of a list of one, as doccano exports a label, that one."""
    return as_text(cell[0] if isinstance(cell, list) and len(cell) == 1 else cell).strip()


def sign_of_none(cells: Sequence[Any]) -> str:
    """`-` where it means no label, as in SNLI: rare, among labels that are words."""
    counts = Counter(class_of(cell) for cell in cells if not is_missing(cell))
    rare = 0 < counts["-"] < RARE_SHARE * counts.total()
    words = all(any(map(str.isalpha, label)) for label in counts if label != "-")
    return "-" if rare and words and len(counts) > 2 else ""


def number_strata(values: Sequence[float]) -> list[int]:
    """The tenth that each number is in; of few numbers a larger part, so that each part has two."""
    ranks = {value: rank for rank, value in enumerate(sorted(values))}
    parts = max(1, min(10, len(values) // 2))
    return [parts * ranks[value] // max(1, len(values)) for value in values]
