"""The numbers of a report's tables are those of scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import classification_report, precision_recall_fscore_support

from finetune.commands.report.content import Block
from finetune.commands.report.split import class_block
from finetune.task_types.predictions import Predictions
from finetune.task_types.saved_predictions import labelled_table

NAMES = ["a", "b", "c", "never"]


def split_of(lines: Sequence[dict[str, Any]], labels: Sequence[str]) -> Predictions:
    table = labelled_table(None, lines, names=labels)
    assert table is not None
    return table


def classified(names: Sequence[str], rows: int = 300) -> list[dict[str, Any]]:
    """Rows of classes of different sizes; the last is never predicted."""
    draw = np.random.default_rng(0)
    lines = []
    for number in range(rows):
        gold = draw.choice(len(names), p=np.arange(len(names), 0, -1) / sum(range(len(names) + 1)))
        chances = draw.dirichlet(1 + 3 * np.eye(len(names))[gold])
        chances[-1] *= 1e-6 if len(names) > 2 else 1
        chances /= chances.sum()
        answer = names[int(chances.argmax())]
        lines.append({"id": str(number), "text": "t", "gold": names[gold], "prediction": answer})
        lines[-1]["probabilities"] = chances.tolist()
    return lines


def labelled(rows: int = 300) -> list[dict[str, Any]]:
    """Rows with any of three labels, predicted from different thresholds."""
    draw = np.random.default_rng(1)
    lines = []
    for number in range(rows):
        there = draw.random(3) < [0.5, 0.3, 0.1]
        chances = np.clip(0.35 * there + 0.6 * draw.random(3), 0, 1)
        given = [
            [name for name, yes in zip("xyz", some, strict=True) if yes] for some in (there, chances > [0.5, 0.4, 0.6])
        ]
        lines.append({"id": str(number), "text": "t", "gold": given[0], "prediction": given[1]})
        lines[-1]["probabilities"] = chances.tolist()
    return lines


def table(blocks: Sequence[Block]) -> Block:
    (block,) = blocks
    assert block.cells
    return block


def numbers(cells: Sequence[str]) -> list[float]:
    return [float(cell.replace(",", "")) for cell in cells]


def test_classes_and_averages_are_those_of_a_classification_report() -> None:
    lines = classified(NAMES)
    gold, answers = ([line[side] for line in lines] for side in ("gold", "prediction"))
    expected: Any = classification_report(gold, answers, output_dict=True, zero_division=0)
    found = table(list(class_block(split_of(lines, NAMES))))
    assert found.columns == ["class", "support", "f1", "precision", "recall", "predicted"]
    for row in found.cells:
        name = row[0].replace("average", "avg")
        support, f1, precision, recall, predicted = numbers(row[1:])
        theirs = expected[name]
        assert support == theirs["support"]
        assert [f1, precision, recall] == pytest.approx(
            [100 * theirs[part] for part in ("f1-score", "precision", "recall")], abs=0.051
        )
        if name in NAMES:
            assert predicted == answers.count(name)
    assert [row[0] for row in found.cells[:-2]] == NAMES  # the most frequent first


def test_labels_of_several_have_the_same_averages() -> None:
    lines = labelled()
    there, given = (
        np.array([[name in line[side] for name in "xyz"] for line in lines]) for side in ("gold", "prediction")
    )
    found = table(list(class_block(split_of(lines, list("xyz")))))
    for row in found.cells[-2:]:
        kind = row[0].split()[0]
        precision, recall, f1, _ = precision_recall_fscore_support(there, given, average=kind, zero_division=0)
        assert numbers(row[2:5]) == pytest.approx([100 * value for value in (f1, precision, recall)], abs=0.051)
