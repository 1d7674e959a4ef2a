"""Classes, numbers and several labels of texts and pairs in a user's data: `classification`, `regression`,
`multi-label`.
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from finetune.data.column_types import signs_of_no, signs_of_yes
from finetune.data.issues import Finding, Issue
from finetune.data.messages import first_of, short, shown
from finetune.data.table import Table, cell_at
from finetune.data.values import as_list, as_number, as_text, is_missing, is_nested
from finetune.metrics.metric import Metric
from finetune.metrics.ordinal import ordinal_metrics
from finetune.metrics.scores import accuracy, class_metric, macro_f1, pearson, spearman
from finetune.metrics.tree import tree_metrics
from finetune.task_types.classification.guess import text_layout
from finetune.task_types.classification.label_kinds import RANKING, items_and_sign, marks_in, positions_in, separator_in
from finetune.task_types.classification.marked import closing, without_markers
from finetune.task_types.classification.mistakes import (
    LABEL_DROPPED,
    LABEL_MISTAKE,
    LABEL_UNLIKE,
    doubt_words,
    mistake_words,
    unlike,
)
from finetune.task_types.classification.spans import SPAN_ISSUES, marked_text
from finetune.task_types.classification.task import PARTS, MultiLabelTask, SentenceTask
from finetune.task_types.columns import DROPPED, Layout
from finetune.task_types.data_type import TEXT_CHARS_SHOWN, Clean, DataType, Evidence
from finetune.task_types.findings import ONE_LABEL, SplitRows, constant_findings, of_single_labels
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, named_chances, pair_texts
from finetune.task_types.row_issues import MISSING_TEXT, NO_NUMBER, NoRow, unusable
from finetune.task_types.task import Task

MOST_CLASSES = 50  # most classes with scores for each
RARE_SHARE = 0.1  # share of the rows up to which `-` is not a class
CELLS_SEEN = 1_000  # from which the spelling of 0 and 1 is known
LABELS_SHOWN = 5  # labels of a set shown in a message
NOT = "not "  # before a label that a row does not have
NO_MARK = unusable("no-mark", "a column of 0 and 1 holds something else", "Write 0 or 1")
Labels = tuple[str, ...]


class TextType(DataType):
    """Data with one text per row, in which two spans may be marked, or two texts in separate columns."""

    batch_size = 32
    labels_rows = True
    pooled = True
    inputs: ClassVar[str] = "text label=label"

    def find(self, evidence: Evidence) -> Layout | None:
        """Finds the text or pair, and the label, whose values decide the type. Raises UserError without a text."""
        return text_layout(evidence)

    def guess(self, evidence: Evidence) -> Layout | None:
        """The layout from `find`, which uses the columns that the user named; never None."""
        return self.find(evidence)

    def fitted(self, layout: Layout, task: Task) -> Layout:
        """The layout with the markers that the task reads."""
        markers = getattr(task, "spans", ())
        return replace(layout, markers=markers, marked=layout.marked if markers else ())

    def fixed(self, layout: Layout, values: dict[str, Any], clean: Clean, done: list[str]) -> dict[str, Any]:
        """As for `DataType`; a text with offsets stays as it is, since cleaning would move them."""
        texts = {name: values[name] for name in layout.text if layout.span_ends and name in values}
        return super().fixed(layout, values, clean, done) | texts

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> Any:
        """The text, with its spans marked, or both texts of a pair, of which one may be empty; and their label.

        Raises NoRow for a missing text, a missing span, and a wrong label.
        """
        texts = [layout.text_of(values, column) for column in layout.text]
        if not (all(texts) if layout.shape == RANKING else any(texts)):
            missing = next(column for column, text in zip(layout.text, texts, strict=True) if not text)
            raise NoRow(f"has no text in the column '{missing}'", MISSING_TEXT)
        if layout.markers:
            texts = [marked_text(layout, values, texts[0])]
        new: Any = self.task_class.row_type
        return new(id=name, text=texts[0], pair=texts[1] if len(texts) > 1 else None, gold=self.gold(layout, values))

    @abstractmethod
    def gold(self, layout: Layout, values: Mapping[str, Any]) -> Any:
        """The label of a record; None where it is missing. Raises NoRow for a wrong one."""

    def facts(self, row: Any) -> dict[str, str]:
        texts = {"text": row.text} | ({} if row.pair is None else {"second text": row.pair})
        label = "none" if row.gold is None else self.shown_label(row.gold)
        return {name: shown(text, TEXT_CHARS_SHOWN) for name, text in texts.items()} | {"label": label}

    def shown_label(self, gold: Any) -> str:
        """A known label, in words."""
        return f"{gold:g}" if isinstance(gold, float) else shown(gold, TEXT_CHARS_SHOWN)[1:-1]

    def sequences(
        self, layout: Layout, table: Table, texts: Sequence[str], rows: Sequence[int]
    ) -> tuple[list[str], list[str] | None]:
        """The texts, or both texts of pairs; a marker is a token, in whose place is a comma."""
        if layout.markers:
            return [without_markers(texts[row], layout.markers, ",") for row in rows], None
        if len(layout.text) == 1:
            return super().sequences(layout, table, texts, rows)
        firsts, seconds = ([as_text(table.columns[name][row]) for row in rows] for name in layout.text)
        return firsts, seconds

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The rows of which one text of a pair is empty."""
        if len(layout.text) != 2 or layout.shape == RANKING or not {*layout.text} <= {*table.columns}:
            return {}
        lacks = {name: {i for i, cell in enumerate(table.columns[name]) if is_missing(cell)} for name in layout.text}
        both = set[int].intersection(*lacks.values())
        words = "texts of the column '{}' that are empty: read so"
        return {words.format(name): sorted(rows - both) for name, rows in lacks.items() if rows - both}

    def needed(self, layout: Layout) -> tuple[str, ...]:
        """The only column of texts; of a pair, or of joined columns, any."""
        return layout.text if len(layout.text_columns) == 1 or layout.shape == RANKING else ()

    def spoiled(self, layout: Layout, values: Mapping[str, Any]) -> str:
        return "without a text" if all(is_missing(values.get(name)) for name in layout.text_columns) else ""

    def truncates(self, layout: Layout) -> bool:
        """Whether it is a pair, or a text with two spans: both are truncated."""
        return len(layout.text) > 1 or bool(layout.markers)

    def compared(self, row: Any, markers: tuple[str, ...] = ()) -> str:
        """The text, without the markers of spans."""
        text = super().compared(row)
        return without_markers(text, markers) if markers else text

    def input_names(self, names: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """Those of transformers too; first those of a pair."""
        return [names, ("text", "text_pair"), names[:1]]

    def example(self, layout: Layout | None) -> str:
        if layout is not None and layout.markers:
            one, two = layout.markers
            return f'"{one}Ann{closing(one)} saw {two}Bo{closing(two)}"'
        return '"a text"' if layout is None or len(layout.text) == 1 else '"a text", "another text"'

    def inputs_fault(self, layout: Layout, count: int) -> str:
        """The reason where the number of texts differs from that in training."""
        texts = {1: "one text", 2: "two texts"}
        reads = texts[len(layout.text)]
        return (
            ""
            if count == len(layout.text)
            else f"has {texts.get(count, f'{count} texts')}, and the model reads {reads}"
        )


class Classification(TextType):
    """One of several classes per row."""

    name = "classification"
    answers = "one of its labels for a text or a pair of texts"
    task_class = SentenceTask
    label_is = (str,)
    marks = True
    closed_labels = True
    respelled = True
    droppable = True
    issues = (LABEL_UNLIKE,)
    row_issues: ClassVar[tuple[Issue, ...]] = (*SPAN_ISSUES, LABEL_MISTAKE, LABEL_DROPPED)

    def completed(self, layout: Layout, evidence: Evidence) -> Layout:
        """The layout with `-` as the sign that means no label, as in SNLI: where it is rare, among words."""
        if not layout.label:
            return layout
        counts = Counter(class_of(cell) for cell in evidence.columns[layout.label[0]] if not is_missing(cell))
        rare = 0 < counts["-"] < RARE_SHARE * counts.total()
        words = all(any(map(str.isalpha, label)) for label in counts if label != "-")
        return replace(layout, no_label="-" if rare and words and len(counts) > 2 else "")

    def labels_as_spelled(self, layout: Layout, cell: Any) -> list[str]:
        return [] if is_nested(cell) else [class_of(cell)]

    def labels_in(self, gold: str | None) -> Labels:
        return () if gold is None else (gold,)

    def unlike(
        self, layout: Layout, counts: Mapping[str, int], texts: Iterable[str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Labels of a single row that are unlike the others."""
        return unlike(counts, layout.label[0], texts)

    def changes(self, layout: Layout, table: Table) -> dict[str, Sequence[int]]:
        """The rows whose label may be a mistake, too."""
        cells = table.columns.get(layout.label[0], ()) if layout.doubts else ()
        doubtful = [index for index, cell in enumerate(cells) if layout.named(class_of(cell)) in layout.doubts]
        return super().changes(layout, table) | ({doubt_words(layout): doubtful} if doubtful else {})

    def findings(self, rows: SplitRows) -> Iterable[Finding]:
        """The most frequent class, and labels that may be mistakes."""
        doubtful = [index for index, gold in enumerate(rows.golds) if gold in rows.layout.doubts]
        doubts = [Finding(issue=LABEL_UNLIKE, indexes=doubtful, what=doubt_words(rows.layout))] if doubtful else []
        return [*of_single_labels(rows, scores=True, worst=rows.trains), *doubts]

    def gold(self, layout: Layout, values: Mapping[str, Any]) -> str | None:
        """The class."""
        cell = label_cell(layout, values)
        if layout.lacks(cell):
            return None
        label = layout.named(class_of(cell))
        if layout.mistakes.get(label) == DROPPED:
            raise NoRow(f"has the label {short(label)}, which drop= leaves out", LABEL_DROPPED)
        if label in layout.mistakes:
            raise NoRow(mistake_words(layout, label), LABEL_MISTAKE)
        return label

    def strata(self, golds: Sequence[Any]) -> Sequence[Any]:
        return golds

    def decisive(self, layout: Layout) -> Layout:
        """Without an order that was recognised, and without levels: these add scores."""
        return replace(layout, order=layout.order if _is_ordered(layout) else (), levels="")

    def task(self, layout: Layout, *, name: str, read: Any = None) -> SentenceTask:
        """The task, with macro F1 as headline, or kappa where an order was given; scores of each class where there are
        not too many.
        """
        labels, order = layout.labels, layout.order
        metrics: tuple[Metric, ...] = (macro_f1, accuracy)
        if order:
            ordered = ordinal_metrics(order)
            metrics = (*ordered, *metrics) if _is_ordered(layout) else (*metrics, *ordered)
        if layout.levels:
            metrics += tree_metrics(labels, layout.levels)
        if len(labels) <= MOST_CLASSES:
            names = [label for label in order if label in labels] or labels
            metrics += tuple(class_metric(label, part) for label in names for part in PARTS)
        return SentenceTask(name=name, read=read, labels=labels, order=order, metrics=metrics, **_reading(layout))

    def reads_for(self, task: Task) -> bool:
        return isinstance(task, SentenceTask) and not task.regression


class Regression(TextType):
    """A number per row."""

    name = "regression"
    answers = "a number for a text or a pair of texts"
    task_class = SentenceTask
    label_is = (int, float)
    marks = True
    labels_are = "numbers"
    row_issues = SPAN_ISSUES

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

    def gold(self, layout: Layout, values: Mapping[str, Any]) -> float | None:
        """The number."""
        cell = layout.label_in(values)
        number = as_number(cell, decimal=layout.decimal)
        if number is None and not is_missing(cell):
            raise NoRow(f"has the label {short(cell)}, which is not a number", NO_NUMBER)
        return number

    def strata(self, golds: Sequence[float]) -> Sequence[int]:
        """The tenth that each number is in; of few numbers a larger part, so that each part has two."""
        ranks = {value: rank for rank, value in enumerate(sorted(golds))}
        parts = max(1, min(10, len(golds) // 2))
        return [parts * ranks[value] // max(1, len(golds)) for value in golds]

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


class MultiLabel(TextType):
    """Labels in one column, as a list or a text with separators; or one column of 0 and 1 per label."""

    name = "multi-label"
    answers = "any of its labels for a text, or none"
    task_class = MultiLabelTask
    label_is = (list, tuple)
    closed_labels = True
    respelled = True
    row_issues = (NO_MARK,)

    def completed(self, layout: Layout, evidence: Evidence) -> Layout:
        """The layout with the separator between the labels of a cell, which has a default."""
        label = layout.label
        if len(label) == 1 and (count := positions_in(evidence.columns[label[0]])):
            names = {str(place): f"label {place + 1}" for place in range(count)}
            reasons = {**layout.reasons, "labels": "by position in the lists; labels=FILE names them"}
            return replace(layout, by_position=True, names=names, labels=tuple(names.values()), reasons=reasons)
        if layout.separator or len(label) != 1 or evidence.facts[label[0]].kind == "list":
            return layout
        texts = [as_text(cell) for cell in evidence.columns[label[0]] if not is_missing(cell)]
        separator = separator_in(texts) or ("," if any("," in text for text in texts) else " ")
        return replace(layout, separator=separator)

    def labels_as_spelled(self, layout: Layout, cell: Any) -> list[str]:
        """The labels of the cell; none in one of lists or objects, whose row cannot be used."""
        if layout.by_position:
            return [str(place) for place, has in enumerate(marks_in(cell) or ()) if has]
        if is_nested(cell):
            return []
        listed = as_list(cell)
        parts: Sequence[Any] = as_text(cell).split(layout.separator or "\0") if listed is None else listed
        return list(dict.fromkeys(name for part in parts if (name := as_text(part).strip())))

    def labels_in(self, gold: Labels | None) -> Labels:
        return gold or ()

    def shown_label(self, gold: Labels) -> str:
        """The labels' names."""
        return ", ".join(gold) or "no label"

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
        if layout.by_position and len(marks_in(cell) or ()) != len(layout.names):
            raise NoRow(f"has {short(cell)}; expected 0 or 1 for each of {len(layout.names)} labels", NO_MARK)
        places = {name: place for place, name in enumerate(layout.labels)}
        return tuple(sorted(self.label_names(layout, cell), key=lambda name: places.get(name, -1)))

    def cells(self, task: Task, layout: Layout, answer: Answer, row: Any) -> dict[str, Any]:
        """As for every type; where the data has labels by position also the prediction, as in the training file."""
        cells = super().cells(task, layout, answer, row)
        if not layout.by_position or not isinstance(answer.value, list):
            return cells
        written, sign = layout.file.get("marks", [0, 1]), str(layout.file.get("between_marks", ""))
        marks = [written[name in answer.value] for name in layout.names.values()]
        return cells | {"prediction": sign.join(map(str, marks)) if sign else marks, "predicted labels": answer.value}

    def value(self, task: Task, layout: Layout, cell: Any, row: Any) -> Any:
        return list(self.label_names(layout, cell)) if layout.by_position else cell

    def with_spelling(self, layout: Layout, columns: Mapping[str, Sequence[Any]]) -> Layout:
        """With how 0 and 1 are written, where labels are by position."""
        cells = columns.get(layout.label[0], ()) if layout.by_position and layout.label else ()
        some = [(marks, *items_and_sign(cell)) for cell in islice(cells, CELLS_SEEN) if (marks := marks_in(cell))]
        if not some:
            return layout
        written = {mark: item for marks, items, _ in some for mark, item in zip(marks, items, strict=True)}
        spelled = {"marks": [written.get(False, 0), written.get(True, 1)], "between_marks": some[0][2]}
        return replace(layout, file={**layout.file, **spelled})

    def strata(self, golds: Sequence[Labels]) -> Sequence[Labels | str]:
        """The sets of labels; those that occur once are one stratum."""
        counts = Counter(golds)
        return [gold if counts[gold] > 1 else "" for gold in golds]

    def task(self, layout: Layout, *, name: str, read: Any = None) -> MultiLabelTask:
        """The task with all labels that were found."""
        return MultiLabelTask(name=name, read=read, labels=layout.labels, windows=True)

    def predictions(self, lines: Sequence[Line], names: Sequence[str], task: Task | None) -> Predictions:
        """Of each row a decision for each label: that the row has it, or has not."""
        chances, rows = named_chances(lines, names), list[DecisionRow]()
        for row, line in enumerate(lines):
            own, given = set(line["gold"]), list(line["prediction"])
            for name in names if chances else dict.fromkeys((*line["gold"], *given)):
                label, prediction = (name if name in side else NOT + name for side in (own, given))
                place = given.index(name) if name in given else 0
                chance = chances[row][name] if chances else math.nan
                sure, known = (chance if name in side else 1 - chance for side in (given, own))
                rows.append(DecisionRow(row, label, prediction, label == prediction, sure, known, "", place, place + 1))
        right = np.array([set(line["gold"]) == set(line["prediction"]) for line in lines], bool)
        absent = sorted({name for row in rows for name in row[1:3] if name.startswith(NOT)})
        return Predictions(
            lines=lines, texts=pair_texts(lines), right=right, score=right.astype(float), chances=chances, names=names,
            decisions=Decisions.made(rows), nothing=absent, several=True, filler=(), unit="labels of rows",
            claimed="labels", says=lambda _, value: ", ".join(value) or "none",
        )  # fmt: skip


def _is_ordered(layout: Layout) -> bool:
    return layout.reasons.get("order") == "given"


def _reading(layout: Layout) -> dict[str, Any]:
    return {"spans": layout.markers} if layout.markers else {"windows": True}


def class_of(cell: Any) -> str:
    """The class that a cell names; of a list of one, as doccano exports a label, that one."""
    return as_text(cell[0] if isinstance(cell, list) and len(cell) == 1 else cell).strip()


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
