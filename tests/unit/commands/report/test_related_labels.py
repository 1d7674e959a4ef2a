"""Classes and confusion of ordered labels are in their order."""

from collections.abc import Sequence
from typing import Any

from finetune.commands.report.content import SplitView
from finetune.commands.report.split import by_support, confusion_block
from finetune.task_types.sentence.view import LabelView


def split_of(pairs: Sequence[tuple[str, str]], **related: Any) -> SplitView:
    lines = [{"text": "a cat", "gold": gold, "prediction": answer} for gold, answer in pairs]
    view = LabelView(lines=lines, **related)
    return SplitView(view=view, section="dev")


ORDER = ("low", "medium", "high")
PAIRS = [("low", "low"), ("low", "high"), ("medium", "low"), ("high", "high"), ("high", "medium")]


def test_classes_and_confusion_are_in_the_order() -> None:
    split = split_of(PAIRS, order=ORDER)
    assert [one.name for one in by_support(split.view)] == list(ORDER)
    (block,) = confusion_block(split)
    assert block.matrix is not None
    counts = [(label, line) for label, _, _, line in block.matrix["down"]]
    assert counts == [("low", [1, 0, 1]), ("medium", [1, 0, 0]), ("high", [0, 1, 1])]
    assert split.view.facts(split.view.lines[1]) == ["off by +2"]
