"""Leaves out what a model is not sure of, and adds sets of labels, by the thresholds of `thresholds.py`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.messages import percent, so_many
from finetune.inference.asked import UNSURE
from finetune.task_types.predictions import prediction_lines
from finetune.task_types.saved_predictions import answered
from finetune.task_types.types import type_of

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.task_types.columns import Layout
    from finetune.task_types.own_type import OwnType
    from finetune.task_types.parts import Answer
    from finetune.task_types.predictions import Decisions, Predictions
    from finetune.task_types.task import Task

OF_GUESS = ("prediction text", "start", "end", "intent", "entities")  # empty where nothing is predicted


@dataclass(frozen=True, kw_only=True)
class Unsure:
    """The thresholds of a model: of all claims, of those of a label, of label sets; and half the width of intervals.

    `claimed` is what may be left out, in words, and `notes` say what is promised.
    """

    claimed: str
    threshold: float = -math.inf
    by_label: Mapping[str, float] = field(default_factory=dict)
    abstains: bool = False
    sets: float | None = None
    width: float | None = None
    notes: tuple[str, ...] = ()

    def cells(
        self, task: "Task", labels: tuple[str, ...], kind: "OwnType", layout: "Layout", answer: "Answer", row: "Row"
    ) -> dict[str, Any]:
        """The cells of a prediction without what is left out, which the column `unsure` has; and its label set."""
        table = answered(kind, task, labels, prediction_lines(task, [row], [answer]))
        cells = kind.cells(task, layout, answer, row)
        added: dict[str, Any] = {}
        if self.sets is not None:
            names = self._set_of(table, 0)
            given = [names] if table.several else names
            written = [kind.cells(task, layout, replace(answer, value=name), row)["prediction"] for name in given]
            added["label set"] = written[0] if table.several else written
        if self.width is not None:
            added |= {"low": answer.value - self.width, "high": answer.value + self.width}
        if not self.abstains:
            return cells | added
        left_out = table.claimed_parts.at(self._unsure(table.claimed_parts))
        rest = table.without(0, left_out)
        if rest is None:
            return (
                _unanswered(cells) if len(left_out) else cells | {"prediction": _as_text(cells["prediction"])}
            ) | added
        kept = kind.cells(task, layout, replace(answer, value=rest), row)
        name = next(name for name in ("entities", "predicted labels", "prediction") if name in cells)
        return kept | {UNSURE: [one for one in cells[name] if one not in kept[name]]} | added

    def answers(
        self, task: "Task", labels: tuple[str, ...], answers: Sequence["Answer"], rows: Sequence["Row"]
    ) -> tuple[list["Answer"], list["Row"]]:
        """The predictions without what is left out, and their rows."""
        table, kept = self._table(task, labels, answers, rows), list[tuple[Any, Any]]()
        left_out = table.claimed_parts.at(self._unsure(table.claimed_parts))
        for index, (answer, row) in enumerate(zip(answers, rows, strict=True)):
            out = left_out.at(left_out.row == index)
            rest = table.without(index, out)
            if rest is not None or not len(out):
                kept.append((answer if rest is None else replace(answer, value=rest), row))
        return [answer for answer, _ in kept], [row for _, row in kept]

    def counted(
        self, task: "Task", labels: tuple[str, ...], answers: Sequence["Answer"], rows: Sequence["Row"]
    ) -> dict[str, Any]:
        """How much of labelled rows is answered and right, and what their label sets hold: JSON values."""
        table = self._table(task, labels, answers, rows)
        found: dict[str, Any] = {"of": self.claimed}
        if self.abstains:
            claims = table.claimed_parts
            unsure = self._unsure(claims)
            kept, wrong = int((~unsure).sum()), int((~claims.right[~unsure]).sum())
            found |= {"answered": kept, "unsure": int(unsure.sum()), "wrong": wrong}
        if self.width is not None:
            found |= {"inside": float((table.score <= self.width).mean()), "width": 2 * self.width}
        if self.sets is not None:
            sets = [self._set_of(table, row) for row in range(len(table))]
            own = [labels_of(table, row) for row in range(len(table))]
            inside = [np.mean([name in names for name in some]) for names, some in zip(sets, own, strict=True) if some]
            if inside:
                found |= {"inside": float(np.mean(inside)), "labelled": len(inside)}
                sizes = [len(set(names)) for names, some in zip(sets, own, strict=True) if some]
                found |= {"labels": float(np.mean(sizes))}
        return found

    def _table(
        self, task: "Task", labels: tuple[str, ...], answers: Sequence["Answer"], rows: Sequence["Row"]
    ) -> "Predictions":
        kind = type_of(task)
        assert kind is not None  # or there would be no thresholds
        return answered(kind, task, labels, prediction_lines(task, rows, answers))

    def _unsure(self, claims: "Decisions") -> np.ndarray:
        """Whether each claim is not sure enough `(claims,)`."""
        least = [self.by_label.get(label, self.threshold) for label in claims.prediction]
        unsure: np.ndarray = claims.confidence < np.array(least, float)
        return unsure

    def _set_of(self, table: "Predictions", row: int) -> list[Any]:
        """The names in a row's label set, the likeliest first; of one label never none."""
        chances = table.chances[row] if table.chances else {}
        ranked = sorted(chances, key=lambda name: -chances[name])
        inside = [name for name in ranked if self.sets is not None and chances[name] >= self.sets]
        return inside if inside or table.several else [table.lines[row]["prediction"]]


def labels_of(table: "Predictions", row: int) -> list[Any]:
    """The labels of a row that have a probability; of one label, an unknown one where none has."""
    label, chances = table.lines[row]["gold"], table.chances[row] if table.chances else {}
    own = [name for name in (label if table.several else [label]) if name in chances]
    return own or [None] * (not table.several)


def _as_text(cell: Any) -> Any:
    """A number or an object as a text, as `unsure` in the same column is: a column of a Parquet file has one type."""
    if isinstance(cell, Mapping):
        return json.dumps(cell, ensure_ascii=False)
    return str(cell) if isinstance(cell, int) else cell


def _unanswered(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a row that is not answered; what would have been predicted is in a column of its own."""
    empty = dict.fromkeys((name for name in OF_GUESS if name in cells), None)
    return {**cells, **empty, "prediction": UNSURE, UNSURE: cells["prediction"]}


def answered_words(counts: Mapping[str, Any]) -> str:
    """What `Unsure.counted` found, in words."""
    parts, of = [], counts["of"]
    if "answered" in counts:
        kept, unsure, wrong = counts["answered"], counts["unsure"], counts["wrong"]
        share, right = kept / max(1, kept + unsure), wrong / max(1, kept)
        parts.append(f"{kept:,} of {kept + unsure:,} {of} answered ({percent(share)}), {unsure:,} unsure")
        parts.append(f"{percent(right)} of the answered are wrong")
    if "labels" in counts:
        held, rows = percent(counts["inside"]), so_many(counts["labelled"])
        parts.append(f"label sets have {held} of the labels of {rows}, with {counts['labels']:.2f} each")
    if "width" in counts:
        parts.append(f"{percent(counts['inside'])} of the labels are in their interval, {counts['width']:.3g} wide")
    return "; ".join(parts)
