"""Any number of labels for a text or a pair: user data of the type `multi-label`."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from finetune.data.column_types import signs_of_no, signs_of_yes
from finetune.data.issues import Finding
from finetune.data.messages import first_of, short, shown
from finetune.data.nested_fields import cell_at
from finetune.data.values import as_text, is_missing, is_nested
from finetune.task_types.columns import Layout
from finetune.task_types.data_type import Evidence
from finetune.task_types.findings import SplitRows, constant_findings
from finetune.task_types.multilabel.task import MultiLabelRow, MultiLabelTask
from finetune.task_types.parts import Answer
from finetune.task_types.predictions import DecisionRow, Decisions, Line, Predictions, named_chances, pair_texts
from finetune.task_types.row_issues import NoRow, unusable
from finetune.task_types.task import Task
from finetune.task_types.text_inputs.columns import TextType, label_cell, labels_in_cell, texts_of
from finetune.task_types.text_inputs.label_kinds import items_and_sign, marks_in, positions_in, separator_in

Gold = tuple[str, ...]
CELLS_SEEN = 1_000  # from which the spelling of 0 and 1 is known
LABELS_SHOWN = 5  # labels of a set shown in a message


NO_MARK = unusable("no-mark", "a column of 0 and 1 holds something else", "Write 0 or 1")

NOT = "not "  # before a label that a row does not have


class MultiLabel(TextType):
    """Labels in one column, as a list or a text with separators; or one column of 0 and 1 per label."""

    name = "multi-label"
    answers = "any of its labels for a text, or none"
    row_issues = (NO_MARK,)
    task_class = MultiLabelTask
    label_is = (list, tuple)
    closed_labels = True
    respelled = True

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
        return [] if is_nested(cell) else labels_in_cell(cell, layout.separator)

    def labels_in(self, gold: Gold | None) -> Gold:
        return gold or ()

    def shown_label(self, gold: Gold) -> str:
        """The labels' names."""
        return ", ".join(gold) or "no label"

    def findings(self, rows: SplitRows) -> Iterator[Finding]:
        """The most frequent set of labels."""

        def name(gold: Gold) -> str:
            return f"no label but {first_of(list(map(shown, gold)), LABELS_SHOWN)}" if gold else "no label"

        counts = Counter(gold for gold in rows.golds if gold is not None)
        most = "most rows have {label} (majority-class baseline: exact match {accuracy})"
        yield from constant_findings(counts, "{label}", most, worst=rows.trains, name=name)

    def row(self, layout: Layout, values: Mapping[str, Any], name: str) -> MultiLabelRow:
        """The texts with their labels. Raises NoRow for a missing text, and for a label cell that is not 0 or 1."""
        text, pair = texts_of(layout, values)
        gold = _marked(layout, values) if len(layout.label) > 1 else self._listed(layout, values)
        return MultiLabelRow(id=name, text=text, pair=pair, gold=gold)

    def _listed(self, layout: Layout, values: Mapping[str, Any]) -> Gold | None:
        """The labels of a cell in order; an empty list means a row without labels."""
        cell = label_cell(layout, values)
        if is_missing(cell):
            return None
        if layout.by_position and len(marks_in(cell) or ()) != len(layout.names):
            raise NoRow(f"has {short(cell)}; expected 0 or 1 for each of {len(layout.names)} labels", NO_MARK)
        order = layout.labels.index
        return tuple(
            sorted(self.label_names(layout, cell), key=lambda name: order(name) if name in layout.labels else -1)
        )

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

    def strata(self, golds: Sequence[Gold]) -> Sequence[Gold | str]:
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


def _marked(layout: Layout, values: Mapping[str, Any]) -> Gold | None:
    """The labels whose columns say yes; None where all are empty."""
    marks = {name: as_text(cell_at(values, name)).strip().lower() for name in layout.label}
    if not any(marks.values()):
        return None
    if wrong := [name for name, mark in marks.items() if mark not in signs_of_no() | signs_of_yes()]:
        cell = short(cell_at(values, wrong[0]))
        raise NoRow(f"has {cell} in the column '{wrong[0]}'; expected 0 or 1", NO_MARK)
    return tuple(name for name, mark in marks.items() if mark in signs_of_yes())
