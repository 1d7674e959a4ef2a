"""Classes and confusion of ordered labels are in their order."""

from collections.abc import Sequence
from typing import Any

from finetune.commands.report.split import by_support, confusion_block
from finetune.task_types.classification.own import Classification
from finetune.task_types.predictions import Predictions
from finetune.task_types.saved_predictions import labelled_table


def split_of(pairs: Sequence[tuple[str, str]], **related: Any) -> Predictions:
    lines = [{"text": "a cat", "gold": gold, "prediction": answer} for gold, answer in pairs]
    table = labelled_table(Classification(), lines, **related)
    assert table is not None
    return table


ORDER = ("low", "medium", "high")
PAIRS = [("low", "low"), ("low", "high"), ("medium", "low"), ("high", "high"), ("high", "medium")]


def test_classes_and_confusion_are_in_the_order() -> None:
    split = split_of(PAIRS, order=ORDER)
    assert by_support(split) == list(ORDER)
    (block,) = confusion_block(split, "dev")
    assert block.matrix is not None
    counts = [(label, line) for label, _, _, line in block.matrix["down"]]
    assert counts == [("low", [1, 0, 1]), ("medium", [1, 0, 0]), ("high", [0, 1, 1])]
    assert split.off_by(1) == ["off by +2"]
