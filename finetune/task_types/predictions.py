"""Predictions: one table of a split's rows with label, prediction, confidence and score, which all readers read.

A task type fills it by `OwnType.predictions`; what follows from its columns is computed here for all types.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from finetune.data.rows import Row, row_fields
from finetune.errors import UserError
from finetune.task_types.marked_text import TextMark, cut

if TYPE_CHECKING:
    from finetune.task_types.parts import Answer
    from finetune.task_types.task import Task

Line = dict[str, Any]
BASELINE, SLICE = "baseline:", "slice:"  # begin the names of columns
ADDED = ("confidence", "right", "row_score")  # columns of a file that are computed from its others
HIDDEN = {  # fields of a line that a table in the terminal has in another form, or not at all
    *("gold", "prediction", "probabilities", "words", "starts", "lines", "label_probabilities"), *ADDED,
}  # fmt: skip
TEXTS = ("text", "pair")


class DecisionRow(NamedTuple):
    """What has a label and a confidence of its own: a row, a word, a label of several, an entity.

    `row` is an index of the table, `confidence` the prediction's, and `chance` the probability of the label. `of` is
    the text that the decision is about, empty for the row as a whole.
    """

    row: int
    label: str
    prediction: str
    right: bool
    confidence: float | None = None
    chance: float | None = None
    of: str = ""


KINDS = (int, object, object, bool, float, float, object)
COLUMNS = np.dtype([*zip(DecisionRow._fields, KINDS, strict=True)])


class Decisions(np.recarray[Any, Any]):
    """A column `(decisions,)` for each field of `DecisionRow`, NaN for None; an array of numpy's with names."""

    @classmethod
    def made(cls, rows: Iterable[DecisionRow]) -> "Decisions":
        """The decisions of these rows, in their order."""
        return np.array([*rows], COLUMNS).view(cls)

    def at(self, chosen: np.ndarray) -> "Decisions":
        """The decisions of a mask, or of indexes."""
        found: Decisions = self[chosen].view(Decisions)
        return found


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """The labelled rows of a split: `(rows,)` columns, flat sets of decisions, and words for people.

    `lines` are the rows as they are saved, with `gold`, their label, `prediction` and probabilities. `texts` are what
    the model read, by name. `right` is None where predictions are neither right nor wrong; then `score` is an error
    (lower is better), else it is 0 to 1. `chances` has for each row the probabilities of labels by name, or of choices
    by index; empty where they are not known.

    `parts` are the decisions that scores of classes count, where these are others: entities of tagged words. A label of
    `nothing` says that none is there. `names` are the labels of probabilities, `order` has labels from lowest to
    highest. A row may have `several` labels; they are `closed` if rows share them, and `annotated` if somebody gave
    them, so that one may be wrong.
    """

    lines: Sequence[Line]
    texts: Sequence[Mapping[str, str]]
    score: np.ndarray
    right: np.ndarray | None = None
    decisions: Decisions = field(default_factory=lambda: Decisions.made(()))
    parts: Decisions | None = None
    chances: Sequence[Mapping[Any, float]] = ()
    marks: Callable[[int], Sequence[TextMark]] = lambda _: ()
    says: Callable[[Line, Any], str] = lambda _, value: str(value)
    names: Sequence[str] = ()
    order: Sequence[str] = ()
    nothing: Sequence[str] = ()
    several: bool = False
    closed: bool = True
    annotated: bool = True
    unit: str = "rows"
    sorted_by: str = "confidence"

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def lengths(self) -> list[int]:
        """The characters of each row's texts."""
        return [sum(map(len, {*texts.values()})) for texts in self.texts]

    @property
    def wrong(self) -> np.ndarray:
        """Whether each prediction is wrong `(rows,)`; numbers never are."""
        return np.zeros(len(self), bool) if self.right is None else ~self.right

    @cached_property
    def confidence(self) -> np.ndarray:
        """The lowest confidence of each row's decisions `(rows,)`, NaN without one."""
        confidence = np.full(len(self), np.nan)
        np.fmin.at(confidence, self.decisions.row, self.decisions.confidence)
        return confidence

    @cached_property
    def decided(self) -> Decisions:
        """The decisions whose confidence is known."""
        return self.decisions.at(np.isfinite(self.decisions.confidence))

    @cached_property
    def certainty(self) -> np.ndarray:
        """How sure the model is of each row's error `(rows,)`: the highest confidence of its wrong decisions, else how
        far the score is from a perfect one; minus infinity where nothing is wrong.
        """
        if self.right is None:
            return self.score
        if not len(self.decided):
            return np.where(self.right, -np.inf, 1 - self.score)
        certainty = np.full(len(self), -np.inf)
        wrong = self.decided.at(~self.decided.right)
        np.maximum.at(certainty, wrong.row, wrong.confidence)
        return certainty

    @cached_property
    def numbers(self) -> tuple[np.ndarray, np.ndarray] | None:
        """(labels, predictions), each `(rows,)`, where they are numbers with an error."""
        if self.right is not None or not all(isinstance(line["gold"], int | float) for line in self.lines):
            return None
        labels, predictions = (np.array([line[side] for line in self.lines], float) for side in ("gold", "prediction"))
        return labels, predictions

    @cached_property
    def classes(self) -> dict[str, tuple[int, int, int]]:
        """For each class how many labels it has, how many predictions, and how many of these are right."""
        parts = self.decisions if self.parts is None else self.parts
        if not self.closed:
            return {}
        labelled, answered = Counter(parts.label.tolist()), Counter(parts.prediction.tolist())
        right = Counter(parts.label[parts.label == parts.prediction].tolist())
        seen = {*labelled, *answered} - {*self.nothing}
        names = self.names if self.names and seen <= {*self.names} else sorted(seen)
        return {name: (labelled[name], answered[name], right[name]) for name in names}

    @cached_property
    def pairs(self) -> list[list[tuple[str, str]]]:
        """The (label, prediction) pairs of each row's decisions; of several labels, the labels of either side."""
        row_pairs: list[list[tuple[str, str]]] = [[] for _ in self.lines]
        for row, label, prediction, *_ in self.decisions.tolist():
            if not (self.several and {label, prediction} <= {*self.nothing}):
                row_pairs[row].append((label, prediction))
        return row_pairs

    def words(self, row: int) -> tuple[str, str]:
        """The label and the prediction of a row, in words."""
        line = self.lines[row]
        return self.says(line, line["gold"]), self.says(line, line["prediction"])

    def off_by(self, row: int) -> list[str]:
        """How far the prediction is from the label, where they are numbers or labels in order."""
        label, prediction = (self.lines[row][side] for side in ("gold", "prediction"))
        if self.numbers is not None:
            return [f"off by {self.score[row]:.3f}"]
        if not self.order or label == prediction or not {label, prediction} <= {*self.order}:
            return []
        return [f"off by {self.order.index(prediction) - self.order.index(label):+d}"]

    def listed(self, row: int) -> Line:
        """A row as a table in the terminal has it: its id, texts and other facts, then its `label`, `prediction` and
        `confidence`, in words, numbers as they are; of several labels the probability of each.
        """
        line, fields = self.lines[row], Line()
        if not {"text", "question", "context"} & line.keys():  # it is of words, or of lines
            fields = {"text": cut(" ".join(next(iter(self.texts[row].values())).split()))}
        if "lines" not in line:
            columns = {name: value for name, value in line.items() if name not in HIDDEN and ":" not in name}
            fields = {"id": line.get("id")} | fields | columns
        for name, value in (("label", line["gold"]), ("prediction", line["prediction"])):
            fields[name] = value if isinstance(value, int | float) else self.says(line, value)
        shows_confidence = np.isfinite(self.confidence[row]) and "score" not in line  # which is shown
        sure: Any = float(self.confidence[row]) if shows_confidence else None
        return fields | {"confidence": (self.chances[row] if self.chances else None) if self.several else sure}

    def doubt(self, decision: int) -> dict[str, str]:
        """A part of a row whose label may be wrong, and what the model predicts there; empty where it is the row."""
        if not self.nothing:
            return {}
        of, label, predicted = (self.decisions[name][decision] for name in ("of", "label", "prediction"))
        return {"doubted": f"{of} ({label})" if of else label, "predicted_there": predicted}

    def saved(self) -> Iterator[Line]:
        """The columns ADDED for each row, None where they are not known."""
        for row, sure in enumerate(self.confidence.tolist()):
            right = None if self.right is None else bool(self.right[row])
            yield dict(zip(ADDED, (sure if sure == sure else None, right, float(self.score[row])), strict=True))


def pair_texts(lines: Iterable[Line]) -> list[dict[str, str]]:
    """The text of each line, or both of a pair."""
    return [{name: line[name] for name in TEXTS if line.get(name) is not None} for line in lines]


def named_chances(lines: Sequence[Line], names: Sequence[Any]) -> list[dict[Any, float]]:
    """The probabilities of each line by name; empty where lines have none, or not one for each name."""
    probabilities = [line.get("probabilities") or () for line in lines]
    if not names or any(len(row) != len(names) for row in probabilities):
        return []
    return [dict(zip(names, row, strict=True)) for row in probabilities]


def one_label(lines: Sequence[Line], **columns: Any) -> Predictions:
    """The table of rows with one label each, which are right if it is predicted.

    A probability without a name takes the prediction for which it is the highest.
    """
    right = np.array([line["gold"] == line["prediction"] for line in lines], bool)
    names = columns.get("names", ())
    if not names and lines and all(line.get("probabilities") for line in lines):
        best = {int(np.argmax(line["probabilities"])): line["prediction"] for line in lines}
        names = [best.get(place, place) for place in range(len(lines[0]["probabilities"]))]
    chances = columns.get("chances") or named_chances(lines, names)
    says = columns.get("says", lambda _, value: str(value))
    rows = []
    for row, line in enumerate(lines):
        row_chances = chances[row] if chances else {}
        sure = row_chances.get(line["prediction"], max(line.get("probabilities") or (), default=None))
        label, prediction = (says(line, line[side]) for side in ("gold", "prediction"))
        rows.append(DecisionRow(row, label, prediction, bool(right[row]), sure, row_chances.get(line["gold"])))
    of_rows = {"right": right, "score": right.astype(float), "decisions": Decisions.made(rows)}
    return Predictions(**{"lines": lines, "texts": pair_texts(lines), **of_rows, **columns, "chances": chances})


Span = tuple[int, int, str]  # the first character, the one after the last, and a label


def marks_of_both(label: Sequence[Span], prediction: Sequence[Span]) -> list[TextMark]:
    """The spans of a text that is shown twice, as `label` and as `prediction`."""
    sides = (("label", label, prediction, "missed"), ("prediction", prediction, label, "wrong"))
    return [
        TextMark(name, start, end, "right" if (start, end, kind) in others else otherwise, kind)
        for name, spans, others, otherwise in sides
        for start, end, kind in spans
    ]


def paired_spans(
    label: Sequence[Span], prediction: Sequence[Span], nothing: str
) -> Iterator[tuple[tuple[int, int], str, str]]:
    """(place, label, predicted label) of each place of either side; `nothing` stands for a missing one."""
    for place in dict.fromkeys(span[:2] for span in (*label, *prediction)):
        labels, predicted = ([span[2] for span in side if span[:2] == place] for side in (label, prediction))
        both = [kind for kind in labels if kind in predicted]
        missed, wrong = ([kind for kind in side if kind not in both] for side in (labels, predicted))
        for a, b in [*zip(both, both, strict=True), *zip_longest(missed, wrong, fillvalue=nothing)]:
            yield place, a, b


def prediction_lines(
    task: "Task",
    rows: Sequence[Row],
    answers: "Sequence[Answer]",
    baselines: "Mapping[str, Sequence[Answer]]" = MappingProxyType({}),
    slices: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[Line]:
    """One line per row: its fields, `gold`, `prediction`, `probabilities`, other fields of the prediction, baselines,
    and the values of other columns of the data (`slice:source`).
    """
    lines = []
    for index, (row, gold, answer) in enumerate(zip(rows, task.labels_of(rows), answers, strict=True)):
        line = row_fields(row) | {"gold": gold.value} | asdict(answer)
        line["prediction"] = line.pop("value")
        line |= {f"{BASELINE}{name}": baseline_answers[index].value for name, baseline_answers in baselines.items()}
        line |= {f"{SLICE}{name}": values[index] for name, values in slices.items()}
        lines.append(line)
    return lines


def official_files(task: "Task", answers: "Sequence[Answer]", rows: Sequence[Row]) -> dict[str, Any]:
    """Additional files in an official format, where the task has one: JSON values by file name."""
    return task.official_files(answers, rows) if hasattr(task, "official_files") else {}


def row_of_line(task: "Task", line: Mapping[str, Any], folder: Path) -> Row:
    """The row that a line of predictions was written from. Raises UserError where the line lacks fields of it."""
    if task.row_type is None:
        raise UserError(f"the task {task.name} does not declare its rows", "Set its row_type")
    names = {field.name for field in fields(task.row_type)}
    try:
        return task.row_type(**{name: _tuples(value) for name, value in line.items() if name in names})
    except TypeError as error:
        raise UserError(f"{folder}: its predictions lack columns of {task.name}", "Run it with `force`") from error


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
