"""Classes, numbers and several labels of texts and pairs in a user's data: `classification`, `regression`,
`multi-label`.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from finetune.data.column_types import signs_of_no, signs_of_yes
from finetune.data.issues import Finding, Issue
from finetune.data.messages import first_of, short, shown
from finetune.data.table import Table, cell_at
from finetune.data.values import as_list, as_number, as_text, is_missing, is_nested
from finetune.metrics.metric import Metric
from finetune.metrics.scores import accuracy, class_metric, macro_f1, ordinal_metrics, pearson, spearman
from finetune.task_types.classification.guess import text_layout
from finetune.task_types.classification.label_kinds import CLASSES, marks_in
from finetune.task_types.classification.labels import DROPPED, LABEL_DROPPED, LABEL_MISTAKE
from finetune.task_types.classification.spans import SPAN_ISSUES, marked_text
from finetune.task_types.classification.task import PARTS, MultiLabelTask, SentenceTask
from finetune.task_types.columns import MISSING_TEXT, NO_NUMBER, Layout, NoRow, unusable
from finetune.task_types.findings import ONE_LABEL, SplitRows, constant_findings, of_single_labels
from finetune.task_types.own_type import Evidence, OwnType
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, named_chances, pair_texts
from finetune.task_types.task import Task

MOST_CLASSES = 50  # most classes with scores for each
LABELS_SHOWN = 5  # labels of a set shown in a message
NOT = "not "  # before a label that a row does not have
NO_MARK = unusable("no-mark", "a column of 0 and 1 holds something else", "Write 0 or 1")
Labels = tuple[str, ...]


class TextType(OwnType):
    """Data with one text per row, in which two spans may be marked, or two texts in separate columns, of
    which one may be empty unless it `needs_both_texts`.
    """

    other_names = (("text", "text_pair"), ("text",))  # as in transformers
    batch_size = 32
    labels_rows = True
    needs_both_texts: ClassVar[bool] = False

    def find(self, evidence: Evidence) -> Layout | None:
        """The text or pair, and the label, whose values decide the type. Raises UserError without a text."""
        return text_layout(evidence)

    def fitted(self, layout: Layout, task: Task) -> Layout:
        """The layout with the markers that the task reads."""
        markers = getattr(task, "spans", ())
        return replace(layout, markers=markers, marked=layout.marked if markers else ())

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> Any:
        """The text, with its spans marked, or both texts of a pair, of which one may be empty; and their label.

        Raises NoRow for a missing text, a missing span, and a wrong label.
        """
        texts = [layout.text_of(values, column) for column in layout.text]
        if not all(texts) and (self.needs_both_texts or not any(texts)):
            missing = next(column for column, text in zip(layout.text, texts, strict=True) if not text)
            raise NoRow(f"has no text in the column '{missing}'", MISSING_TEXT)
        if layout.markers:
            texts = [marked_text(layout, values, texts[0])]
        new: Any = self.task_class.row_type
        return new(id=name, text=texts[0], pair=texts[1] if len(texts) > 1 else None, gold=self.gold(layout, values))

    @abstractmethod
    def gold(self, layout: Layout, values: Mapping[str, Any]) -> Any:
        """The label of a record; None where it is missing. Raises NoRow for a wrong one."""

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The rows of which one text of a pair is empty."""
        if len(layout.text) != 2 or self.needs_both_texts or not {*layout.text} <= {*table.columns}:
            return {}
        lacks = {name: {i for i, cell in enumerate(table.columns[name]) if is_missing(cell)} for name in layout.text}
        both = set[int].intersection(*lacks.values())
        words = "texts of the column '{}' that are empty: read so"
        return {words.format(name): sorted(rows - both) for name, rows in lacks.items() if rows - both}


class Classification(TextType):
    """One of several classes per row."""

    name = CLASSES
    task_class = SentenceTask
    label_is = (str,)
    closed_labels = True
    issues: ClassVar[tuple[Issue, ...]] = (*SPAN_ISSUES, LABEL_MISTAKE, LABEL_DROPPED)

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """The most frequent class."""
        return of_single_labels(rows, scores=True, worst=rows.trains)

    def gold(self, layout: Layout, values: Mapping[str, Any]) -> str | None:
        """The class; of a list of one, as doccano exports a label, that one."""
        cell = label_cell(layout, values)
        if layout.lacks(cell):
            return None
        label = layout.named(as_text(cell[0] if isinstance(cell, list) and len(cell) == 1 else cell).strip())
        if label in layout.mistakes:
            why = layout.mistakes[label]
            if why == DROPPED:
                raise NoRow(f"has the label {short(label)}, which drop= leaves out", LABEL_DROPPED)
            what = f"has the label {shown(label)} ({why}), which no other row has; keep=all keeps such labels"
            raise NoRow(what, LABEL_MISTAKE)
        return label

    def task(self, layout: Layout, *, name: str, read: Any = None) -> SentenceTask:
        """The task, with macro F1 as headline, or kappa where an order was given; scores of each class where there are
        not too many.
        """
        labels, order = layout.labels, layout.order
        metrics: tuple[Metric, ...] = (macro_f1, accuracy)
        if order:
            ordered, named = ordinal_metrics(order), layout.reasons.get("order") == "given"
            metrics = (*ordered, *metrics) if named else (*metrics, *ordered)
        if len(labels) <= MOST_CLASSES:
            names = [label for label in order if label in labels] or labels
            metrics += tuple(class_metric(label, part) for label in names for part in PARTS)
        return SentenceTask(name=name, read=read, labels=labels, order=order, metrics=metrics, **_reading(layout))


class Regression(TextType):
    """A number per row."""

    name = "regression"
    task_class = SentenceTask
    label_is = (int, float)
    issues = SPAN_ISSUES

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """Numbers that are all equal."""
        same = len({gold for gold in rows.golds if gold is not None}) == 1
        return [Finding(issue=ONE_LABEL, what="all rows have the same number", worst=True)] if same else []

    def gold(self, layout: Layout, values: Mapping[str, Any]) -> float | None:
        """The number."""
        cell = layout.label_in(values)
        number = as_number(cell, decimal=layout.decimal)
        if number is None and not is_missing(cell):
            raise NoRow(f"has the label {short(cell)}, which is not a number", NO_NUMBER)
        return number

    def task(self, layout: Layout, *, name: str, read: Any = None) -> SentenceTask:
        """The task, with Spearman's correlation as headline."""
        return SentenceTask(name=name, read=read, metrics=(spearman, pearson), **_reading(layout))

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Numbers, whose score is the absolute error."""
        labels, predicted = (np.array([line[side] for line in lines], float) for side in ("gold", "prediction"))
        return Predictions(
            lines=lines, texts=pair_texts(lines), score=np.abs(predicted - labels), sorted_by="error",
            says=lambda _, value: f"{value:.3f}",
        )  # fmt: skip


class MultiLabel(TextType):
    """Labels in one column, as a list or a text with separators; or one column of 0 and 1 per label."""

    name = "multi-label"
    task_class = MultiLabelTask
    label_is = (list, tuple, str)
    closed_labels = True
    issues = (NO_MARK,)

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """The most frequent set of labels."""

        def name(gold: Labels) -> str:
            return f"no label but {first_of(list(map(shown, gold)), LABELS_SHOWN)}" if gold else "no label"

        counts = Counter(gold for gold in rows.golds if gold is not None)
        most = "most rows have {label} (majority-class baseline: exact match {accuracy})"
        yield from constant_findings(counts, "{label}", most, worst=rows.trains, name=name)

    def gold(self, layout: Layout, values: Mapping[str, Any]) -> Labels | None:
        """The labels of a cell in order, or those whose columns say yes; an empty list means a row without labels."""
        if len(layout.label) > 1:
            return _marked_columns(layout, values)
        cell = label_cell(layout, values)
        if is_missing(cell):
            return None
        if layout.by_position:
            marks = marks_in(cell) or ()
            if len(marks) != len(layout.names):
                raise NoRow(f"has {short(cell)}; expected 0 or 1 for each of {len(layout.names)} labels", NO_MARK)
            return tuple(name for name, has in zip(layout.names.values(), marks, strict=True) if has)
        listed = as_list(cell)
        parts: Sequence[Any] = as_text(cell).split(layout.separator or "\0") if listed is None else listed
        names = dict.fromkeys(layout.named(name) for part in parts if (name := as_text(part).strip()))
        places = {name: place for place, name in enumerate(layout.labels)}
        return tuple(sorted(names, key=lambda name: places.get(name, -1)))

    def task(self, layout: Layout, *, name: str, read: Any = None) -> MultiLabelTask:
        """The task with all labels that were found."""
        return MultiLabelTask(name=name, read=read, labels=layout.labels, windows=True)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Of each row a decision for each label: that the row has it, or has not."""
        chances, rows = named_chances(lines, names), list[DecisionRow]()
        for row, line in enumerate(lines):
            labels, predicted = set(line["gold"]), list(line["prediction"])
            for name in names if chances else dict.fromkeys((*line["gold"], *predicted)):
                label, prediction = (name if name in side else NOT + name for side in (labels, predicted))
                chance = chances[row][name] if chances else math.nan
                sure, label_chance = (chance if name in side else 1 - chance for side in (predicted, labels))
                rows.append(DecisionRow(row, label, prediction, label == prediction, sure, label_chance))
        right = np.array([set(line["gold"]) == set(line["prediction"]) for line in lines], bool)
        absent = sorted({name for row in rows for name in row[1:3] if name.startswith(NOT)})
        return Predictions(
            lines=lines, texts=pair_texts(lines), right=right, score=right.astype(float), chances=chances, names=names,
            decisions=Decisions.made(rows), nothing=absent, several=True, unit="labels of rows",
            says=lambda _, value: ", ".join(value) or "none",
        )  # fmt: skip


def _reading(layout: Layout) -> dict[str, Any]:
    return {"spans": layout.markers} if layout.markers else {"windows": True}


def label_cell(layout: Layout, values: Mapping[str, Any]) -> Any:
    """The cell of the label. Raises NoRow for an object, and for a list of lists or objects."""
    cell = layout.label_in(values)
    if is_nested(cell):
        raise NoRow(f"has {short(cell)} in the column '{layout.label[0]}'; expected labels")
    return cell


def _marked_columns(layout: Layout, values: Mapping[str, Any]) -> Labels | None:
    """The labels whose columns say yes; None where all are empty."""
    marks = {name: as_text(cell_at(values, name)).strip().lower() for name in layout.label}
    if not any(marks.values()):
        return None
    if wrong := [name for name, mark in marks.items() if mark not in signs_of_no() | signs_of_yes()]:
        cell = short(cell_at(values, wrong[0]))
        raise NoRow(f"has {cell} in the column '{wrong[0]}'; expected 0 or 1", NO_MARK)
    return tuple(name for name, mark in marks.items() if mark in signs_of_yes())
