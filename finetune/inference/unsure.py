"""Leaves out what a model is not sure of, and adds sets of labels, by the thresholds of `thresholds.py`."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from finetune.data.messages import percent, so_many
from finetune.inference.asked import UNSURE
from finetune.inference.dev_claims import lines_view
from finetune.task_types.prediction_lines import prediction_lines
from finetune.task_types.view import Claim, Line, View

if TYPE_CHECKING:
    from finetune.data.rows import Row
    from finetune.task_types.columns import Layout
    from finetune.task_types.data_type import DataType
    from finetune.task_types.parts import Answer
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

    def left_out(self, view: View, line: Line) -> list[Claim]:
        """The claims of a line that are not sure enough."""
        return [claim for claim in view.claims(line) if self._is_left_out(claim)]

    def cells(
        self, task: "Task", labels: tuple[str, ...], kind: "DataType", layout: "Layout", answer: "Answer", row: "Row"
    ) -> dict[str, Any]:
        """The cells of a prediction without what is left out, which the column `unsure` has; and its label set."""
        line = prediction_lines(task, [row], [answer])[0]
        view = kind.view(lines=[line], labels=labels).for_task(task)
        cells = kind.cells(task, layout, answer, row)
        added: dict[str, Any] = {}
        if self.sets is not None:
            names = self._set_of(view, line)
            given = [names] if view.several else names
            added["label set"] = [_cell(kind, task, layout, answer, row, name) for name in given]
            added["label set"] = added["label set"][0] if view.several else added["label set"]
        if self.width is not None:
            added |= {"low": answer.value - self.width, "high": answer.value + self.width}
        if not self.abstains:
            return cells | added
        left_out = self.left_out(view, line)
        rest = view.without(line, left_out)
        if rest is None:
            return (_unanswered(cells) if left_out else cells | {"prediction": _as_text(cells["prediction"])}) | added
        kept = kind.cells(task, layout, replace(answer, value=rest), row)
        name = next(name for name in ("entities", "predicted labels", "prediction") if name in cells)
        return kept | {UNSURE: [one for one in cells[name] if one not in kept[name]]} | added

    def answers(
        self, task: "Task", labels: tuple[str, ...], answers: Sequence["Answer"], rows: Sequence["Row"]
    ) -> tuple[list["Answer"], list["Row"]]:
        """The predictions without what is left out, and their rows."""
        found = [
            (answer if rest is None else replace(answer, value=rest), row)
            for answer, row, line, view in self._seen(task, labels, answers, rows)
            if (rest := view.without(line, out := self.left_out(view, line))) is not None or not out
        ]
        return [answer for answer, _ in found], [row for _, row in found]

    def counted(
        self, task: "Task", labels: tuple[str, ...], answers: Sequence["Answer"], rows: Sequence["Row"]
    ) -> dict[str, Any]:
        """How much of labelled rows is answered and right, and what their label sets hold: JSON values."""
        seen = [(view, line) for _, _, line, view in self._seen(task, labels, answers, rows)]
        found: dict[str, Any] = {"of": self.claimed}
        if self.abstains:
            claims = [(claim, view, line) for view, line in seen for claim in view.claims(line)]
            kept = [claim for claim, _, _ in claims if not self._is_left_out(claim)]
            unsure, wrong = len(claims) - len(kept), sum(not claim.right for claim in kept)
            found |= {"answered": len(kept), "unsure": unsure, "wrong": wrong}
        if self.width is not None:
            off = [abs(line["prediction"] - line["gold"]) for _, line in seen]
            found |= {"inside": float(np.mean([error <= self.width for error in off])), "width": 2 * self.width}
        if self.sets is not None:
            sets = [(set(self._set_of(view, line)), _own_labels(view, line)) for view, line in seen]
            inside = [sum(name in names for name in own) / len(own) for names, own in sets if own]
            if inside:
                found |= {"inside": float(np.mean(inside)), "labelled": len(inside)}
                found |= {"labels": float(np.mean([len(names) for names, _ in sets]))}
        return found

    def _seen(
        self, task: "Task", labels: tuple[str, ...], answers: Sequence["Answer"], rows: Sequence["Row"]
    ) -> "Iterator[tuple[Answer, Row, Line, View]]":
        lines = prediction_lines(task, rows, answers)
        view = lines_view(task, lines, labels)
        assert view is not None  # or there would be no thresholds
        return ((answer, row, line, view) for answer, row, line in zip(answers, rows, lines, strict=True))

    def _is_left_out(self, claim: Claim) -> bool:
        return claim.confidence < self.by_label.get(claim.label, self.threshold)

    def _set_of(self, view: View, line: Line) -> list[Any]:
        """The names in a row's label set, the likeliest first; of one label never none."""
        ranked = sorted(view.candidates(line), key=lambda one: -one.chance)
        inside = [one.name for one in ranked if self.sets is not None and one.chance >= self.sets]
        return inside if inside or view.several else [line["prediction"]]


def _own_labels(view: View, line: Line) -> list[Any]:
    """The labels of a row that are among its candidates; of one label, an unknown one where none is."""
    return [one.name for one in view.candidates(line) if one.right] or [None] * (not view.several)


def _cell(kind: "DataType", task: "Task", layout: "Layout", answer: "Answer", row: "Row", value: Any) -> Any:
    """How a value is written in the column of predictions."""
    return kind.cells(task, layout, replace(answer, value=value), row)["prediction"]


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
